"""Draws and stores probability samples: every case has a known probability of being drawn.

Cases are ranked by a keyed hash of their ids (permanent random numbers, Ohlsson 1995), and the first n are drawn.
So a seed draws the same cases in any order of the file, and a larger sample contains the smaller one. What leaves the
institution holds no case id: only the run knows the case and the texts behind each random id that it hands out.
"""

import json
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pathway_local.case import Case, fingerprint, rank
from pathway_local.errors import UsageError
from pathway_local.rubrics.pair import BOTH, Order
from pathway_local.rubrics.rubric import Rubric
from pathway_local.runs.database import damaged
from pathway_local.runs.run_file import RunFile
from pathway_local.verdict import storable

LEAST = 2
"""Least number of cases drawn from a stratum: a variance within it can't be estimated from one case."""

# A sample is stored by its latest draw. Those that it grew from are known by what they handed out.
_SAMPLES = """
    SELECT samples.id, rubrics.name, seed, strata, (SELECT COUNT(*) FROM inclusions WHERE sample_id = samples.id),
        (SELECT COUNT(*) FROM inclusions WHERE sample_id = samples.id AND drawn = 1), (
        SELECT json_group_array(DISTINCT jobs.id) FROM jobs LEFT JOIN handouts ON handouts.job_id = jobs.id
        WHERE jobs.id = samples.job_id OR (
            handouts.rubric_id = samples.rubric_id AND json_extract(facts, '$.sample.seed') = seed
            AND json_extract(facts, '$.sample.strata') = strata
        )
    )
    FROM samples JOIN rubrics ON rubrics.id = rubric_id WHERE rubrics.name = ? ORDER BY samples.job_id, samples.id
"""


@dataclass(frozen=True, slots=True)
class Inclusion:
    """A case of the population, its probability of being drawn, and whether it was drawn.

    `stratum` is a number: the run stores which cases share a stratum, but not the column's words.
    """

    case_id: str
    case_hash: str
    row: int
    stratum: int
    probability: float
    drawn: bool


@dataclass(frozen=True, slots=True)
class Sample:
    """A sample of `drawn` out of `cases` under a rubric; `strata` names the column of the strata, or is empty.

    `jobs` are those that drew with this seed and these strata: a larger sample contains the smaller one.
    """

    id: int
    rubric: str
    seed: int
    strata: str
    cases: int
    drawn: int
    jobs: frozenset[int] = frozenset()


def draw(
    ids: Sequence[str], strata: Sequence[str], size: int, seed: int, least: int = LEAST
) -> tuple[list[bool], list[float]]:
    """Whether each case is drawn, and its probability n_h/N_h (n_h of the N_h cases in its stratum h are drawn).

    Each stratum gets a share of `size` in proportion to its cases, and at least `least`. Raises UsageError if there
    are fewer than `size` cases, or too many strata for it.
    """
    members: dict[str, list[int]] = {}
    for place, stratum in enumerate(strata):
        members.setdefault(stratum, []).append(place)
    shares = _shares({stratum: len(places) for stratum, places in members.items()}, size, least)
    drawn, chances = [False] * len(ids), [0.0] * len(ids)
    for stratum, places in members.items():
        places.sort(key=lambda place: rank(ids[place], seed))
        for order, place in enumerate(places):
            drawn[place] = order < shares[stratum]
            chances[place] = shares[stratum] / len(places)
    return drawn, chances


def _shares(sizes: dict[str, int], size: int, least: int) -> dict[str, int]:
    total = sum(sizes.values())
    shares = {stratum: min(least, count) if len(sizes) > 1 else 0 for stratum, count in sizes.items()}
    if size > total:
        raise UsageError(f"{size} cases can't be drawn: there are {total}", "Draw fewer cases.")
    if sum(shares.values()) > size:
        raise UsageError(
            f"{size} cases are too few for {len(sizes)} strata, which need {sum(shares.values())}",
            "Draw more cases, or name a column with fewer values.",
        )
    # Sainte-Laguë: the next case goes to the stratum with the largest N_h / (2 n_h + 1). Unlike rounded proportions, a
    # share never shrinks when `size` grows, so a larger sample only adds cases to sheets that people have already.
    for _ in range(size - sum(shares.values())):
        open_strata = [stratum for stratum in sizes if shares[stratum] < sizes[stratum]]
        chosen = max(open_strata, key=lambda stratum: (sizes[stratum] / (2 * shares[stratum] + 1), stratum))
        shares[chosen] += 1
    return shares


