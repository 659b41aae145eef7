"""Reverses the order in which a rubric's prompt lists its levels."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from jinja2 import TemplateSyntaxError

from pathway_local.rubrics.fields import ScoreField
from pathway_local.rubrics.rubric import Rubric, compiled
from pathway_local.rubrics.turn import read_turn

_LEVEL = re.compile(
    r"^[\s>*#_•|-]*(?:(?P<word>score|level|stufe|note|niveau|nivel)\s*(?P<named>-?\d+)[*_]*\s*[-–—.:=)|]"
    r"|(?P<bare>-?\d+)[*_]*\s*(?P<mark>[-–—:=|]))",
    re.I,
)
"""A line that begins a level. A bare number with a dot or parenthesis may number steps, which must keep their order."""

_END = re.compile(r"#|<|\{%|(?:system|user|assistant):\s*$")
"""A line that belongs to no list: a heading, a tag, a condition or the next message."""

_Spans = list[tuple[int, int]]
"""The start and the end of each part of a list."""


def reordered(rubric: Rubric) -> Rubric | None:
    """Return the rubric with its levels reversed, under another name; None if it does not list them.

    If scores have lists of levels of their own, all of these are reversed.
    """
    lines, roles = list[str](), list[int]()
    for turn in rubric.turns:
        roles.append(len(lines))
        lines += [f"{turn.role}:", *turn.template.split("\n")]
    lists = _level_lists(lines, rubric)
    if not lists or not all(lists):
        return None
    for spans in lists:
        moved = [lines[start:end] for start, end in reversed(spans)]
        lines[spans[0][0] : spans[-1][1]] = [line for part in moved for line in part]
    ends = [*roles[1:], len(lines)]
    bodies = ["\n".join(lines[start + 1 : end]) for start, end in zip(roles, ends, strict=True)]
    try:
        turns = tuple(read_turn(turn.role, body) for turn, body in zip(rubric.turns, bodies, strict=True))
    except TemplateSyntaxError:
        return None  # a condition begins in one level and ends in another
    changed = replace(rubric, name=f"{rubric.name}, levels in the other order", turns=turns)
    return replace(changed, text=compiled(changed))


def _level_lists(lines: Sequence[str], rubric: Rubric) -> list[_Spans]:
    """Return the list of each score's levels, or the one that all scores with these levels share.

    One is empty if a score's levels are not listed in order, or if it is unclear which of several lists is whose.
    Categories may be listed, but need not be.
    """
    scores = rubric.format.scores.values()
    ordered = {_levels(field) for field in scores if field.scale == "ordinal"}
    found = list[_Spans]()
    for levels, count in Counter(map(_levels, scores)).items():
        lists = _lists_of(lines, levels)
        if len(lists) == 1 or len(lists) >= count:
            found += lists[:count]
        elif lists or levels in ordered:
            found.append([])
    return found


def _levels(field: ScoreField) -> tuple[int, ...]:
    return tuple(sorted(int(value) for value in field.values))


def _lists_of(lines: Sequence[str], levels: Sequence[int]) -> list[_Spans]:
    """Return the lists of all these levels in order, written like the first: others may be examples."""
    starts = [(at, found) for at, line in enumerate(lines) if (found := _LEVEL.match(line))]
    lists, like, first = list[_Spans](), None, 0
    while len(levels) > 1 and first + len(levels) <= len(starts):
        run = starts[first : first + len(levels)]
        numbers = [int(found["named"] or found["bare"]) for _, found in run]
        how = {(found["word"], found["mark"]) for _, found in run}
        if numbers in ([*levels], [*levels][::-1]) and len(how) == 1 and like in (None, how):
            lists.append(_spans(lines, [at for at, _ in run]))
            like, first = how, first + len(levels)
        else:
            first += 1
    return lists


def _spans(lines: Sequence[str], starts: Sequence[int]) -> _Spans:
    """Return the parts that begin at these lines; each ends where the next begins, the last like those before it.

    Empty if a part has several paragraphs, since nothing shows how many the last one has.
    """
    blanks = starts[1] - 1 > starts[0] and not lines[starts[1] - 1].strip()
    last = starts[-1] + 1
    while last < len(lines) and lines[last].strip() and not _END.match(lines[last]):
        last += 1
    if blanks and last < len(lines) and not lines[last].strip():
        last += 1  # the blank line that stands behind each of the others
    spans = list(zip(starts, [*starts[1:], last], strict=True))
    parts = ["\n".join(lines[start:end]).rstrip() for start, end in spans]
    return [] if any("\n\n" in part for part in parts) else spans
