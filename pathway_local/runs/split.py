"""Splits a run into parts, one for each machine: each is a run of its own that judges its share of the cases.

A part has the run's key, so that `merge` tells by hashes alone which texts a part has judged.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import asdict

from pathway_local.case import part_of_case
from pathway_local.errors import OutputExists, UsageError
from pathway_local.runs.audit import LEFT, SPLIT, AuditTrail, content_hash, recorded_change
from pathway_local.runs.database import Database, placeholders
from pathway_local.runs.jobs import WRITTEN
from pathway_local.runs.record import Stored, to_json
from pathway_local.runs.run_file import RunFile
from pathway_local.system.private_file import check_output
from pathway_local.verdict import Value

FACT = SETTING = "part"
"""A job's fact, "3/16", and the setting that makes a run a part."""

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


class Part(Struct, frozen=True):
    """Part `number`, from 1, of cases that are divided by their ids into `of` parts.

    A run that is a part knows the hash and the last job that the run had when it was split.
    """

    number: Annotated[int, Meta(ge=1)]
    of: Annotated[int, Meta(ge=1)]
    head: str = ""
    jobs: int = 0

    @classmethod
    def read(cls, stored: Value) -> "Part | None":
        """Return the part that a run or a job names as K/N; None for anything else."""
        found = re.fullmatch(r"([1-9][0-9]{0,5})/([1-9][0-9]{0,5})", stored) if isinstance(stored, str) else None
        return cls(int(found[1]), int(found[2])) if found else None

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def __contains__(self, case_id: str) -> bool:
        return part_of_case(case_id, self.of) == self.number - 1


_PART = Stored[Part](Part)


def part_of(run: RunFile) -> Part | None:
    """Return which part of another run this one is; None if it is a run of its own."""
    found: Part | None = run.get_setting(SETTING, _PART)
    return found


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
            db.execute("INSERT INTO settings VALUES (?, ?)", (SETTING, to_json(asdict(part))))
            AuditTrail(db).append(SPLIT, {"of": str(part), "from": run.path.name} | {LEFT: content_hash(db)})

    try:
        RunFile.create(file, run.key, fill=fill).close()
    except FileExistsError:
        raise OutputExists(file) from None
