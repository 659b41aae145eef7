"""Runs each part of the check within its time, ends all that it has started, and writes the report after each."""

import ctypes
import os
import time
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from gpu_check.findings import Work
from gpu_check.machine import described, has_gpu
from gpu_check.processes import below, kill
from gpu_check.report import Part, write_report
from gpu_check.samples import store_verdicts
from pathway_local.system.private_process import end_like_an_interrupt

WHOLE = 595.0
"""Seconds for all parts together, though their limits add up to more; the part that matters least comes last."""

LEAST = 15.0
"""Seconds that a part needs at least; it is not started with less left."""

ORDER = ("doctor", "demo", "random", "kills", "bench_8b", "bench_small")
# Loading takes most of the time: on an H100 the 8b shape took 99 to 128 s for each of two engines, so that the small
# shape has no time left there. The parts before them took 4, 33 and 83 s.

LAST_LINES = 15
_SUBREAPER = 36


class Check:
    """The parts, in their order, and what is known of them."""

    def __init__(self, out: Path) -> None:
        self.out, self.machine, self.began = out, described(), 0.0
        self.parts: dict[str, Part] = {}

    def write(self) -> None:
        """Write the report."""
        write_report(self.out, self.machine, list(self.parts.values()))


check = pytest.StashKey[Check]()


def name_of(item: pytest.Item) -> str:
    """Return the name of the part that a test runs."""
    return item.name.removeprefix("test_")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--out", type=Path, default=Path("runs/gpu-check"), help="folder for gpu-check.md and .json")
    parser.addoption("--store", action="store_true", help="store the demo judge's verdicts on this processor")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--store"):
        pytest.exit(f"written: {store_verdicts()}", 0)
    end_like_an_interrupt()
    # What outlives the command that has started it becomes a child of this process, which ends it.
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    config.stash[check] = Check(config.getoption("--out"))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: ORDER.index(name_of(item)))


def pytest_collection_finish(session: pytest.Session) -> None:
    found = session.config.stash[check]
    found.began = time.monotonic()
    for item in session.items:
        found.parts[name_of(item)] = Part(name_of(item), item.function.__doc__.partition(".")[0])  # type: ignore[attr-defined]
    found.write()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Give a part no more time than is left."""
    left = WHOLE - (time.monotonic() - item.config.stash[check].began)
    [own] = item.iter_markers("timeout")
    if left < LEAST:
        item.add_marker(pytest.mark.skip("the parts before it used up the time"))
    item.add_marker(pytest.mark.timeout(min(own.args[0], max(left, 1.0))), append=False)
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Note how a part has ended, and write the report."""
    report = yield
    found, part = item.config.stash[check], item.config.stash[check].parts[name_of(item)]
    part.seconds += report.duration
    if work := getattr(item, "funcargs", {}).get("work"):
        part.work = work
        if report.passed and report.when == "call" and work.problems:
            report.outcome, report.longrepr = "failed", "\n".join(work.problems)
    why = [getattr(call.excinfo.value, "msg", None) or str(call.excinfo.value)] if call.excinfo else []
    if report.skipped:
        part.status, part.why = "not run", why
    elif report.failed:
        part.status, part.why = "failed", why
        part.output = f"{report.capstdout}\n{report.capstderr}".strip().splitlines()[-LAST_LINES:]
    elif report.when == "call":
        part.status = "ok"
    found.write()
    return report


@pytest.fixture
def work(tmp_path: Path, pytestconfig: pytest.Config) -> Iterator[Work]:
    """A part's tools; all that it has started ends with it."""
    yield Work(tmp_path, pytestconfig.stash[check].out, has_gpu())
    kill(below(os.getpid()))