def store_sample(
    run: RunFile, job_id: int, rubric_name: str, seed: int, strata: str, inclusions: Sequence[Inclusion]
) -> int:
    """Store a sample with all inclusions in place of one with the same rubric, seed and strata; returns its id."""
    rubric = "(SELECT id FROM rubrics WHERE name = ?)"
    same = f"SELECT id FROM samples WHERE rubric_id = {rubric} AND seed = ? AND strata = ?"
    key = (rubric_name, seed, storable(strata))
    with run.database.writing():
        for (old,) in run.database.rows(same, *key):
            run.database.execute("DELETE FROM inclusions WHERE sample_id = ?", (old,))
            run.database.execute("DELETE FROM samples WHERE id = ?", (old,))
        columns = f"INSERT INTO samples (job_id, rubric_id, seed, strata) VALUES (?, {rubric}, ?, ?)"
        sample_id = run.database.execute(columns, (job_id, *key))
        places = ((storable(each.case_id), each.case_hash, each.row) for each in inclusions)
        chances = ((each.stratum, each.probability, each.drawn) for each in inclusions)
        rows = [(sample_id, *place, *chance) for place, chance in zip(places, chances, strict=True)]
        run.database.execute_all("INSERT INTO inclusions VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
    return sample_id


def samples(run: RunFile, rubric: str) -> list[Sample]:
    """Return the samples under a rubric, oldest draw first."""
    rows = run.database.rows(_SAMPLES, rubric)
    return [
        Sample(number, name, seed, strata, cases, drawn, frozenset(json.loads(jobs)))
        for number, name, seed, strata, cases, drawn, jobs in rows
    ]


def inclusions(run: RunFile, sample_id: int) -> list[Inclusion]:
    """Return every case of a sample's population, in the order of the cases file."""
    query = """
        SELECT case_id, case_hash, row, stratum, probability, drawn
        FROM inclusions WHERE sample_id = ? ORDER BY row, case_id
    """
    rows = run.database.rows(query, sample_id)
    try:
        return [
            Inclusion(case_id, case_hash, row, int(stratum), probability, bool(drawn))
            for case_id, case_hash, row, stratum, probability, drawn in rows
        ]
    except ValueError:  # SQLite keeps a text of any kind, and only `runs audit` compares it with the trail
        raise damaged(run.path, "a sample stored in it can't be read") from None


ID_BYTES = 12
"""24 hex digits: letters and digits are the only characters that every service accepts in a custom_id."""

_ADD = "INSERT INTO handouts VALUES (?, ?, (SELECT id FROM rubrics WHERE name = ?), ?, ?, ?, ?, ?)"
_FIND = """
    SELECT custom_id, rubrics.name, rubric_sha256, case_id, row, case_hash, recipient, job_id
    FROM handouts JOIN rubrics ON rubrics.id = rubric_id WHERE {} IN ({{}})
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
    rows = [
        (each.custom_id, job_id, each.rubric, each.rubric_sha256, storable(each.case_id), each.row, each.case_hash,
         storable(each.recipient)) for each in handouts
    ]  # fmt: skip
    with run.database.writing():
        run.database.execute_all(_ADD, rows)


def handed_to(run: RunFile, rubric: str, recipient: str) -> set[str]:
    """Return the ids of all cases that were handed out under a rubric to this service's model or evaluator."""
    return {case_id for (case_id,) in run.database.rows(_HANDED_TO, rubric, storable(recipient))}


def find_handouts(run: RunFile, custom_ids: Iterable[str]) -> dict[str, Handout]:
    """Return the handouts with these ids; ids that this run did not make are left out."""
    asked = list(dict.fromkeys(map(storable, custom_ids)))
    return {row[0]: Handout(*row) for row in run.database.rows_among(_FIND.format("custom_id"), asked)}


def handed_out_with(run: RunFile, handouts: Mapping[str, Handout]) -> dict[str, Handout]:
    """Return by case all that the same jobs handed out."""
    jobs = sorted({handout.job for handout in handouts.values()})
    return {row[3]: Handout(*row) for row in run.database.rows_among(_FIND.format("job_id"), jobs)}
