"""Finds for imported ratings the sheet or page from which they came: only such ratings are labels of a sample."""

from collections.abc import Callable, Collection, Mapping, Sequence

from pathway_local.errors import UnknownName, UsageError
from pathway_local.ratings.handouts import Handout
from pathway_local.ratings.matched_ratings import Matched
from pathway_local.ratings.samples import Sample, inclusions, samples
from pathway_local.runs.run_file import RunFile

Ask = Callable[[str], bool]
"""Asks the user a question; without a person to ask, it returns False."""


def sheet_jobs(
    run: RunFile,
    rubric: str,
    matched: Sequence[Matched],
    handouts: Mapping[str, Handout],
    seed: int | None,
    known: Collection[tuple[str, str]],
    ask: Ask,
) -> tuple[dict[tuple[str, str], int], list[str]]:
    """Return by `Matched.key` the job that handed out each rating's sheet or page, and notes for the user.

    Ratings from another file have none, unless the user names the sample that chose their cases by its `seed`, or says
    so when asked; those `known` to have one, by an earlier import, keep it. Raises UnknownName for a seed without a
    sample, and UsageError if it drew none of the cases.
    """
    found = {each.key: handouts[each.rating.id].job for each in matched if each.rating.id in handouts}
    others = [each for each in matched if each.key not in found and each.key not in known]
    drawn = [(each, _drawn(run, each, others)) for each in samples(run, rubric)]
    if seed is not None:
        named = [(each, own) for each, own in drawn if each.seed == seed]
        if not named:
            raise UnknownName("sample's seed", str(seed), dict.fromkeys(str(each.seed) for each, _ in drawn))
        sample, own = max(named, key=lambda each: len(each[1]))
        if others and not own:
            raise UsageError(f"the sample with seed {seed} drew none of these cases", "Leave --sample out.")
        strata = f"by {sample.strata}" if sample.strata else "without strata"
        said = f"{len(named)} samples have the seed {seed}: the ratings count for the one drawn {strata}, which has"
        return found | _of(sample, own), [f"{said} most of their cases"] if own and len(named) > 1 else []
    notes = []
    for sample, own in reversed(drawn):
        if not own:
            continue
        what = f"{len(own):,} of {len(others):,} ratings" if len(own) < len(others) else f"all {len(own):,} ratings"
        said = (
            f"{what} are of cases that the sample with seed {sample.seed} drew, but did not come back on its sheets or "
            "pages"
        )
        if ask(f"{said}. Were they rated because the sample chose them?"):
            return found | _of(sample, own), []
        notes.append(
            f"{said}, so they don't count as its labels; if the sample chose the cases, import the file again with "
            f"--sample {sample.seed}"
        )
    return found, notes


def _drawn(run: RunFile, sample: Sample, ratings: Sequence[Matched]) -> list[Matched]:
    """Return the ratings of cases that the sample drew."""
    ids = {each.case_id for each in inclusions(run, sample.id) if each.drawn} if ratings else set()
    return [each for each in ratings if each.place.id in ids]


def _of(sample: Sample, ratings: Sequence[Matched]) -> dict[tuple[str, str], int]:
    return dict.fromkeys((each.key for each in ratings), max(sample.jobs))
