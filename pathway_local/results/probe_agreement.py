"""Which probes went along with agreement: over judges, the share of cases that pass and the agreement with people."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pathway_local.errors import UsageError
from pathway_local.results.probe_result import ProbeResult
from pathway_local.results.ratings_matrix import RatingsMatrix, ratings_matrices
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.run_rubrics import rubric_of
from pathway_local.statistics.correlation import rank_correlation
from pathway_local.statistics.figure import Estimate, Number, Undefined
from pathway_local.statistics.human_benchmark import mean_of_people

Agreement = Mapping[tuple[str, str], Number]
"""Spearman's correlation of a judge's expected scores with the mean of people, by judge and score."""


@dataclass(frozen=True, slots=True)
class AlongWith:
    """The rank correlation, over `judges`, of the share that passes a probe with the agreement with people."""

    probe: str
    score: str
    judges: int
    correlation: Estimate


def agreement_with_people(run: RunFile, rubric: str, judges: Sequence[str]) -> Agreement:
    """Return the agreement of these judges with people in a run of `judge`; judges that are not in it are left out.

    Raises UnknownName if the run lacks the rubric, and UsageError if nobody has rated under it.
    """
    found: dict[tuple[str, str], Number] = {}
    people = False
    for matrix in ratings_matrices(run, rubric_of(run, rubric)):
        people = people or bool(matrix.of_kind("human"))
        found |= {(judge, matrix.score): value for judge, value in _of_score(matrix, judges).items()}
    if not people:
        raise UsageError(f"{run.path.name} holds no ratings of people under {rubric}", "Import them with `import`.")
    return found


def _of_score(matrix: RatingsMatrix, judges: Sequence[str]) -> dict[str, Number]:
    humans = matrix.of_kind("human")
    if not humans:
        return {}
    truth, found = mean_of_people(matrix.on_scale[:, humans]), dict[str, Number]()
    for place in matrix.of_kind("judge"):
        if matrix.raters[place].name in judges:
            both = np.column_stack([matrix.expected_or_given[:, place], truth])
            both = both[np.isfinite(both).all(axis=1)]
            found[matrix.raters[place].name] = rank_correlation(both[:, 0], both[:, 1]).value
    return found


def along_with(agreement: Agreement, results: Mapping[str, Sequence[ProbeResult]]) -> list[AlongWith]:
    """Return for each probe and score how its shares and the agreement go together over the judges that have both."""
    first = next(iter(results.values()))
    found = []
    for like in first:
        pairs = [
            (each.share.value, agreement.get((judge, each.score), Undefined("")))
            for judge, own in results.items()
            for each in own
            if (each.probe, each.score) == (like.probe, like.score)
        ]
        known = np.array([pair for pair in pairs if not any(isinstance(value, Undefined) for value in pair)], float)
        known = known.reshape(-1, 2)
        correlation = rank_correlation(known[:, 0], known[:, 1])
        found.append(AlongWith(like.probe.name, like.score, len(known), correlation))
    return found
