"""Splits a run into parts, one for each machine, and merges them in one transaction.

Each part is a run of its own that judges its share of the cases. It has the run's key, and after a merge the run says
of the share what the part says. So a part is merged only while the run has nothing of its share that the part lacks:
not after the run was judged by itself or split again, and not an older copy of a part that was merged already.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path
from shlex import quote
from typing import Any

from msgspec.structs import asdict

from pathway_local.errors import OutputExists, RunFileError, UsageError
from pathway_local.runs.audit import (
    LEFT,
    MERGED,
    PURGE,
    REMOVED,
    SPLIT,
    AuditTrail,
    TrailEntry,
    check_content,
    content_hash,
    recorded_change,
)
from pathway_local.runs.database import Database, placeholders
from pathway_local.runs.jobs import WRITTEN
from pathway_local.runs.purge import EVERY_CASE, GONE, TEXT, Notify, holds_texts, marks_of
from pathway_local.runs.record import COLUMNS, to_json
from pathway_local.runs.run_cases import (
    KEEP,
    PART,
    PSEUDONYMS,
    SETTING,
    Part,
    part_of,
    remember_kept,
    remembered_columns,
)
from pathway_local.runs.run_file import ADD_CASE, KEYS_OF, TEXTS, RunFile
from pathway_local.system.private_file import WriterLock, check_output

MOST = 100_000
PARTS = "parts"
"""The fact of a split: the number of parts."""

# Judging reads nothing else of a run. Its outcomes name no job.
_COPIED = {
    "settings": "settings",
    "rubrics": "rubrics",
    "raters": "raters WHERE kind = 'judge'",
    "jobs": "jobs WHERE json_type(facts, '$.raters') = 'array'",
    "cases": "cases",
    "outcomes": "outcomes WHERE rater_id IN (SELECT id FROM raters WHERE kind = 'judge')",
}

_BATCH = 1_000
_OTHERS = "SELECT DISTINCT rater FROM current WHERE kind <> 'judge'"
_JOB = "command, facts, started, ended, status, counts"
_OF_PART = "id > ? AND json_extract(facts, '$.part') = ?"
_OUTCOME = f"number, case_hash, {COLUMNS}, prompt_tokens, cached_tokens, generated_tokens"
_THEIRS = f"""
    SELECT case_id, row, metadata, {_OUTCOME} FROM outcomes JOIN cases ON key = case_key
    WHERE rater_id = ? ORDER BY case_key, number
