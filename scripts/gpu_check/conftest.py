"""Runs the parts of the check in their order, ends all that each has started, and rewrites the report after each."""

import ctypes
import os
from collections.abc import Callable, Generator, Iterator, Mapping
from pathlib import Path

import pytest
import yaml

from benchmark.processes import below, kill
from gpu_check.samples import STORED, store
from pathway_local.system.machine import this_machine, uses_gpu
from pathway_local.system.private_file import whole_file
from pathway_local.system.private_process import end_like_an_interrupt

ORDER = ("doctor", "demo", "random", "kills", "bench")
# Loading takes most of the time: on an H100 each of the two engines of `bench` took 99 to 128 s, `demo` 33 s in all.

QUICK = {"enforce_eager": True, "gpu_memory_utilization": 0.5}
"""Loads a judge on a GPU in half the time, without compiling and CUDA graphs, and beside other programs."""

LAST_LINES = 15
_SUBREAPER = 36

out, sections = pytest.StashKey[Path](), pytest.StashKey[dict[str, list[str]]]()


def name_of(item: pytest.Item) -> str:
    """Return the name of the part that a test runs."""
    return item.name.removeprefix("test_")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--out", type=Path, default=Path("runs/gpu-check"), help="folder for gpu-check.md")
    parser.addoption("--store", action="store_true", help="store the demo judge's verdicts on this processor")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--store"):
        store()
        pytest.exit(f"written: {STORED}", 0)
    end_like_an_interrupt()
    # What outlives the command that has started it becomes a child of this process, which ends it.
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    config.stash[out] = config.getoption("--out").absolute()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: ORDER.index(name_of(item)))


def pytest_collection_finish(session: pytest.Session) -> None:
    found = session.config.stash[sections] = {name_of(item): ["… to come"] for item in session.items}
    write(session.config.stash[out], found)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Rewrite the report once a part has ended."""
    report = yield
    if report.when != "call" and report.passed:
        return report
    word = {"passed": "ok", "skipped": "not run"}.get(report.outcome, "failed")
    why = getattr(call.excinfo.value, "msg", None) or str(call.excinfo.value) if call.excinfo else ""
    last = report.capstderr.strip().splitlines()[-LAST_LINES:] if report.failed else []
    fenced = "\n".join(line for line in [*report.capstdout.splitlines(), *last] if line.strip())
    found = item.config.stash[sections]
    found[name_of(item)] = [f"{word}, {report.duration:.0f} s", why, f"```\n{fenced}\n```" if fenced else ""]
    write(item.config.stash[out], found)
    return report


def write(folder: Path, found: Mapping[str, list[str]]) -> None:
    """Write gpu-check.md: a line for each part, then what each has said."""
    folder.mkdir(parents=True, exist_ok=True)
    broken = any(status.startswith("failed") for status, *_ in found.values())
    pieces = ["# GPU check", "**Problems found**" if broken else "**No problems**"]
    pieces.append("\n".join(f"- {name}: {status}" for name, (status, *_) in found.items()))
    for name, (_, *said) in found.items():
        pieces += [f"## {name}", *filter(None, said)] if any(said) else []
    with whole_file(folder / "gpu-check.md", replace=True) as file:
        file.write(("\n\n".join(pieces) + "\n").encode())


@pytest.fixture(autouse=True)
def ended() -> Iterator[None]:
    """End all processes that a part has started."""
    yield
    kill(below(os.getpid()))


@pytest.fixture(scope="session")
def on_gpu() -> bool:
    """Whether judges run on a GPU here: there is one, and the installed engine is for GPUs."""
    return bool(this_machine().gpus) and uses_gpu()


@pytest.fixture
def registry(tmp_path: Path, on_gpu: bool) -> Callable[..., Path]:
    """Writes a models.yaml with one judge: its name, its settings of the engine, and the rest of its entry."""

    def write(name: str, engine: dict[str, object], **entry: object) -> Path:
        path = tmp_path / "models.yaml"
        path.write_text(yaml.safe_dump({name: entry | {"engine": (QUICK if on_gpu else {}) | engine}}), "utf-8")
        return path

    return write
