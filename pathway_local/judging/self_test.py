"""Judges drawn cases and their changed twins as any other cases, into a run of its own kind."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pathway_local.judging.engine_cache import EngineCache
from pathway_local.judging.job import Watcher, run_job
from pathway_local.judging.loop import Tally
from pathway_local.judging.plan import Plan
from pathway_local.judging.preparation import tell_reading
from pathway_local.probes.drawing import COLUMNS, ID, SelfTest, draw, rows
from pathway_local.sheets.cases_file import CasesFile
from pathway_local.sheets.in_memory import InMemorySheet
from pathway_local.sheets.kinds import open_sheet


def run_self_test(
    plan: Plan, tested: SelfTest, size: int, watcher: Watcher, command: Sequence[str], loaded: EngineCache | None = None
) -> list[Tally]:
    """Judge `size` cases of the plan's file and their twins with its judges; return a tally for each.

    Raises PathwayError. The run keeps what it has, so the same command continues it. A file without answers of its own
    will do if the rubric reads ideal ones.
    """
    assert isinstance(plan.cases, Path)
    inputs = tested.rubric.inputs
    optional = {name for name, wanted in inputs.items() if wanted.default is not None}
    optional |= {tested.roles["answer"]} if "reference" in tested.roles else set()
    needed = {tested.rubric.name: [*inputs]}
    talks = {name for name, wanted in inputs.items() if wanted.conversation}
    whole = open_sheet(plan.cases, plan.encoding, plan.header_row, plan.sheet)
    cases = CasesFile(whole, needed, plan.map, plan.id, optional, talks)
    tell_reading(cases, watcher.notice)
    watcher.notice(", ".join(f"{name} is the {role}" for role, name in tested.roles.items()))
    subjects = draw(cases, tested, size)
    twins = list(rows(subjects, tested.probes))
    sheet = InMemorySheet(twins, [ID, *inputs, *COLUMNS])
    sheet.path = plan.cases
    watcher.notice(f"{len(subjects):,} cases drawn; {len(twins):,} rows for each judge")
    own = replace(plan, cases=sheet, rubric=(tested.rubric,), map={}, id=ID, keep=COLUMNS, without_text=True)
    return run_job(replace(own, encoding="", header_row=None, sheet="", kind="self-test"), watcher, command, loaded)
