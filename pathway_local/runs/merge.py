"""Merges the parts of a split run into it, in one transaction: a verdict on the same texts counts once."""

import os
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from shlex import quote

from pathway_local.case import CaseRef
from pathway_local.errors import RunFileError, UsageError
from pathway_local.rater import Rater
from pathway_local.runs.audit import AuditTrail, TrailEntry, recorded
from pathway_local.runs.content import FOUND, LEFT, MERGED, PURGE, REMOVED, check_content, content_hash
from pathway_local.runs.purge import CASES, EVERY_CASE, GONE, TEXT, Notify, holds_texts, marks_of
from pathway_local.runs.record import CaseOutcome, Record
from pathway_local.runs.run_cases import KEEP, PSEUDONYMS, SETTING, remember_kept, remembered_columns
from pathway_local.runs.run_file import TEXTS, RunFile
from pathway_local.runs.split import SETTING as PART
from pathway_local.runs.split import Part, part_of
from pathway_local.system.private_file import WriterLock
from pathway_local.verdict import Failure, Value, Verdict

_BATCH = 1_000
_SEEN = "SELECT case_id, case_hash FROM outcomes JOIN cases ON key = case_key WHERE rater_id = ?"
_JOB = "command, facts, started, ended, status, counts"
_PART = "json_extract(facts, '$.part')"
_JUDGING = f"SELECT {_JOB}, {_PART} FROM jobs WHERE json_type(facts, '$.raters') = 'array' ORDER BY id"
_SAME_JOB = f"command = ? AND started = ? AND {_PART} IS ?"
_END_JOB = f"UPDATE jobs SET facts = ?, ended = ?, status = ?, counts = ? WHERE ended IS NULL AND {_SAME_JOB}"
_BAD_ROWS = "SELECT source, case_id FROM current WHERE rater_id = ? AND source IS NOT NULL"
_ADD_JOB = f"INSERT INTO jobs ({_JOB}) VALUES (?, ?, ?, ?, ?, ?)"


@dataclass(frozen=True, slots=True)
class Merged:
    """How many outcomes the parts brought, how many the run holds now, and the head of its audit trail."""

    taken: int
    outcomes: int
    head: str


def merge_parts(path: Path, parts: Sequence[Path], command: Sequence[str], notify: Notify) -> Merged:
    """Add what judges said in these parts to the run that they were split off; all of it or nothing.

    Parts stay as they are, and may be judged further and merged again. Raises PathwayError.
    """
    with RunFile.open(path) as run:
        if own := part_of(run):
            raise UsageError(f"{path} is part {own} of another run", "Merge into that run.")
        db, trail = run.database, AuditTrail(run.database)
        with run.together():
            found = {FOUND: content_hash(db)}
            told: list[Value] = [_merge(run, part, notify) for part in dict.fromkeys(parts)]
            [(outcomes,)] = db.rows("SELECT COUNT(*) FROM current")
            with db.writing():
                facts: dict[str, Value] = {"command": recorded(command), "parts": told, "outcomes": outcomes}
                trail.append(MERGED, facts | {LEFT: content_hash(db)} | found)
        if versions := _versions_that_differ(run):
            notify(f"judged in different versions, so equal cases may differ by rounding: {versions}")
        taken = sum(each["taken"] for each in told if isinstance(each, dict) and isinstance(each["taken"], int))
        return Merged(taken, outcomes, trail.head())


def _merge(run: RunFile, path: Path, notify: Notify) -> dict[str, Value]:
    """Add the jobs and outcomes of one part, and return the facts about it."""
    with _opened(path, run) as part:
        trail = AuditTrail(part.database)
        trail.check()
        check_content(part.database)
        _refuse_foreign(run, part)
        _refuse_removed(run, part)
        _tell_left(run, part, notify)
        _take_settings(run, part)
        _take_jobs(run, part)
        rubrics = part.stored_rubrics()
        taken = 0
        for id, rater in part.raters():
            if rater.kind == "judge" and part.database.rows("SELECT 1 FROM outcomes WHERE rater_id = ? LIMIT 1", id):
                run.add_rubric(rater.rubric, *rubrics[rater.rubric])
                taken += _take_outcomes(run, part, id, rater, notify)
        return {"file": path.name, "head": trail.head(), "entries": len(trail.entries()), "taken": taken}


@contextmanager
def _opened(path: Path, run: RunFile) -> Iterator[RunFile]:
    """Open a part for reading while nobody may write to it. Raises RunLocked if another process does."""
    if path.exists() and path.samefile(run.path):
        raise UsageError(f"{path} would be merged into itself", "Name its parts.")
    with ExitStack() as stack:
        if os.access(path, os.W_OK):
            stack.callback(WriterLock(path).release)
        yield stack.enter_context(RunFile.read(path))


