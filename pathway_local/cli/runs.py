"""`pathway-local runs`: what is done with a run as a whole, from its audit trail to purging it."""

import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from msgspec.structs import asdict

from pathway_local.cli.case_files import read_privately, sheet_of
from pathway_local.cli.options import MATCHING, App, AsJson, CasesOption, KeyFile, Run, Yes, option
from pathway_local.cli.terminal import data, need_consent, notice, print_json, talk
from pathway_local.errors import TrailChanged, UsageError
from pathway_local.judging.plan import values_by_name
from pathway_local.ratings.cases_given import keep_columns
from pathway_local.runs.audit import HASHES, KEYED, SHORT, AuditTrail, TrailEntry, check_content
from pathway_local.runs.parts import MOST, merge_parts, split_run
from pathway_local.runs.purge import TEXT, What, choose_cases, exported, ratings_of
from pathway_local.runs.purge import purge as purge_run
from pathway_local.runs.purge import remove_rater as remove
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.run_rubrics import rubrics_with
from pathway_local.sheets.pseudonyms import Pseudonyms
from pathway_local.system.private_file import left_parts

LONGEST = 76
"""Characters of an entry's facts that are shown."""

STAYS = """the run keeps:
  names of raters and of files, in its audit trail and with its jobs; the rubrics
  the commands in its audit trail, values of --between, --where and --case left out"""

OUT_OF_REACH = """remove these yourself, they are out of reach:
  the cases file, and every copy or backup of it or of the run
  rating sheets, batch files and sheets that verdicts were written into
  what a hosted service received: tell it of the removal
  what the disk keeps of blocks that it has freed: only an encrypted disk protects that"""

SAID = {"handouts": "places on sheets and pages for raters", "outcomes": "verdicts, ratings and failures"}
"""How a person knows what a run calls so."""


