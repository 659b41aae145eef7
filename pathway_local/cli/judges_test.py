"""`pathway-local judges test`: what judges react to, shown by changed cases; needs no labels."""

from pathlib import Path
from typing import Annotated, Any

import typer

from pathway_local.cli.command_help import CASES, OUTPUT, RATERS, option
from pathway_local.cli.options import AsJson, Force, Full, Lang, Out, of_judge, taking
from pathway_local.judging.plan import options_of, read_plan, values_by_name
from pathway_local.rubrics.rubric_file import load_rubric

OF_JUDGE = ("id", "encoding", "header_row", "sheet", "map", "models", "engine", "detail", "temperature", "think")
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
    from pathway_local.cli.self_test import test_judges

    given |= {"rubric": (load_rubric(rubric),), "judge": judges}
    plan = read_plan(cases, run or Path(f"{cases.stem}.test.run"), given)
    roles = values_by_name(role, "--role", "NAME=ROLE", "essay=answer")
    shared = {"out": out, "lang": lang, "full": full, "as_json": as_json}
    test_judges(plan, roles, n, leave_out, force=force, **shared)
