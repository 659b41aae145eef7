"""Everything that a report of a run shows, from as few passes over the run as possible."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pathway_local.errors import UnknownName, UsageError
from pathway_local.note import Note
from pathway_local.rater import JUDGES, Rater, RaterKind, raters_named
from pathway_local.results import MIN_GROUP
from pathway_local.results.agreement import ORDER
from pathway_local.results.agreement_options import AgreementOptions
from pathway_local.results.agreement_tables import agreement_tables
from pathway_local.results.analysis import Against, Bad, Between, By, Cluster, MinGroup, PairBy
from pathway_local.results.bad import bad_answers, bad_table, check_bad, overview
from pathway_local.results.compare import comparison_plan, comparison_tables
from pathway_local.results.comparison import CompareOptions, ComparisonPlan
from pathway_local.results.mistakes import mistakes_in
from pathway_local.results.summary import summary_tables
from pathway_local.results.table import Table, score_title, unasked
from pathway_local.results.tally import Group, tally
from pathway_local.rubrics.rubric import Rubric
from pathway_local.runs.jobs import Job
from pathway_local.scores.matrix import RatingsMatrix
from pathway_local.scores.scores import Scores
from pathway_local.sheets.columns import folded, names_of
from pathway_local.system.options import Options

MOST_FINDINGS = 3

MANY_FAILURES = 0.05

FEW_LABELS = 50
"""With fewer labelled cases, intervals of agreement are wide."""


class ReportOptions(Options):
    """The parts of a report beside the scores of a run."""

    by: By = ""
    between: Between = ""
    pair_by: PairBy = ""
    cluster: Cluster = ""
    min_group: MinGroup = MIN_GROUP
    against: Against = ""
    bad: Bad = ""


@dataclass(frozen=True, slots=True)
class Report:
    """A run's results and origin. `head` is the last hash of its audit trail, `cases` counts those in the run.

    `overview` and `findings` come first: how good the chatbots are, whether the judge can be trusted, and what to do
    next. `warnings` stand beside those of the tables. Of tables and columns in detail there are none: these are in
    English alone.
    """

    name: str
    cases: int
    rubrics: Mapping[str, Rubric]
    raters: tuple[Rater, ...]
    overview: Sequence[Table]
    findings: Sequence[Note]
    warnings: Sequence[Note]
    tables: Sequence[Table]
    jobs: tuple[Job, ...]
    head: str


def report(data: Scores, options: ReportOptions) -> Report:
    """Read a run for a report. Raises UsageError."""
    plan, comparison = _planned(data, options)
    matrices = [*data.matrices([*data.rubrics.values()])]
    check_bad(matrices, plan.bad)
    bad = [found for matrix in matrices if (found := bad_answers(data, matrix, plan))]
    whole, parts = tally(data, cluster=plan.cluster), tally(data, plan.by, plan.cluster) if plan.by else ()
    kinds, places = {rater.name: rater.kind for rater in data.raters}, list(data.rubrics)
    whole.sort(key=lambda group: (ORDER.index(kinds[group.rater]), places.index(group.rubric), group.rater))
    first, told = overview(bad, (comparison.between if comparison else plan.by) or _chatbots(data))
    # The sentences of the first page stand there alone.
    own = bad_table(bad, plan.by)
    tables = [replace(each, notes=[note for note in each.notes if note.kind != "answer"]) for each in own]
    tables += _summaries(data, whole, parts, plan)
    tables += comparison_tables(matrices, comparison) if comparison else ()
    tables += _agreement(data, matrices, plan)
    cautions = [Note("caution", {"rater": name, "label": label}, "warning") for name, label in data.labels.items()]
    return Report(
        name=data.path.stem,
        cases=data.cases,
        rubrics=data.rubrics,
        raters=tuple(data.raters),
        overview=[each.with_cautions(data.labels) for each in first],
        findings=[*told, *_commonest(whole, kinds)],
        # Only the first warnings stand on the first page: those that make all scores meaningless come before others.
        warnings=[*cautions, *mistakes_in(data, plan.cluster), *_missed(whole, matrices)],
        tables=unasked(each.with_cautions(data.labels) for each in tables),
        jobs=data.jobs,
        head=data.trail,
    )


def _planned(data: Scores, options: ReportOptions) -> tuple[ReportOptions, ComparisonPlan | None]:
    """The options with the run's own spellings, and what to compare. Raises UsageError."""
    if options.pair_by and not options.between:
        raise UsageError("--pair-by needs --between", "Such as --between chatbot=v1,v2 --pair-by question_id.")
    people = [rater.name for rater in data.raters if rater.kind == "human"]
    if options.against and not raters_named(options.against, people):
        raise UnknownName("person or group of people", options.against, dict.fromkeys(people))
    known = {name: data.column(getattr(options, name)) for name in ("by", "cluster")}
    plan = options.model_copy(update=known)
    asked = {name: getattr(plan, name) for name in ("between", "pair_by", "cluster", "min_group")}
    if not plan.between:
        return plan, None
    # People's labels are of a sample, and correct the judges' differences.
    return plan, replace(comparison_plan(data, CompareOptions(**asked)), kinds=JUDGES)


