"""Every block of the recipes runs: with the tool's library where it is installed, else on the file that it writes."""

import importlib.util
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from instant import instant_replies

import pathway_local as pl

PAGE = (Path(__file__).parents[1] / "docs" / "recipes.md").read_text(encoding="utf-8")
TOOLS = ("datasets", "mlflow", "wandb")
ROWS = [
    {"id": str(number), "bot": "v1", "question": "Why?", "gold_answer": "So.", "model_answer": f"So {number}."}
    for number in (1, 2)
]
REPLY = (
    ' 5, "completeness_reasoning": "All.", "key_missing_info": [],'
    ' "correctness_score": 4, "correctness_reasoning": "Right.", "factual_errors": []}'
)


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The files that the tools write, in a folder in which every verdict is the same."""
    with instant_replies(tmp_path_factory.mktemp("recipes"), REPLY) as folder, pytest.MonkeyPatch.context() as patched:
        settings = {"MLFLOW_ALLOW_FILE_STORE": "true", "MLFLOW_TRACKING_URI": f"file://{folder}/mlruns"}
        for name, value in (settings | {"HF_HUB_OFFLINE": "1", "HF_HOME": str(folder)}).items():
            patched.setenv(name, value)
        Path("answers.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in ROWS))
        table = {"columns": list(ROWS[0]), "data": [list(row.values()) for row in ROWS]}
        for name in ("answers.json", "answers.table.json"):
            Path(name).write_text(json.dumps(table))
        write_parquet()
        write_log()
        write_samples()
        yield folder


def is_installed(tool: str) -> bool:
    return tool in sys.modules or importlib.util.find_spec(tool) is not None


def write_parquet() -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.Table.from_pylist(ROWS), "answers.parquet")


def write_log() -> None:
    """Write a log with two whole samples and three that failed, that a limit cut, and that somebody invalidated."""
    known: dict[str, Any] = {"input": "May I?", "target": ["Yes", "On weekdays"]}
    troubles: list[dict[str, Any]] = [
        *({}, {}, {"error": {"message": "m", "traceback": "t", "traceback_ansi": "t"}}),
        *({"limit": {"type": "token", "limit": 5}}, {"invalidation": {"author": "a", "reason": "r"}}),
    ]
    samples = [{**known, "id": 1, "epoch": at, "uuid": f"u{at}", **each} for at, each in enumerate(troubles, 1)]
    if is_installed("inspect_ai"):
        from inspect_ai.log import EvalConfig, EvalDataset, EvalLog, EvalSample, EvalSpec, write_eval_log
        from inspect_ai.model import ModelOutput

        output = ModelOutput.from_content("mockllm/model", "Yes")
        task = {"task": "t", "model": "mockllm/model", "created": "2026-11-25T00:00:00+00:00"}
        spec = EvalSpec(**task, dataset=EvalDataset(), config=EvalConfig())
        read = [EvalSample(**each, output=output) for each in samples]
        write_eval_log(EvalLog(eval=spec, status="success", samples=read), "log.eval")
        return
    nothing = dict.fromkeys(("error", "limit", "invalidation"))
    output = SimpleNamespace(completion="Yes")
    whole = SimpleNamespace(samples=[SimpleNamespace(**nothing | each, output=output) for each in samples])
    modules = {"inspect_ai": ModuleType("inspect_ai"), "inspect_ai.log": ModuleType("inspect_ai.log")}
    modules["inspect_ai.log"].__dict__["read_eval_log"] = lambda _: whole
    sys.modules |= modules


def write_samples() -> None:
    """Write what `lm_eval --log_samples` writes of a task whose documents have a question."""
    samples: list[dict[str, Any]] = [
        {"doc_id": number, "doc": {"question": "Why?"}, "target": "So.", "arguments": [("Q: Why?", {"until": ["\n"]})]}
        | {"resps": [["So."]], "filtered_resps": ["So."], "filter": "none", "metrics": ["exact_match"]}
        for number in (0, 1)
    ]
    if is_installed("lm_eval"):
        from lm_eval.loggers.evaluation_tracker import EvaluationTracker

        tracker = EvaluationTracker(output_path="lm-eval.json")
        tracker.date_id = "now"
        tracker.save_results_samples("task", samples)
        Path("samples_task_now.jsonl").rename("samples.jsonl")
        return
    for sample in samples:
        sample["arguments"] = {"gen_args_0": dict(zip(("arg_0", "arg_1"), sample["arguments"][0], strict=True))}
    Path("samples.jsonl").write_text("".join(f"{json.dumps(sample)}\n" for sample in samples))


def sections() -> dict[str, list[str]]:
    parts = re.split(r"^## (.+)\n", PAGE, flags=re.MULTILINE)[1:]
    blocks = (re.findall(r"^```python\n(.*?)^```$", part, re.DOTALL | re.MULTILINE) for part in parts[1::2])
    return dict(zip(parts[::2], blocks, strict=True))


def test_the_page_has_a_recipe_for_each_tool() -> None:
    assert list(sections()) == [
        *("pandas", "Hugging Face datasets", "MLflow", "Weights & Biases", "Inspect", "lm-eval"),
    ]


@pytest.mark.parametrize("tool", sections())
def test_a_recipe_judges_every_case(tool: str, folder: Path) -> None:
    pytest.importorskip("pandas")
    names: dict[str, Any] = {}
    for block in sections()[tool]:
        imported = re.findall(r"^(?:import|from) (\w+)", block, re.MULTILINE)
        if all(map(is_installed, imported)):
            exec(block, names)  # the page's own code
        else:
            assert set(TOOLS) & set(imported)
    run = names["run"]
    assert isinstance(run, pl.Run) and run.path.is_file()
    assert [row["correctness_score"] for row in run.verdicts] == [4, 4]
    if "scored" in names:
        assert list(names["scored"]["correctness_score"]) == [4, 4]


@pytest.mark.parametrize(("module", "wanted"), [("mlflow", "**/verdicts.json"), ("wandb", "**/verdicts*.table.json")])
def test_only_scores_and_ids_are_logged(module: str, wanted: str, folder: Path) -> None:
    pytest.importorskip(module, reason=f"needs {module}: .venv/bin/python -m pip install {module}")
    [written] = {path.resolve() for path in folder.glob(wanted)}
    assert set(json.loads(written.read_text())["columns"]) == {
        *("case", "correctness_score", "correctness_score_confidence"),
    }
