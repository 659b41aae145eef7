"""Draws cases for a self-test and yields the rows to judge: each case, and its changed twins."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import nsmallest

from pathway_local.case import BadRow, Case, rank
from pathway_local.errors import CasesError, UnknownName, UsageError
from pathway_local.probes.probe_list import PROBES, Probe, Role, Subject, roles_of
from pathway_local.rubrics.rubric import Rubric

BASES = {"gold": "ideal", "stranger": "other"}
"""The only change of each probe with whose twins others are compared."""

SEED = 0
"""Draws the cases: a test of more cases contains the smaller one."""

SPARE = 4
"""Cases drawn for each case wanted, since several may have the same question."""

COLUMNS = ("probe", "change", "twin_of")
"""The columns of a row beside its id and inputs; they are empty for a case itself."""

ID = "changed case"
"""The column of the ids; a blank keeps it apart from any input's name."""


@dataclass(frozen=True, slots=True)
class SelfTest:
    """A self-test: a rubric, the input in each role, a score, and the probes."""

    rubric: Rubric
    roles: Mapping[Role, str]
    score: str
    probes: Sequence[Probe]


def self_test(rubric: Rubric, asked: str = "") -> SelfTest:
    """Return the test of a rubric's score: the one asked for, or the only one whose levels have an order.

    Raises UsageError if there is no such score, or if no input is the answer by its name.
    """
    ordered = [name for name, field in rubric.format.given.items() if field.scale == "ordinal"]
    if rubric.pair or not ordered:
        raise UsageError(f"{rubric.name} has no score with levels from worse to better", "A self-test needs one.")
    if asked and asked not in ordered:
        raise UnknownName("score", asked, ordered)
    if not asked and len(ordered) > 1:
        raise UsageError(f"{rubric.name} has several scores: {', '.join(ordered)}", "Name one: --score NAME.")
    roles = roles_of(rubric)
    if "answer" not in roles:
        hint = "In the rubric's file, name the judged one answer, and others question, reference or context."
        raise UsageError(f"the names of {rubric.name}'s inputs do not tell which of them is judged", hint)
    probes = [each for each in PROBES.values() if {*each.needs} <= roles.keys()]
    return SelfTest(rubric, roles, asked or ordered[0], probes)


def draw(cases: Iterable[Case | BadRow], tested: SelfTest, size: int) -> list[Subject]:
    """Return `size` drawn cases, each with its own question and another one's ideal answer. Raises CasesError."""
    read = (
        Subject(case.id, tested.rubric.texts_of(case), tested.rubric, tested.roles, tested.score)
        for case in cases
        if isinstance(case, Case)
    )
    usable = (each for each in read if tested.rubric.can_read(Case(each.id, each.answered(each.own))))
    drawn = nsmallest(size * SPARE, usable, key=lambda case: rank(case.id, SEED))
    # Two cases with the same question and reference would have the same twins, and count one judgement twice.
    by_question = {(case.text("question"), case.ideal): case for case in reversed(drawn)}
    chosen = [*by_question.values()][::-1][:size]
    if not chosen:
        raise CasesError("no case has what the rubric needs", "Name a file with the rubric's inputs.")
    return [replace(case, stranger=_stranger(at, chosen)) for at, case in enumerate(chosen)]


def rows(subjects: Sequence[Subject], probes: Sequence[Probe]) -> Iterator[dict[str, str]]:
    """Yield each case as a row, and its changed twins behind it."""
    for case in subjects:
        yield {ID: case.id, **case.answered(case.own), "probe": "", "change": "", "twin_of": ""}
    for probe in probes:
        for case in subjects:
            compared = _row_id(case.id, probe.base, BASES[probe.base]) if probe.base in BASES else case.id
            for change, answer in probe.make(case).items():
                texts = case.answered(answer, backed="gold" in (probe.name, probe.base))
                told = {"probe": probe.name, "change": change, "twin_of": compared}
                yield {ID: _row_id(case.id, probe.name, change), **texts, **told}


def _row_id(case: str, probe: str, change: str) -> str:
    return f"{case} {probe}: {change}"


def _stranger(place: int, cases: Sequence[Subject]) -> str:
    """Return the next case's ideal answer that differs and answers another question; empty if no case has one."""
    case = cases[place]
    for other in (cases[(place + step) % len(cases)] for step in range(1, len(cases))):
        asked = {each.text("question").strip().casefold() for each in (case, other)}
        if (len(asked) == 2 or not any(asked)) and other.ideal.strip() not in ("", case.ideal.strip()):
            return other.ideal
    return ""
