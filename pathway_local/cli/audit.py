"""`pathway-local runs audit`: who did what with a run."""

import shlex
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from pathway_local.cli.command_help import option
from pathway_local.cli.options import AsJson, Run
from pathway_local.cli.terminal import data, print_json, talk
from pathway_local.errors import TrailChanged, UsageError
from pathway_local.runs.audit import KEYED, SHORT, AuditTrail, TrailEntry
from pathway_local.runs.content import HASHES, check_content
from pathway_local.runs.jobs import ENGINES
from pathway_local.runs.run_file import RunFile
from pathway_local.verdict import Value

LONGEST = 60


def audit(
    run: Run,
    head: Annotated[str, option("HASH", "A hash that you stored: check that the trail still has it.")] = "",
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
        elif entries:
            rows = [_row(entry) for entry in entries]
            data.show_table("", ["#", "UTC", "who", "event", "what", "hash"], rows, left=6)
        since = trail.check(head)
        if head:
            talk.say(f"the trail is intact and holds {head[:SHORT]}…; {since} entries came after it")
        if file:
            _find(trail, file, read.key)
        talk.say(f"{len(entries)} {'entry' if len(entries) == 1 else 'entries'}, each as it was recorded")
        talk.say(f"audit hash {trail.head()} (keep it elsewhere: --head HASH then shows whether these entries changed)")
        check_content(read.database)
        talk.say("the outcomes match the trail")


def _find(trail: AuditTrail, file: Path, key: bytes) -> None:
    try:
        found = trail.entries_about(file, key)
    except OSError as error:
        raise UsageError(f"{file} can't be read: {error.strerror}", "Check its name and permissions.") from None
    if not found:
        hint = "It is another file, or was changed since, or a purge has replaced the run's key."
        raise TrailChanged(f"no entry records {file.name} as it is now", hint)
    talk.say(f"{file.name} as it is now: recorded in {', '.join(f'entry {number}' for number in found)}")


def _row(entry: TrailEntry) -> list[str]:
    who = entry.who
    name = f"{who.get('user') or who.get('uid')}@{who.get('host')}"
    return [str(entry.number), entry.at[:19].replace("T", " "), name, entry.event, what_of(entry), entry.hash[:SHORT]]


def what_of(entry: TrailEntry) -> str:
    """Return the most important facts in a few words; --json prints all."""
    facts = entry.facts
    command = facts.get("command")
    if isinstance(removed := facts.get("removed"), dict):
        said = ", ".join(f"{count} of {rater}" for rater, count in removed.items())
    elif isinstance(command, list):
        said = shlex.join(map(str, command[1:]))
    elif isinstance(engines := facts.get(ENGINES), list) and engines and isinstance(engine := engines[-1], dict):
        said = (
            f"{engine.get('engine')} {engine.get('version')} with {engine.get('judge')}, sealed: {engine.get('seal')}"
        )
    else:
        told = {name: value for name, value in facts.items() if name not in (*HASHES, "job", "status")}
        said = ", ".join(_sentence(name.replace("_", " "), value) for name, value in told.items())
        said = ": ".join(part for part in (str(facts.get("status", "")), said) if part)
    return said if len(said) <= LONGEST else f"{said[: LONGEST - 1]}…"


def _sentence(name: str, value: Value) -> str:
    """Return a fact as people write it, without hashes: 5 judged, cases changed, written rate.xlsx."""
    match value:
        case bool():
            return name if value else f"not {name}"
        case int():
            return f"{value:,} {name}"
        case dict():
            parts = [_sentence(inner, each) for inner, each in value.items() if inner not in ("sha256", KEYED, "file")]
            return " ".join([name, *([str(value["file"])] if "file" in value else []), *parts])
        case list():
            named = [each.get("file") if isinstance(each, dict) else each for each in value]
            return f"{name} {', '.join(str(each) for each in named if each is not None)}"
    return f"{name} {value}"
