"""The results of a self-test: reads the scores of changed cases from its run, judge by judge."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pathway_local.probes.drawing import ProbeSet, Row, row_id
from pathway_local.probes.probe_list import Probe
from pathway_local.results.figure_row import estimate_values
from pathway_local.results.labels import labels_of
from pathway_local.results.probe_result import CaseScores, ProbeResult, ScoreRange, probe_result, settled
from pathway_local.runs.run_file import RunFile
from pathway_local.system.output_file import output_file
from pathway_local.verdict import Value, Verdict

NECESSARY = (
    "Passing is necessary, not sufficient: a judge that fails a probe can't be trusted with what the probe changes; "
    "one that passes them all may still disagree with people."
)
"""Stands above every output of a self-test."""

_Key = tuple[str, str, str]
"""A rubric as `Row.rubric` has it, a row's id and a score."""


@dataclass(frozen=True, slots=True)
class JudgeTest:
    """All results of a judge; `label` must stand beside them, `failures` counts rows without a verdict by kind."""

    judge: str
    label: str
    results: tuple[ProbeResult, ...]
    failures: Mapping[str, int]

    def result(self, like: ProbeResult) -> ProbeResult:
        """Return this judge's result of the same probe and score."""
        return next(each for each in self.results if (each.probe, each.score) == (like.probe, like.score))


@dataclass(frozen=True, slots=True)
class SelfTest:
    """The results of several judges on the same rows; `file` names the cases file."""

    file: str
    test: ProbeSet
    judges: tuple[JudgeTest, ...]

    def as_json(self) -> dict[str, Value]:
        """Return the same as plain values, without any case."""
        test, roles = self.test, self.test.measured.roles
        return {
            "note": NECESSARY,
            "rubric": test.measured.rubric.name,
            "rubric_sha256": test.measured.rubric.sha256,
            "cases_file": self.file,
            "cases": test.cases,
            "cases_in_file": test.read,
            "roles": {**{name: role for role, name in roles.inputs.items()}, **roles.scores},
            "left_out": dict(test.without),
            "skipped": dict(test.skipped),
            "judges": [_judge_json(judge) for judge in self.judges],
        }


def _judge_json(judge: JudgeTest) -> dict[str, Value]:
    probes: list[Value] = [_probe_json(each) for each in judge.results]
    labelled: dict[str, Value] = {"label": judge.label} if judge.label else {}
    return {"judge": judge.judge, **labelled, "failures": dict(judge.failures), "probes": probes}


def _probe_json(each: ProbeResult) -> dict[str, Value]:
    variants: dict[str, Value] = {name: {"passed": ok, "cases": of} for name, (ok, of) in each.variants.items()}
    return {
        "probe": each.probe.name,
        "score": each.score,
        "expected": each.expected,
        "result": each.result,
        "cases": each.cases,
        "passed": each.passed,
        "needed": each.probe.needed,
        "share": estimate_values(each.share),
        "mean_shift": estimate_values(each.shift),
        "p_passes": each.passes,
        "p_fails": each.fails,
        "variants": variants,
        "unused": dict(each.unused),
        **({"spread": each.spread} if each.spread is not None else {}),
    }


def write_self_test(path: Path, found: SelfTest, *, force: bool) -> None:
    """Write the results as JSON. Raises OutputExists, and UsageError if the file can't be written."""
    with output_file(path, force=force) as file:
        file.write(json.dumps(found.as_json(), indent=1, ensure_ascii=False, allow_nan=False).encode() + b"\n")


def self_test(run: RunFile, test: ProbeSet, judges: Sequence[str], file: str) -> SelfTest:
    """Return what the run shows of these judges. Rows that are not in this test are ignored."""
    labels = labels_of(run)
    return SelfTest(file, test, tuple(_judge_test(run, test, judge, labels.get(judge, "")) for judge in judges))


def _judge_test(run: RunFile, test: ProbeSet, judge: str, label: str) -> JudgeTest:
    scores, failures = _read(run, test, judge)
    found = [
        probe_result(probe, score, expected, _scale(test, score), cases, test.unused.get(probe.name, {}))
        for probe in test.probes
        for score, role in test.measured.roles.scores.items()
        if (expected := probe.expects(role, test.measured))
        for cases in [list(_cases(test, probe, score, scores))]
    ]
    return JudgeTest(judge, label, settled(found), failures)


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
