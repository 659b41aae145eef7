"""`pathway-local judges test`: what judges react to, shown by changed cases; needs no labels."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from pathway_local.cli.options import AsJson, Force, Full, Out, option
from pathway_local.cli.terminal import talk
from pathway_local.engines.engine_list import engine_kind
from pathway_local.errors import UsageError
from pathway_local.judges.judge_spec import think_budget
from pathway_local.judges.registry import load_registry, weights_folder
from pathway_local.judging.plan import Plan, read_plan
from pathway_local.probes.drawing import self_test
from pathway_local.rubrics.rubric_file import load_rubric
from pathway_local.runs.run_file import RunFile


def test(
    judges: Annotated[list[str], typer.Argument(metavar="JUDGE", help="Judges' names or folders.")],
    rubric: Annotated[str, option("RUBRIC", "The rubric's name or file.", "--rubric", "-r")],
    cases: Annotated[Path, option("FILE", "The cases file; labels are not needed.")],
    given: dict[str, Any],
    n: Annotated[int, option("N", "Cases to draw at random.", "--n", min=2, max=10_000)] = 100,
    score: Annotated[str, option("NAME", "The score to test; needed if the rubric has several.")] = "",
    run: Annotated[Path | None, option("RUN", "The test's run file; an existing one is continued.")] = None,
    out: Out = None,
    full: Full = False,
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Show whether judges react to what they should, and to nothing else. No labels are needed.

    Each probe changes cases by program and compares the scores before and after.
    """
    # Imported here: the other commands of this group need none of it.
    from pathway_local.cli.analyses import check_out, deliver
    from pathway_local.cli.case_files import read_privately
    from pathway_local.cli.judge import watched
    from pathway_local.judging.job import run_self_test
    from pathway_local.results.self_test import self_test_table
    from pathway_local.scores.scores import Scores

    given |= {"rubric": (load_rubric(rubric),), "judge": judges}
    plan = read_plan(cases, run or Path(f"{cases.stem}.test.run"), given)
    tested = self_test(plan.rubric[0], score)
    check_out(out, force=force)
    names = _judges(plan)
    read_privately(cases, plan.run)
    watched(plan, lambda plan, progress: run_self_test(plan, tested, n, progress, sys.argv))
    with RunFile.read(plan.run, "self-test") as read:
        data = Scores(read)
        tables = [self_test_table(data, tested, names, cases.name).with_cautions(data.labels)]
    talk.say(f"run: {plan.run}")
    deliver(data, tables, plan.run, out=out, full=full, as_json=as_json, force=force)


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
