"""Merges the parts of a split run into it, in one transaction: a verdict on the same texts counts once."""

import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from shlex import quote
from typing import Any

from pathway_local.case import CaseRef
from pathway_local.errors import RunFileError, UsageError
from pathway_local.rater import Rater
from pathway_local.runs.audit import MERGED, PURGE, REMOVED, AuditTrail, TrailEntry, check_content, recorded_change
from pathway_local.runs.purge import GONE, TEXT, Notify, holds_texts, marks_of
from pathway_local.runs.record import CaseOutcome, Record
from pathway_local.runs.run_cases import KEEP, PSEUDONYMS, SETTING, remember_kept, remembered_columns
from pathway_local.runs.run_file import TEXTS, RunFile
from pathway_local.runs.split import SETTING as PART
from pathway_local.runs.split import Part, part_of
from pathway_local.system.private_file import WriterLock
from pathway_local.verdict import Failure, Verdict

_BATCH = 1_000
_SEEN = "SELECT case_id, case_hash FROM outcomes JOIN cases ON key = case_key WHERE rater_id = ?"
_BAD_ROWS = "SELECT source, case_id FROM current WHERE rater_id = ? AND source IS NOT NULL"
_OTHERS = "SELECT DISTINCT rater FROM current WHERE kind <> 'judge'"
_JOB = "command, facts, started, ended, status, counts"
_PART = "json_extract(facts, '$.part')"
_JUDGING = f"SELECT {_JOB}, {_PART} FROM jobs WHERE json_type(facts, '$.raters') = 'array' ORDER BY id"
_SAME_JOB = f"command = ? AND started = ? AND {_PART} IS ?"
_END_JOB = f"UPDATE jobs SET facts = ?, ended = ?, status = ?, counts = ? WHERE ended IS NULL AND {_SAME_JOB}"
_ADD_JOB = f"INSERT INTO jobs ({_JOB}) VALUES (?, ?, ?, ?, ?, ?)"


@dataclass(frozen=True, slots=True)
class Merged:
    """How many outcomes the parts brought, and how many the run holds now."""

    taken: int
    outcomes: int


def merge_parts(path: Path, parts: Sequence[Path], command: Sequence[str], notify: Notify) -> Merged:
    """Add what judges said in these parts to the run that they were split off; all of it or nothing.

    Parts stay as they are, and may be judged further and merged again. Raises PathwayError.
    """
    with RunFile.open(path) as run:
        if own := part_of(run):
            raise UsageError(f"{path} is part {own} of another run", "Merge into that run.")
        with run.together(), recorded_change(run.database, MERGED, command) as facts:
            told = [_merge(run, part, notify) for part in dict.fromkeys(parts)]
            [(outcomes,)] = run.database.rows("SELECT COUNT(*) FROM current")
            facts |= {"parts": [*told], "outcomes": outcomes}
        return Merged(sum(each["taken"] for each in told), outcomes)


def _merge(run: RunFile, path: Path, notify: Notify) -> dict[str, Any]:
    """Add the jobs and outcomes of one part, and return the facts about it."""
    with _opened(path, run) as part:
        trail = AuditTrail(part.database)
        trail.check()
        check_content(part.database)
        own, since = _refuse_foreign(run, part)
        _refuse_removed(run, part, since)
        for (name,) in part.database.rows(_OTHERS):
            notify(f"{part.path.name}: ratings of {name} stay there; import them into {run.path.name}")
        last = next((job for job in reversed(part.jobs.all()) if job.judges), None)
        if last and last.status != "done":
            notify(f"{part.path.name}: the last command that judged did not reach its end, so cases may be missing")
        _take_settings(run, part)
        _take_jobs(run, part)
        marks = (entry.facts.get(GONE) for entry in since)
        gone = {str(mark) for own_marks in marks if isinstance(own_marks, list) for mark in own_marks}
        rubrics, taken = part.stored_rubrics(), 0
        for id, rater in part.raters():
            if rater.kind == "judge" and part.database.rows("SELECT 1 FROM outcomes WHERE rater_id = ? LIMIT 1", id):
                run.add_rubric(rater.rubric, *rubrics[rater.rubric])
                taken += _Taking(run, part, own, gone, id, rater).take(notify)
        return {"file": path.name, "head": trail.head(), "entries": len(trail.entries()), "taken": taken}


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
    kept, entries = part.get_setting(PART), AuditTrail(run.database).entries()
    began = kept.get("head") if isinstance(kept, dict) else None
    at = next((entry.number for entry in entries if entry.hash == began), None)
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


