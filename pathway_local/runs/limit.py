"""Reads and records the limit of `judge --limit` in a run's jobs."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from msgspec import ValidationError, convert

from pathway_local.runs.run_file import RunFile
from pathway_local.verdict import Value

FACT = "limit"


@dataclass(frozen=True, slots=True)
class Limit:
    """`size` of the cases of a `file`, drawn by `seed`; `rows` counts them, invalid ones included."""

    file: str
    size: int
    rows: int
    seed: int

    def __str__(self) -> str:
        return f"a random {self.size:,} of the {self.rows:,} cases of {self.file} (--limit, seed {self.seed})"

    def facts(self) -> dict[str, Value]:
        """Return the facts that a job records."""
        return {FACT: asdict(self)}


def limits_of(run: RunFile) -> dict[tuple[str, str], list[Limit]]:
    """Return for each rater and rubric the largest limit on each cases file that no job has begun to judge whole.

    After a job on the whole file, even a stopped one, the judged cases are no longer a random part.
    """
    found: dict[tuple[str, str], dict[str, Limit]] = {}
    whole: set[tuple[tuple[str, str], str]] = set()
    for job in run.jobs.all():
        limit, file = _limit(job.facts), str(job.fact("cases").get("file"))
        for rater in job.judges:
            own = found.setdefault(rater, {})
            if limit:
                own[limit.file] = max(limit, own.get(limit.file, limit), key=lambda each: each.size)
            else:
                whole.add((rater, file))
    return {rater: [limit for file, limit in own.items() if (rater, file) not in whole] for rater, own in found.items()}


def last_seed(run: RunFile, file: str) -> int | None:
    """Return the seed of the last limit on this file; None without one."""
    limits = (_limit(job.facts) for job in reversed(run.jobs.all()))
    return next((limit.seed for limit in limits if limit and limit.file == file), None)


def _limit(facts: Mapping[str, Value]) -> Limit | None:
    try:
        return convert(facts.get(FACT), Limit | None)
    except ValidationError:  # a fact of this name that another release wrote
        return None
