"""`pathway-local handover`: which cases a judge keeps; rating sheets of the others, and one score for each case."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any

from pathway_local.cli.analyses import Found, app_of
from pathway_local.cli.case_files import cases_given, read_privately
from pathway_local.cli.command_help import option
from pathway_local.cli.options import READING
from pathway_local.cli.sample import tell_sheets, writer
from pathway_local.cli.terminal import notice, talk
from pathway_local.errors import UsageError
from pathway_local.judging.plan import flag
from pathway_local.ratings.sampling import SamplePlan
from pathway_local.ratings.sampling import sample as write_sheets
from pathway_local.results.analysis import checked, naming
from pathway_local.results.combined import store_combined
from pathway_local.results.handover import ANALYSIS, Decision, decisions, table_of
from pathway_local.runs.run_file import RunFile
from pathway_local.scores.scores import Scores
from pathway_local.words import languages
from pathway_local.words.language import ENGLISH

Store = Annotated[
    str, option("NAME", "Store one score for each case as a rater of this name: the person's or the judge's.")
]
Cases = Annotated[Path | None, option("FILE", "With --sheet: the cases file.")]
Sheet = Annotated[Path | None, option("FILE", "Write the cases to hand over as a rating sheet, .xlsx or .html.")]
SheetLang = Annotated[str, option("LANGUAGE", f"Language of the --sheet: {', '.join(languages())}.")]
Rater = Annotated[list[str], option("NAME", "Evaluator; repeat it, and each gets a file.")]


@contextmanager
def _find(run: Path, given: Mapping[str, Any], own: Mapping[str, Any]) -> Iterator[Found]:
    """Decide; once the answer is shown, store the combined scores and write rating sheets, if asked.

    All options are checked before anything is shown. Nobody else writes to the run in between. Raises PathwayError.
    """
    if (own["cases"] is None) != (own["sheet"] is None):
        raise UsageError("--cases and --sheet go together", "Give the cases file, and a file to rate in.")
    if own["rater"] and own["sheet"] is None:
        raise UsageError("--rater names who rates the --sheet", "Name a judge with --judge, or give --sheet, too.")
    name, sheet = own["store"], own["sheet"]
    with RunFile.open(run) if name else RunFile.read(run) as opened:
        with opened.database.snapshot():
            data = Scores(opened)
            with naming(flag):
                found = decisions(data, checked(ANALYSIS.options, given))
                tables = [each.with_cautions(data.labels) for each in map(table_of, found)]
        decision = found[0]
        if len(found) > 1 and (name or sheet):
            scores = ", ".join(f"{each.matrix.rubric} {each.matrix.score} by {each.name}" for each in found)
            raise UsageError(f"the command decides about several: {scores}", "Name one --rubric, --score and --judge.")
        if sheet:
            _plan(run, decision, own).check(force=own["force"])
        with suppress(BrokenPipeError):  # who closes the pipe, as `head` does, still wants the scores stored
            yield data, tables
        if name:
            store_combined(opened, data, name, decision, sys.argv)
            talk.say(f"stored: {name}, with {decision.kept.sum():,} scores of {decision.name}")
    if sheet:
        _hand_out(run, decision, own)


def _plan(run: Path, decision: Decision, own: Mapping[str, Any]) -> SamplePlan:
    """The sheets of the cases that are handed over and not rated yet."""
    ids = [case for case, wanted in zip(decision.matrix.case_ids, decision.to_rate, strict=True) if wanted]
    cases = cases_given(run, own["cases"], decision.matrix.rubric, {name: own[name] for name in READING})
    return SamplePlan(cases, len(ids), 0, own["sheet"], raters=own["rater"], only=frozenset(ids))


def _hand_out(run: Path, decision: Decision, own: Mapping[str, Any]) -> None:
    """Write the cases that are handed over and not rated yet."""
    plan, place = _plan(run, decision, own), own["cases"]
    if not plan.only:
        talk.say("no case is left to hand over")
        return
    read_privately(place, run)
    found = write_sheets(plan, sys.argv, writer(plan, own["lang"]), force=own["force"])
    if found.drawn < plan.size:
        notice(f"{plan.size - found.drawn} cases to hand over are not in {place.name}, or can't be judged")
    tell_sheets(plan, f"{found.drawn} cases to rate: those that the judge hands over", decision.options.against)


app = app_of(
    "handover",
    {
        "store": (Store, ""),
        "cases": (Cases, None),
        "sheet": (Sheet, None),
        "rater": (Rater, []),
        "lang": (SheetLang, ENGLISH),
        **READING,
    },
    _find,
)
