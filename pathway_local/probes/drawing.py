"""Draws the cases of a self-test, and makes all rows to judge from them."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import nsmallest

from pathway_local.case import BadRow, Case, rank
from pathway_local.errors import CasesError, UnknownName
from pathway_local.probes.drawing import reordered
from pathway_local.probes.probe_list import PROBES, REORDERED, Probe, own_texts
from pathway_local.probes.subject import Measured, Subject, Texts
from pathway_local.rubrics.rubric import Rubric

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
