"""Reads a score as people and unconstrained judges write it: 4, **4**, 4/5, "4 (Good)", "Good"."""

import re

from pathway_local.errors import ReplyError
from pathway_local.rubrics.fields import ScoreField
from pathway_local.verdict import Number, plain

_DECORATION = "*_`()[]\"'“”‘’ \t\r\n"
_NUMBER = re.compile(
    r"(-?\d{1,6}(?:[.,]\d{1,17})?)(?!\d)(?:\s*(?:/|\b(?:out of|of|von|sur|de)\b)\s*(\d{1,6})(?!\d|[.,]\d))?(.*)",
    re.DOTALL,
)
BETWEEN = "between-levels"
"""The departure of a score that is no level and lies between two: it is kept as it is, never rounded."""

_JOINTS = " \t\r\n*_`\"'().,;:–—-"


def read_score(text: str, field: ScoreField) -> tuple[Number, str]:
    """Return the value in `text`, and how it departs from the field's own spelling.

    The departure is empty, "case", "markdown", "label" (the level's name instead of its value), "score-form"
    (something around the value) or `BETWEEN`. Raises ReplyError if the value is off the scale or ambiguous; the
    message quotes nothing of the text but a number.
    """
    written = field.values_by_text(False)
    bare = text.strip()
    if bare in written:
        return written[bare], ""
    undecorated = bare.strip(_DECORATION)
    if undecorated in written:
        return written[undecorated], "markdown"
    ended = undecorated.rstrip(".,;:!")
    spoken = [value for name, value in written.items() if name.casefold() == ended.casefold()]
    if len(spoken) == 1:
        return spoken[0], "case" if ended == undecorated else "score-form"
    named = [value for value, label in field.levels.items() if _folded(label) == _folded(undecorated)]
    if len(named) == 1:
        return named[0], "label"
    value = _numbered(undecorated, field)
    return value, "score-form" if value in field.values else BETWEEN


def scale_text(field: ScoreField) -> str:
    """Return the scale in a few words, for messages."""
    low, high = field.values[0], field.values[-1]
    whole = isinstance(low, int) and isinstance(high, int) and field.values == tuple(range(low, high + 1))
    return f"{low} to {high}" if whole else ", ".join(map(str, field.values[:20]))


def _numbered(text: str, field: ScoreField) -> Number:
    """Return the number that begins the text; its level or the end of the scale may follow, but no other number."""
    found = _NUMBER.fullmatch(text)
    if not found:
        raise ReplyError("this is not a score")
    exact, end, rest = float(found.group(1).replace(",", ".")), found.group(2), found.group(3)
    value = plain(exact) if plain(exact) in field.values else exact
    if value not in field.values and not field.between(value):
        raise ReplyError(f"{value:g} is off the scale {scale_text(field)}")
    if end and int(end) != field.values[-1]:
        raise ReplyError(f"a score out of {end} is not on the scale {scale_text(field)}")
    joined = not rest or rest[0] in _JOINTS
    if not joined or (re.search(r"\d", rest) and _folded(rest) != _folded(field.levels.get(value, ""))):
        raise ReplyError("the score can be read in more than one way")
    return value


def _folded(text: str) -> str:
    return " ".join(text.strip(_JOINTS).casefold().split())
