"""`pathway-local runs`: what is done with a run as a whole, besides judging, importing and showing results."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from pathway_local.cli.audit import audit
from pathway_local.cli.cases_sheet import sheet_of
from pathway_local.cli.command_help import CASES, OUTPUT, App, option
from pathway_local.cli.options import CasesOption, Encoding, IdColumn, KeyFile, Map, Run, Yes
from pathway_local.cli.panel import panel
from pathway_local.cli.private_reading import read_privately
from pathway_local.cli.purge import purge
from pathway_local.cli.terminal import need_consent, notice, talk, tell
from pathway_local.judging.option import columns_by_input
from pathway_local.ratings.kept_columns import keep_columns
from pathway_local.runs.merge import MergePlan, merge_runs
from pathway_local.runs.removal import Removed, ratings_of, undo_import
from pathway_local.runs.removal import remove_rater as remove
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.run_rubrics import rubrics_of

EXAMPLES = ("pathway-local runs undo my.run", "pathway-local runs remove-rater my.run Anna --yes")

app = App("Check, combine, purge and merge runs, or take ratings out again. The audit trail records it.", *EXAMPLES)

app.with_examples("pathway-local runs audit my.run", "pathway-local runs audit my.run --json")(audit)
app.with_examples(
    "pathway-local runs panel my.run --name both --of demo,author",
    "pathway-local runs panel my.run --name middle --of demo,author --rule median",
)(panel)
app.with_examples("pathway-local runs purge my.run --text", "pathway-local runs purge my.run --all --yes")(purge)


@app.with_examples("pathway-local runs undo my.run", "pathway-local runs undo other.run")
def undo(run: Run) -> None:
    """Take back the last import: its ratings go for good, and what they replaced comes back.

    Give the command again to take back the import before that one.
    """
    removed = undo_import(run, sys.argv)
    talk.say(f"undone: the import of {removed.file}, begun {removed.at[:19].replace('T', ' ')} UTC")
    _tell(run, removed)


@app.with_examples(
    "pathway-local runs remove-rater my.run Anna", "pathway-local runs remove-rater my.run committee --yes"
)
def remove_rater(
    run: Run,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The rater, or the name of a group of raters.")],
    yes: Yes = False,
) -> None:
    """Remove a rater with all ratings and texts for good, under every rubric: a person, a judge or a panel."""
    with RunFile.read(run) as read:
        found = ratings_of(read, name)
    if not yes:
        question = f"Remove {_counted(found)} from {run}? This can't be undone."
        need_consent(question, "nothing was removed", "Give --yes; this can't be undone.")
    _tell(run, remove(run, name, sys.argv))


@app.with_examples(
    "pathway-local runs keep my.run --column chatbot \\",
    "    --cases examples/pathway-answer.csv",
    "pathway-local runs keep my.run --cases cases.csv --column bot --column year",
)
def keep(
    run: Run,
    cases: CasesOption,
    column: Annotated[list[str], option("COLUMN", "Column to keep in the run; repeat for more.", CASES)],
    id_column: IdColumn = None,
    encoding: Encoding = "",
    mapping: Map = [],  # noqa: B006
    pseudonyms: KeyFile = None,
) -> None:
    """Keep columns of the cases file in the run, to group and compare by, also where no local judge has judged.

    Only cases with the texts that were judged or rated get them.
    """
    read_privately(cases, run)
    with RunFile.open(run) as opened:
        given = columns_by_input(mapping)
        sheet = sheet_of(opened, cases, rubrics_of(opened).values(), id_column, pseudonyms, encoding, given)
        kept = keep_columns(opened, sheet, column, sys.argv)
    talk.say(f"kept: {', '.join(kept.columns)} of {kept.cases:,} cases")
    if kept.missing:
        some = "one case of the run is" if kept.missing == 1 else f"{kept.missing:,} cases of the run are"
        notice(f"{some} not in {cases.name} with the texts that were judged")


@app.with_examples(
    "pathway-local runs merge part-*.run --cases cases.csv --out all.run",
    "pathway-local runs merge a.run b.run --cases cases.csv \\",
    "    --out all.run --prefer b.run",
)
def merge(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN", help="The runs, such as those of all shards.")],
    out: Annotated[Path, option("FILE", "The merged run, a new file.", OUTPUT)],
    cases: Annotated[
        Path | None, option("FILE", "The cases file that was judged; not needed for copies of one run.", CASES)
    ] = None,
    prefer: Annotated[
        Path | None,
        option("RUN", "Where runs hold different verdicts on the same texts, take those of this run.", OUTPUT),
    ] = None,
    pseudonyms: KeyFile = None,
) -> None:
    """Join runs of the same rubrics and raters into a new one, with all their ratings, jobs and audit trails.

    A case that was judged twice counts once if both verdicts are equal; different ones are refused without --prefer.
    """
    read_privately(*([cases] if cases else []), *runs)
    merged = merge_runs(MergePlan(runs, out, cases, pseudonyms, prefer), sys.argv, notice)
    talk.say(f"merged: {len(runs)} runs, {merged.cases:,} cases, {merged.outcomes:,} outcomes; run: {out}")
    tell(f"audit hash {merged.head} (store it elsewhere to detect tampering later)")


def _tell(run: Path, removed: Removed) -> None:
    talk.say(f"removed: {_counted(removed)}")
    if removed.restored:
        talk.say(f"restored: {removed.restored:,} earlier ratings that the import had replaced")
    with RunFile.read(run) as read:
        left = {rater.name for _, rater in read.raters()}
    for each in removed.panels:
        told = f"the panel {each.name} was made of these ratings and went with them"
        if left.issuperset(each.members):
            told += f"; make it again: {each.made_again(run)}"
        notice(told)


def _counted(removed: Removed) -> str:
    counts = [f"{count:,} rating{'' if count == 1 else 's'} of {rater}" for rater, count in removed.ratings.items()]
    return ", ".join([*counts, *(f"the panel {each.name}" for each in removed.panels)])
