"""A self-test of judges as tables and words."""

from collections.abc import Iterator
from itertools import groupby

from pathway_local.probes.changes import ALONE_AT_MOST
from pathway_local.probes.probe_list import NEEDED, NEEDED_OF_ATTACKS, SAID
from pathway_local.results.probe_result import MARGIN, MOVE, NEAR, ProbeResult, Result
from pathway_local.results.self_test import NECESSARY, JudgeTest, SelfTest
from pathway_local.results.views.cells import interval, number
from pathway_local.results.views.view import Remarks, TableView, View
from pathway_local.statistics.figure import Estimate, Interval, Undefined, percent
from pathway_local.statistics.intervals import LEVEL
from pathway_local.system.visible import visible

RESULTS: dict[Result, str] = {
    "passed": "passed: enough cases pass, and for what should stay the same the mean does, beyond chance",
    "failed": "failed: too few cases pass, or the mean moved, beyond chance",
    "not shown": "not shown: the cases do not show it either way; more of them (--n) may",
    "no cases": "no cases: no case could be used",
}


def self_test_view(found: SelfTest) -> View:
    """A table with all judges side by side, one for each judge with its figures, and what was left out."""
    tables = (_side_by_side(found), *(_details(found, judge) for judge in found.judges))
    title = f"Self-test under {visible(found.test.measured.rubric.name)}"
    said = (*_failures(found), *_variants(found), *_left_out(found))
    warnings = tuple(f"{judge.judge}: {judge.label}" for judge in found.judges if judge.label)
    readings = {"results": _results(found), **_readings(found)}
    return View(tables, Remarks(said, warnings=warnings, answer=(NECESSARY,), readings=readings), title=title)


def _name(each: ProbeResult, found: SelfTest, between: str = "\n") -> str:
    several = len(found.test.measured.roles.scores) > 1
    return f"{each.probe.name}{between}{visible(each.score.removesuffix('_score'))}" if several else each.probe.name


def _side_by_side(found: SelfTest) -> TableView:
    """A row for each probe and score, a column for each judge."""
    first = found.judges[0].results
    heads = ("probe", "expected", *(visible(judge.judge) for judge in found.judges))
    rows = tuple(
        (_name(each, found), SAID[each.expected], *(_outcome(judge.result(each)) for judge in found.judges))
        for each in first
    )
    drawn = f"{found.test.cases:,} of the {found.test.read:,} cases of {visible(found.file)}"
    return TableView(f"Results on {drawn}", heads, rows, 2)


def _outcome(each: ProbeResult) -> str:
    return f"{each.result}\n{each.passed} of {each.cases}" if each.cases else each.result


def _details(found: SelfTest, judge: JudgeTest) -> TableView:
    """The shares and shifts of one judge with their intervals."""
    heads = ("probe", "result", "passed", "share", "mean shift")
    rows = tuple(
        (_name(each, found), each.result, f"{each.passed} of {each.cases}", _share(each.share), _shift(each.shift))
        for each in judge.results
        if each.cases
    )
    return TableView(visible(judge.judge), heads, rows, 2)


def _share(share: Estimate) -> str:
    if isinstance(share.value, Undefined) or isinstance(share.interval, Undefined):
        return ""
    return f"{share.value:.1%}\n{share.interval.low:.1%} to {share.interval.high:.1%}"


def _shift(shift: Estimate) -> str:
    ends = interval(shift.interval) if isinstance(shift.interval, Interval) else ""
    return f"{number(shift.value)}\n{ends}" if ends else number(shift.value)


def _failures(found: SelfTest) -> Iterator[str]:
    for judge in found.judges:
        if judge.failures:
            kinds = ", ".join(f"{count:,} {kind}" for kind, count in sorted(judge.failures.items()))
            yield f"{visible(judge.judge)} gave no verdict on some rows: {kinds}."


def _variants(found: SelfTest) -> Iterator[str]:
    """Say how each change alone did where not all cases passed, and how far repeated scores spread."""
    for judge in found.judges:
        for each in judge.results:
            name = f"{visible(judge.judge)}, {_name(each, found, ' of ')}"
            if each.passed < each.cases and len(each.variants) > 1:
                counts = ", ".join(f"{variant}: {ok} of {of}" for variant, (ok, of) in each.variants.items())
                yield f"{name}, cases that pass with each change alone: {counts}."
            if each.spread is not None:
                yield f"{name}: the scores of a case have a standard deviation of {each.spread:.2f}."


def _left_out(found: SelfTest) -> Iterator[str]:
    """Say which probes and cases are not in the results, and why; once if it is the same for all judges and scores."""
    reasons = sorted(found.test.without.items(), key=lambda item: item[1])
    for why, names in groupby(reasons, key=lambda item: item[1]):
        yield f"Left out: {', '.join(name for name, _ in names)}: {why}."
    for probe in found.test.probes:
        told = {
            f"{visible(judge.judge)}, {_name(each, found, ' of ')}": ", ".join(
                f"{count:,} {why}" for why, count in each.unused.items()
            )
            for judge in found.judges
            for each in judge.results
            if each.probe == probe
        }
        shared = {probe.name: next(iter(told.values()))} if len(set(told.values())) == 1 else told
        yield from (f"{name}, cases not used, or not in full: {unused}." for name, unused in shared.items() if unused)


def _results(found: SelfTest) -> str:
    every = [each for judge in found.judges for each in judge.results]
    seen = {each.result for each in every}
    few = any(each.probe.name == "alone" for each in every)
    more = {"not shown": f", but `alone` uses {ALONE_AT_MOST} at most"} if few else {}
    texts = (f"{text}{more.get(result, '')}." for result, text in RESULTS.items() if result in seen)
    return " ".join(f"{text[0].upper()}{text[1:]}" for text in texts)


def _readings(found: SelfTest) -> dict[str, str]:
    roles = found.test.measured.roles
    scales = {name: found.test.measured.levels(name) for name in roles.scores}
    margins = ", ".join(f"{(own[-1] - own[0]) * MARGIN:g}" for own in dict.fromkeys(map(tuple, scales.values())))
    moves = ", ".join(f"{(own[-1] - own[0]) * MOVE:g}" for own in dict.fromkeys(map(tuple, scales.values())))
    results = [each for judge in found.judges for each in judge.results]
    names = {each.probe.name: each.probe for each in results}
    ends = (figure.interval for each in results for figure in (each.share, each.shift))
    levels = {each.level for each in ends if isinstance(each, Interval)} or {LEVEL}
    return {
        "scores": f"Scores are expected scores. Up to {margins} apart they count as the same; a score falls, rises or "
        f"leaves a level by more than {moves}. The lowest levels are the lowest {NEAR:.0%} of the scale. A case passes "
        f"if all its changes do. More than {NEEDED:.0%} of the cases must pass, for injection {NEEDED_OF_ATTACKS:.0%}."
        " All of this was set beforehand.",
        "statistics": f"Intervals are {percent(*levels)}: Wilson's for shares, t for mean shifts, where the changes of "
        "a case are a cluster. Holm's procedure covers all probes of a judge. There is no overall score.",
        **({"alone": f"alone: the first {ALONE_AT_MOST} cases only."} if "alone" in names else {}),
        "roles": ". ".join(line[0].upper() + line[1:] for line in found.test.measured.lines()) + ".",
        "probes": " ".join(f"{name}: {probe.says}." for name, probe in names.items()),
    }