def _refuse_foreign(run: RunFile, part: RunFile) -> None:
    """Raise RunFileError for anything but a part of this run with the same columns."""
    names = f"{part.path} is no part of {run.path}"
    if part_of(part) is None:
        raise RunFileError(names, "Only parts that `pathway-local runs split` made can be merged.")
    if part.key != run.key:
        raise RunFileError(f"{names}, or everything was purged from one of them", "Merge it into the run it came from.")
    if _began(part) not in [entry.hash for entry in AuditTrail(run.database).entries()]:
        raise RunFileError(f"{names}: it was split off a later state", "Merge into that run, not into an older copy.")
    if run.get_setting(SETTING) is None or part.get_setting(SETTING) is None:
        return
    (mine, my_id), (theirs, their_id) = remembered_columns(run), remembered_columns(part)
    differ = [f"the input {name}" for name in mine.keys() & theirs.keys() if mine[name] != theirs[name]]
    differ += ["the ids"] if my_id != their_id else []
    if differ:
        raise RunFileError(f"{part.path} has another column of {differ[0]} than {run.path}", "Leave it out.")
    if run.get_setting(PSEUDONYMS) != part.get_setting(PSEUDONYMS):
        raise RunFileError(f"{part.path} and {run.path}: the ids are not pseudonyms of one key", "Leave it out.")


def _began(part: RunFile) -> str:
    kept = part.get_setting(PART)
    return str(kept.get("head")) if isinstance(kept, dict) else ""


def _refuse_removed(run: RunFile, part: RunFile) -> None:
    """Raise RunFileError if the part still holds what was removed from the run since it was split."""
    entries = AuditTrail(run.database).entries()
    began = next(entry.number for entry in entries if entry.hash == _began(part))
    gone = AuditTrail(part.database).entries()
    there = {name for entry in gone if entry.event == REMOVED for name in _names(entry.facts)}
    judges = {rater.name for _, rater in part.raters()}
    purge = f"`pathway-local runs purge {quote(str(part.path))}"
    for entry in entries[began:]:
        what = entry.facts.get("removed")
        if entry.event == REMOVED and (names := sorted((_names(entry.facts) & judges) - there)):
            said, how = f"ratings of {', '.join(names)}", f"`pathway-local runs remove-rater {part.path} {names[0]}`"
        elif entry.event == PURGE and what == TEXT and holds_texts(part):
            said, how = "texts", f"{purge} --text`"
        elif entry.event == PURGE and what == CASES and _holds_purged(entries[began:], part):
            said, how = "cases", f"{purge} --case ID` or `--where COLUMN=VALUE`"
        else:
            continue
        raise RunFileError(f"{part.path} still holds {said} that were removed from {run.path}", f"Remove them: {how}.")


def _names(facts: Mapping[str, Value]) -> set[str]:
    removed = facts.get("removed")
    return set(removed) if isinstance(removed, dict) and "job" not in facts else set()


def _holds_purged(entries: Sequence[TrailEntry], part: RunFile) -> bool:
    """Whether the part holds a case that was purged from the run: it may never have been purged there, or come back."""
    marks = (entry.facts.get(GONE) for entry in entries)
    purged = {mark for own in marks if isinstance(own, list) for mark in own}
    return not purged.isdisjoint(marks_of(part, [id for (id,) in part.database.rows(EVERY_CASE)]))


def _tell_left(run: RunFile, part: RunFile, notify: Notify) -> None:
    """Say what of a part is not merged, and whether cases of it may be missing."""
    query = "SELECT DISTINCT name FROM raters WHERE kind <> 'judge' AND id IN (SELECT rater_id FROM outcomes)"
    if names := [name for (name,) in part.database.rows(query)]:
        notify(f"{part.path.name}: ratings of {', '.join(names)} stay there; import them into {run.path.name}")
    if part.database.rows("SELECT 1 WHERE EXISTS (SELECT 1 FROM samples) OR EXISTS (SELECT 1 FROM handouts)"):
        notify(f"{part.path.name}: samples and files for raters stay there; draw in {run.path.name}")
    last = next((job for job in reversed(part.jobs.all()) if job.judges), None)
    if last and last.status != "done":
        how = f"{last.status} before its end" if last.status else "killed"
        notify(f"{part.path.name}: the last command that judged was {how}, so cases may be missing")


def _take_jobs(run: RunFile, part: RunFile) -> None:
    """Add the part's jobs that judged; one that had not ended in a copy merged before, or in this one, only once."""
    db = run.database
    known = set(db.rows(_JUDGING))
    with db.writing():
        for row in part.database.rows(_JUDGING):
            command, facts, started, ended, status, counts, name = row
            same = (command, started, name)
            if row in known or db.change(_END_JOB, (facts, ended, status, counts, *same)):
                continue
            if ended is not None or not db.rows(f"SELECT 1 FROM jobs WHERE {_SAME_JOB}", *same):
                db.execute(_ADD_JOB, row[:-1])


