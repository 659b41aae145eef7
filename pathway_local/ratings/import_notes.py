"""The notes of an import: what was left out or replaced, and what may be a mistake."""

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from pathway_local.rater import GROUP, Rater
from pathway_local.ratings.matched_ratings import Matched
from pathway_local.ratings.rating_rows import Problem
from pathway_local.ratings.ratings_file import RatingsFile
from pathway_local.rubrics.rubric import Rubric
from pathway_local.runs.audit import KEYED, file_facts
from pathway_local.runs.run_file import RunFile
from pathway_local.sheets.columns import folded
from pathway_local.verdict import Outcome, Verdict

SHOWN_LEFT_OUT = 10
LEAST_ALIKE = 8
"""Cases on which two people's scores must all be the same before we suspect that a sheet was imported twice."""


def names_one_person(first: str, second: str) -> bool:
    """Whether two raters' names differ only in their group, or in case, accents, blanks and punctuation."""
    mine, others = ({_bare(name), _bare(name.partition(GROUP)[2] or name)} for name in (first, second))
    return bool(mine & others)


def _bare(name: str) -> str:
    return "".join(filter(str.isalnum, folded(name))) or name


def _removal(run: RunFile, new: str, other: str) -> str:
    """Return the command that removes one of two raters: the one without a group, else the earlier one."""
    gone = new if GROUP in other and GROUP not in new else other
    return shlex.join(["pathway-local", "runs", "remove-rater", str(run.path), gone])


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


def alike(run: RunFile, raters: Sequence[Rater]) -> Iterator[str]:
    """Yield a note for each person who may be one of these people: by the name, or by exactly the same scores."""
    rubrics = {rater.rubric for rater in raters}
    people = [rater for _, rater in run.raters() if rater.kind == "human" and rater.rubric in rubrics]
    new = [rater.name for rater in raters if rater.kind == "human"]
    given = {
        rater.name: {
            record.case_id: {name: score.value for name, score in record.outcome.scores.items()}
            for record in run.records(rater.name, rater.rubric)
            if isinstance(record.outcome, Verdict)
        }
        for rater in (people if new else ())
    }
    for name in new:
        for other in given:
            known = other in new[: new.index(name) + 1]
            if not known and names_one_person(name, other):
                said = f"{name} and {other} count as two people, but their names look like one person's"
                remedy = f"run `{_removal(run, name, other)}`, and import that file again under the other name"
                yield f"{said}: if they are one, {remedy}"
            pairs = [(scores, given[other][case]) for case, scores in given[name].items() if case in given[other]]
            several = len({str(scores) for scores, _ in pairs}) > 1
            if several and not known and len(pairs) >= LEAST_ALIKE and all(one == two for one, two in pairs):
                said = f"{name} and {other} gave the same scores to all their {len(pairs)} cases"
                yield f"{said}: was one sheet imported twice?"
