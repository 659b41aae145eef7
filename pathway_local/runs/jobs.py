"""The jobs of a run: when each command that wrote to it began and ended, and its facts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pathway_local.runs.audit import FOUND, LEFT, AuditTrail, content_hash, now, recorded
from pathway_local.runs.database import Database
from pathway_local.runs.record import COUNTS, TEXTS, VALUES_BY_NAME, to_json
from pathway_local.verdict import Value

WRITTEN = "written"
"""The name of a job's fact: names and hashes of the files that it wrote for others, such as rating sheets."""

ENGINES = "engines"
"""The name of a job's fact: the engines with which it judged, in turn."""


@dataclass(frozen=True, slots=True)
class Job:
    """One command that wrote to the run; times are UTC in ISO 8601.

    `ended`, `status` and `counts` are None while it runs, and stay None if it was killed.
    """

    id: int
    command: tuple[str, ...]
    facts: Mapping[str, Value]
    started: str
    ended: str | None
    status: str | None
    counts: Mapping[str, int] | None

    @property
    def judges(self) -> list[tuple[str, str]]:
        """The judges with which it judged: the name and the rubric of each."""
        rows = self._rows("raters")
        return [(str(each["rater"]), str(each["rubric"])) for each in rows if {"rater", "rubric"} <= each.keys()]

    @property
    def engines(self) -> list[Mapping[str, Value]]:
        """The engines with which it judged, in turn: judge, version, device, seal and settings of each."""
        return self._rows(ENGINES)

    def fact(self, name: str) -> Mapping[str, Value]:
        """Return the fact of that name if it is a mapping; an empty one if it is not."""
        fact = self.facts.get(name)
        return fact if isinstance(fact, dict) else {}

    def _rows(self, name: str) -> list[Mapping[str, Value]]:
        facts = self.facts.get(name)
        return [each for each in facts if isinstance(each, dict)] if isinstance(facts, list) else []


class Jobs:
    """The jobs of an open run; each change also goes into its audit trail."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._trail = AuditTrail(db)

    def begin(self, command: Sequence[str], facts: Mapping[str, Value]) -> int:
        """Record that a command starts to write, with facts for the manifest; return the job's id."""
        said = recorded(command)
        with self._db.writing():
            found = {FOUND: content_hash(self._db)}
            row = (to_json(said), to_json(dict(facts)), now())
            job = self._db.execute("INSERT INTO jobs (command, facts, started) VALUES (?, ?, ?)", row)
            self._trail.append("job begins", {"job": job, "command": said, **facts, **found})
        return job

    def learn(self, job: int, facts: Mapping[str, Value]) -> None:
        """Add facts that a command learned while it ran."""
        with self._db.writing():
            [(known,)] = self._db.rows("SELECT facts FROM jobs WHERE id = ?", job)
            self._db.execute(
                "UPDATE jobs SET facts = ? WHERE id = ?",
                (to_json({**VALUES_BY_NAME.read(self._db.path, known), **facts}), job),
            )
            self._trail.append("job goes on", {"job": job, **facts})

    def end(self, job: int, status: str, counts: Mapping[str, int]) -> None:
        """Record how a command ended."""
        with self._db.writing():
            row = (now(), status, to_json(dict(counts)), job)
            self._db.execute("UPDATE jobs SET ended = ?, status = ?, counts = ? WHERE id = ?", row)
            left = {LEFT: content_hash(self._db)}
            self._trail.append("job ends", {"job": job, "status": status, **counts, **left})

    def all(self) -> list[Job]:
        """Return every command that wrote to the run, oldest first."""
        rows = self._db.rows("SELECT id, command, facts, started, ended, status, counts FROM jobs ORDER BY id")
        return [self._job(*row) for row in rows]

    def _job(self, id: int, said: str, facts: str, start: str, end: str, status: str, counts: str) -> Job:
        path = self._db.path
        command, known = tuple(TEXTS.read(path, said)), VALUES_BY_NAME.read(path, facts)
        return Job(id, command, known, start, end, status, COUNTS.read(path, counts) if counts else None)