def _agreement(data: Scores, matrices: Sequence[RatingsMatrix], plan: ReportOptions) -> Iterator[Table]:
    """Yield how well judges and people agree under each rubric that people rated."""
    for name in data.rubrics:
        rated = [each.name for each in data.raters if (each.kind, each.rubric) == ("human", name)]
        if rated:
            against = plan.against if raters_named(plan.against, rated) else ""
            compared = AgreementOptions(cluster=plan.cluster, against=against, by=plan.by, min_group=plan.min_group)
            own = [matrix for matrix in matrices if matrix.rubric == name]
            for each in agreement_tables(data, own, compared):
                if each.key != "bad":  # what to do next stands on the first page
                    yield replace(each, notes=[note for note in each.notes if not note.key.startswith("next_")])


def _summaries(data: Scores, whole: Sequence[Group], parts: Sequence[Group], plan: ReportOptions) -> Iterator[Table]:
    yield from summary_tables(data, whole, {"cluster": plan.cluster}, whole=whole)
    if plan.by:
        found = summary_tables(data, parts, {"by": plan.by, "cluster": plan.cluster}, plan.min_group)
        yield from (each for each in found if each.key == "groups")


def _chatbots(data: Scores) -> str:
    """The column that is called like chatbots and divides the cases; empty without one."""
    return next((name for name in data.group_columns() if folded(name) in names_of("chatbots")), "")


def _commonest(groups: Sequence[Group], kinds: Mapping[str, RaterKind]) -> Iterator[Note]:
    """Yield the most frequent values of the first scores without an order, by judges, or else by people."""
    scored = [(group, score) for group in groups for score in group.scores.values() if score.n]
    if not scored:
        yield Note("no_scores", kind="answer")
    nominal = [(group, score) for group, score in scored if score.declared.scale == "nominal"]
    judged = [(group, score) for group, score in nominal if kinds[group.rater] in JUDGES]
    for group, score in (judged or nominal)[:MOST_FINDINGS]:
        most = max(score.counts.values())
        values = [score.declared.levels.get(value, str(value)) for value, n in score.counts.items() if n == most]
        told = {"rater": group.rater, "rubric": score_title(group.rubric, score.name), "value": values}
        cases = max(each.cases for each in groups if each.rubric == group.rubric)
        yield Note("commonest_finding", {**told, "share": most / score.n, "scored": score.n, "cases": cases}, "answer")


def _missed(groups: Sequence[Group], matrices: Sequence[RatingsMatrix]) -> Iterator[Note]:
    """Yield a warning for each rater with many failures, and for each rubric with few cases that people labelled."""
    for group in groups:
        failed = group.failures.total()
        if failed > MANY_FAILURES * group.cases:
            told = {"rater": group.rater, "rubric": group.rubric, "failed": failed, "cases": group.cases}
            yield Note("many_failures", told | {"share": failed / group.cases}, "warning")
    labelled = Counter[str]()
    for each in matrices:
        count = int(np.isfinite(each.given[:, each.of_kind("human")]).any(axis=1).sum())
        labelled |= Counter({each.rubric: count})  # the most of its scores
    unrated = {group.rubric for group in groups} - set(labelled)
    if unrated:
        yield Note("no_people", {"rubrics": sorted(unrated)}, "warning")
    for rubric, count in labelled.items():
        if count < FEW_LABELS:
            yield Note("few_labels", {"count": count, "rubric": rubric}, "warning")
