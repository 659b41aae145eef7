"""Stores and finds a run's rubrics: all of them, or those that a command needs."""

from collections.abc import Sequence
from dataclasses import replace

from pathway_local.case import text_hash
from pathway_local.errors import UnknownName, UsageError
from pathway_local.rater import Rater
from pathway_local.rubrics.examples import learns_from_cases
from pathway_local.rubrics.rubric import Example, Rubric, compiled
from pathway_local.runs.database import placeholders
from pathway_local.runs.run_file import RunFile
from pathway_local.verdict import storable

_ALIKE = """
    SELECT DISTINCT case_id FROM current WHERE case_hash IN (
        SELECT case_hash FROM current WHERE case_hash <> '' AND case_id IN ({})
    )
"""


def store_rubric(run: RunFile, rubric: Rubric) -> None:
    """Add a rubric to the run; of its examples, keep keyed hashes of the cases' ids alone.

    Raises RaterChanged if the run has outcomes under another rubric of that name.
    """
    if not rubric.needs_file:
        marks = tuple(Example(each.case and text_hash(run.key, storable(each.case))) for each in rubric.examples)
        rubric = replace(rubric, examples=marks)
    run.add_rubric(rubric.name, rubric.text, compiled(rubric))


def example_ids(run: RunFile, rubric: Rubric) -> frozenset[str]:
    """Return the ids of a run's cases that are examples of its rubric, or have the texts of one."""
    marks = {each.case for each in rubric.examples if each.case}
    if not marks:
        return frozenset()
    known = run.database.rows("SELECT case_id FROM cases")
    shown = [case_id for (case_id,) in known if text_hash(run.key, case_id) in marks]
    alike = run.database.rows(_ALIKE.format(placeholders(shown)), *shown)
    return frozenset(shown).union(case_id for (case_id,) in alike)


def rubrics_with(run: RunFile, ids: Sequence[str] | None) -> list[str]:
    """Return the rubrics of which one of these cases is an example; with None, those that have any."""
    found = [rubric for rubric in run.rubrics().values() if learns_from_cases(rubric)]
    return [rubric.name for rubric in found if ids is None or not example_ids(run, rubric).isdisjoint(ids)]


def raters_of(run: RunFile, rubric: Rubric) -> list[tuple[int, Rater]]:
    """Return the raters under a rubric with their ids, and the people who rated under the one that it is `rated_as`.

    Raises UsageError if that one has other inputs or scores.
    """
    own = [(rater_id, rater) for rater_id, rater in run.raters() if rater.rubric == rubric.name]
    names = {rater.name for _, rater in own}
    theirs = [(rater_id, rater) for rater_id, rater in run.raters() if rater.rubric == rubric.rated_as]
    theirs = [each for each in theirs if each[1].kind == "human" and each[1].name not in names]
    if theirs and _rated(run.rubrics()[rubric.rated_as]) != _rated(rubric):
        said = f"{rubric.name} is rated_as {rubric.rated_as}, which has other inputs or scores"
        raise UsageError(said, "Ratings under one rubric count under another only if both ask the same.")
    return own + theirs


def _rated(rubric: Rubric) -> object:
    """Return what ratings depend on: inputs, and levels by score."""
    scores = rubric.format.scores.items()
    return {*rubric.inputs}, {name: (each.values, each.special, each.scale) for name, each in scores}


def rubrics_named(run: RunFile, name: str | None) -> list[Rubric]:
    """Return the run's rubric of that name; without a name, all of them. Raises UnknownName."""
    return [rubric_of(run, name)] if name else list(run.rubrics().values())


def rubric_of(run: RunFile, name: str | None) -> Rubric:
    """Return the run's rubric of that name; without a name, its only one. Raises UsageError."""
    stored = run.rubrics()
    if name is None and len(stored) == 1:
        name = next(iter(stored))
    if name is None:
        said = f"has several rubrics: {', '.join(stored)}" if stored else "has no rubric yet"
        raise UsageError(f"{run.path.name} {said}", "Name one with --rubric.")
    if name not in stored:
        raise UnknownName("rubric", name, stored, f"These are the rubrics of {run.path.name}")
    return stored[name]
