"""Proposes the comparison of two responses: which inputs hold them, and which one each choice prefers."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from pathway_local.adopt.inputs import places_of
from pathway_local.adopt.prompt import Source
from pathway_local.adopt.values import OPEN, Value, gloss
from pathway_local.adopt.words import any_of, is_in
from pathway_local.rubrics.declaration import quoted_word

_PAIRED = re.compile(r"(?i)^(?P<stem>.*?)[_ ]?(?P<end>a|b|1|2|one|two|first|second|left|right)(?P<rest>(?:_\w+)?)$")
_SIDES = {"a": 1, "1": 1, "one": 1, "first": 1, "left": 1, "b": -1, "2": -1, "two": -1, "second": -1, "right": -1}
_MARK = r"(?i)\b(a|b|1|2|first|second)\b"


def swap_of(names: Sequence[str], others: bool = False) -> dict[str, str]:
    """Return the inputs of response A, each with the one of response B that is named alike; empty for none.

    With `others`, return further inputs that come in twos, such as explanation_1 and explanation_2.
    """
    ends = [(end, name) for name in names if (end := _PAIRED.match(name)) and _is_response(end) != others]
    sides = {(end["stem"].lower(), end["rest"], _SIDES[end["end"].lower()]): name for end, name in ends}
    pairs = [(name, sides.get((stem, rest, -1))) for (stem, rest, side), name in sides.items() if side == 1]
    return {first: second for first, second in pairs if second}


def _is_response(found: re.Match[str]) -> bool:
    stem = f"{found['stem']} {found['rest']}".replace("_", " ")
    return any_of("responses").search(stem) is not None or found[0].lower() in ("a", "b")


def compared(source: Source, values: list[Value], swap: Mapping[str, str]) -> tuple[dict[str, str], list[Value]]:
    """Return which inputs of a comparison change places, and the values with its choice."""
    counted = {"1-2": ("1", "2"), "0-1 by 1": ("0", "1")}
    asks = swap and any_of("compare").search(source.text) and sum(value.scores for value in values) == 1
    for at, value in enumerate(values):
        words = value.words or (counted.get(value.spelling, ()) if asks else ())
        choice = preference(words, source, swap) if value.scores and words else ""
        if choice or (value.scores and words and asks):
            spelling, asked = choice or f"{value.spelling} {OPEN}", "" if choice else value.question
            rest = replace(value, spelling=spelling, question=asked)
            return dict(swap) if choice else {}, [*values[:at], rest, *values[at + 1 :]]
    return {}, values


def preference(words: Sequence[str], source: Source, swap: Mapping[str, str]) -> str:
    """Return the spelling of the choice between two responses, open where a word's side is not sure; empty for none."""
    sides = {word: _side(word, source) for word in words}
    if not {1, -1} <= {*sides.values()} or not (swap or any_of("compare").search(source.text)):
        return ""
    by_side = {side: word for word, side in sides.items()}
    sure = None not in by_side and len(by_side) == len(words)
    if not sure or not swap or any_of("worse").search(source.text) or not _labelled(words, source, swap):
        return f"prefer {f' {OPEN} '.join(map(quoted_word, words))}"
    told = [(name, by_side[side]) for side, name in ((1, "A"), (0, "tie"), (-1, "B")) if side in by_side]
    spelled = [quoted_word(word) if word == name else f"{name} as {quoted_word(word)}" for name, word in told]
    return f"prefer {' > '.join(spelled)}"


def _side(word: str, source: Source) -> int | None:
    """Return what a word chooses: 1 for A, -1 for B, 0 for a tie; None if that is not sure."""
    bare, told = any_of("responses").sub(" ", re.sub(r"[_\[\]()]", " ", word)).strip().lower(), gloss(word, source)
    if bare in _SIDES:
        marks = re.findall(_MARK, told)
        return None if marks and _SIDES[marks[0].lower()] != _SIDES[bare] else _SIDES[bare]
    return 0 if is_in("tie", word) or any_of("tie").search(told) else None


def _labelled(words: Sequence[str], source: Source, swap: Mapping[str, str]) -> bool:
    """Return whether choices and inputs are both letters or both numbers, or the prompt labels the inputs so."""
    letters = any(re.search(r"(?i)(?:^|[\W_])[ab](?:$|[\W_])", word) for word in words)
    for name, side in [*((name, 1) for name in swap), *((name, -1) for name in swap.values())]:
        for at in places_of(name, source.text):
            label = re.search(rf"{_MARK}(?:['’]s)?(?: \w+){{0,2}}[^\w.,;]*\Z", source.text[max(0, at - 60) : at])
            end = _PAIRED.match(name)
            if _SIDES[label[1].lower()] != side if label else end and letters != (end["end"].lower() in "ab"):
                return False
    return True
