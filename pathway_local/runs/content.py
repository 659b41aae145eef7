"""What a run holds, as one hash that its audit trail keeps: whether outcomes were changed by other means than ours.

A command that writes notes the hash that it found and the one that it left. In between no entry vouches for the
outcomes, so one that was killed is told as such and not taken for somebody's change.
"""

import hashlib
from dataclasses import dataclass
from itertools import islice

from pathway_local.errors import ContentChanged
from pathway_local.runs.audit import HINT, AuditTrail
from pathway_local.runs.database import Database

HASHES = FOUND, LEFT = "found", "left"
"""The facts of an entry with the hash that a command found, and with the one that it left."""

# Rows are hashed by columns, so many at a time, which takes half as long as row by row. Another number, another hash.
_BLOCK = 256
_WRITES = ("job begins", "job ends", "purge")


@dataclass(frozen=True, slots=True)
class _Table:
    """Which rows and columns of a table are hashed, in the order of a key that rows keep wherever they lie.

    A table that gets a column later is hashed as before; a step of `migrations` that changes hashed values of runs
    that have hashes would have to leave an entry with the new one.
    """

    name: str
    key: str
    numbers: tuple[str, ...]
    texts: tuple[str, ...]

    def query(self, where: str = "") -> str:
        """Numbers as they are, texts as bytes: to decode all that judges wrote takes longer than to hash it."""
        columns = [*self.numbers, *(f"CAST({name} AS BLOB)" for name in self.texts)]
        return f"SELECT {', '.join(columns)} FROM {self.name} {where} ORDER BY {self.key}"


_OUTCOMES = _Table(
    "outcomes",
    "id",
    ("rater_id", "id", "case_key", "superseded", "prompt_tokens", "cached_tokens", "generated_tokens"),
    ("case_hash", "scores", "fields", "marks", "failure_kind", "failure_message"),
)
# Raters and rubrics without an outcome are none of it: they come, change and go before a job begins.
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
    """The SHA-256 of outcomes, their raters, rubrics and cases, samples and handouts, as 64 hex digits.

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
    """Check that what the run holds is what its audit trail says; where no entry vouches for it, why not, else "".

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
    """Hash a table's rows, with the length of each text before it; gives the values of the first column."""
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
