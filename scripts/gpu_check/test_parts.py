"""Parts `doctor`, `demo`, `random` and `bench`."""

import math
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from benchmark.made_cases import write_cases
from benchmark.shape import make_judge
from gpu_check.conftest import out
from gpu_check.processes import COMMAND, ROOT, environment
from gpu_check.samples import Judged, compare, judged_samples, stored
from judge_samples import RUBRICS
from pathway_local.rubrics.rubric import Rubric
from pathway_local.rubrics.rubric_file import load_rubric
from pathway_local.runs.run_file import RunFile
from pathway_local.sealing.seal import Seal
from pathway_local.system.machine import this_machine
from pathway_local.verdict import Outcome, Verdict

CASES, FEW = 125, 15
"""Cases per rubric of `random`, on a GPU and without one."""

LARGE_GPU = 40 * 10**9
"""Bytes of a GPU that holds the weights of the 8b shape and a cache for many cases."""


@pytest.mark.timeout(60)
def test_doctor() -> None:
    """Runs `pathway-local doctor`, which ends with an error where it finds a problem."""
    subprocess.run([*COMMAND, "doctor"], cwd=ROOT, env=environment(), check=True)


@pytest.mark.timeout(180)
def test_demo(tmp_path: Path, on_gpu: bool, registry: Callable[..., Path]) -> None:
    """Compares the demo judge's verdicts with those stored from a processor."""
    found = judged_samples(tmp_path / "samples.run", registry("demo", {}) if on_gpu else None)
    assert not (said := problems(found, stored()[0])), "\n".join(said)


def problems(found: Judged, kept: Judged) -> list[str]:
    """Print the engine, its seal and what differs from the stored verdicts; return what is wrong."""
    seal = Seal.recorded(found.engine.get("seal"))
    print(found.engine.get("device"), found.engine.get("dtype"), seal, sep=", ")
    failed = [f"{found.failures} cases failed"] if found.failures else []
    unsealed = [f"the engine was not sealed wholly: {seal.missing}"] if seal.missing else []
    return [*failed, *unsealed, *compare(kept.verdicts, found.verdicts)]


@pytest.mark.timeout(150)
def test_random(tmp_path: Path, on_gpu: bool, registry: Callable[..., Path]) -> None:
    """Checks replies of a judge of dummy weights at temperature 1 under four rubrics."""
    shape, count = ("qwen3-0.6b", CASES) if on_gpu else ("tiny", FEW)
    rubrics = {name: load_rubric(name) for name in RUBRICS}
    source = str(make_judge(shape, tmp_path / "judge"))
    models = registry("random", {"load_format": "dummy"}, source=source, context=8192, cpu=True)
    inputs = dict.fromkeys(name for rubric in rubrics.values() for name in rubric.inputs)
    cases, run = write_cases(tmp_path / "cases.csv", inputs, count, 11), tmp_path / "random.run"
    cases.chmod(0o600)
    named = [part for name in rubrics for part in ("-r", name)]
    given = ["judge", cases, "--run", run, *named, "-j", "random", "--models", models, "--temperature", 1, "--seed", 7]
    command = [*COMMAND, *map(str, given)]
    code = subprocess.run(command, cwd=ROOT, env=environment(), stdout=subprocess.DEVNULL, check=False).returncode
    replies, wrong = Counter[str](), Counter[str]()
    with RunFile.read(run) as read:
        for record in read.records():
            replies[record.rubric] += 1
            wrong.update(f"{record.rubric}: {each}" for each in complaints(rubrics[record.rubric], record.outcome))
    print(f"{replies.total()} replies; shape {shape}")
    assert not wrong, "\n".join(f"{each} ({number} times)" for each, number in wrong.most_common(8))
    assert (code, dict(replies)) == (0, dict.fromkeys(rubrics, count))


def complaints(rubric: Rubric, outcome: Outcome) -> Iterator[str]:
    """Yield what is missing from a verdict and what its rubric does not allow; never quote the verdict."""
    if not isinstance(outcome, Verdict):
        yield f"{outcome.kind}: {outcome.message}"
        return
    for name, declared in rubric.format.scores.items():
        score = outcome.scores.get(name)
        if score is None or score.value not in declared.values:
            yield f"{name} is missing or not on its scale"
        elif set(score.probabilities) != set(declared.values):
            yield f"the probabilities of {name} are not those of its scale"
        elif not math.isclose(sum(score.probabilities.values()), 1.0, abs_tol=1e-3):
            yield f"the probabilities of {name} do not sum to 1"
    for name in rubric.format.fields:
        if name not in outcome.fields:
            yield f"no field {name}"


@pytest.mark.timeout(330)
def test_bench(on_gpu: bool, pytestconfig: pytest.Config) -> None:
    """Runs the benchmark with the shape of an 8B judge; all its figures lie beside the report."""
    if not on_gpu or max(each.total or 0 for each in this_machine().gpus) < LARGE_GPU:
        pytest.skip(f"it needs a GPU of {LARGE_GPU / 1e9:.0f} GB")
    # A judge of dummy weights writes until its budgets end; with smaller ones it writes as much as a real judge.
    given = ["--shape", "qwen3-8b", "--cases", "256", "--reply-tokens", "150", "--minutes", "1", "--rounds", "2"]
    command = ["scripts/bench", *given, "--out", str(pytestconfig.stash[out] / "bench-qwen3-8b.json")]
    subprocess.run(command, cwd=ROOT, env=environment() | {"PYTHON": sys.executable, "COLUMNS": "160"}, check=True)
