"""Reads a score as a person writes it: a level's value or name, a number, N/max, N (name) or N - name."""

import math
import re

from pathway_local.errors import ReplyError
from pathway_local.rubrics.fields import ScoreField
from pathway_local.verdict import Number, plain

_NUMBER = r"[+-]?(?:\d+(?:[.,]\d+)?|[.,]\d+)(?:[eE][+-]?\d+)?"
_SPELLED = re.compile(rf"({_NUMBER})(?:\s*/\s*({_NUMBER})|\s*\((.+)\)|\s*[-–—]\s*(.+))?", re.DOTALL)
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}[.,]\d{3}")

NO_SCORE = "this is not a score"
AMBIGUOUS = "the score can be read in more than one way"


def read_score(text: str, field: ScoreField) -> Number:
    """Return the value in `text`: a level's, or a number between two levels, perhaps with a decimal comma.

    Raises ReplyError for everything else; the message quotes nothing of the text but a number.
    """
    named = {value for value in field.values if _folded(text) in _names(value, field)}
    if len(named) == 1:
        return named.pop()
    found = _SPELLED.fullmatch(text.strip())
    if named or not found:
        raise ReplyError(AMBIGUOUS if named else NO_SCORE)
    number, end, *names = found.groups()
    value = _on_scale(number, field)
    if end and _float(end) != field.values[-1]:
        raise ReplyError(f"a score out of {_float(end):g} is not on the scale {scale_text(field)}")
    if any(name and _folded(name) not in _names(value, field) for name in names):
        raise ReplyError(f"{NO_SCORE}: what stands beside the number is not that level's name")
    return value


def is_number(text: str) -> bool:
    """Return whether the text is a bare number."""
    return bool(re.fullmatch(_NUMBER, text.strip()))


def scale_text(field: ScoreField) -> str:
    """Return the scale in a few words, for messages."""
    low, high = field.values[0], field.values[-1]
    whole = isinstance(low, int) and isinstance(high, int) and field.values == tuple(range(low, high + 1))
    return f"{low} to {high}" if whole else ", ".join(map(str, field.values[:20]))


def _on_scale(number: str, field: ScoreField) -> Number:
    if _THOUSANDS.fullmatch(number) and float(re.sub("[.,]", "", number)) <= field.values[-1]:
        raise ReplyError(AMBIGUOUS)
    value = _float(number)
    if not math.isfinite(value):
        raise ReplyError(NO_SCORE)
    if plain(value) in field.values:
        return plain(value)
    if not field.between(value):
        raise ReplyError(f"{value:g} is off the scale {scale_text(field)}")
    return value


def _float(number: str) -> float:
    return float(number.replace(",", "."))


def _names(value: Number, field: ScoreField) -> set[str]:
    return {_folded(name) for name in (field.written.get(value, str(value)), field.levels.get(value, ""))} - {""}


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()