def purge(
    run: Run,
    text: Annotated[bool, option("", "Remove what raters wrote; scores stay.", "--text")] = False,
    everything: Annotated[
        bool, option("", "Remove ids, metadata, scores and texts of all cases, and jobs' commands.", "--all")
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
        chosen = choose_cases(read, ids, values) if case or where else []
        files, taught = exported(read), rubrics_with(read, chosen or None)
    counted = "one case" if len(chosen) == 1 else f"{len(chosen):,} cases" if chosen else "its cases"
    _need_yes("everything that raters wrote" if text else f"everything about {counted}", run, yes=yes)
    what: What = "all" if everything else TEXT
    removed = purge_run(run, chosen or what, sys.argv, notice)
    told = [f"{count} {SAID.get(name, name)}" for name, count in removed.items() if count]
    talk.say(f"removed: {', '.join(told) or 'nothing'}", prose=True)
    for line in f"{STAYS if everything else ''}\n{OUT_OF_REACH}".strip().splitlines():
        talk.say(line, prose=True)
    left: dict[str, Sequence[object]] = {
        "the files of these rubrics still hold texts of such cases, as examples": taught,
        "written from this run": files,
        "half-written by a command that was killed or is still writing": left_parts(run.absolute().parent),
    }
    for says, named in left.items():
        if named:
            talk.say(f"{says}: {', '.join(map(str, named))}", indent=2)


def _need_yes(what: str, run: Path, *, yes: bool) -> None:
    if not yes:
        question = f"Remove {what} from {run}? This can't be undone."
        need_consent(question, "nothing was removed", "Give --yes; this can't be undone.")


def audit(
    run: Run,
    head: Annotated[str | None, option("HASH", "A hash that you stored: check that the trail still has it.")] = None,
    file: Annotated[Path | None, option("FILE", "Say which entries record this file as it is now.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show who did what with a run; check the audit trail, and the run's outcomes against it.

    Exit code 4 if an entry was changed, removed from the middle or inserted, if the run's content differs from what the
    trail says, or if no entry records --file. Only --head finds out that the last entries were removed, or that
    somebody wrote the whole trail anew. Whoever may write the run can forge entries after that hash: look at them.
    """
    with RunFile.read(run, None) as read, read.database.snapshot():
        trail = AuditTrail(read.database)
        entries = trail.entries()
        if as_json:
            print_json({"head": trail.head(), "entries": [asdict(entry) for entry in entries]})
        for entry in [] if as_json else entries:
            who, at = entry.who, entry.at[:19].replace("T", " ")
            name = f"{who.get('user') or who.get('uid')}@{who.get('host')}"
            data.say(f"{entry.number}. {entry.event}, {at} UTC, {name}, {entry.hash[:SHORT]}")
            data.say(what_of(entry), indent=4)
        since = trail.check(head)
        if head:
            talk.say(f"the trail is intact and holds {head[:SHORT]}…; entries after it: {since}")
        if file:
            _tell_entries(trail, file, read.key)
        talk.say(f"{len(entries)} {'entry' if len(entries) == 1 else 'entries'}, each as it was recorded")
        talk.say(f"audit hash {trail.head()} (keep it elsewhere: --head HASH then shows whether these entries changed)")
        check_content(read.database)
        talk.say("the outcomes match the trail")


def _tell_entries(trail: AuditTrail, file: Path, key: bytes) -> None:
    try:
        found = trail.entries_about(file, key)
    except OSError as error:
        raise UsageError(f"{file} can't be read: {error.strerror}", "Check its name and permissions.") from None
    if not found:
        hint = "It is another file, or was changed since, or a purge has replaced the run's key."
        raise TrailChanged(f"no entry records {file.name} as it is now", hint)
    talk.say(f"{file.name} as it is now: recorded in {', '.join(f'entry {number}' for number in found)}")


def what_of(entry: TrailEntry) -> str:
    """Return the most important facts in a few words; --json prints all."""
    facts, command = entry.facts, entry.facts.get("command")
    if isinstance(command, list) and "removed" not in facts:
        said = shlex.join(map(str, command[1:]))
    else:
        told = {name: value for name, value in facts.items() if name not in (*HASHES, "job", KEYED, "command")}
        said = json.dumps(facts.get("removed", told), ensure_ascii=False).strip("{}")
    return said if len(said) <= LONGEST else f"{said[: LONGEST - 1]}…"


app = App(
    "Check, split, merge and purge runs, or take ratings out again. The audit trail records it.",
    "pathway-local runs audit my.run",
)
app.with_examples("pathway-local runs audit my.run", "pathway-local runs audit my.run --json")(audit)
app.with_examples("pathway-local runs purge my.run --text", "pathway-local runs purge my.run --all")(purge)


@app.with_examples("pathway-local runs remove-rater my.run Anna")
def remove_rater(
    run: Run,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The rater, or the name of a group of raters.")],
    yes: Yes = False,
) -> None:
    """Remove a rater with all ratings and texts for good, under every rubric: a person, a judge or combined scores."""
    with RunFile.read(run) as read:
        found = ratings_of(read, name)
    _need_yes(_counted(found), run, yes=yes)
    talk.say(f"removed: {_counted(remove(run, name, sys.argv, notice))}")


@app.with_examples(
    "pathway-local runs keep my.run --column meant_score \\",
    "    --cases examples/pathway-answer.csv",
    given=MATCHING,
)
def keep(
    run: Run,
    cases: CasesOption,
    column: Annotated[list[str], option("COLUMN", "Column to keep in the run; repeat for more.")],
    given: dict[str, Any],
) -> None:
    """Keep columns of the cases file in the run, to group and compare by, also where no local judge has judged.

    Only cases with the texts that were judged or rated get them.
    """
    read_privately(cases, run)
    with RunFile.open(run) as opened:
        sheet = sheet_of(opened, cases, opened.rubrics().values(), given)
        columns, count, missing = keep_columns(opened, sheet, column, sys.argv)
    talk.say(f"kept: {', '.join(columns)} of {count:,} cases")
    if missing:
        some = "one case of the run is" if missing == 1 else f"{missing:,} cases of the run are"
        notice(f"{some} not in {cases.name} with the texts that were judged")


@app.with_examples("pathway-local runs split all.run --parts 16")
def split(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The run file; it is made if it does not exist.")],
    parts: Annotated[int, option("N", "The number of parts.", min=2, max=MOST)],
) -> None:
    """Split a run into parts: run files beside it, one for each machine, which judge a share of the cases each.

    `judge` with a part judges that share alone, and nothing that the run has judged before the split. `runs merge` adds
    the parts to the run.
    """
    files = split_run(run, parts, sys.argv)
    talk.say(f"split: {run} into {files[0].name} … {files[-1].name}; judge them, then `runs merge` them into {run}")


@app.with_examples("pathway-local runs merge all.run all.*-of-16.run")
def merge(
    run: Run,
    parts: Annotated[list[Path], typer.Argument(metavar="PART", help="Parts of the run, as `runs split` made them.")],
) -> None:
    """Put what judges said in parts into the run that was split; all of it or nothing. Parts stay as they are.

    You may merge parts that are not judged to the end, go on judging them, and merge them again.
    """
    read_privately(run, *parts)
    outcomes = merge_parts(run, parts, sys.argv, notice)
    talk.say(f"merged: {len(parts)} parts; {run} has {outcomes:,} outcomes")


def _counted(ratings: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} rating{'' if count == 1 else 's'} of {rater}" for rater, count in ratings.items())
