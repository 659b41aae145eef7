"""The shard of `judge --shard`: a run then holds one part of its cases, and `runs merge` joins the parts."""

import re
from collections import defaultdict
from dataclasses import dataclass

from pathway_local.case import shard_of
from pathway_local.errors import UsageError
from pathway_local.runs.run_file import RunFile
from pathway_local.verdict import Value

FACT = SETTING = "shard"
MOST = 100_000


@dataclass(frozen=True, slots=True)
class Shard:
    """Part `number`, from 1, of cases that are divided by their ids into `of` parts."""

    number: int
    of: int

    @classmethod
    def parse(cls, given: str) -> "Shard":
        """Return the shard that a user wrote as K/N. Raises UsageError."""
        found = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", given)
        shard = cls(int(found[1]), int(found[2])) if found else None
        if shard is None or not 1 <= shard.number <= shard.of <= MOST:
            raise UsageError(f"--shard {given[:20]!r} is not K/N with K from 1 to N", "Such as --shard 3/16.")
        return shard

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def __contains__(self, case_id: str) -> bool:
        return self.of == 1 or shard_of(case_id, self.of) == self.number - 1


def shard_for(asked: Shard | None, run: RunFile | None) -> Shard | None:
    """Return the shard to judge: the run's own, else the one asked for. Raises UsageError if they differ.

    A run holds one shard, or is judged without: what its name promises must stay true, and only `merge` joins shards.
    """
    kept = run.get_setting(SETTING) if run else None
    own = Shard.parse(kept) if isinstance(kept, str) else None
    if run is None or asked in (None, own):
        return own or asked
    if own or any(job.judges for job in run.jobs.all()):
        holds = f"holds shard {own}" if own else "holds cases of other shards"
        raise UsageError(f"{run.path.name} {holds}, not shard {asked}", "Name another run file for another shard.")
    return asked


def shards_of(run: RunFile) -> dict[tuple[str, str], list[str]]:
    """Return for each rater and rubric the shards of each cases file in words, unless all or the whole were begun."""
    found: defaultdict[tuple[str, str], defaultdict[tuple[str, int], set[int]]] = defaultdict(lambda: defaultdict(set))
    whole: set[tuple[tuple[str, str], str]] = set()
    for job in run.jobs.all():
        shard, file = _shard(job.facts.get(FACT)), str(job.fact("cases").get("file"))
        for rater in job.judges:
            if shard is None:
                whole.add((rater, file))
            else:
                found[rater][file, shard.of].add(shard.number)
    complete = {(rater, file) for rater, own in found.items() for (file, of), have in own.items() if len(have) == of}
    return {
        rater: [_told(file, of, have) for (file, of), have in own.items() if (rater, file) not in whole | complete]
        for rater, own in found.items()
    }


def _told(file: str, of: int, have: set[int]) -> str:
    numbers = ", ".join(map(str, sorted(have)[:10])) + ("" if len(have) <= 10 else f" and {len(have) - 10} more")
    return f"shard{'s' * (len(have) > 1)} {numbers} of {of} of {file} (--shard)"


def _shard(fact: Value) -> Shard | None:
    try:
        return Shard.parse(fact) if isinstance(fact, str) else None
    except UsageError:  # a fact of this name that another release wrote
        return None
