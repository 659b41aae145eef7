"""Everything that a report of a run shows, from as few passes over the run as possible."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pathway_local.errors import UnknownName
from pathway_local.note import Note
from pathway_local.rater import Rater, raters_named
from pathway_local.results.agreement import ORDER
from pathway_local.results.agreement_options import AgreementOptions
from pathway_local.results.agreement_tables import agreement_tables
from pathway_local.results.compare import comparison_tables
from pathway_local.results.comparison import ComparisonPlan
from pathway_local.results.ratings import Ratings
from pathway_local.results.ratings_matrix import RatingsMatrix, ratings_matrices
from pathway_local.results.summary import MOST_FINDINGS, findings, missed, summary_tables
from pathway_local.results.table import Table
from pathway_local.results.tally import Group, tally
from pathway_local.rubrics.rubric import Rubric
from pathway_local.runs.audit import AuditTrail
from pathway_local.runs.jobs import Job
from pathway_local.runs.purge import standing_jobs


@dataclass(frozen=True, slots=True)
class ReportPlan:
    """`by` is a column of groups; those under `smallest` cases are left out. `comparison` is of two chatbots, if any.

    People's labels are those of the raters called `against` (empty: all people).
    Cases with the same value of the column `cluster` depend on each other.
    """

    by: str = ""
    smallest: int = 10
    comparison: ComparisonPlan | None = None
    against: str = ""
    cluster: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """A run's results and origin. `head` is the last hash of its audit trail, `cases` counts those in the run.

    `findings` are a sentence for each of the first means, and of the corrected ones; `warnings` stand beside those of
    the tables. `jobs` leave out imports that were undone.
    """

    name: str
    cases: int
    rubrics: Mapping[str, Rubric]
    raters: tuple[Rater, ...]
    findings: Sequence[Note]
    warnings: Sequence[Note]
    tables: Sequence[Table]
    jobs: tuple[Job, ...]
    head: str


def report(data: Ratings, plan: ReportPlan) -> Report:
    """Read a run for a report. Raises UsageError for columns and values that the run lacks."""
    run, rubrics, raters = data.run, data.rubrics, tuple(data.raters)
    people = [rater.name for rater in raters if rater.kind == "human"]
    if plan.against and not raters_named(plan.against, people):
        raise UnknownName("person or group of people", plan.against, dict.fromkeys(people))
    kinds = {rater.name: rater.kind for rater in raters}
    whole, *parts = tally(data.records(), rubrics, ["", plan.by] if plan.by else [""], plan.cluster)
    places = list(rubrics)
    whole.sort(key=lambda group: (ORDER.index(kinds[group.rater]), places.index(group.rubric), group.rater))
    tables = [each.with_cautions(data.labels) for each in _summaries(data, whole, parts, plan)]
    labelled, agreed_on, every = dict[str, int](), list[Table](), list[RatingsMatrix]()
    for rubric in rubrics.values():
        rated = [each.name for each in raters if (each.kind, each.rubric) == ("human", rubric.name)]
        matrices = ratings_matrices(run, rubric) if rated or plan.comparison else []
        if rated:
            labelled[rubric.name] = max((_labelled(matrix) for matrix in matrices), default=0)
            against = plan.against if raters_named(plan.against, rated) else ""
            compared = AgreementOptions(cluster=plan.cluster, against=against, by=plan.by, min_group=plan.smallest)
            agreed_on += [each.with_cautions(data.labels) for each in agreement_tables(run, matrices, compared)]
        every += matrices
    if plan.comparison:
        tables += [each.with_cautions(data.labels) for each in comparison_tables(every, plan.comparison)]
    tables += agreed_on
    [(cases,)] = run.database.rows("SELECT COUNT(DISTINCT case_key) FROM outcomes WHERE superseded = 0")
    return Report(
        name=run.path.stem,
        cases=cases,
        rubrics=rubrics,
        raters=raters,
        findings=[*findings(whole, kinds), *_corrected(agreed_on)],
        warnings=[*missed(whole, labelled)],
        tables=tables,
        jobs=tuple(standing_jobs(run)),
        head=AuditTrail(run.database).head(),
    )


def _summaries(
    data: Ratings, whole: Sequence[Group], parts: Sequence[Sequence[Group]], plan: ReportPlan
) -> Iterator[Table]:
    yield from summary_tables(data, whole, "", cluster=plan.cluster, whole=whole)
    for groups in parts:
        yield from (
            each for each in summary_tables(data, groups, plan.by, plan.smallest, plan.cluster) if each.key == "groups"
        )


def _corrected(tables: Sequence[Table]) -> list[Note]:
    """The first sentences on corrected means."""
    return [note for each in tables for note in each.notes if note.key == "corrected_finding"][:MOST_FINDINGS]


def _labelled(matrix: RatingsMatrix) -> int:
    given = matrix.given[:, matrix.of_kind("human")]
    return int(np.isfinite(given).any(axis=1).sum())