"""
_ADD = f"INSERT INTO outcomes (case_key, rater_id, {_OUTCOME}) VALUES ({placeholders(range(15))})"
_FORGET = "DELETE FROM outcomes WHERE case_key = ? AND rater_id = ?"


def split_run(path: Path, parts: int, command: Sequence[str], folder: Path | None = None) -> list[Path]:
    """Split the run at `path`, which is made if it does not exist, and return its parts, new files beside it.

    With `folder`, which is made, they lie there.

    A part has the verdicts that the run has of its cases. Raises OutputExists, and UsageError for a run that is a part.
    """
    files = [path.with_name(f"{path.stem}.{number}-of-{parts}{path.suffix}") for number in range(1, parts + 1)]
    if folder:
        folder.mkdir(mode=0o700)
        files = [folder / file.name for file in files]
    for file in files:
        check_output(file, force=False)
    if not path.exists():
        RunFile.create(path).close()
    with RunFile.open(path) as run:
        if own := part_of(run):
            raise UsageError(f"{path} is part {own} of another run", "Split that run into more parts.")
        with run.database.writing(), recorded_change(run.database, SPLIT, command) as facts:
            facts |= {PARTS: parts, WRITTEN: [{"file": file.name} for file in files]}
        head, [(jobs,)] = AuditTrail(run.database).head(), run.database.rows("SELECT COALESCE(MAX(id), 0) FROM jobs")
        for number, file in enumerate(files, start=1):
            _write_part(run, Part(number, parts, head, jobs), file)
    return files


def _write_part(run: RunFile, part: Part, file: Path) -> None:
    cases = {key for key, case_id in run.database.stream("SELECT key, case_id FROM cases") if case_id in part}

    def fill(db: Database) -> None:
        with db.writing():
            for table, source in _COPIED.items():
                columns = [name for (name,) in run.database.rows("SELECT name FROM pragma_table_info(?)", table)]
                at = columns.index({"cases": "key", "outcomes": "case_key"}.get(table, columns[0]))
                rows = run.database.stream(f"SELECT {', '.join(columns)} FROM {source}")
                own = [row for row in rows if table not in ("cases", "outcomes") or row[at] in cases]
                db.execute_all(f"INSERT INTO {table} VALUES ({placeholders(columns)})", own)
            db.execute("INSERT INTO settings VALUES (?, ?)", (PART, to_json(asdict(part))))
            AuditTrail(db).append(SPLIT, {"of": str(part), "from": run.path.name} | {LEFT: content_hash(db)})

    try:
        RunFile.create(file, run.key, fill=fill).close()
    except FileExistsError:
        raise OutputExists(file) from None


def merge_parts(path: Path, parts: Sequence[Path], command: Sequence[str], notify: Notify) -> int:
    """Put what judges said in these parts into the run that they were split off, all or nothing; count its outcomes.

    Parts stay as they are, and may be judged further and merged again. Raises PathwayError.
    """
    with RunFile.open(path) as run:
        if own := part_of(run):
            raise UsageError(f"{path} is part {own} of another run", "Merge into that run.")
        with run.together(), recorded_change(run.database, MERGED, command) as facts:
            told = [_merge(run, part, notify) for part in dict.fromkeys(parts)]
            [(outcomes,)] = run.database.rows("SELECT COUNT(*) FROM current")
            facts |= {"parts": [*told], "outcomes": outcomes}
        return int(outcomes)


def _merge(run: RunFile, path: Path, notify: Notify) -> dict[str, Any]:
    """Put the jobs and outcomes of one part in place of those that the run has of it; return the facts about it."""
    with _opened(path, run) as part:
        trail = AuditTrail(part.database)
        trail.check()
        check_content(part.database)
        own, since = _refuse_foreign(run, part)
        _refuse_older(part, own, since)
        _refuse_removed(run, part, since)
        _refuse_kept(run, part, _gone(trail.entries()))
        for (name,) in part.database.rows(_OTHERS):
            notify(f"{part.path.name}: ratings of {name} stay there; import them into {run.path.name}")
        last = next((job for job in reversed(part.jobs.all()) if job.judges), None)
        if last and last.status != "done":
            notify(f"{part.path.name}: the last command that judged did not reach its end, so cases may be missing")
        _take_settings(run, part)
        _take_jobs(run, part, own)
        gone, rubrics = _gone(since), part.stored_rubrics()
        for id, rater in part.raters():
            if rater.kind == "judge" and part.database.rows("SELECT 1 FROM outcomes WHERE rater_id = ? LIMIT 1", id):
                run.add_rubric(rater.rubric, *rubrics[rater.rubric])
                _take_outcomes(run, part, own, gone, (id, run.add_rater(rater)))
        return {"file": path.name, "part": str(own), "head": trail.head(), "entries": len(trail.entries())}


@contextmanager
def _opened(path: Path, run: RunFile) -> Iterator[RunFile]:
    """Open a part for reading; if this user may write to it, nobody else writes to it meanwhile."""
    if path.exists() and path.samefile(run.path):
        raise UsageError(f"{path} would be merged into itself", "Name its parts.")
    with ExitStack() as stack:
        if os.access(path, os.W_OK):
            stack.callback(WriterLock(path).release)
        yield stack.enter_context(RunFile.read(path))


def _refuse_foreign(run: RunFile, part: RunFile) -> tuple[Part, Sequence[TrailEntry]]:
    """Return which part it is, and the run's entries since the split.

    Raises RunFileError for anything but a part of this run with the same columns.
    """
    names, own = f"{part.path} is no part of {run.path}", part_of(part)
    if own is None:
        raise RunFileError(names, "Only parts that `pathway-local runs split` made can be merged.")
    if part.key != run.key:
        raise RunFileError(f"{names}, or everything was purged from one of them", "Merge it into the run it came from.")
    entries = AuditTrail(run.database).entries()
    at = next((entry.number for entry in entries if entry.hash == own.head), None)
    if at is None:
        raise RunFileError(f"{names}: it was split off a later state", "Merge into that run, not into an older copy.")
    if run.get_setting(SETTING) is not None and part.get_setting(SETTING) is not None:
        mine, theirs = remembered_columns(run), remembered_columns(part)
        both = mine.mapping.keys() & theirs.mapping.keys()
        differ = [f"the input {name}" for name in both if mine.mapping[name] != theirs.mapping[name]]
        if mine.id != theirs.id or run.get_setting(PSEUDONYMS) != part.get_setting(PSEUDONYMS):
            differ.append("the ids")
        if differ:
            raise RunFileError(f"{part.path} has another column of {differ[0]} than {run.path}", "Leave it out.")
    return own, entries[at:]


def _refuse_older(part: RunFile, own: Part, since: Sequence[TrailEntry]) -> None:
    """Raise RunFileError if the run has verdicts on the part's share that the part lacks."""
    hashes = {entry.hash for entry in AuditTrail(part.database).entries()}
    for entry in since:
        merged = entry.facts.get("parts")
        facts = [each for each in merged if isinstance(each, dict)] if isinstance(merged, list) else []
        if not hashes.issuperset(each.get("head") for each in facts if each.get("part") == str(own)):
            raise RunFileError(f"{part.path} is older than what was merged of this part", "Merge its latest copy.")
        if entry.event == SPLIT or (entry.event == "job begins" and isinstance(entry.facts.get("raters"), list)):
            said = f"{part.path} was split off before the run was judged by itself or split again"
            raise RunFileError(said, "Leave it out: split the run again, and judge the new parts.")