def _take_settings(run: RunFile, part: RunFile) -> None:
    """Add the settings of a part that the run lacks, and the columns of further inputs and those kept.

    Raises RunFileError if one of them was judged without texts and the other holds some.
    """
    for bare, other in ((run, part), (part, run)):
        if bare.get_setting(TEXTS) is False and other.get_setting(TEXTS) is not False and holds_texts(other):
            how = f"`pathway-local runs purge {quote(str(other.path))} --text`"
            raise RunFileError(f"{bare.path} was judged without texts, {other.path} holds some", f"Remove them: {how}.")
    known = run.settings()
    for name, value in part.settings().items():
        mine = known.get(name)
        if name == SETTING and isinstance(mine, dict) and isinstance(value, dict):
            mapping: dict[str, Value] = {**remembered_columns(part)[0], **remembered_columns(run)[0]}
            run.set_setting(name, {**value, **mine, "mapping": mapping})
        elif name == KEEP and mine is not None:
            remember_kept(run, [str(each) for each in value] if isinstance(value, list) else None)
        elif mine is None and name != PART:
            run.set_setting(name, value)


def _take_outcomes(run: RunFile, part: RunFile, id: int, rater: Rater, notify: Notify) -> int:
    """Add the outcomes of a judge, each with its case; return how many the run did not have."""
    rater_id = run.add_rater(rater)
    stale = _settle_bad_rows(run, part, id, rater_id)
    replaced = defaultdict[str, set[str]](set)
    for case_id, case_hash in part.database.rows(_SEEN, id):
        replaced[case_id].add(case_hash)
    records = part.records(rater.name, rater.rubric)
    taken = stay = 0
    while batch := list(islice(records, _BATCH)):
        current = {each.case_id: each for each in run.records(rater.name, rater.rubric, [r.case_id for r in batch])}
        new = list[Record]()
        for each in (record for record in batch if record.case_id not in stale):
            own = current.get(each.case_id)
            if own is None or _counts(each, own, replaced[each.case_id]):
                new.append(each)
            else:
                stay += isinstance(each.outcome, Verdict) and each.outcome != own.outcome
        run.put_all(rater_id, [CaseOutcome(_case(each), each.outcome, each.tokens) for each in new], keep=None)
        taken += len(new)
    if stay:
        notify(f"{part.path.name}: {stay:,} verdicts of {rater.name} differ from the run's own, which stay")
    return taken


def _settle_bad_rows(run: RunFile, part: RunFile, id: int, rater_id: int) -> set[str]:
    """Remove the run's failures on bad rows that this part no longer has; return those of the part that do not count.

    Both only as far as this part judged a row last: neither the run nor any other part, such as one of another split or
    a newer copy of this one, did so later.
    """
    began = {str(job.fact("cases").get("file")): job.started for job in part.jobs.all()}  # the last one counts
    others = [(job.fact("cases").get("file"), Part.read(job.facts.get(PART)), job.started) for job in run.jobs.all()]

    def judged_last(source: str, case_id: str) -> bool:
        return source in began and not any(
            file == source and started > began[source] and (other is None or case_id in other)
            for file, other, started in others
        )

    own = part_of(part)
    theirs: set[tuple[str, str]] = {*part.database.rows(_BAD_ROWS, id)}
    ours: set[tuple[str, str]] = {*run.database.rows(_BAD_ROWS, rater_id)}
    mended = {row for row in ours - theirs if own and row[1] in own and judged_last(*row)}
    for source in {source for source, _ in mended}:
        run.forget_bad_rows(rater_id, source, {id for file, id in ours - mended if file == source})
    return {case_id for source, case_id in theirs if not judged_last(source, case_id)}


def _counts(new: Record, current: Record, replaced: set[str]) -> bool:
    """Whether an outcome of a part takes the place of the run's current one.

    It does if the run has a failure, or a verdict on texts that the part has judged anew since.
    """
    if isinstance(current.outcome, Failure):
        return new.outcome != current.outcome
    return new.case_hash != current.case_hash and current.case_hash in replaced


def _case(record: Record) -> CaseRef:
    return CaseRef(record.case_id, record.row, record.metadata, record.case_hash, record.kinds)


def _versions_that_differ(run: RunFile) -> str:
    """Return in words which programs judged in different versions, which may round differently; "" if none."""
    found: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for job in (job for job in run.jobs.all() if job.judges):
        for name, version in {"pathway-local": job.facts.get("pathway_local"), **job.fact("packages")}.items():
            found[name][str(version)] = None
    return "; ".join(f"{name} {', '.join(versions)}" for name, versions in found.items() if len(versions) > 1)
