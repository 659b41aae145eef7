"""Part `random`."""

import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmark.made_cases import write_cases
from benchmark.shape import make_judge
from gpu_check.findings import QUICK, Figure, Table, Work
from gpu_check.samples import SAMPLES
from pathway_local.rubrics.rubric import Rubric
from pathway_local.rubrics.rubric_file import builtin_names, load_rubric
from pathway_local.runs.run_file import RunFile
from pathway_local.verdict import Verdict

CASES, FEW = 125, 15
"""Cases per rubric, on a GPU and without one."""

SUM_OFF = 1e-3


@pytest.mark.timeout(150)
def test_random(work: Work) -> None:
    """Checks replies of a judge of dummy weights at temperature 1 under four rubrics."""
    shape, count = ("qwen3-0.6b", CASES) if work.on_gpu else ("tiny", FEW)
    rubrics = {name: load_rubric(name) for name in builtin_names() if name in SAMPLES}
    engine = {"load_format": "dummy"} | (QUICK if work.on_gpu else {})
    source = str(make_judge(shape, work.folder / "judge"))
    registry = work.registry("random", {"source": source, "context": 8192, "cpu": True, "engine": engine})
    inputs = dict.fromkeys(name for rubric in rubrics.values() for name in rubric.inputs)
    cases = write_cases(work.folder / "cases.csv", inputs, count, 11)
    cases.chmod(0o600)
    path = work.folder / "random.run"
    named = [part for name in rubrics for part in ("-r", name)]
    given = ["judge", cases, *named, "-j", "random", "--models", registry]
    done = work.typed(*given, "--temperature", 1, "--seed", 7, "--run", path)
    if not path.exists():
        work.problems.append(f"nothing was judged (exit code {done.returncode})")
        return
    replies, broken = _look(work, path, rubrics, count)
    work.words.append(f"{replies} replies of {len(rubrics)} x {count}, {broken} broken; shape {shape}")
    work.figures |= {"replies": replies, "broken": broken, "shape": shape}
    if replies != len(rubrics) * count or broken or done.returncode:
        said = f"{replies} replies, {broken} of them broken (exit code {done.returncode})"
        work.problems.insert(0, said)


def _look(work: Work, path: Path, rubrics: dict[str, Rubric], count: int) -> tuple[int, int]:
    """Return how many replies there are and how many are broken; note a row for each rubric."""
    replies, broken, cut, tokens = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    wrong = Counter[str]()
    with RunFile.read(path) as read:
        for record in read.records():
            replies[record.rubric] += 1
            tokens[record.rubric] += record.tokens.generated
            outcome = record.outcome
            if not isinstance(outcome, Verdict):
                broken[record.rubric] += 1
                wrong[f"{record.rubric}: {outcome.kind}: {outcome.message}"] += 1
                continue
            cut[record.rubric] += any(mark.startswith("cut:") for mark in outcome.marks)
            if said := list(complaints(rubrics[record.rubric], outcome)):
                broken[record.rubric] += 1
                wrong.update(f"{record.rubric}: {each}" for each in said)
    work.problems += [f"{each} ({number} times)" for each, number in wrong.most_common(8)]
    rows: list[list[Figure]] = [
        [name, replies[name], broken[name], cut[name], round(tokens[name] / max(replies[name], 1))] for name in rubrics
    ]
    columns = ["rubric", f"replies of {count}", "broken", "with a cut field", "tokens a reply"]
    work.tables.append(Table("By rubric", columns, rows))
    return replies.total(), broken.total()


def complaints(rubric: Rubric, verdict: Verdict) -> Iterator[str]:
    """Yield what is missing from a verdict and what its rubric does not allow; never quote the verdict."""
    for name, declared in rubric.format.scores.items():
        score = verdict.scores.get(name)
        if score is None:
            yield f"no score {name}"
            continue
        if score.value not in declared.values:
            yield f"{name} is {score.value}, which is not on its scale"
        if set(score.probabilities) != set(declared.values):
            yield f"the probabilities of {name} are not those of its scale"
        elif not math.isclose(sum(score.probabilities.values()), 1.0, abs_tol=SUM_OFF):
            yield f"the probabilities of {name} do not sum to 1"
    for name in rubric.format.fields:
        if name not in verdict.fields:
            yield f"no field {name}"