def _refuse_removed(run: RunFile, part: RunFile, since: Sequence[TrailEntry]) -> None:
    """Raise RunFileError if the part holds texts, or raters, that were removed from the run since it was split."""
    there = _removed(AuditTrail(part.database).entries())
    judges = {rater.name for _, rater in part.raters()}
    if names := sorted((_removed(since) & judges) - there):
        said, how = f"ratings of {', '.join(names)}", f"remove-rater {quote(str(part.path))} {quote(names[0])}"
    elif holds_texts(part) and any(entry.facts.get("removed") == TEXT for entry in since if entry.event == PURGE):
        said, how = "texts", f"purge {quote(str(part.path))} --text"
    else:
        return
    hint = f"Remove them: `pathway-local runs {how}`."
    raise RunFileError(f"{part.path} still holds {said} that were removed from {run.path}", hint)


def _refuse_kept(run: RunFile, part: RunFile, gone: set[str]) -> None:
    """Raise RunFileError if the run still holds cases that were purged from the part and not judged there again."""
    there = {case_id for (case_id,) in part.database.rows(EVERY_CASE)} if gone else set[str]()
    others = [case_id for (case_id,) in run.database.rows(EVERY_CASE) if case_id not in there] if gone else []
    if count := sum(mark in gone for mark in marks_of(run, others)):
        said = f"{run.path} still holds {count} of the cases that were purged from {part.path}"
        raise RunFileError(said, f"Remove them: `pathway-local runs purge {quote(str(run.path))} --case ID`.")


def _gone(entries: Sequence[TrailEntry]) -> set[str]:
    """The marks of the cases that were purged, by these entries."""
    marks = (entry.facts.get(GONE) for entry in entries)
    return {str(mark) for own in marks if isinstance(own, list) for mark in own}


def _removed(entries: Sequence[TrailEntry]) -> set[str]:
    found = (entry.facts.get("removed") for entry in entries if entry.event == REMOVED)
    return {name for removed in found if isinstance(removed, dict) for name in removed}


def _take_jobs(run: RunFile, part: RunFile, own: Part) -> None:
    """Put the part's jobs since the split in place of those that an earlier merge took."""
    which = (own.jobs, str(own))
    run.database.change(f"DELETE FROM jobs WHERE {_OF_PART}", which)
    rows = part.database.rows(f"SELECT {_JOB} FROM jobs WHERE {_OF_PART} ORDER BY id", *which)
    run.database.execute_all(f"INSERT INTO jobs ({_JOB}) VALUES ({placeholders(range(6))})", rows)


def _take_settings(run: RunFile, part: RunFile) -> None:
    """Add the settings of a part that the run lacks, and the columns of further inputs and those kept.

    Raises RunFileError if one of them was judged without texts and the other holds some, or for another key of ids.
    """
    for bare, other in ((run, part), (part, run)):
        if bare.get_setting(TEXTS) is False and other.get_setting(TEXTS) is not False and holds_texts(other):
            how = f"`pathway-local runs purge {quote(str(other.path))} --text`"
            raise RunFileError(f"{bare.path} was judged without texts, {other.path} holds some", f"Remove them: {how}.")
    known = run.settings()
    for name, value in part.settings().items():
        if name == SETTING and name in known:
            mine, theirs = remembered_columns(run), remembered_columns(part)
            run.set_setting(name, {"mapping": {**theirs.mapping, **mine.mapping}, "id": mine.id})
        elif name == KEEP and name in known:
            remember_kept(run, [str(each) for each in value] if isinstance(value, list) else None)
        elif name not in (*known, PART):
            run.set_setting(name, value)


def _take_outcomes(run: RunFile, part: RunFile, own: Part, gone: set[str], raters: tuple[int, int]) -> None:
    """Put a rater's outcomes in the part in place of the run's on the same share; `raters` are its ids in both.

    `gone` has marks of the cases that were purged from the run since the split.
    """
    db, (theirs, mine) = run.database, raters
    share = [key for key, case_id in db.rows("SELECT key, case_id FROM cases") if case_id in own]
    db.execute_all(_FORGET, [(key, mine) for key in share])
    rows = part.database.stream(_THEIRS, theirs)
    while batch := list(islice(rows, _BATCH)):
        marks = marks_of(run, [case_id for case_id, *_ in batch]) if gone else [""] * len(batch)
        kept = [row for row, mark in zip(batch, marks, strict=True) if mark not in gone]
        db.execute_all(ADD_CASE, [row[:3] for row in kept])
        keys = dict(db.rows_among(KEYS_OF, [row[0] for row in kept]))
        db.execute_all(_ADD, [(keys[case_id], mine, *outcome) for case_id, _, _, *outcome in kept])
