"""Judges the rows of a self-test with each judge, into a run of its own kind."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from pathway_local.judging.engine_cache import EngineCache
from pathway_local.judging.job import Watcher, run_job
from pathway_local.judging.loop import Tally
from pathway_local.judging.plan import Plan
from pathway_local.judging.planned_rater import planned_rubrics
from pathway_local.probes.drawing import ProbeSet, Row, make_test
from pathway_local.probes.subject import Measured, roles_of
from pathway_local.rubrics.pair import Orders
from pathway_local.sheets.cases_file import CasesFile
from pathway_local.sheets.in_memory import InMemorySheet
from pathway_local.sheets.row import shown

ID = "changed case"
"""The column of the rows' ids; a blank keeps it apart from any input's name."""

_ALONE_PROBE = "alone"


class _Rows(InMemorySheet):
    """Rows of a self-test as a sheet that has the name of the cases file."""

    def __init__(self, rows: Sequence[Row], inputs: Sequence[str], path: Path) -> None:
        super().__init__([{ID: row.id, **row.texts} for row in rows], [ID, *inputs])
        self.path = path


class _Once(Watcher):
    """Passes everything on to another watcher, but says nothing twice: each judge has several jobs."""

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher
        self._said: set[str] = set()

    def notice(self, message: str) -> None:
        if message not in self._said:
            self._said.add(message)
            self._watcher.notice(message)

    def begin(self, rater: str, total: int | None) -> None:
        self._watcher.begin(rater, total)

    def loading(self, judge: str) -> None:
        if judge not in self._said:
            self._said.add(judge)
            self._watcher.loading(judge)

    def ready(self) -> None:
        self._watcher.ready()

    def watch(self, tally: Tally) -> None:
        self._watcher.watch(tally)

    def stopped(self) -> bool:
        return self._watcher.stopped()


def draw_test(
    plan: Plan, roles: Mapping[str, str], size: int, leave_out: Collection[str], notify: Callable[[str], None]
) -> ProbeSet:
    """Return the rows of a self-test under the plan's rubric, and tell the user how they were made.

    A file without answers of its own will do if the rubric reads ideal ones. Raises PathwayError.
    """
    [rubric] = planned_rubrics(plan, None).values()
    measured = Measured(rubric, roles_of(rubric, roles))
    optional = {name for name, wanted in rubric.inputs.items() if wanted.default is not None}
    if "reference" in measured.roles.inputs and "answer" in measured.roles.inputs:
        optional.add(measured.roles.inputs["answer"])
    needed = {rubric.name: [*rubric.inputs]}
    talks = {name for name, wanted in rubric.inputs.items() if wanted.conversation}
    cases = CasesFile(
        plan.cases, needed, plan.map, plan.id, optional, plan.encoding, "", plan.header_row, plan.sheet, talks
    )
    for note in cases.notes:
        notify(note)
    for name, column in cases.aliases_used.items():
        notify(f"column {shown(column)!r} is read as {name}")
    for line in measured.lines():
        notify(line)
    test = make_test(cases, measured, size, leave_out)
    for reason, count in test.skipped.items():
        notify(f"cases not used: {count:,} {reason}")
    notify(f"{test.cases:,} of {test.read:,} cases drawn; {len(test.rows):,} rows for each judge")
    return test


def run_self_test(
    test: ProbeSet, plan: Plan, watcher: Watcher, command: Sequence[str], loaded: EngineCache | None = None
) -> list[Tally]:
    """Judge all rows with each judge of the plan; return a tally for each part. Raises PathwayError.

    The plan's `cases` is the file that the rows come from. The run keeps what it has, so the same command continues it.
    """
    tallies: list[Tally] = []
    orders: Orders | None = "one" if test.measured.rubric.pair else None
    shared = replace(
        plan, map={}, encoding="", header_row=None, sheet="", id=ID, kind="self-test", without_text=True, orders=orders
    )
    with ExitStack() as stack:
        once = _Once(watcher)
        loaded = loaded or stack.enter_context(EngineCache())
        for judge in plan.judge:
            for part in _parts(test, replace(shared, judge=(judge,))):
                if watcher.stopped():
                    return tallies
                tallies += run_job(part, once, command, loaded)
    return tallies


def _parts(test: ProbeSet, plan: Plan) -> Iterator[Plan]:
    """Yield a plan for the rows of each rubric, and for those that are judged alone."""
    assert isinstance(plan.cases, Path)
    inputs = [*test.measured.rubric.inputs]
    for name, rubric in test.rubrics.items():
        for alone in (False, True):
            # The last rows repeat earlier ones, so their neighbours in a batch are others than before.
            rows = [row for row in test.rows if row.rubric == name and (row.probe == _ALONE_PROBE) == alone]
            if rows:
                yield replace(plan, cases=_Rows(rows, inputs, plan.cases), rubric=(rubric,), alone=alone)
