"""`pathway-local judges test`: what judges react to, shown by changed cases; needs no labels."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from pathway_local.cli.analyses import check_out, deliver
from pathway_local.cli.case_files import read_privately
from pathway_local.cli.command_help import CASES, OUTPUT, RATERS, option
from pathway_local.cli.judge import watched
from pathway_local.cli.options import AsJson, Force, Full, Lang, Out, of_judge, taking
from pathway_local.cli.progress import JobProgress
from pathway_local.cli.terminal import notice, talk
from pathway_local.engines.engine_list import engine_kind
from pathway_local.errors import UsageError
from pathway_local.judges.judge_spec import think_budget
from pathway_local.judges.registry import load_registry, weights_folder
from pathway_local.judging.plan import Plan, options_of, read_plan, values_by_name
from pathway_local.judging.self_test import draw_test, run_self_test
from pathway_local.output.export import is_judges_own
from pathway_local.probes.drawing import ProbeSet
from pathway_local.prompty.rubric_file import load_rubric
from pathway_local.results.self_test import self_test, self_test_tables
from pathway_local.results.table import labels_of
from pathway_local.runs.run_file import RunFile


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


OF_JUDGE = ("id", "encoding", "header_row", "map", "models", "engine", "detail", "temperature", "think")
"""Options that `judge` has as well."""


@taking(of_judge({name: each for name, each in options_of().items() if name in OF_JUDGE}))
def test(
    judges: Annotated[list[str], typer.Argument(metavar="JUDGE", help="Judges' names or folders.")],
    rubric: Annotated[str, option("RUBRIC", "The rubric's name or file.", RATERS, "--rubric", "-r")],
    cases: Annotated[Path, option("FILE", "The cases file; labels are not needed.", CASES)],
    given: dict[str, Any],
    n: Annotated[int, option("N", "Cases to draw at random.", CASES, "--n", min=2, max=10_000)] = 100,
    role: Annotated[
        list[str],
        option(
            "NAME=ROLE",
            "Role of an input (question, answer, reference, context) or score (overall, completeness, correctness, "
            "other), or none; repeat for more.",
            RATERS,
        ),
    ] = [],  # noqa: B006
    leave_out: Annotated[
        list[str],
        option("PROBE", "A probe to leave out, or one of its changes, such as nothing:refusal.", RATERS, "--leave-out"),
    ] = [],  # noqa: B006
    run: Annotated[Path | None, option("RUN", "The test's run file; an existing one is continued.", OUTPUT)] = None,
    out: Out = None,
    lang: Lang = "en",
    full: Full = False,
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Show whether judges react to what they should, and to nothing else. No labels are needed.

    Each probe changes cases by program and compares the scores before and after.
    """
    # Imported here: the other commands of this group need none of it.

    given |= {"rubric": (load_rubric(rubric),), "judge": judges}
    plan = read_plan(cases, run or Path(f"{cases.stem}.test.run"), given)
    roles = values_by_name(role, "--role", "NAME=ROLE", "essay=answer")
    shared = {"out": out, "lang": lang, "full": full, "as_json": as_json}
    test_judges(plan, roles, n, leave_out, force=force, **shared)
