"""`pathway-local judges test`: what judges react to, shown by changed cases; needs no labels."""

from pathlib import Path
from typing import Annotated

import typer

from pathway_local.cli.command_help import CASES, OUTPUT, RATERS, option
from pathway_local.cli.judge_options import Engine, HowMuch, Temperature, Think
from pathway_local.cli.options import AsJson, Encoding, Force, Full, HeaderRow, IdColumn, Lang, Map, Models, Out
from pathway_local.judging.option import columns_by_input, values_by_name
from pathway_local.prompty.rubric_file import load_rubric


def test(
    judges: Annotated[list[str], typer.Argument(metavar="JUDGE", help="Judges' names or folders.")],
    rubric: Annotated[str, option("RUBRIC", "The rubric's name or file.", RATERS, "--rubric", "-r")],
    cases: Annotated[Path, option("FILE", "The cases file; labels are not needed.", CASES)],
    n: Annotated[int, option("N", "Cases to draw at random.", CASES, "--n", min=2, max=10_000)] = 100,
    id_column: IdColumn = None,
    encoding: Encoding = "",
    header_row: HeaderRow = None,
    mapping: Map = [],  # noqa: B006
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
    engine: Engine = "auto",
    detail: HowMuch = "full",
    temperature: Temperature = None,
    think: Think = "0",
    models: Models = None,
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
    from pathway_local.judging.plan import Plan

    plan = Plan(
        cases, run or Path(f"{cases.stem}.test.run"), rubric=(load_rubric(rubric),), judge=judges, models=models,
        id=id_column, encoding=encoding, header_row=header_row, map=columns_by_input(mapping), detail=detail,
        temperature=temperature, think=think, engine=engine,
    )  # fmt: skip
    roles = values_by_name(role, "--role", "NAME=ROLE", "essay=answer")
    shared = {"out": out, "lang": lang, "full": full, "as_json": as_json}
    test_judges(plan, roles, n, leave_out, force=force, **shared)
