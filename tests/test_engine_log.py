"""Real engines that do not load, and the file that keeps what they wrote meanwhile: without a word of a case."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from reply_script import LOADING, MARK
from typed import Desk

from pathway_local.engines.engines import Engines
from pathway_local.engines.process import Output
from pathway_local.engines.supervised_engine import SupervisedEngine
from pathway_local.errors import OutOfMemory
from pathway_local.passes import EngineConfig
from pathway_local.runs.run_file import RunFile

LOAD = re.compile(r"^loading, .*\n", re.MULTILINE)
"""The line above what an engine prints while it loads."""


@pytest.fixture
def desk(tmp_path: Path, tiny_judge: Path, mark: Path) -> Desk:
    return Desk(tmp_path, tiny_judge, "loud", {LOADING: "0", MARK: str(mark)})


def _loads(log: Path) -> list[str]:
    """What a log has of each load."""
    first, *loads = LOAD.split(log.read_text())
    assert "It holds no case text" in first
    return loads


def test_each_load_is_in_the_log_and_no_case(desk: Desk) -> None:
    log = desk.work / "engine.log"
    log.write_text("mine")
    command = desk.judging(desk.cases(5), "--engine-log", log.name)
    assert "exists already" in desk.typed(*command, code=2).stderr
    assert log.read_text() == "mine"
    log.unlink()
    said = desk.typed(*command)
    assert "no case text" in said.stderr
    assert "restarting it" in said.stderr
    assert log.stat().st_mode & 0o777 == 0o600
    assert [load.strip() for load in _loads(log)] == ["loading takes 0 s"] * 2
    desk.cases(6)
    desk.typed(*command)
    assert len(_loads(log)) == 3
    assert "What is" not in log.read_text()


def test_a_log_that_can_not_be_written_is_refused(desk: Desk) -> None:
    assert "can't be written" in desk.typed(*desk.judging(desk.cases(3), "--engine-log", "/proc/x"), code=2).stderr


def test_a_log_whose_disk_is_full_is_told_and_holds_nothing_up() -> None:
    code = "import time; print('x' * 200_000 + '\\nout of ', end='', flush=True); time.sleep(0.5); print('memory')"
    with (
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process,
        Path("/dev/full").open("ab", buffering=0) as full,
    ):
        assert process.stdout
        output = Output(process.stdout, full)
        while not output.ended:
            output.take()
    assert output.log_ended == "No space left on device"
    assert output.memory_ran_out
    assert output.text.splitlines()[-1] == "out of memory"


def _is_of_vllm(loads: list[str]) -> bool:
    [load] = loads
    return bool(re.search(r"pid=\d+\) INFO .* Initializing a V1 LLM engine", load))


@pytest.mark.soak
def test_a_context_for_which_there_is_no_memory_is_cut_and_told_and_the_load_is_in_the_log_without_a_case(
    desk: Desk,
) -> None:
    registry, log = desk.work / "models.yaml", desk.work / "engine.log"
    entry = {"source": str(desk.judge), "context": 2048, "dtype": "float32", "engine": {}}
    for name, bytes_ in (("fitting", 10**6), ("tight", 10**5)):
        registry.write_text(json.dumps({name: {**entry, "engine": {"kv_cache_memory_bytes": bytes_}}}))
        command = desk.judging(desk.cases(2), "--engine-log", log.name, engine="vllm", judge=name)
        said = desk.typed(*command, "--run", f"{name}.run", code=0 if name == "fitting" else 5).stderr
        assert re.search(r"enough for prompt and reply of [\d,]+ tokens together; \w+ can take 2,048", said)
    assert "too short for the rubric" in said
    with RunFile.read(desk.work / "fitting.run") as run:
        engine: Any = run.jobs.all()[0].engines[0]
    assert 64 < engine["max_model_len"] < 2048
    assert _is_of_vllm(_loads(log)[:1])
    assert "What is" not in log.read_text()


@pytest.mark.soak
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="vLLM wants a processor for each of its workers")
def test_too_little_memory_for_workers_is_told(tiny_judge: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cause that only a worker prints is found, also without a log."""
    monkeypatch.setenv("VLLM_CPU_OMP_THREADS_BIND", "0|1")
    settings = {"kv_cache_memory_bytes": 10**15, "tensor_parallel_size": 2}
    with pytest.raises(OutOfMemory, match=r"is less than requested memory for kv \(931322\.57"):
        Engines([SupervisedEngine("vllm", EngineConfig(str(tiny_judge), "float32", 2048, settings))])
