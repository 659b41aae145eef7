"""One hash of everything that a run holds: the audit trail keeps it, so that changes by other programs show.

A command that writes records the hash that it found and the hash that it left. Between the two no entry vouches for
the outcomes: the outcomes of a killed command are reported as not covered, not as changed.
"""

import hashlib
from dataclasses import dataclass
from itertools import islice

from pathway_local.errors import ContentChanged
from pathway_local.runs.audit import HINT, AuditTrail
from pathway_local.runs.database import Database

HASHES = FOUND, LEFT = "found", "left"
"""The facts of an entry: the hash that a command found, and the hash that it left."""

# Rows per block, hashed by columns: half the time of row by row. Another number would make another hash.
_BLOCK = 256
_WRITES = ("job begins", "job ends", "purge")


@dataclass(frozen=True, slots=True)
class _Table:
    """The rows and columns of a table that are hashed, in the order of a key that does not depend on the file's layout.

    Columns that a table got later are not hashed, so that hashes of old runs still match. A step of `migrations` that
    changes hashed values must leave an entry with the new hash.
    """

    name: str
    key: str
    numbers: tuple[str, ...]
    texts: tuple[str, ...]

    def query(self, where: str = "") -> str:
        """Return a query for numbers as they are, and texts as bytes: decoding them takes longer than hashing."""
        columns = [*self.numbers, *(f"CAST({name} AS BLOB)" for name in self.texts)]
        return f"SELECT {', '.join(columns)} FROM {self.name} {where} ORDER BY {self.key}"


_OUTCOMES = _Table(
    "outcomes",
    "id",
    ("rater_id", "id", "case_key", "superseded", "prompt_tokens", "cached_tokens", "generated_tokens"),
    ("case_hash", "scores", "fields", "marks", "failure_kind", "failure_message"),
)
# Raters and rubrics without an outcome are left out: they come, change and go before a job begins.
_RATERS = _Table("raters", "id", ("rubric_id", "id"), ("name", "kind", "fingerprint", "spec"))
_RUBRICS = _Table("rubrics", "id", ("id",), ("name", "sha256", "text"))
_OTHERS = (
    _Table("cases", "key", ("key", "row", "numbered"), ("case_id", "metadata")),
    _Table("samples", "id", ("id", "rubric_id", "seed", "cases", "drawn"), ("strata",)),
    _Table(
        "inclusions",
        "sample_id, case_id",
        ("sample_id", "row", "numbered", "probability", "drawn"),
        ("case_id", "case_hash", "stratum"),
    ),
    _Table(
        "handouts",
        "custom_id",
        ("rubric_id", "row", "numbered"),
        ("custom_id", "rubric_sha256", "case_id", "case_hash", "recipient", "echoes"),
    ),
)


def content_hash(db: Database) -> str:
    """Return the SHA-256 of outcomes, their raters, rubrics and cases, samples and handouts, as 64 hex digits.

    Rows are streamed: a million outcomes take seconds and no memory.
    """
    whole = hashlib.sha256()
    raters = _add(whole, db, _OUTCOMES)
    rubrics = _add(whole, db, _RATERS, _among(raters))
    _add(whole, db, _RUBRICS, _among(rubrics))
    for table in _OTHERS:
        _add(whole, db, table)
    return whole.hexdigest()


def check_content(db: Database) -> str:
    """Check the run's content against its audit trail; return why no entry vouches for it, "" if one does.

    Raises ContentChanged. While another process may write, call it within `Database.snapshot`.
    """
    left: object = None
    number, job = 0, None
    for entry in AuditTrail(db).entries():
        if entry.event not in _WRITES:
            continue
        found = entry.facts.get(FOUND)
        if left and found and found != left:
            said = f"its outcomes were changed between entries {number} and {entry.number} of its audit trail"
            raise ContentChanged(f"{db.path}: {said}", HINT)
        left, number = entry.facts.get(LEFT), entry.number
        job = entry.facts.get("job") if entry.event == "job begins" else None
    if left and left != content_hash(db):
        raise ContentChanged(f"{db.path}: its outcomes are not those of entry {number} of its audit trail", HINT)
    if left:
        return ""
    return f"job {job} has not ended: its outcomes since are not covered" if job else "its outcomes are not covered"


def _add(whole: "hashlib._Hash", db: Database, table: _Table, where: str = "") -> set[int]:
    """Hash a table's rows, with the length of each text before it; return the values of the first column."""
    firsts: set[int] = set()
    count = len(table.numbers)
    whole.update(table.name.encode())
    rows = db.stream(table.query(where))
    while block := list(islice(rows, _BLOCK)):
        columns = list(zip(*block, strict=True))
        numbers, texts = columns[:count], columns[count:]
        lengths = [[None if text is None else len(text) for text in column] for column in texts]
        whole.update(repr((numbers, lengths)).encode())
        for column in texts:
            whole.update(b"".join(filter(None, column)))
        firsts.update(numbers[0])
    return firsts


def _among(ids: set[int]) -> str:
    return f"WHERE id IN ({', '.join(str(int(each)) for each in sorted(ids))})"
