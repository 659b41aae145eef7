"""`pathway-local runs`: takes ratings out of a run again."""

import sys
from typing import Annotated

import typer

from pathway_local.cli.command_help import App, option
from pathway_local.cli.options import Run
from pathway_local.cli.terminal import need_consent, notice, talk
from pathway_local.runs.removal import Removed, ratings_of, undo_import
from pathway_local.runs.removal import remove_rater as remove
from pathway_local.runs.run_file import RunFile

EXAMPLES = ("pathway-local runs undo my.run", "pathway-local runs remove-rater my.run Anna --yes")

app = App("Take ratings out of a run again. The audit trail records it.", *EXAMPLES)


@app.with_examples("pathway-local runs undo my.run", "pathway-local runs undo other.run")
def undo(run: Run) -> None:
    """Take back the last import: its ratings go for good, and what they replaced comes back.

    Give the command again to take back the import before that one.
    """
    removed = undo_import(run, sys.argv)
    talk.say(f"undone: the import of {removed.file}, begun {removed.at[:19].replace('T', ' ')} UTC")
    _tell(removed)


@app.with_examples(
    "pathway-local runs remove-rater my.run Anna", "pathway-local runs remove-rater my.run committee --yes"
)
def remove_rater(
    run: Run,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The rater, or the name of a group of raters.")],
    yes: Annotated[bool, option("", "Do not ask first.", "", "--yes")] = False,
) -> None:
    """Remove a rater with all ratings and texts for good, under every rubric: a person, a judge or a panel."""
    with RunFile.read(run) as read:
        found = ratings_of(read, name)
    if not yes:
        question = f"Remove {_counted(found)} from {run}? This can't be undone."
        need_consent(question, "nothing was removed", "Give --yes; this can't be undone.")
    _tell(remove(run, name, sys.argv))


def _tell(removed: Removed) -> None:
    talk.say(f"removed: {_counted(removed)}")
    if removed.restored:
        talk.say(f"restored: {removed.restored:,} earlier ratings that the import had replaced")
    for panel in removed.panels:
        notice(f"the panel {panel} was made with these ratings: make it again, or remove it")


def _counted(removed: Removed) -> str:
    return ", ".join(
        f"{count:,} rating{'' if count == 1 else 's'} of {rater}" for rater, count in removed.ratings.items()
    )
