"""Every block of the recipes runs: with the tool's library where it is installed, else on the file that it writes."""

import importlib.util
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from inspect_files import SAMPLES, log
from instant import instant_replies

import pathway_local as pl
from pathway_local.sheets import inspect_log

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
    return importlib.util.find_spec(tool) is not None


def write_parquet() -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.Table.from_pylist(ROWS), "answers.parquet")


def write_log() -> None:
    if not is_installed("inspect_ai"):
        log(Path("log.eval"), inspect_log.ZSTANDARD)
        return
    from inspect_ai.log import EvalConfig, EvalDataset, EvalLog, EvalSample, EvalSpec, write_eval_log
    from inspect_ai.model import ModelOutput

    samples = [
        EvalSample(
            **{key: each[key] for key in ("id", "epoch", "uuid", "input", "target")},
            output=ModelOutput.from_content("mockllm/model", each["output"]["completion"]),
        )
        for each in SAMPLES
    ]
    task = {"task": "t", "model": "mockllm/model", "created": "2026-11-25T00:00:00+00:00"}
    spec = EvalSpec(**task, dataset=EvalDataset(), config=EvalConfig())
    write_eval_log(EvalLog(eval=spec, status="success", samples=samples), "log.eval")


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
    pytest.importorskip(module)
    [written] = {path.resolve() for path in folder.glob(wanted)}
    assert set(json.loads(written.read_text())["columns"]) == {
        *("case", "correctness_score", "correctness_score_confidence"),
    }
