"""Cases handed out under new random ids: to a hosted judge, or on a rating sheet.

Files that leave the institution hold no case id; only the run knows the case and the texts behind each random id.
"""

import secrets
from collections.abc import Iterable
from dataclasses import dataclass

from pathway_local.case import Case, fingerprint
from pathway_local.rubrics.pair import BOTH, Order
from pathway_local.rubrics.rubric import Rubric
from pathway_local.runs.run_file import RunFile
from pathway_local.verdict import storable

ID_BYTES = 12
"""24 hex digits: letters and digits are the only characters that every service accepts in a custom_id."""

_ADD = "INSERT INTO handouts VALUES (?, ?, (SELECT id FROM rubrics WHERE name = ?), ?, ?, ?, ?, ?)"
_FIND = """
    SELECT custom_id, rubrics.name, rubric_sha256, case_id, row, case_hash, recipient, job_id
    FROM handouts JOIN rubrics ON rubrics.id = rubric_id WHERE custom_id IN ({})
"""
_HANDED_TO = """
    SELECT DISTINCT case_id FROM handouts JOIN rubrics ON rubrics.id = rubric_id
    WHERE rubrics.name = ? AND recipient = ?
"""


@dataclass(frozen=True, slots=True)
class Handout:
    """One case under one rubric, handed out to `recipient` (a service's model, or an evaluator).

    A comparison of two responses is handed out twice, and the end of each id tells the order. `job` handed it out, and
    is 0 until the handout is stored.
    """

    custom_id: str
    rubric: str
    rubric_sha256: str
    case_id: str
    row: int
    case_hash: str
    recipient: str
    job: int = 0

    @property
    def page_hash(self) -> str:
        """The hash of all the case's texts that the page holds."""
        return self.case_hash.partition(" ")[0]

    @property
    def order(self) -> Order | None:
        """The order in which the two responses are read; None if the case was handed out once."""
        ending = self.custom_id[2 * ID_BYTES :]
        return next((order for order in BOTH if order == ending), None)


def hand_out(key: bytes, rubric: Rubric, case: Case, recipient: str, order: Order | None = None) -> Handout:
    """Return a handout of the case with a new random id; `key` is the run's. Raises MissingInput."""
    place = (case.id, case.row, fingerprint(key, rubric.texts_of(case)))
    return Handout(f"{secrets.token_hex(ID_BYTES)}{order or ''}", rubric.name, rubric.sha256, *place, recipient)


def store_handouts(run: RunFile, job_id: int, handouts: Iterable[Handout]) -> None:
    """Store which case is behind each random id, all or nothing."""
    with run.database.writing(commit=True):
        for item in handouts:
            place = (storable(item.case_id), item.row, item.case_hash)
            columns = (item.custom_id, job_id, item.rubric, item.rubric_sha256, *place)
            run.database.execute(_ADD, (*columns, storable(item.recipient)))


def handed_to(run: RunFile, rubric: str, recipient: str) -> set[str]:
    """Return the ids of all cases that were handed out under a rubric to this service's model or evaluator."""
    return {case_id for (case_id,) in run.database.rows(_HANDED_TO, rubric, storable(recipient))}


def find_handouts(run: RunFile, custom_ids: Iterable[str]) -> dict[str, Handout]:
    """Return the handouts with these ids; ids that this run did not make are left out."""
    asked = list(dict.fromkeys(map(storable, custom_ids)))
    return {row[0]: Handout(*row) for row in run.database.rows_among(_FIND, asked)}
