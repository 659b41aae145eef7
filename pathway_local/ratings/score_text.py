"""Reads a score as people and unconstrained judges write it: 4, **4**, 4/5, "4 (Good)", "Good"."""

import math
import re

from pathway_local.errors import ReplyError
from pathway_local.rubrics.fields import ScoreField
from pathway_local.verdict import Number, plain

_DECORATION = "*_`()[]\"'“”‘’ \t\r\n"
NUMBER = r"[+-]?(?:\d+(?:\.\d+|\.(?=[eE][+-]?\d))?|\.\d+)(?:[eE][+-]?\d+)?"
"""A number as programs print it: any number of digits, with an exponent or without."""

_SPELLED = re.compile(rf"([+-]?\d+,\d+(?:[eE][+-]?\d+)?|{NUMBER})(.*)", re.DOTALL)
_END = re.compile(r"\s*(?:/|\b(?:out of|of|von|sur|de)\b)\s*(\d{1,6})(?!\d|[.,]\d)(.*)", re.DOTALL)
_THOUSANDS = re.compile(r"[+-]?\d{1,3},\d{3}")
LONGEST = 1_100
"""Characters of the longest number that is read: every digit of any float fits, and reading takes microseconds."""

NO_NUMBER = "this is not a score"

MOST_SHOWN = 10**6
"""No scale has larger numbers, and messages don't show them: an integer of hundreds of digits is no float."""

_JOINTS = " \t\r\n*_`\"'().,;:–—-"


def read_score(text: str, field: ScoreField) -> Number:
    """Return the value in `text`: a level by its value, word or name, or a number between two levels.

    A number may have a decimal comma, or any spelling that Python's `float` reads as a finite number. Only 1_000 is
    refused: no program prints it, and it may be a slip. Raises ReplyError if the value is off the scale or ambiguous;
    the message quotes nothing of the text but a number.
    """
    written = field.values_by_text(False)
    undecorated = text.strip(_DECORATION)
    for bare in (text.strip(), undecorated):
        if bare in written:
            return written[bare]
    ended = undecorated.rstrip(".,;:!").casefold()
    spoken = [value for name, value in written.items() if name.casefold() == ended]
    named = [value for value, label in field.levels.items() if _folded(label) == _folded(undecorated)]
    for found in (spoken, named):
        if len(found) == 1:
            return found[0]
    return _numbered(undecorated, field)


def scale_text(field: ScoreField) -> str:
    """Return the scale in a few words, for messages."""
    low, high = field.values[0], field.values[-1]
    whole = isinstance(low, int) and isinstance(high, int) and field.values == tuple(range(low, high + 1))
    return f"{low} to {high}" if whole else ", ".join(map(str, field.values[:20]))


def number_in(text: str) -> tuple[float, str] | None:
    """Return the finite number that begins the text, with a decimal point or comma, and the rest of the text."""
    found = _SPELLED.fullmatch(text)
    if not found or len(found[1]) > LONGEST:
        return None
    number = float(found[1].replace(",", "."))
    return (number, found[2]) if math.isfinite(number) else None


def on_scale(number: Number, field: ScoreField) -> Number:
    """Return the level that a number is, or the number if it lies between two. Raises ReplyError off the scale."""
    value = plain(number) if abs(number) <= MOST_SHOWN and plain(number) in field.values else number
    if value not in field.values and not field.between(value):
        shown = f"{value:g}" if abs(value) < MOST_SHOWN else "its number"
        raise ReplyError(f"{shown} is off the scale {scale_text(field)}")
    return value


def _numbered(text: str, field: ScoreField) -> Number:
    """Return the number that begins the text; its level or the end of the scale may follow, but no other number."""
    found = number_in(text)
    if not found:
        raise ReplyError(NO_NUMBER)
    number, rest = found
    thousands = _THOUSANDS.fullmatch(text)
    if thousands and float(text.replace(",", "")) <= field.values[-1]:
        raise ReplyError("the score can be read in more than one way")
    value = on_scale(number, field)
    if end := _END.fullmatch(rest):
        rest = end[2]
        if int(end[1]) != field.values[-1]:
            raise ReplyError(f"a score out of {end[1]} is not on the scale {scale_text(field)}")
    joined = not rest or rest[0] in _JOINTS
    if not joined or (re.search(r"\d", rest) and _folded(rest) != _folded(field.levels.get(value, ""))):
        raise ReplyError("the score can be read in more than one way")
    return value


def _folded(text: str) -> str:
    return " ".join(text.strip(_JOINTS).casefold().split())
