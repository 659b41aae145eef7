"""Chooses labelled cases to be the examples of a rubric."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from pydantic import Field

from pathway_local.case import hash_by_input, rank
from pathway_local.errors import UsageError
from pathway_local.probes.probe_list import roles_of
from pathway_local.rater import JUDGES
from pathway_local.results.analysis import Against, Cluster
from pathway_local.results.consensus import people_say
from pathway_local.rubrics.examples import MOST, PARTS, is_set_aside, learns_from_cases, score_fields
from pathway_local.rubrics.rubric import Rubric
from pathway_local.scores.matrix import RatingsMatrix
from pathway_local.scores.scores import Scores
from pathway_local.system.options import Options, Says
from pathway_local.verdict import Number, Verdict, plain

LEAST = 4
"""Examples at least."""


class AlignOptions(Options):
    """Which labels teach a judge, and how many."""

    against: Against
    examples: Annotated[int, Field(ge=LEAST, le=MOST), Says("N", "How many examples.")] = 8
    rubric: Annotated[str, Says("RUBRIC", "The rubric; needed if the run has several.")] = ""
    judge: Annotated[str, Says("NAME", "The judge whose errors count; needed if the run has several.")] = ""
    cluster: Cluster = ""


@dataclass(frozen=True, slots=True)
class Labelled:
    """A labelled case; `error` is how far the judge is from people, `apart` what no other example may share."""

    case: str
    hash: str
    scores: Mapping[str, Number]
    error: float
    apart: frozenset[str]
    notes: str = ""


def chosen_examples(data: Scores, rubric: Rubric, options: AlignOptions) -> list[Labelled]:
    """Return as many labelled cases as wanted: first one for each level, then those on which the judge errs most.

    Never two have one question, or one value of the column `cluster`. Raises UsageError, UnknownName, NotKept.
    """
    if learns_from_cases(rubric):
        raise UsageError(f"{rubric.name} has examples already", "Name with --rubric the one that it was made of.")
    matrices = [each for each in data.matrices([rubric]) if each.score in score_fields(rubric)]
    if not matrices or rubric.pair or len(matrices) < len(rubric.format.given):
        raise UsageError(f"{rubric.name} can't have examples", "Its scores must be fields of their own.")
    found = sorted(_labelled(data, rubric, matrices, options), key=lambda each: -each.error)
    chosen = _spread(found, options.examples)
    if len(chosen) < LEAST:
        said = f"{len(chosen)} labelled cases can be examples, and {LEAST} are needed"
        hint = f"One case in {PARTS} is set aside for examples: label more, or more questions and students."
        raise UsageError(said, hint)
    written = _notes(data, matrices[0], options.against, [each.case for each in chosen])
    chosen.sort(key=lambda each: rank(each.case, 0))
    return [replace(each, notes="\n".join(written[each.case])) for each in chosen]


def _labelled(
    data: Scores, rubric: Rubric, matrices: Sequence[RatingsMatrix], options: AlignOptions
) -> Iterator[Labelled]:
    """Yield the cases that are set aside and to which people gave a level of each score, in an order by chance."""
    first, people = matrices[0], matrices[0].columns(options.against)
    column, question = data.column(options.cluster), roles_of(rubric).get("question", "")
    if any(first.raters[place].kind != "human" for place in people):
        raise UsageError(f"{options.against} is no person", "Examples are cases that people have scored: name them.")
    own = _judge(first, options.judge)
    places = [at for at, case in enumerate(first.case_ids) if is_set_aside(case)]
    for at in sorted(places, key=lambda at: rank(first.case_ids[at], 0)):
        scores: dict[str, Number] = {}
        for each in matrices:
            given = each.given[at, people]
            said = people_say(each, given[np.isfinite(given)].tolist()) if np.isfinite(given).any() else []
            scores |= {each.score: plain(said[0])} if said and said[0] in (*each.levels, *each.special) else {}
        if len(scores) == len(matrices):
            asked = hash_by_input(first.hashes[at]).get(question, "")
            group = first.metadata[at].get(column, "")
            apart = {f"q{asked}" if asked != data.empty_text else "q", f"c{group}"} - {"q", "c"}
            error = sum(_error(each, at, own, scores[each.score]) for each in matrices)
            yield Labelled(first.case_ids[at], first.hashes[at], scores, error, frozenset(apart))


def _judge(matrix: RatingsMatrix, name: str) -> int:
    judges = [place for place in matrix.scoring(*JUDGES) if name in ("", matrix.raters[place].name)]
    if len(judges) != 1:
        known = ", ".join(matrix.raters[place].name for place in matrix.scoring(*JUDGES))
        raise UsageError(f"one judge must be named whose errors count; there are: {known or 'none'}", "Give --judge.")
    return judges[0]


def _error(matrix: RatingsMatrix, at: int, judge: int, label: Number) -> float:
    """How far the judge is from people, as a share of the scale; 0 where it gave no score."""
    given = float(matrix.given[at, judge])
    if not np.isfinite(given) or given == label:
        return 0.0
    apart = matrix.nominal or not {given, label}.isdisjoint(matrix.special)
    return 1.0 if apart else abs(given - label) / (matrix.levels[-1] - matrix.levels[0])


def _spread(found: Sequence[Labelled], count: int) -> list[Labelled]:
    """Return the first that show each level, the rarest level first, then the first of all others."""
    chosen, taken = list[Labelled](), set[str]()
    levels = Counter(level for each in found for level in each.scores.items())
    wanted: list[tuple[str, Number] | None] = [*sorted(levels, key=lambda level: levels[level])]
    for level in wanted + [None] * count:
        if level and any(level in each.scores.items() for each in chosen):
            continue
        fits = (each for each in found if not level or level in each.scores.items())
        free = next((each for each in fits if each not in chosen and taken.isdisjoint(each.apart)), None)
        if free and len(chosen) < count:
            chosen.append(free)
            taken |= free.apart
    return chosen


def _notes(data: Scores, matrix: RatingsMatrix, against: str, cases: Sequence[str]) -> dict[str, list[str]]:
    """Return what these people wrote about each of the cases."""
    people, found = {matrix.raters[place].name for place in matrix.columns(against)}, defaultdict[str, list[str]](list)
    for record in data.outcomes(matrix.rubric, cases=cases):
        if record.rater in people and isinstance(record.outcome, Verdict):
            found[record.case_id] += filter(None, [str(record.outcome.fields.get("notes", "")).strip()])
    return found
