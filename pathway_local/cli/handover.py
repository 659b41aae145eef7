"""`pathway-local handover`: which cases a judge keeps; rating sheets of the others, and one score for each case."""

import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

from pathway_local.cli.case_files import cases_given, read_privately
from pathway_local.cli.options import READING, App, AsJson, Force, Full, Out, Run, option, options_of
from pathway_local.cli.ratings import Raters, tell_sheets, writer
from pathway_local.cli.results import check_out, deliver
from pathway_local.cli.terminal import notice, talk
from pathway_local.errors import UsageError
from pathway_local.ratings.sampling import SamplePlan
from pathway_local.ratings.sampling import sample as write_sheets
from pathway_local.results.combined import store_combined
from pathway_local.results.handover import ANALYSIS, Decision, decisions, table_of
from pathway_local.runs.run_file import RunFile
from pathway_local.scores.scores import Scores
from pathway_local.system.options import checked
from pathway_local.words import languages

SheetLang = Annotated[str, option("LANGUAGE", f"Language of the --sheet: {', '.join(languages())}.")]

app = App()


def handover(
    run: Run,
    given: dict[str, Any],
    store: Annotated[
        str, option("NAME", "Store one score for each case as a rater of this name: the person's or the judge's.")
    ] = "",
    cases: Annotated[Path | None, option("FILE", "With --sheet: the cases file.")] = None,
    sheet: Annotated[
        Path | None, option("FILE", "Write the cases to hand over as a rating sheet, .xlsx or .html.")
    ] = None,
    rater: Raters = [],  # noqa: B006
    lang: SheetLang = "en",
    out: Out = None,
    full: Full = False,
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    check_out(out, force=force)
    if (cases is None) != (sheet is None):
        raise UsageError("--cases and --sheet go together", "Give the cases file, and a file to rate in.")
    if rater and sheet is None:
        raise UsageError("--rater names who rates the --sheet", "Name a judge with --judge, or give --sheet, too.")
    reading = {name: given.pop(name) for name in READING if name in given}
    # Nobody else writes to the run between the decision and what is stored of it.
    with RunFile.open(run) if store else RunFile.read(run) as opened:
        with opened.database.snapshot():
            data = Scores(opened)
            found = decisions(data, checked(ANALYSIS.options, given))
            tables = [each.with_cautions(data.labels) for each in map(table_of, found)]
        if len(found) > 1 and (store or sheet):
            scores = ", ".join(f"{each.matrix.rubric} {each.matrix.score} by {each.name}" for each in found)
            raise UsageError(f"the command decides about several: {scores}", "Name one --rubric, --score and --judge.")
        plan = _plan(run, found[0], cases, sheet, rater, reading) if cases and sheet else None
        if plan:
            plan.check(force=force)
        with suppress(BrokenPipeError):  # who closes the pipe, as `head` does, still wants the scores stored
            deliver(data, tables, run, out=out, full=full, as_json=as_json, force=force)
        if store:
            store_combined(opened, data, store, found[0], sys.argv)
            talk.say(f"stored: {store}, with {found[0].kept.sum():,} scores of {found[0].name}")
    if plan:
        _hand_out(plan, found[0].options.against, lang, force=force)


handover.__doc__ = ANALYSIS.says
app.with_examples(*ANALYSIS.examples, given=options_of(ANALYSIS.options) | READING)(handover)


def _plan(
    run: Path, decision: Decision, cases: Path, sheet: Path, raters: list[str], reading: Mapping[str, Any]
) -> SamplePlan:
    """Return the sheets of the cases that are handed over and not rated yet."""
    ids = [case for case, wanted in zip(decision.matrix.case_ids, decision.to_rate, strict=True) if wanted]
    given = cases_given(run, cases, decision.matrix.rubric, reading)
    return SamplePlan(given, len(ids), 0, sheet, raters=raters, only=frozenset(ids))


def _hand_out(plan: SamplePlan, against: str, lang: str, *, force: bool) -> None:
    if not plan.only:
        talk.say("no case is left to hand over")
        return
    cases = plan.given.cases
    read_privately(cases, plan.given.run)
    found = write_sheets(plan, sys.argv, writer(plan, lang), force=force)
    if found.drawn < plan.size:
        notice(f"{plan.size - found.drawn} cases to hand over are not in {cases.name}, or can't be judged")
    tell_sheets(plan, f"{found.drawn} cases to rate: those that the judge hands over", against)
