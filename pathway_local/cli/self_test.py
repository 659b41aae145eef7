"""Does what `judges test` asks for: judges changed cases, shows what came out, and writes it to a file."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pathway_local.cli.analyses import check_out, deliver
from pathway_local.cli.case_files import read_privately
from pathway_local.cli.judge import watched
from pathway_local.cli.progress import JobProgress
from pathway_local.cli.terminal import notice, talk
from pathway_local.engines.engine_list import engine_kind
from pathway_local.errors import UsageError
from pathway_local.judges.judge_spec import think_budget
from pathway_local.judges.registry import load_registry, weights_folder
from pathway_local.judging.plan import Plan
from pathway_local.judging.self_test import draw_test, run_self_test
from pathway_local.output.export import is_judges_own
from pathway_local.probes.drawing import ProbeSet
from pathway_local.results.self_test import self_test, self_test_tables
from pathway_local.runs.run_file import RunFile
from pathway_local.scores.scores import labels_of


def test_judges(
    plan: Plan, roles: Mapping[str, str], size: int, leave_out: Sequence[str], *, force: bool, **shared: Any
) -> None:
    """Test the plan's judges on `size` cases, and write and print the results as an analysis does.

    Raises PathwayError.
    """
    out = shared["out"]
    # The same command must be able to continue, so it may replace what it wrote itself.
    force = force or (out is not None and is_judges_own(plan.run, out))
    check_out(out, force=force)
    assert isinstance(plan.cases, Path)
    names = _judges(plan)
    read_privately(plan.cases, plan.run)

    def judge(plan: Plan, progress: JobProgress) -> ProbeSet:
        test = draw_test(plan, roles, size, leave_out, notice)
        run_self_test(test, plan, progress, sys.argv)
        return test

    test = watched(plan, judge)
    with RunFile.read(plan.run, "self-test") as read:
        found, labels = self_test(read, test, names, plan.cases.name), labels_of(read)
    tables = [each.with_cautions(labels) for each in self_test_tables(found)]
    talk.say(f"run: {plan.run}")
    deliver("self_test", test.measured.rubric.name, tables, labels, plan.run, force=force, **shared)


def _judges(plan: Plan) -> list[str]:
    """Return the judges' names. Raises PathwayError if one can't be tested, before hours of judging by another."""
    registry = load_registry(plan.models)
    judges = [registry.get(judge) for judge in plan.judge]
    names = [judge.name for judge in judges]
    if len(set(names)) < len(names):
        raise UsageError("a judge is named twice", "Name each judge once.")
    engine_kind(plan.engine)
    for judge in judges:
        think_budget(plan.think, judge)
        weights_folder(judge)
    return names
