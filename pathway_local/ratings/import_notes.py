"""The notes of an import: what was left out or replaced, and what may be a mistake."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from pathway_local.rater import Rater
from pathway_local.ratings.known_cases import Matched
from pathway_local.ratings.rating_layout import RatingsFile
from pathway_local.ratings.rating_rows import Problem
from pathway_local.rubrics.rubric import Rubric
from pathway_local.runs.audit import KEYED, file_facts
from pathway_local.runs.run_file import RunFile
from pathway_local.verdict import Outcome, Verdict

SHOWN_LEFT_OUT = 10


def left_out(problems: Sequence[Problem]) -> Iterator[str]:
    """Yield how many rows were left out, and why, up to a limit."""
    if not problems:
        return
    count = len({problem.where for problem in problems})
    yield (
        f"rows left out: {count:,}. They may not be a random part, so figures without them may be wrong; "
        "correct them if you can, and import the file again"
    )
    said = list(dict.fromkeys(map(str, sorted(problems, key=lambda problem: problem.place))))
    yield from (f"left out: {problem}" for problem in said[:SHOWN_LEFT_OUT])
    if len(said) > SHOWN_LEFT_OUT:
        yield f"left out: {len(said) - SHOWN_LEFT_OUT:,} further reasons"


def between_levels(matched: Sequence[Matched], rubric: Rubric) -> Iterator[str]:
    """Yield a note for each rater with scores between the levels of a scale, such as half points."""
    declared = rubric.format.scores
    found = Counter(
        item.rating.rater
        for item in matched
        if isinstance(item.rating.outcome, Verdict)
        and any(declared[name].between(score.value) for name, score in item.rating.outcome.scores.items())
    )
    for rater, count in found.items():
        yield (
            f"{rater}: {count} ratings lie between levels of the scale and are kept as they are; "
            "`agreement` counts half points as levels, and says what to quote for other numbers"
        )


def imported_before(run: RunFile, file: RatingsFile, raters: Sequence[Rater]) -> Iterator[str]:
    """Yield a note for each earlier import of the very same file under other raters' names."""
    names = [rater.name for rater in raters]
    same = file_facts(file.path, run.key)[KEYED]
    present = {rater.name for _, rater in run.raters()}
    for job in run.jobs.all():
        facts = job.fact("import")
        if job.status and facts.get(KEYED) == same:
            known = facts.get("raters")
            others = [str(name) for name in known if name in present] if isinstance(known, list) else []
            if others and not set(others) & set(names):
                yield (
                    f"{file.path.name} was imported before, as {', '.join(others)}: under the name of "
                    f"{', '.join(names)} as well, one person's ratings count twice"
                )


def replaced(new: Sequence[Matched], stored: Mapping[tuple[str, str], tuple[str, Outcome]]) -> Iterator[str]:
    """Yield a note if a page's file replaces earlier ratings."""
    count = sum(stored.get(item.key, ("", None))[0] == item.place.hash for item in new if item.rating.page)
    if count:
        yield f"earlier ratings by {new[0].rating.rater} replaced by those that the page saved later: {count}"
