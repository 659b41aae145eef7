"""Part `random`: replies of a judge of dummy weights at temperature 1, none of which may break its rubric's format."""

import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from gpu_check.findings import Figure, Table
from gpu_check.made import make_judge, write_cases_for_all
from gpu_check.samples import SAMPLES
from gpu_check.work import QUICK, Work
from pathway_local.rubrics.rubric import Rubric, builtin_names, load_rubric
from pathway_local.runs.run_file import RunFile
from pathway_local.verdict import Verdict

CASES, FEW = 125, 15
"""Cases under each rubric, on a GPU and without one."""

SUM_OFF = 1e-3


def run(work: Work) -> None:
    """Judge made cases under all four rubrics with one engine, and look at every reply."""
    shape, count = ("qwen3-0.6b", CASES) if work.on_gpu else ("tiny", FEW)
    rubrics = {name: load_rubric(name) for name in builtin_names() if name in SAMPLES}
    engine = {"load_format": "dummy"} | (QUICK if work.on_gpu else {})
    source = str(make_judge(shape, work.folder / "judge"))
    registry = work.registry("random", {"source": source, "context": 8192, "cpu": True, "engine": engine})
    cases = write_cases_for_all(work.folder, list(rubrics.values()), count, 11)
    path = work.folder / "random.run"
    named = [part for name in rubrics for part in ("-r", name)]
    given = ["judge", cases, *named, "-j", "random", "--models", registry]
    done = work.typed(*given, "--temperature", 1, "--seed", 7, "--run", path)
    if not path.exists():
        work.found.problems.append(f"nothing was judged (exit code {done.returncode})")
        return
    replies, broken = _look(work, path, rubrics, count)
    work.found.words.append(f"{replies} replies of {len(rubrics)} x {count}, {broken} broken; shape {shape}")
    work.found.figures |= {"replies": replies, "broken": broken, "shape": shape}
    if replies != len(rubrics) * count or broken or done.returncode:
        said = f"{replies} replies, {broken} of them broken (exit code {done.returncode})"
        work.found.problems.insert(0, said)


def _look(work: Work, path: Path, rubrics: dict[str, Rubric], count: int) -> tuple[int, int]:
    """How many replies there are, and how many are broken; notes a row for each rubric."""
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
    work.found.problems += [f"{each} ({number} times)" for each, number in wrong.most_common(8)]
    rows: list[list[Figure]] = [
        [name, replies[name], broken[name], cut[name], round(tokens[name] / max(replies[name], 1))] for name in rubrics
    ]
    columns = ["rubric", f"replies of {count}", "broken", "with a field that its budget closed", "tokens a reply"]
    work.found.tables.append(Table("By rubric", columns, rows))
    return replies.total(), broken.total()


def complaints(rubric: Rubric, verdict: Verdict) -> Iterator[str]:
    """What a verdict lacks, or has that its rubric does not allow; without the verdict's words."""
    for name, declared in rubric.format.scores.items():
        score = verdict.scores.get(name)
        if score is None:
            yield f"no score {name}"
            continue
        if score.value not in declared.values:
            yield f"{name} is {score.value}, which is no value of its scale"
        if set(score.probabilities) != set(declared.values):
            yield f"{name} has probabilities of other values than its scale's"
        elif not math.isclose(sum(score.probabilities.values()), 1.0, abs_tol=SUM_OFF):
            yield f"the probabilities of {name} do not sum to 1"
    for name in rubric.format.fields:
        if name not in verdict.fields:
            yield f"no field {name}"
