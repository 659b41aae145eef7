"""`pathway-local runs purge`: removes texts, some cases, or everything about cases, from a run."""

import sys
from typing import Annotated

from pathway_local.cli.command_help import option
from pathway_local.cli.options import KeyFile, Run, Yes
from pathway_local.cli.terminal import need_consent, talk
from pathway_local.errors import UsageError
from pathway_local.judging.plan import values_by_name
from pathway_local.runs.purge import TEXT, What, choose_cases, exported, purge_cases
from pathway_local.runs.purge import purge as purge_run
from pathway_local.runs.run_file import RunFile
from pathway_local.sheets.pseudonyms import Pseudonyms
from pathway_local.system.private_file import left_parts

STAYS = (
    "names of raters and of files, in its audit trail and with its jobs; the rubrics",
    "the commands in its audit trail, values of --only, --between, --where and --case left out",
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
    case: Annotated[list[str], option("ID", "Remove all about this case; repeat for more.")] = [],  # noqa: B006
    where: Annotated[
        list[str], option("COLUMN=VALUE", "Remove all about the cases with this value in a kept column.")
    ] = [],  # noqa: B006
    pseudonyms: KeyFile = None,
    yes: Yes = False,
) -> None:
    """Remove texts, some cases, or everything about cases, from a run for good. The audit trail records that you did.

    With --pseudonyms, --case takes the id of your sheet.
    """
    if sum(map(bool, (text, everything, case or where))) != 1:
        raise UsageError("say what to remove", "Give --text or --all, or name cases with --case or --where.")
    values = values_by_name(where, "--where", "COLUMN=VALUE", "student=Ana")
    ids = [Pseudonyms.of_file(pseudonyms).of(each) for each in case] if pseudonyms else case
    with RunFile.read(run, None) as read:
        chosen = choose_cases(read, ids, values) if case or where else None
        files = chosen.files if chosen else exported(read)
    some = f"everything about {_cases_counted(len(chosen.ids))}" if chosen else ""
    named = some or ("everything about its cases" if everything else "everything that raters wrote")
    if not yes:
        question = f"Remove {named} from {run}? This can't be undone."
        need_consent(question, "nothing was removed", "Give --yes; this can't be undone.")
    what: What = "all" if everything else TEXT
    removed = purge_cases(run, ids, values, sys.argv) if chosen else purge_run(run, what, sys.argv)
    told = {SAID.get(name, name): count for name, count in removed.items() if count}
    talk.say(f"removed: {', '.join(f'{count} {name}' for name, count in told.items()) or 'nothing'}")
    if everything:
        talk.say("the run keeps:")
        for kept in STAYS:
            talk.say(kept, indent=2)
    talk.say("remove these yourself, they are out of reach:")
    for place in OUT_OF_REACH:
        talk.say(place, indent=2)
    if files:
        may = "may hold them" if chosen else "exported from this run"
        talk.say(f"{may}: {', '.join(files)}", indent=2)
    for part in left_parts(run.absolute().parent):
        talk.say(f"half-written by a command that was killed or is still writing: {part}", indent=2)


SAID = {"handouts": "places on sheets and pages for raters", "outcomes": "verdicts, ratings and failures"}
"""How a person knows what a run calls so."""


def _cases_counted(cases: int) -> str:
    return "one case" if cases == 1 else f"{cases:,} cases"
