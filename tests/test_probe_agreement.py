"""Which probes went along with agreement is said over judges, and that few judges say nothing."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from faulty_judges import RUBRIC
from scipy import stats
from test_probes import cases

from pathway_local.case import CaseRef
from pathway_local.errors import UsageError
from pathway_local.probes.drawing import make_test
from pathway_local.probes.roles import roles_of
from pathway_local.probes.subject import Measured
from pathway_local.prompty.rubric_file import parse_rubric
from pathway_local.rater import Kind, Rater
from pathway_local.results.probe_agreement import agreement_with_people, along_with
from pathway_local.results.probe_result import CaseScores, ProbeResult, Scale, probe_result
from pathway_local.results.self_test import JudgeTest, SelfTest
from pathway_local.results.views.self_test import self_test_view
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.run_rubrics import store_rubric
from pathway_local.statistics.correlation import rank_correlation
from pathway_local.statistics.figure import Interval, Undefined
from pathway_local.verdict import Score, Verdict

FACTS = parse_rubric(RUBRIC, "facts")
TRUTH = np.random.default_rng(0).integers(1, 6, 30)


def labelled(path: Path, judges: int, *, people: bool = True) -> Path:
    """A run in which judge0 agrees least with the people, and each further one more."""
    with RunFile.create(path) as run:
        store_rubric(run, FACTS)
        raters: list[tuple[str, Kind]] = [(f"judge{at}", "judge") for at in range(judges)]
        for place, (name, kind) in enumerate([*raters, ("Ann", "human")] if people else raters):
            rater = run.add_rater(Rater(name, kind, FACTS.name, {}))
            wrong = 0 if kind == "human" else 2 * (judges - place)
            for at, value in enumerate(TRUTH):
                given = 6 - int(value) if at < wrong else int(value)
                run.put(rater, CaseRef(f"c{at}", at + 1, hash="0" * 32), Verdict({"score": Score(given)}))
    return path


def shares(passed: int) -> tuple[ProbeResult, ...]:
    test = make_test(cases(4), Measured(FACTS, roles_of(FACTS, {})), 4, [])
    padding = next(probe for probe in test.probes if probe.name == "padding")
    given = [CaseScores(True, 3.0, {"": 3.0 if at < passed else 5.0}) for at in range(40)]
    return (probe_result(padding, "score", "same", Scale(1, 5), given, {}),)


def test_a_probe_that_goes_along_with_agreement(tmp_path: Path) -> None:
    names = [f"judge{at}" for at in range(12)]
    with RunFile.read(labelled(tmp_path / "l.run", 12)) as run:
        agreement = agreement_with_people(run, "facts", [*names, "absent"])
    values = [agreement[name, "score"] for name in names]
    assert values == sorted(values, key=float) and values[-1] > values[0]  # type: ignore[operator,arg-type]
    found = dict(zip(names, map(shares, (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 11)), strict=True))
    [padding] = along_with(agreement, {**found, "absent": shares(3)})
    assert padding.judges == 12 and isinstance(padding.correlation.interval, Interval)
    assert padding.correlation.value == pytest.approx(stats.spearmanr(range(12), [*range(10), 11, 10])[0])


def test_few_judges_are_said_to_be_too_few(tmp_path: Path) -> None:
    names = ["judge0", "judge1"]
    with RunFile.read(labelled(tmp_path / "l.run", 2)) as run:
        agreement = agreement_with_people(run, "facts", names)
    test = make_test(cases(4), Measured(FACTS, roles_of(FACTS, {})), 4, [])
    judges = tuple(JudgeTest(name, "", shares(at + 1), {}) for at, name in enumerate(names))
    found = SelfTest("c.jsonl", test, judges).with_agreement(agreement, "l.run")
    said = " ".join(self_test_view(found).remarks.sentences)
    assert "too few judges to tell. l.run and this test have 2 in common" in said
    assert found.as_json()["along"][0]["correlation"]["low"] is None  # type: ignore[index,call-overload]
    assert "too few judges" not in " ".join(self_test_view(replace(found, labels="")).remarks.sentences)


def test_a_run_without_peoples_labels_is_refused(tmp_path: Path) -> None:
    with (
        RunFile.read(labelled(tmp_path / "l.run", 2, people=False)) as run,
        pytest.raises(UsageError, match=r"l.run holds no ratings of people under facts"),
    ):
        agreement_with_people(run, "facts", ["judge0"])


def test_the_interval_of_a_rank_correlation() -> None:
    rng = np.random.default_rng(2)
    first = rng.normal(size=20)
    found = rank_correlation(first, first + rng.normal(size=20))
    assert isinstance(found.interval, Interval) and isinstance(found.value, float)
    assert found.interval.low < found.value < found.interval.high <= 1
    reach = 1.959964 * ((1 + found.value**2 / 2) / 17) ** 0.5
    assert found.interval.low == pytest.approx(np.tanh(np.arctanh(found.value) - reach))
    assert isinstance(rank_correlation(first[:3], first[:3] ** 2).interval, Undefined)
    assert isinstance(rank_correlation(first, first).interval, Undefined)
    assert isinstance(rank_correlation(first, np.ones(20)).value, Undefined)
