"""The limit of `judge --limit`, and which share of a cases file a run's jobs judged."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from msgspec import ValidationError, convert

from pathway_local.runs.run_file import RunFile
from pathway_local.runs.split import FACT as PART
from pathway_local.runs.split import Part
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


def shares_judged(run: RunFile) -> dict[tuple[str, str], list[str]]:
    """Return in words, for each rater and rubric, the share of each cases file that was judged, if it is not all.

    That is the largest limit, unless a job had none: after it, even a stopped one, the judged cases are no longer a
    random part. And it is the parts of a split run, unless all of them or the whole were begun.
    """
    limits: dict[tuple[tuple[str, str], str], Limit] = {}
    parts = defaultdict[tuple[tuple[str, str], str, int], set[int]](set)
    unlimited, whole = set(), set()
    for job in run.jobs.all():
        limit, part, file = _limit(job.facts), Part.read(job.facts.get(PART)), str(job.fact("cases").get("file"))
        for own in ((rater, file) for rater in job.judges):
            if limit:
                limits[own] = max(limit, limits.get(own, limit), key=lambda each: each.size)
            else:
                unlimited.add(own)
            if part:
                parts[*own, part.of].add(part.number)
            else:
                whole.add(own)
    found = defaultdict[tuple[str, str], list[str]](list)
    for (rater, file), limit in limits.items():
        if (rater, file) not in unlimited:
            found[rater].append(str(limit))
    whole |= {(rater, file) for (rater, file, of), have in parts.items() if len(have) == of}
    for (rater, file, of), have in parts.items():
        if (rater, file) not in whole:
            more = f" and {len(have) - 10} more" if len(have) > 10 else ""
            numbers = ", ".join(map(str, sorted(have)[:10])) + more
            found[rater].append(f"part{'s' * (len(have) > 1)} {numbers} of {of} of {file} (runs split)")
    return found


def last_seed(run: RunFile, file: str) -> int | None:
    """Return the seed of the last limit on this file; None without one."""
    limits = (_limit(job.facts) for job in reversed(run.jobs.all()))
    return next((limit.seed for limit in limits if limit and limit.file == file), None)


def _limit(facts: Mapping[str, Value]) -> Limit | None:
    try:
        return convert(facts.get(FACT), Limit | None)
    except ValidationError:  # a fact of this name that another release wrote
        return None
