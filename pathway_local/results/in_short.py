"""What a report says first: a sentence for each mean, and what a reader must not miss."""

from collections.abc import Iterator, Mapping, Sequence

from pathway_local.note import Note
from pathway_local.rater import JUDGES, RaterKind
from pathway_local.results.tally import Group, ScoreSummary
from pathway_local.statistics.figure import Interval, Undefined

MOST_FINDINGS = 3

MANY_FAILURES = 0.05

FEW_LABELS = 50
"""With fewer labelled cases, intervals of agreement are wide."""


def score_title(rubric: str, score: str) -> str:
    """The rubric's name, and behind it the score's where that says more."""
    return rubric if score == "score" else f"{rubric}: {score.removesuffix('_score')}"


def findings(groups: Sequence[Group], kinds: Mapping[str, RaterKind]) -> Iterator[Note]:
    """Yield a note for each of the first means of judges, with its interval and coverage; without judges, of people."""
    judged = [group for group in groups if kinds[group.rater] in JUDGES]
    scores = [(group, score) for group in judged or groups for score in group.scores.values() if score.n]
    for group, score in scores[:MOST_FINDINGS]:
        cases = max(each.cases for each in groups if each.rubric == group.rubric)
        yield _finding(group, score, cases)
    if len(scores) > MOST_FINDINGS:
        yield Note("more_findings", {"count": len(scores) - MOST_FINDINGS}, "answer")
    if not scores:
        yield Note("nothing_yet", kind="answer")


def _finding(group: Group, score: ScoreSummary, cases: int) -> Note:
    told = {"rater": group.rater, "rubric": score_title(group.rubric, score.name), "scored": score.n, "cases": cases}
    value, interval = score.mean.value, score.mean.interval
    if isinstance(value, Undefined):
        most = max(score.counts.values())
        commonest = [
            score.declared.levels.get(value, str(value)) for value, count in score.counts.items() if count == most
        ]
        return Note("commonest_finding", {**told, "value": commonest, "share": most / score.n}, "answer")
    ends = [value for value in score.counts if value not in score.declared.special]
    told |= {"mean": value, "low": float(min(ends)), "high": float(max(ends))}
    if isinstance(interval, Interval):
        return Note("mean_finding", told | {"mean_interval": interval}, "answer")
    return Note("mean_finding_alone", told, "answer")


def missed(groups: Sequence[Group], labelled: Mapping[str, int]) -> Iterator[Note]:
    """Yield a warning for each rater with many failures, and for each rubric with few cases `labelled` by people."""
    for group in groups:
        failed = group.failures.total()
        if failed > MANY_FAILURES * group.cases:
            told = {"rater": group.rater, "rubric": group.rubric, "failed": failed, "cases": group.cases}
            yield Note("many_failures", told | {"share": failed / group.cases}, "warning")
    unrated = {group.rubric for group in groups} - set(labelled)
    if unrated and not labelled:
        yield Note("no_people", kind="warning")
    elif unrated:
        yield Note("no_people_under", {"rubrics": sorted(unrated)}, "warning")
    for rubric, count in labelled.items():
        if count < FEW_LABELS:
            yield Note("few_labels", {"count": count, "rubric": rubric}, "warning")
