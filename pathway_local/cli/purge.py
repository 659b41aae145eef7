"""`pathway-local runs purge`: removes texts, or everything about cases, from a run."""

import sys
from typing import Annotated

from pathway_local.cli.command_help import option
from pathway_local.cli.options import Run, Yes
from pathway_local.cli.terminal import need_consent, talk
from pathway_local.errors import UsageError
from pathway_local.runs.purge import What, exported
from pathway_local.runs.purge import purge as remove
from pathway_local.runs.run_file import RunFile
from pathway_local.system.output_file import left_parts

STAYS = (
    "names of raters and of files, in its audit trail and with its jobs; the rubrics",
    "the commands in its audit trail, values of --only and --between left out",
)

OUT_OF_REACH = (
    "the cases file, and every copy or backup of it or of the run",
    "rating sheets, batch files and sheets that verdicts were written into",
    "what the disk keeps of blocks that it has freed: only an encrypted disk protects that",
)


def purge(
    run: Run,
    text: Annotated[bool, option("", "Remove what raters wrote; scores stay.", "", "--text")] = False,
    everything: Annotated[
        bool, option("", "Remove ids, metadata, scores and texts of all cases, and jobs' commands.", "", "--all")
    ] = False,
    yes: Yes = False,
) -> None:
    """Remove texts, or everything about cases, from a run for good. The audit trail records that you did."""
    if not (text or everything):
        raise UsageError("you did not say what to remove", "Give --text or --all.")
    what: What = "all" if everything else "text"
    with RunFile.read(run, None) as read:
        files = exported(read)
    if not yes:
        named = "everything about its cases" if what == "all" else "everything that raters wrote"
        question = f"Remove {named} from {run}? This can't be undone."
        need_consent(question, "nothing was removed", "Give --yes; this can't be undone.")
    for name, count in remove(run, what, sys.argv).items():
        talk.say(f"removed: {count} {name}")
    if everything:
        talk.say("the run keeps:")
        for kept in STAYS:
            talk.say(kept, indent=2)
    talk.say("remove these yourself, they are out of reach:")
    for place in OUT_OF_REACH:
        talk.say(place, indent=2)
    if files:
        talk.say(f"exported from this run: {', '.join(files)}", indent=2)
    for part in left_parts(run.absolute().parent):
        talk.say(f"half-written by a command that was killed or is still writing: {part}", indent=2)
