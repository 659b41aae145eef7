"""The results of a self-test: reads the scores of changed cases from its run, judge by judge."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from pathway_local.note import Note
from pathway_local.probes.drawing import ProbeSet, Row, row_id
from pathway_local.probes.probe_list import ALONE_AT_MOST, NEEDED, NEEDED_OF_ATTACKS, Probe
from pathway_local.results.probe_result import (
    MARGIN,
    MOVE,
    NEAR,
    QUIET,
    CaseScores,
    Noise,
    ProbeResult,
    ScoreRange,
    probe_result,
    settled,
)
from pathway_local.results.table import Cell, Column, Table
from pathway_local.runs.run_file import RunFile
from pathway_local.verdict import Verdict

SECTION = "probes"

_Key = tuple[str, str, str]
"""A rubric as `Row.rubric` has it, a row's id and a score."""


@dataclass(frozen=True, slots=True)
class JudgeTest:
    """All results of a judge; `failures` counts rows without a verdict by kind."""

    judge: str
    results: tuple[ProbeResult, ...]
    failures: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class SelfTest:
    """The results of several judges on the same rows; `file` names the cases file."""

    file: str
    test: ProbeSet
    judges: tuple[JudgeTest, ...]


def self_test(run: RunFile, test: ProbeSet, judges: Sequence[str], file: str) -> SelfTest:
    """Return what the run shows of these judges. Rows that are not in this test are ignored."""
    return SelfTest(file, test, tuple(_judge_test(run, test, judge) for judge in judges))


def _judge_test(run: RunFile, test: ProbeSet, judge: str) -> JudgeTest:
    scores, failures = _read(run, test, judge)

    def results(probes: Iterable[Probe], noise: Mapping[str, Noise]) -> Iterator[ProbeResult]:
        for probe in probes:
            for score, role in test.measured.roles.scores.items():
                if expected := probe.expects(role, test.measured):
                    cases, unused = list(_cases(test, probe, score, scores)), test.unused.get(probe.name, {})
                    scale = _scale(test, score)
                    yield probe_result(probe, score, expected, scale, cases, unused, noise.get(score, QUIET))

    repeats = results((probe for probe in test.probes if probe.name == "repeat"), {})
    noise = {each.score: each.noise for each in repeats}
    return JudgeTest(judge, settled([*results(test.probes, noise)]), failures)


def _scale(test: ProbeSet, score: str) -> ScoreRange:
    levels = test.measured.levels(score)
    return ScoreRange(float(levels[0]), float(levels[-1]))


def _read(run: RunFile, test: ProbeSet, judge: str) -> tuple[dict[_Key, float | None], dict[str, int]]:
    """Return the expected score of each row, None for one off the scale, and how many rows failed, by kind."""
    found: dict[_Key, float | None] = {}
    failures: Counter[str] = Counter()
    wanted = {(row.rubric, row.id) for row in test.rows}
    names = {rubric.name: name for name, rubric in test.rubrics.items()}
    for record in run.records(rater=judge):
        name = names.get(record.rubric)
        if name is None or (name, record.case_id) not in wanted:
            continue
        if not isinstance(record.outcome, Verdict):
            failures[record.outcome.kind] += 1
            continue
        for score, given in record.outcome.scores.items():
            special = test.measured.rubric.format.scores[score].special
            found[name, record.case_id, score] = given.expected(special)
    return found, dict(failures)


def _cases(test: ProbeSet, probe: Probe, score: str, scores: Mapping[_Key, float | None]) -> Iterator[CaseScores]:
    """Yield the scores of each case that the probe changes."""
    by_case: defaultdict[str, list[Row]] = defaultdict(list)
    for row in test.rows:
        if row.probe == probe.name:
            by_case[row.case].append(row)
    ideal = "gold" if "reference" in test.measured.roles.inputs else "own"
    low = float(test.measured.levels(score)[0])
    base = ideal if probe.base == "gold" else probe.base
    for case, rows in by_case.items():
        before = scores.get(("", row_id(base, "", case), score)) if base else None
        after = {row.variant: scores.get((row.rubric, row.id, score)) for row in rows}
        if probe.off_scale:
            judged = {row.variant for row in rows if (row.rubric, row.id, score) in scores}
            after |= {variant: low for variant in judged if after[variant] is None}
        yield CaseScores(bool(base), before, after, own=base == "own")


OF_PROBE = (Column("judge", "rater"), Column("probe"), Column("score", usual="score"))


