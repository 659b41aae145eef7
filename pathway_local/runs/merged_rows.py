"""Copies the rows of runs into a merged run: each with new numbers, and a case that several runs hold only once."""

import json
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any

from pathway_local.errors import RunFileError
from pathway_local.runs.audit import AuditTrail
from pathway_local.runs.database import placeholders
from pathway_local.runs.file_errors import decoding
from pathway_local.runs.jobs import Job
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.stored_outcome import COLUMNS, to_json
from pathway_local.verdict import Value

_BATCH = 1_000

_CASE = "key, case_id, row, metadata, kinds"
_OUTCOME = (
    f"case_key, rater_id, case_hash, superseded, {COLUMNS}, prompt_tokens, cached_tokens, generated_tokens, "
    "job_id, sheet_job"
)
_READ = f"SELECT {_OUTCOME} FROM outcomes ORDER BY id"
_ADD = f"INSERT INTO outcomes ({_OUTCOME}) VALUES ({placeholders(range(17))})"
_KNOWN = f"SELECT id, {_OUTCOME} FROM outcomes WHERE case_key = ? AND rater_id = ?"
_REPLACED = f"SELECT {_OUTCOME} FROM outcomes WHERE case_key = ? AND rater_id = ? AND superseded = 1"
_ADD_JOB = "INSERT INTO jobs (command, facts, started, ended, status, counts) VALUES (?, ?, ?, ?, ?, ?)"
_HANDOUT = "custom_id, job_id, rubric_id, rubric_sha256, case_id, row, case_hash, recipient, echoes"
_SAMPLE = "job_id, rubric_id, seed, strata, cases, drawn"
_INCLUSION = "sample_id, case_id, case_hash, row, stratum, probability, drawn"

HASH, SUPERSEDED, SCORES, FIELDS, MARKS, FAILURE, SHEET = 2, 3, 4, 5, 6, 7, -1
"""Places of columns in an outcome's row."""

Outcome = tuple[Any, ...]


