"""The top of a report: what came out in a few sentences, and what a reader must not miss."""

from collections.abc import Iterator

from pathway_local.pages.language import Language
from pathway_local.pages.page import caution, score_title
from pathway_local.pages.people import labels_counted
from pathway_local.pages.scores import cases_under, ends_of, judges_first
from pathway_local.rater import JUDGES
from pathway_local.results.report import Report
from pathway_local.results.summary import Group, ScoreSummary
from pathway_local.results.views.preferences import preferences_sentences
from pathway_local.results.views.summary import intervals_allow
from pathway_local.statistics.figure import Undefined
from pathway_local.statistics.prediction_powered import Correction
from pathway_local.system.visible import visible

MOST_FINDINGS = 3

FEW_LABELS = 50
"""With fewer labelled cases, intervals of agreement are wide."""

MANY_FAILURES = 0.05


def findings(found: Report, say: Language) -> list[str]:
    """A sentence for each of the first means, with its interval and coverage, and one for each corrected mean."""
    kinds = {rater.name: rater.kind for rater in found.raters}
    every = judges_first(found)
    judged = [group for group in every if kinds[group.rater] in JUDGES]
    scores = [(group, score) for group in judged or every for score in group.scores.values() if score.n]
    said = [_finding(group, score, cases_under(found, group.rubric), say) for group, score in scores[:MOST_FINDINGS]]
    said += list(_corrected(found, say))[:MOST_FINDINGS]
    if len(scores) > MOST_FINDINGS:
        said.append(say("more_findings", count=len(scores) - MOST_FINDINGS))
    return said or [say("nothing_yet")]


def _finding(group: Group, score: ScoreSummary, cases: int, say: Language) -> str:
    where = {"rater": visible(group.rater), "rubric": visible(score_title(group.rubric, score.name))}
    counts = {"scored": score.n, "cases": cases}
    value, interval = score.mean.value, score.mean.interval
    if isinstance(value, Undefined):
        most = max(score.counts.values())
        commonest = [score.levels.get(value, str(value)) for value, count in score.counts.items() if count == most]
        label = visible(", ".join(commonest))
        return say("commonest_finding", **where, **counts, value=label, share=say.share(most / score.n))
    low, high = ends_of(score)
    ends = {"low": f"{low:g}", "high": f"{high:g}", "interval": say.in_words(interval)}
    return say("mean_finding", **where, **counts, **ends, mean=say.number(value))


def _corrected(found: Report, say: Language) -> Iterator[str]:
    for each in (one for part in found.with_people for one in part.calibrations):
        whole = each.parts[0].mean
        if isinstance(whole, Correction) and each.sample and not isinstance(whole.corrected.value, Undefined):
            yield say(
                "corrected_finding",
                rubric=visible(score_title(each.rubric, each.score)),
                judge=visible(each.judge),
                people=visible(each.plan.against),
                cases=each.parts[0].cases,
                labels=labels_counted(each, whole, say),
                mean=say.number(whole.corrected.value),
                interval=say.in_words(whole.corrected.interval),
            )


def warnings(found: Report, say: Language) -> Iterator[tuple[str, str]]:
    """Yield warnings, each with its language; sentences from `results/views` are in English."""
    for rater, label in found.summary.labels.items():
        yield caution(rater, label, say), say.name
    for line in intervals_allow(found.summary):
        yield f"{line.removesuffix('.')}.", "en"
    for line in found.summary.unfit:
        yield f"{visible(line)}.", "en"
    rated = {part.rubric for part in found.with_people}
    unrated = {group.rubric for group in found.summary.groups} - rated
    if unrated and not rated:
        yield say("no_people"), say.name
    elif unrated:
        yield say("no_people_under", rubrics=visible(", ".join(sorted(unrated)))), say.name
    for part in found.with_people:
        if part.labelled < FEW_LABELS:
            yield say("few_labels", count=part.labelled, rubric=visible(part.rubric)), say.name
        for warning in dict.fromkeys(line for each in part.agreement for line in each.warnings):
            yield f"{visible(warning)}.", "en"
    for group in found.summary.groups:
        name = f"{visible(group.rubric)} by {visible(group.rater)}"
        for judged in found.summary.parts(group):
            yield f"{name}: judged {visible(judged)}.", "en"
        for line in preferences_sentences(group.preferences) if group.preferences else ():
            yield f"{name}: {line}", "en"
        failed = group.failures.total()
        if failed > MANY_FAILURES * group.cases:
            share = say.share(failed / group.cases)
            where = {"rater": visible(group.rater), "rubric": visible(group.rubric)}
            yield say("many_failures", **where, failed=failed, cases=group.cases, share=share), say.name
