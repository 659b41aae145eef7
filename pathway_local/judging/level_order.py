"""Draws the cases of a self-test, and makes all rows to judge from them; reverses a rubric's levels."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import nsmallest

from pathway_local.case import BadRow, Case, rank
from pathway_local.errors import CasesError, UnknownName
from pathway_local.probes.probe_list import PROBES, REORDERED, Probe, own_texts
from pathway_local.probes.subject import Measured, Subject, Texts
from pathway_local.rubrics.fields import ScoreField
from pathway_local.rubrics.rubric import Rubric, compiled
from pathway_local.rubrics.turn import Insert, Turn, TurnPart

_LEVEL = re.compile(
    r"^[\s>*#_•|-]*(?:(?P<word>score|level|stufe|note|niveau|nivel)\s*(?P<named>-?\d+)[*_]*\s*[-–—.:=)|]"
    r"|(?P<bare>-?\d+)[*_]*\s*(?P<mark>[-–—:=|]))",
    re.I,
)
"""A line that begins a level. A bare number with a dot or parenthesis may number steps, which must keep their order."""

_END = re.compile(r"#|<|\{%|(?:system|user|assistant):\s*$")
"""A line that belongs to no list: a heading, a tag, a condition or the next message."""

_MARK = re.compile(r"\{[{%](\d+)[%}]\}")

_Spans = list[tuple[int, int]]
"""The start and the end of each part of a list."""


def reordered(rubric: Rubric) -> Rubric | None:
    """Return the rubric with its levels reversed, under another name; None if it does not list them.

    If scores have lists of levels of their own, all of these are reversed.
    """
    parts = [part for turn in rubric.turns for part in turn.parts if not isinstance(part, str)]
    lines, roles = list[str](), list[int]()
    for turn in rubric.turns:
        roles.append(len(lines))
        lines += [f"{turn.role}:", *_marked(turn, parts).split("\n")]
    lists = _level_lists(lines, rubric)
    if not lists or not all(lists):
        return None
    for spans in lists:
        moved = [lines[start:end] for start, end in reversed(spans)]
        lines[spans[0][0] : spans[-1][1]] = [line for part in moved for line in part]
    ends = [*roles[1:], len(lines)]
    bodies = ["\n".join(lines[start + 1 : end]) for start, end in zip(roles, ends, strict=True)]
    turns = tuple(_turn(turn, body, parts) for turn, body in zip(rubric.turns, bodies, strict=True))
    changed = replace(rubric, name=f"{rubric.name}, levels in the other order", turns=turns)
    return replace(changed, text=compiled(changed))


def _marked(turn: Turn, parts: Sequence[TurnPart]) -> str:
    """Return the turn's text with a mark in the place of each input, choice and loop, which tells its number."""
    at = {id(part): number for number, part in enumerate(parts)}
    shown = ("{{%d}}" if isinstance(part, Insert) else "{%%%d%%}" for part in turn.parts if not isinstance(part, str))
    return "".join(part if isinstance(part, str) else next(shown) % at[id(part)] for part in turn.parts)


def _turn(turn: Turn, body: str, parts: Sequence[TurnPart]) -> Turn:
    pieces = _MARK.split(body)
    made = [parts[int(piece)] if at % 2 else piece for at, piece in enumerate(pieces)]
    shown = (f"{{{{{part.name}}}}}" if isinstance(part, Insert) else part for part in made)
    return Turn(turn.role, "".join(part if isinstance(part, str) else "{% … %}" for part in shown), tuple(made))


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


SEED = 0
"""Draws the cases: a test of more cases contains the smaller one."""

SPARE = 4
"""Cases drawn for each case wanted, since several may have the same question."""


@dataclass(frozen=True, slots=True)
class Row:
    """One changed twin to judge; `rubric` is the one that judges it."""

    id: str
    probe: str
    variant: str
    case: str
    texts: Texts = field(repr=False)
    rubric: str = ""


@dataclass(frozen=True, slots=True)
class ProbeSet:
    """All rows of a self-test, the rubrics that judge them, and what was left out.

    `cases` counts the drawn cases, `read` those of the file. `unused` has by probe how many cases had no twin, by
    reason, `without` why a probe is left out, `skipped` why cases of the file were.
    """

    measured: Measured
    rubrics: Mapping[str, Rubric]
    rows: Sequence[Row]
    cases: int
    read: int
    unused: Mapping[str, Mapping[str, int]]
    without: Mapping[str, str]
    skipped: Mapping[str, int]

    @property
    def probes(self) -> list[Probe]:
        """The probes that the rubric allows."""
        return [probe for probe in PROBES if probe.name not in self.without]