class MergedRows:
    """Copies parts into `run`, one after the other; `present` are the hashes of shared cases' texts as they are now.

    Of two outcomes of one case by one rater, a verdict counts more than a failure, a verdict on the present texts more
    than one on earlier texts, and equal verdicts count once. Different ones are refused, unless one is of the preferred
    part, which must come first.
    """

    def __init__(self, run: RunFile, present: set[str], panels: Collection[int] = ()) -> None:
        self.run, self._present, self._panels = run, present, panels
        self._keys: dict[str, int] = {}
        self._last_preferred = 0
        self._different: list[str] = []
        self._jobs: list[frozenset[int]] = []

    def add_jobs(self, jobs_of: Sequence[Sequence[Job]]) -> list[dict[int, int]]:
        """Add the jobs of all parts by time, those of copies once; return the new numbers for each part.

        Equal jobs of one part stay apart: two ratings within a second differ in nothing else. Jobs of one part keep
        their order, even if the clock was set back between them: an import names the job of its page by number.
        """
        numbers: list[dict[int, int]] = [{} for _ in jobs_of]
        every: list[tuple[str, int, Job]] = []
        for place, jobs in enumerate(jobs_of):
            latest = ""
            for job in jobs:
                latest = max(latest, job.started)
                every.append((latest, place, job))
        known: dict[tuple[object, ...], int] = {}
        times: Counter[tuple[object, ...]] = Counter()
        with self.run.database.writing():
            for _, place, job in sorted(every, key=lambda each: each[0]):
                counts = None if job.counts is None else to_json(dict(job.counts))
                facts = _renumbered(job, numbers[place])
                row = (to_json(job.command), to_json(facts), job.started, job.ended, job.status, counts)
                times[place, *row] += 1
                which = (times[place, *row], *row)
                if which not in known:
                    known[which] = self.run.database.execute(_ADD_JOB, row)
                numbers[place][job.id] = known[which]
        self._jobs = [frozenset(own.values()) for own in numbers]
        return numbers

    def add(
        self,
        part: RunFile,
        raters: Mapping[int, int],
        jobs: Mapping[int, int],
        hashes: Mapping[str, str],
        *,
        preferred: bool,
    ) -> None:
        """Copy a part's rows and audit trail. Raises RunFileError for different verdicts, RunDamaged for bad rows."""
        db = self.run.database
        with decoding(part.path):
            keys, shared = self._add_cases(part)
            self._forget_panels({keys[key] for key in shared})
            [(last,)] = db.rows("SELECT COALESCE(MAX(id), 0) FROM outcomes")
            rows = part.database.stream(_READ)
            while batch := list(islice(rows, _BATCH)):
                new = []
                with db.writing():
                    for key, rater, text, *rest, job, sheet in batch:
                        own = (job and jobs[job], sheet and jobs[sheet])
                        row = (keys[key], raters[rater], hashes.get(text, text), *rest, *own)
                        if key in shared and raters[rater] not in self._panels:
                            replaced = partial(_replaced, part, key, rater, hashes)
                            self._settle(row, last, replaced)
                        elif key not in shared:
                            new.append(row)
                    db.execute_all(_ADD, new)
            with db.writing():
                self._add_drawn(part, jobs, hashes)
                AuditTrail(db).add_part(AuditTrail(part.database))
        if preferred:
            [(self._last_preferred,)] = db.rows("SELECT COALESCE(MAX(id), 0) FROM outcomes")
        if self._different:
            count, first = len(self._different), self._different[0]
            some, such = ("one case has", ":") if count == 1 else (f"{count:,} cases have", ", such as")
            said = f"{some} another verdict in {part.path.name} than in an earlier run{such} {first}"
            raise RunFileError(said, "Say whose verdicts count, such as --prefer A.run, or leave a run out.")

    def _add_cases(self, part: RunFile) -> tuple[dict[int, int], set[int]]:
        """Add a part's cases; return the new key of each, and the keys in the part of those that were known."""
        db, keys, shared = self.run.database, {}, set()
        rows = part.database.stream(f"SELECT {_CASE} FROM cases ORDER BY key")
        while batch := list(islice(rows, _BATCH)):
            new = []
            with db.writing():
                for key, case_id, row, metadata, kinds in batch:
                    if case_id in self._keys:
                        shared.add(key)
                        self._add_metadata(self._keys[case_id], metadata, kinds)
                    else:
                        self._keys[case_id] = len(self._keys) + 1
                        new.append((self._keys[case_id], case_id, row, metadata, kinds))
                    keys[key] = self._keys[case_id]
                db.execute_all(f"INSERT INTO cases ({_CASE}) VALUES (?, ?, ?, ?, ?)", new)
        return keys, shared

    def _add_metadata(self, key: int, metadata: str, kinds: str | None) -> None:
        """Add the columns that only this part kept of a case."""
        [(known, known_kinds)] = self.run.database.rows("SELECT metadata, kinds FROM cases WHERE key = ?", key)
        before, new = json.loads(known), json.loads(metadata)
        if new.keys() - before.keys():
            added = {name: kind for name, kind in json.loads(kinds or "{}").items() if name not in before}
            of_both = None if kinds is known_kinds is None else to_json(added | json.loads(known_kinds or "{}"))
            query = "UPDATE cases SET metadata = ?, kinds = ? WHERE key = ?"
            self.run.database.execute(query, (to_json({**new, **before}), of_both, key))

    def _forget_panels(self, keys: Collection[int]) -> None:
        """Remove panels' outcomes of these cases: other parts may have verdicts that the panel did not see."""
        panels = list(self._panels)
        query = f"DELETE FROM outcomes WHERE case_key = ? AND rater_id IN ({placeholders(panels)})"
        if panels:
            with self.run.database.writing():
                self.run.database.execute_all(query, [(key, *panels) for key in keys])

    def forget_empty_panels(self) -> None:
        """Remove panels without outcomes, so that they are made anew."""
        with self.run.database.writing():
            query = "DELETE FROM raters WHERE id = ? AND id NOT IN (SELECT rater_id FROM outcomes)"
            self.run.database.execute_all(query, [(panel,) for panel in self._panels])

    def _settle(self, new: Outcome, last: int, replaced: Callable[[], list[Outcome]]) -> None:
        """Add an outcome of a case that an earlier part holds, too.

        `last` is the number of the last outcome of the earlier parts; `replaced` returns what `new` replaced in its
        part. Of a verdict and one that replaced it in a copy, the later one counts.
        """
        db = self.run.database
        known = {row[0]: row[1:] for row in db.rows(_KNOWN, new[0], new[1])}
        current = next((id for id, row in known.items() if not row[SUPERSEDED]), None)
        if new[SUPERSEDED] or current is None:
            if not any(_same(row, new) and row[SUPERSEDED] == new[SUPERSEDED] for row in known.values()):
                db.execute(_ADD, new)
            return
        old = known[current]
        if _same(old, new):
            if len(new[FIELDS] or "") > len(old[FIELDS] or ""):
                db.execute("UPDATE outcomes SET fields = ? WHERE id = ?", (new[FIELDS], current))
            if old[SHEET] is None:
                db.execute("UPDATE outcomes SET sheet_job = ? WHERE id = ?", (new[SHEET], current))
        elif old[SCORES] is None and new[SCORES] is not None:
            db.execute("DELETE FROM outcomes WHERE id = ?", (current,))
            db.execute(_ADD, new)
        elif new[SCORES] is not None:
            earlier = any(_same(row, new) for id, row in known.items() if row[SUPERSEDED] and id <= last)
            later = any(_same(row, old) for row in replaced())
            alike = (old[HASH] in self._present) == (new[HASH] in self._present)
            if later and not earlier and alike and current > self._last_preferred:
                db.execute("DELETE FROM outcomes WHERE id = ?", (current,))  # it is among those replaced
                db.execute(_ADD, new)
                return
            if earlier and not later and alike:
                return
            if alike and current > self._last_preferred:
                [(case_id,)] = db.rows("SELECT case_id FROM cases WHERE key = ?", new[0])
                self._different.append(str(case_id))
            wins = new[HASH] in self._present and old[HASH] not in self._present
            if wins:
                db.execute("UPDATE outcomes SET superseded = 1 WHERE id = ?", (current,))
            db.execute(_ADD, new if wins else (*new[:SUPERSEDED], 1, *new[SUPERSEDED + 1 :]))

    def _add_drawn(self, part: RunFile, jobs: Mapping[int, int], hashes: Mapping[str, str]) -> None:
        """Copy the samples that were drawn in a part, and its handouts; those of copies once."""
        db = self.run.database
        names = {name: id for id, name in db.rows("SELECT id, name FROM rubrics")}
        rubrics = {id: names[name] for id, name in part.database.rows("SELECT id, name FROM rubrics")}
        handouts = [
            (custom, jobs[job], rubrics[rubric], *place, hashes.get(text, text), recipient, to_json(rekeyed))
            for custom, job, rubric, *place, text, recipient, echoes in part.database.rows(
                f"SELECT {_HANDOUT} FROM handouts"
            )
            for rekeyed in [_rekeyed(json.loads(echoes), text, hashes, same_key=part.key == self.run.key)]
        ]
        db.execute_all(f"INSERT OR IGNORE INTO handouts ({_HANDOUT}) VALUES ({placeholders(range(9))})", handouts)
        known = set(db.rows(f"SELECT {_SAMPLE} FROM samples"))
        for id, job, rubric, *rest in part.database.rows(f"SELECT id, {_SAMPLE} FROM samples ORDER BY id"):
            row = (jobs[job], rubrics[rubric], *rest)
            if row in known or self._outgrown(part, row):
                continue
            new = db.execute(f"INSERT INTO samples ({_SAMPLE}) VALUES (?, ?, ?, ?, ?, ?)", row)
            included = [
                (new, case_id, hashes.get(text, text), *drawn)
                for _, case_id, text, *drawn in part.database.rows(
                    f"SELECT {_INCLUSION} FROM inclusions WHERE sample_id = ?", id
                )
            ]
            db.execute_all(f"INSERT INTO inclusions ({_INCLUSION}) VALUES ({placeholders(range(7))})", included)

    def _outgrown(self, part: RunFile, new: tuple[Any, ...]) -> bool:
        """Whether an earlier part holds a larger draw that grew from this one; remove one that grew into it.

        Raises RunFileError if two runs drew with one seed and neither draw grew from the other.
        """
        db, job, seed = self.run.database, new[0], new[2]
        same = db.rows("SELECT id, job_id FROM samples WHERE rubric_id = ? AND seed = ? AND strata = ?", *new[1:4])
        for id, known in same:
            if not any({job, known} <= jobs for jobs in self._jobs):
                said = f"{part.path.name} and an earlier run each drew a sample with seed {seed}"
                raise RunFileError(said, "Leave one out; next time merge before you draw, or use another seed.")
            if known >= job:
                return True
            db.execute("DELETE FROM inclusions WHERE sample_id = ?", (id,))
            db.execute("DELETE FROM samples WHERE id = ?", (id,))
        return False


