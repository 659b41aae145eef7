"""What several tests share: a tiny judge, and one real vLLM that has loaded it."""

import gc
import json
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # torch reads it when it is imported: see engines/vllm.py
# numpy reads it: of several workers' threads, each would wait in a loop for another that has no processor.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import engine_scripts
import pytest
from browser import Browser, browser
from hypothesis import settings
from scripted_kind import register
from tiny_judge import make_tiny_judge
from typed import Desk
from typed_here import Run, leave_alone, typing_in
from walks import Walker
from xdist.scheduler import LoadScopeScheduling

# A shell lets its background programs ignore SIGINT, and every command that the tests interrupt would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

from benchmark import instant_engine
from pathway_local.engines.engines import Engines
from pathway_local.engines.supervised_engine import SupervisedEngine
from pathway_local.judges import limited_process
from pathway_local.passes import EngineConfig
from pathway_local.rendering.tokenizer import JudgeTokenizer

register()

answer_of_a_process = limited_process.in_process
limited_process.in_process = limited_process.answer  # a process for each of them takes a tenth of a second

settings.register_profile("same-examples", derandomize=True, database=None, max_examples=50)
settings.load_profile("same-examples")  # `scripts/soak` draws others each time

LONGEST = ("test_viewer", "test_self_test", "test_start", "test_parts", "test_nothing_lost", "test_sealed_runs")
"""Files that come late by their names and take long: at the end, one worker would wait for them alone.

None loads vLLM: beside them, the tests that compare times in a vLLM have a processor.
"""

IMPORT_TORCH = (
    *("test_demo_training", "test_engine_settings", "test_failures", "test_gpu_loop"),
    "test_vllm_core",
)
"""Files that import torch or vLLM into the tests' own process, which takes some 10 s. The worker that has `vllm_host`
gets them all: it compares vLLM with transformers, for which it imports torch anyway."""

IMPORTED = set[str]()
"""The modules that are there before the first test."""

ONCE = {
    "test_compiled": "corpus",
    "test_prompt_corpus": "corpus",
    "test_hostile_pages": "browser",
    "test_pages_in_browser": "browser",
    "test_rating_in_browser": "browser",
    "test_another_engine": "modules",
    "test_floors": "modules",
    "test_supply_chain": "modules",
}
"""Files whose tests adopt every prompt of the corpus, show pages in a browser, or parse every module: in one worker,
which prepares that once."""

SHARING = {path.stem for path in Path(__file__).parent.glob("test_*.py") if "vllm_host" in path.read_text("utf-8")}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that share `vllm_host`, and the longest."""
    places = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: (item.path.stem not in SHARING, places.get(item.path.stem, len(LONGEST))))


def pytest_collection() -> None:
    """Look for no garbage while the tests' modules are imported: nearly all of what they make stays."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Look for garbage from now on, but not among the modules: a look at all of them takes half a second."""
    gc.freeze()
    gc.enable()
    IMPORTED.update(sys.modules)


class ByFile(LoadScopeScheduling):
    """Gives each file to one worker, and all that share `vllm_host` or import torch to the same.

    With pytest 9.2, pytest-xdist 3.8 ignores the groups of `--dist loadgroup`, and each worker would load its own.
    """

    def _split_scope(self, nodeid: str) -> str:
        name = Path(nodeid.partition("::")[0]).stem
        return "vllm" if name in SHARING or name in IMPORT_TORCH else ONCE.get(name, name)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByFile:
    return ByFile(config, log)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """The command line in the test's own folder and process."""
    return typing_in(tmp_path, monkeypatch, capsys)


@pytest.fixture
def imported_first() -> set[str]:
    """The modules that tests import before the first of them runs, which each worker waits for."""
    return IMPORTED


@pytest.fixture
def own_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chat templates and tokenizers have a process with limits, as outside of the tests."""
    monkeypatch.setattr(limited_process, "in_process", answer_of_a_process)


@pytest.fixture(autouse=True)
def _commands_leave_the_tests_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    leave_alone(monkeypatch)


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A browser without a window, started once in a worker."""
    with browser(tmp_path_factory.mktemp("browser") / "b") as found:
        yield found


@pytest.fixture
def web(chromium: Browser) -> Iterator[Browser]:
    """The browser, with nothing kept from a test before; whatever a page was kept from doing fails the test."""
    chromium.errors.clear()
    chromium.dialogs.clear()
    chromium.resize(1280, 900)
    yield chromium
    chromium.call("Emulation.setEmulatedMedia", media="")
    assert chromium.errors == []
    for path in chromium.downloads.iterdir():
        path.unlink()


@pytest.fixture(scope="session")
def tiny_judge(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a 2-layer Qwen3-shaped judge of random weights, its tokenizer and its chat template."""
    return make_tiny_judge(tmp_path_factory.mktemp("tiny-judge"))


@pytest.fixture
def notices() -> list[str]:
    """What an engine's host told the user."""
    return []


@pytest.fixture
def mark() -> Iterator[Path]:
    """A file by which engines that are restarted remember what has happened: in shared memory, where they may write."""
    with TemporaryDirectory(prefix="pathway-test-", dir="/dev/shm") as folder:
        yield Path(folder, "mark")


@pytest.fixture
def scripts_found(monkeypatch: pytest.MonkeyPatch, mark: Path) -> None:
    """Processes of the scripted engine find tests/engine_scripts.py, and its mark."""
    monkeypatch.setenv("PYTHONPATH", str(Path(engine_scripts.__file__).parent))
    monkeypatch.setenv(engine_scripts.MARK, str(mark))


@pytest.fixture
def instant_reply(monkeypatch: pytest.MonkeyPatch, mark: Path, tiny_judge: Path) -> None:
    """The engine that replies at once is listed, and gives every case of `pathway-answer` a good reply."""
    instant_engine.register()
    ids = JudgeTokenizer(tiny_judge).encode("\nRight.\n\n**Score:** 4\n\n**Justification:**\nGood.")
    mark.write_text(json.dumps(ids))
    monkeypatch.setenv(instant_engine.REPLY, str(mark))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))


@pytest.fixture
def desk(tmp_path: Path, tiny_judge: Path) -> Desk:
    """A folder in which commands are typed, with a judge and a rubric."""
    return Desk(tmp_path / "d", tiny_judge)


@pytest.fixture(scope="session")
def vllm_host(tiny_judge: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engines]:
    """Real vLLM in its sealed process, with the tiny judge in float32: loaded once, by one of the workers."""
    if run := os.environ.get("PYTEST_XDIST_TESTRUNUID"):
        (tmp_path_factory.getbasetemp().parent / f"vllm-{run}").touch(exist_ok=False)
    with closing(Engines([SupervisedEngine("vllm", EngineConfig(str(tiny_judge), "float32", 8192))])) as host:
        yield host


@pytest.fixture(scope="session")
def walker(tiny_judge: Path) -> Walker:
    """Walks grammars over the tiny judge's vocabulary."""
    return Walker(JudgeTokenizer(tiny_judge).grammar_tokenizer)