def self_test_tables(found: SelfTest) -> list[Table]:
    """Every judge's result of every probe, and in detail what each change did and which cases could not be used."""
    test, every = found.test, _side_by_side(found)
    about: dict[str, object] = {"rubric": test.measured.rubric.name, "rubric_sha256": test.measured.rubric.sha256}
    about |= {"cases_file": found.file, "cases": test.cases, "cases_in_file": test.read}
    columns = [
        Column("probe"), Column("score", usual="score"), Column("expected", "key"), Column("judge", "rater"),
        Column("result", "key"), Column("passed", "count"), Column("cases", "count"), Column("share", "estimate"),
        Column("mean_shift", "estimate"), Column("spread", "number"), Column("change", "key", detail=True),
        *(Column(name, "number", detail=True) for name in ("needed", "fails_below", "p_passes", "p_fails", "p_noisy")),
    ]  # fmt: skip
    tables = [Table("probes", about, columns, [_row(*each) for each in every], [*_notes(found, every)])]
    failed: list[dict[str, Cell]] = [
        {"judge": judge.judge, "kind": kind, "count": count}
        for judge in found.judges
        for kind, count in sorted(judge.failures.items())
    ]
    tables.append(Table("no_verdict", {}, [OF_PROBE[0], Column("kind"), Column("count", "count")], failed))
    changes: list[dict[str, Cell]] = [
        _named(judge, each) | {"change": variant, "passed": passed, "cases": cases}
        for judge, each in every
        for variant, (passed, cases) in each.variants.items()
        if len(each.variants) > 1
    ]
    columns = [*OF_PROBE, Column("change"), Column("passed", "count"), Column("cases", "count")]
    tables.append(Table("changes", {}, columns, changes, detail=True))
    unused: list[dict[str, Cell]] = [
        _named(judge, each) | {"reason": reason, "count": count}
        for judge, each in every
        for reason, count in each.unused.items()
    ]
    reasons = [Column("reason", "key"), Column("count", "count")]
    tables.append(Table("unused", {}, [*OF_PROBE, *reasons], unused, detail=True))
    skipped: list[dict[str, Cell]] = [{"reason": reason, "count": count} for reason, count in test.skipped.items()]
    tables.append(Table("skipped", {}, reasons, skipped, detail=True))
    roles = test.measured.roles
    named = [*((name, role) for role, name in roles.inputs.items()), *roles.scores.items()]
    rows = [{"name": name, "role": role} for name, role in named]
    tables.append(Table("roles", {}, [Column("name"), Column("role", "key")], rows, detail=True))
    return [replace(each, section=SECTION) for each in tables if each.rows]


def _side_by_side(found: SelfTest) -> list[tuple[str, ProbeResult]]:
    """Return the results with their judges' names: all judges' of a probe and score together."""
    by_probe = zip(*(judge.results for judge in found.judges), strict=True)
    return [(judge.judge, each) for results in by_probe for judge, each in zip(found.judges, results, strict=True)]


def _named(judge: str, each: ProbeResult) -> dict[str, Cell]:
    return {"judge": judge, "probe": each.probe.name, "score": each.score}


def _row(judge: str, each: ProbeResult) -> dict[str, Cell]:
    row = _named(judge, each) | {"expected": each.expected, "result": each.result, "cases": each.cases}
    row |= {"change": each.probe.says, "needed": each.probe.needed, "fails_below": each.fails_below}
    row |= {"p_passes": each.passes, "p_fails": each.fails, "p_noisy": each.noisy}
    if each.cases:
        row |= {"passed": each.passed, "share": each.share, "mean_shift": each.shift, "spread": each.spread}
    return row


def _notes(found: SelfTest, every: Sequence[tuple[str, ProbeResult]]) -> Iterator[Note]:
    """Yield what passing means, what was left out, and how results come about."""
    yield Note("necessary", kind="answer")
    results = [each for _, each in every]
    alone = any(each.probe.name == "alone" for each in results)
    for judge, each in every:
        if each.probe.name == "repeat" and each.result == "noisy":
            told = {"judge": judge, "score": each.score, "share": each.passed / each.cases, "spread": each.spread}
            yield Note("repeats_part", told, "warning")
    for result in dict.fromkeys(each.result for each in results):
        key = f"result_{result.replace(' ', '_')}"
        yield Note(f"{key}_alone" if alone and result == "not shown" else key, {"most": ALONE_AT_MOST})
    roles = found.test.measured.roles
    scales = [_scale(found.test, name) for name in roles.scores]
    widths = list(dict.fromkeys(scale.high - scale.low for scale in scales))
    told = {"margins": [Note("points", {"points": width * MARGIN}) for width in widths], "near": NEAR}
    told |= {"moves": [Note("points", {"points": width * MOVE}) for width in widths]}
    yield Note("probe_scores", told | {"needed": NEEDED, "needed_of_attacks": NEEDED_OF_ATTACKS})
    yield Note("probe_statistics", {})
    reasons = sorted(found.test.without.items(), key=lambda item: item[1])
    for why, names in groupby(reasons, key=lambda item: item[1]):
        yield Note("probes_left_out", {"probes": [name for name, _ in names], "reason": why}, "note")