def _renumbered(job: Job, numbers: Mapping[int, int]) -> dict[str, Value]:
    """Return a job's facts; an import has the new number of the job that made its page, if a page saved the file."""
    told = job.fact("import")
    page = told.get("page")
    paged: dict[str, Value] = (
        {"import": {**told, "page": numbers[page]}} if isinstance(page, int) and page in numbers else {}
    )
    return {**job.facts, **paged}


def _rekeyed(echoes: Mapping[str, str], text: str, hashes: Mapping[str, str], *, same_key: bool) -> dict[str, str]:
    """Return a handout's echoes under the merged run's key, and under "" the hash of its texts that its page holds.

    An echo whose text the cases file no longer has is left out: under another key, every reply would seem to differ.
    """
    own = echoes.get("", text)
    found = {name: hashes.get(echo, echo) for name, echo in echoes.items() if name and (same_key or echo in hashes)}
    return found if own == hashes.get(text, text) else {"": own, **found}


def _replaced(part: RunFile, key: int, rater: int, hashes: Mapping[str, str]) -> list[Outcome]:
    """Return the outcomes of a case that the rater's current one replaced in a part."""
    return [
        (*row[:HASH], hashes.get(row[HASH], row[HASH]), *row[HASH + 1 :])
        for row in part.database.rows(_REPLACED, key, rater)
    ]


def _same(one: Outcome, other: Outcome) -> bool:
    """Whether two outcomes say the same of the same texts; one may lack texts that its run did not keep."""
    if (one[HASH], one[SCORES], *one[MARKS : FAILURE + 2]) != (other[HASH], other[SCORES], *other[MARKS : FAILURE + 2]):
        return False
    if one[SCORES] is None:
        return True
    fields, others = json.loads(one[FIELDS]).items(), json.loads(other[FIELDS]).items()
    return all(item in others for item in fields) or all(item in fields for item in others)