def _removed(entries: Sequence[TrailEntry]) -> set[str]:
    found = (entry.facts.get("removed") for entry in entries if entry.event == REMOVED)
    return {name for removed in found if isinstance(removed, dict) for name in removed}


def _take_jobs(run: RunFile, part: RunFile) -> None:
    """Add the part's jobs that judged; one that had not ended in a copy merged before, or in this one, only once."""
    db = run.database
    known = set(db.rows(_JUDGING))
    for row in part.database.rows(_JUDGING):
        command, facts, started, ended, status, counts, name = row
        same = (command, started, name)
        if row in known or db.change(_END_JOB, (facts, ended, status, counts, *same)):
            continue
        if ended is not None or not db.rows(f"SELECT 1 FROM jobs WHERE {_SAME_JOB}", *same):
            db.execute(_ADD_JOB, row[:-1])


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


@dataclass(frozen=True, slots=True)
class _Taking:
    """Takes the outcomes of a judge over from a part; `gone` has marks of the cases purged from the run since."""

    run: RunFile
    part: RunFile
    own: Part
    gone: set[str]
    id: int
    rater: Rater

    def take(self, notify: Notify) -> int:
        """Return how many outcomes the run did not have."""
        rater_id, taken, stay = self.run.add_rater(self.rater), 0, 0
        self._forget_bad_rows(rater_id)
        seen = defaultdict[str, set[str]](set)
        for case_id, case_hash in self.part.database.rows(_SEEN, self.id):
            seen[case_id].add(case_hash)
        who = self.rater.name, self.rater.rubric
        records = self.part.records(*who)
        while batch := list(islice(records, _BATCH)):
            ids, new = [record.case_id for record in batch], list[CaseOutcome]()
            current = {each.case_id: each for each in self.run.records(*who, ids)}
            marks = marks_of(self.run, ids) if self.gone else [""] * len(ids)
            for each, mark in zip(batch, marks, strict=True):
                mine = current.get(each.case_id)
                if mark in self.gone:
                    continue
                if mine is None or _counts(each, mine, seen[each.case_id]):
                    case = CaseRef(each.case_id, each.row, each.metadata, each.case_hash)
                    new.append(CaseOutcome(case, each.outcome, each.tokens))
                else:
                    stay += isinstance(each.outcome, Verdict) and each.outcome != mine.outcome
            self.run.put_all(rater_id, new, keep=None)
            taken += len(new)
        if stay:
            notify(f"{self.part.path.name}: {stay:,} verdicts of {who[0]} differ from the run's own, which stay")
        return taken

    def _forget_bad_rows(self, rater_id: int) -> None:
        """Remove the run's failures on bad rows of this part's share that the part found mended in the same file."""
        theirs = self.part.database.rows(_BAD_ROWS, self.id)
        own = (job for job in self.part.jobs.all() if job.facts.get(PART) == str(self.own))
        for source in {str(job.fact("cases").get("file")) for job in own}:
            still = {case_id for file, case_id in theirs if file == source}
            ours = self.run.database.rows(_BAD_ROWS, rater_id)
            others = {case_id for file, case_id in ours if file == source and case_id not in self.own}
            self.run.forget_bad_rows(rater_id, source, still | others)


def _counts(new: Record, current: Record, seen: set[str]) -> bool:
    """Whether an outcome of a part takes the place of the run's current one.

    It does if the run has a failure, or a verdict on texts that the part has judged anew since.
    """
    if isinstance(current.outcome, Failure):
        return new.outcome != current.outcome
    return new.case_hash != current.case_hash and current.case_hash in seen