def make_test(cases: Iterable[Case | BadRow], measured: Measured, size: int, leave_out: Collection[str]) -> ProbeSet:
    """Return the rows of a self-test on `size` cases; `leave_out` names probes, or variants such as nothing:refusal.

    Raises CasesError if no case of the file can be used, UnknownName for a probe that does not exist.
    """
    _check_names(leave_out)
    subjects, read, skipped = _subjects(cases, measured, size)
    if not subjects:
        why = "; ".join(f"{count:,} {reason}" for reason, count in skipped.items())
        raise CasesError(f"no case can be used for a self-test: {why}", "Name a file with the rubric's inputs.")
    without, rubrics = _without(measured, leave_out), {"": measured.rubric}
    if REORDERED not in without:
        if changed := reordered(measured.rubric):
            rubrics[REORDERED] = changed
        else:
            without[REORDERED] = "the prompt does not list its levels one below the other"
    compared = {probe.base for probe in PROBES if probe.name not in without}
    made = [probe for probe in PROBES if probe.name not in without or _is_base(probe, compared, measured)]
    unused: dict[str, Counter[str]] = {probe.name: Counter() for probe in made}
    rows = [Row(row_id("own", "", case.id), "own", "", case.id, own_texts(case)) for case in subjects]
    rows += _rows(made, subjects, leave_out, unused)
    return ProbeSet(measured, rubrics, rows, len(subjects), read, unused, without, skipped)


def row_id(probe: str, variant: str, case: str) -> str:
    """Return the id of a row in the run."""
    return f"{probe}:{variant} {case}" if variant else f"{probe} {case}"


def _check_names(leave_out: Collection[str]) -> None:
    known = {probe.name: probe for probe in PROBES}
    for name in leave_out:
        probe, colon, variant = name.partition(":")
        if probe not in known:
            raise UnknownName("probe", name, [*known])
        if colon and variant not in known[probe].variants:
            raise UnknownName(f"change of {probe}", variant, known[probe].variants)


def _without(measured: Measured, leave_out: Collection[str]) -> dict[str, str]:
    lacking = {probe.name: why for probe in PROBES if (why := probe.lacks(measured))}
    return lacking | {name: "you left it out" for name in leave_out if ":" not in name}


def _is_base(probe: Probe, compared: Collection[str], measured: Measured) -> bool:
    """Whether others are compared with this probe's twins, which are then judged even if its results are left out."""
    return probe.name in compared and not probe.cannot_change(measured)


def _subjects(
    cases: Iterable[Case | BadRow], measured: Measured, size: int
) -> tuple[list[Subject], int, dict[str, int]]:
    """Return the drawn cases, each with its own question; and how many of the file there are, and why others are not.

    Two cases with the same question and reference would have the same twins, and count one judgement twice.
    """
    skipped: Counter[str] = Counter()
    read = 0

    def usable() -> Iterator[Subject]:
        nonlocal read
        for case in cases:
            read += 1
            if isinstance(case, BadRow):
                skipped["that can't be read"] += 1
                continue
            subject = Subject(case.id, 0, measured.rubric.texts_of(case), measured)
            if _is_usable(subject):
                yield subject
            else:
                skipped["without an input that the rubric needs"] += 1

    drawn = nsmallest(size * SPARE, usable(), key=lambda case: rank(case.id, SEED))
    chosen: dict[tuple[str, ...], Subject] = {}
    for case in drawn:
        key = (case.text("question"), case.ideal) if not measured.rubric.pair else tuple(case.texts.values())
        if key in chosen:
            skipped["with a question that is used already"] += 1
        elif len(chosen) < size:
            chosen[key] = case
    return _placed([*chosen.values()]), read, dict(skipped)


def _is_usable(case: Subject) -> bool:
    """Whether the rubric can judge the case, with the ideal answer if it has no answer of its own."""
    rubric = case.of.rubric
    return rubric.can_read(Case(case.id, case.texts if rubric.pair else case.answered(case.own)))


def _placed(cases: Sequence[Subject]) -> list[Subject]:
    """Return the cases, each with its place and the ideal answer of the next one that differs from it."""
    found = []
    for place, case in enumerate(cases):
        others = (*cases[place + 1 :], *cases[:place])
        stranger = next((each.ideal for each in others if _differ(case, each)), "")
        found.append(replace(case, place=place, stranger=stranger))
    return found


def _differ(case: Subject, other: Subject) -> bool:
    asked = {each.text("question").strip().casefold() for each in (case, other)}
    differs = len(asked) == 2 or not any(asked)
    return differs and bool(other.ideal.strip()) and other.ideal.strip() != case.ideal.strip()


def _rows(
    probes: Sequence[Probe], subjects: Sequence[Subject], leave_out: Collection[str], unused: Mapping[str, Counter[str]]
) -> Iterator[Row]:
    """Yield the rows of each probe; those of a reordered rubric have the ids of the rows that they repeat."""
    for probe in probes:
        for case in subjects:
            twins = probe.make(case)
            if isinstance(twins, str):
                unused[probe.name][twins] += 1
                continue
            for variant, texts in twins.items():
                if f"{probe.name}:{variant}" in leave_out:
                    continue
                changed = probe.name == REORDERED
                named = row_id("own", "", case.id) if changed else row_id(probe.name, variant, case.id)
                yield Row(named, probe.name, variant, case.id, texts, probe.name if changed else "")
