"""The engine's process: sealed and quiet, restarted when it dies, and gone when its parent is."""

import errno
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
from engine_scripts import FOREVER, HEAVY, LOAD_ENDS, POISON

from pathway_local.engines import engine
from pathway_local.engines.engines import Engines
from pathway_local.engines.supervised_engine import SupervisedEngine
from pathway_local.engines.vllm import VLLM
from pathway_local.errors import (
    EngineDied,
    EngineError,
    OutOfMemory,
)
from pathway_local.passes import EngineConfig, Pass, PassResult
from pathway_local.sealing.seal import WHOLE
from pathway_local.system.private_process import members

Begin = Callable[..., Engines]
MANY = pytest.mark.soak  # each of the cases costs a process or two


@pytest.fixture
def begin(scripts_found: None, notices: list[str]) -> Iterator[Begin]:
    """Starts scripted engines, and ends them."""
    begun: list[Engines] = []

    def host(script: str = "answer", hang_limit: float = 60.0, **settings: object) -> Engines:
        config = EngineConfig("", settings={"script": f"engine_scripts:{script}", **settings})
        begun.append(Engines([SupervisedEngine("scripted", config, hang_limit=hang_limit)], notices.append))
        return begun[-1]

    yield host
    for each in begun:
        each.close()


def _pass(number: int, *ids: int) -> Pass:
    return Pass(str(number), (number, *ids), None, 4)


def _drain(host: Engines) -> dict[str, PassResult]:
    found: dict[str, PassResult] = {}
    while some := host.results():
        for result in some:
            assert result.id not in found
            found[result.id] = result
    return found


def _right(found: dict[str, PassResult]) -> bool:
    return all(result.ids[-1] == int(name) for name, result in found.items() if result.finish == "stop")


@contextmanager
def _python(code: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _gone(pid: int, seconds: float = 5.0) -> bool:
    until = time.monotonic() + seconds
    while (there := _runs(pid)) and time.monotonic() < until:
        time.sleep(0.02)
    return not there


def _runs(pid: int) -> bool:
    with suppress(psutil.NoSuchProcess):
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    return False


def test_submitting_never_waits_for_a_child_that_does_not_read(begin: Begin) -> None:
    host = begin()
    assert host.hosts[0].pid
    os.kill(host.hosts[0].pid, signal.SIGSTOP)
    begun = time.monotonic()
    for number in range(40):
        host.submit(_pass(number, *range(5000)))
    assert time.monotonic() - begun < 2
    os.kill(host.hosts[0].pid, signal.SIGCONT)
    assert len(_drain(host)) == 40


def test_the_child_is_sealed_quiet_and_leaves_no_dump(begin: Begin) -> None:
    host = begin("look")
    host.submit(_pass(0))
    assert host.results()[0].ids == (0o077, 1, 0, 3, 1, errno.EACCES, errno.EACCES)
    assert host.seal == WHOLE


def test_the_off_switches_are_set_before_anything_heavy_is_imported(
    begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_ENABLE_COREDUMP_ON_EXCEPTION", "1")
    monkeypatch.setenv("VLLM_TRACE_FUNCTION", "1")
    monkeypatch.setenv("VLLM_DEBUG_DUMP_PATH", "/tmp")
    host = begin("switches")
    host.submit(_pass(0))
    assert host.results()[0].ids == (0, 0)


def test_the_child_starts_in_an_empty_folder_of_its_own_which_no_path_names(
    begin: Begin, tmp_path: Path, monkeypatch: Any
) -> None:
    """Its libraries start programs; from the user's folder these would load what somebody has put there."""
    (tmp_path / "libsmartcols.so.1").touch()
    monkeypatch.chdir(tmp_path)
    for name in ("LD_LIBRARY_PATH", "PATH", "PYTHONPATH"):
        monkeypatch.setenv(name, f":{os.environ.get(name, '/lib')}:")
    host = begin("working_folder")
    host.submit(_pass(0))
    assert host.results()[0].ids == (0, 0o700, 0, 0)


def test_what_libraries_cache_lies_in_a_folder_of_ours_alone(begin: Begin, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    host = begin("caches")
    host.submit(_pass(0))
    assert host.results()[0].ids == (4, 0o700)


@pytest.mark.parametrize(
    ("number", "expected", "usual"),
    [
        (signal.SIGKILL, OutOfMemory, "smaller judge"),
        (signal.SIGUSR1, EngineError, "--engine-log"),
    ],
)
def test_a_child_killed_while_it_loads_is_told_with_its_signal(
    begin: Begin, monkeypatch: pytest.MonkeyPatch, number: signal.Signals, expected: type, usual: str
) -> None:
    monkeypatch.setenv(LOAD_ENDS, str(int(number)))
    with pytest.raises(EngineError, match=f"its process ended: killed by {number.name}") as raised:
        begin()
    assert type(raised.value) is expected
    assert usual in raised.value.hint
    assert len(raised.value.hint) < 240


def test_a_child_killed_while_idle_costs_nobody_a_strike(begin: Begin, notices: list[str]) -> None:
    host = begin()
    for number in range(2):
        assert host.hosts[0].pid
        os.kill(host.hosts[0].pid, signal.SIGKILL)
        time.sleep(0.05)
        host.submit(_pass(number))
        assert host.results()[0].finish == "stop"
    assert all("with 0 requests in flight" in notice for notice in notices)


@pytest.mark.parametrize(
    "poison",
    [{4, 21}, *(pytest.param(set(each), marks=MANY) for each in (range(3), range(12), range(3, 60, 6)))],
)
def test_however_many_cases_kill_it_each_is_set_aside_and_none_is_lost(
    begin: Begin, poison: set[int], notices: list[str]
) -> None:
    host = begin()
    for number in range(60):
        host.submit(_pass(number, POISON if number in poison else 7))
    found = _drain(host)
    assert len(found) == 60
    assert _right(found)
    failed = {int(name): result.error for name, result in found.items() if result.finish == "error"}
    assert failed == dict.fromkeys(poison, "the engine died twice while it held this case")
    assert len(notices) <= 3 * len(poison)
    assert re.fullmatch(r"the engine died \(killed by SIGKILL\) with \d+ requests in flight: .*", notices[0])
    host.submit(_pass(99))
    assert host.results()[0].finish == "stop"


def test_a_child_that_hangs_is_noticed_and_started_again(begin: Begin, notices: list[str]) -> None:
    host = begin(hang_limit=1.0)
    for number in range(5):
        host.submit(_pass(number, FOREVER if number == 2 else 7))
    begun = time.monotonic()
    found = _drain(host)
    assert len(found) == 5
    assert _right(found)
    assert time.monotonic() - begun < 10
    [notice] = notices
    assert re.fullmatch(r"the engine gave no sign of life for 1 s with \d requests in flight: .*", notice)


def test_work_that_takes_longer_than_the_hang_limit_in_all_is_no_hang(begin: Begin, notices: list[str]) -> None:
    host = begin(hang_limit=0.5, delay=0.1)
    for number in range(12):
        host.submit(_pass(number))
    assert len(_drain(host)) == 12
    assert notices == []


def test_out_of_memory_halves_what_is_in_flight(begin: Begin, notices: list[str]) -> None:
    host = begin("starve")
    for number in range(16):
        host.submit(_pass(number, HEAVY))
    found = _drain(host)
    assert len(found) == 16
    assert _right(found)
    assert {result.finish for result in found.values()} == {"stop"}
    assert [notice.partition(" continuing with ")[2] for notice in notices] == [
        "8 at a time",
        "4 at a time",
        "2 at a time",
    ]


def test_what_continues_goes_first_where_fewer_are_in_flight(begin: Begin) -> None:
    host = begin()
    host.hosts[0].most = 1
    for number in range(5):
        host.submit(_pass(number))
    host.submit(Pass("5", (5,), None, 4, after="0"))
    assert list(_drain(host)) == ["0", "5", "1", "2", "3", "4"]


def test_an_engine_that_only_dies_is_given_up_without_a_word_of_a_case(
    begin: Begin, notices: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pathway_local.engines.engines.DEATHS", 7)  # one, and two for each case
    host = begin("die")
    for number in range(40):
        host.submit(_pass(number, 4711))
    found = [host.results() for _ in range(3)]
    assert [result.finish for [result] in found] == ["error"] * 3
    with pytest.raises(EngineDied, match="died 7 times in a row") as raised:
        host.results()
    assert len(notices) == 7
    assert "(RuntimeError)" in notices[-1]
    assert "secret" not in str(raised.value) + "".join(notices)
    assert "4711" not in str(raised.value) + "".join(notices)


def test_what_the_child_prints_once_it_works_is_not_kept(begin: Begin) -> None:
    host = begin("die")
    assert host.hosts[0].process
    output = host.hosts[0].process.output
    host.submit(_pass(0, 4711))
    _drain(host)
    assert output.text == ""


def test_loading_has_a_limit_that_grows_with_the_weights(
    tiny_judge: Path, begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = EngineConfig(str(tiny_judge))
    size = (tiny_judge / "model.safetensors").stat().st_size
    assert VLLM.start_limit(config) == engine.START_LIMIT + size / engine.SLOWEST_DISK
    monkeypatch.setattr(engine, "START_LIMIT", 0.01)
    with pytest.raises(EngineDied, match="the judge was not loaded within 0 minutes"):
        begin()


def test_closing_ends_the_child_and_its_watcher(begin: Begin) -> None:
    host = begin()
    pid = host.hosts[0].pid
    assert pid
    group = [int(path.name) for path in members(pid)]
    assert len(group) == 2
    host.close()
    assert all(_gone(each) for each in group)
    host.close()


def test_a_child_whose_parent_is_gone_before_it_spoke_ends() -> None:
    requests, parents_end = os.pipe()
    os.close(parents_end)
    command = [sys.executable, "-m", "pathway_local.engines.child", "off", str(requests), str(requests), "-1"]
    assert subprocess.run(command, pass_fds=[requests], timeout=60).returncode == 0
    os.close(requests)


def test_a_process_that_has_ended_is_no_member_of_its_group() -> None:
    with subprocess.Popen([sys.executable, "-c", ""], start_new_session=True) as process:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # nobody has taken its status yet
        assert [*members(process.pid)] == []


def test_the_child_goes_when_its_parent_is_killed(begin: Begin) -> None:
    code = """
import sys, time
from scripted_kind import register
from pathway_local.engines.supervised_engine import SupervisedEngine
from pathway_local.engines.engines import Engines
from pathway_local.passes import EngineConfig
register()
host = Engines([SupervisedEngine("scripted", EngineConfig("", settings={"delay": 3600}))])
from pathway_local.passes import Pass
host.submit(Pass("a", (1,), None, 1))
print(host.hosts[0].pid, flush=True)
time.sleep(3600)
"""
    with _python(code) as parent:
        assert parent.stdout
        pid = int(parent.stdout.readline())
        assert not _gone(pid, 0.2)
        os.kill(parent.pid, signal.SIGKILL)
        assert _gone(pid)


KILLED_WHILE_IT_KILLS = """
import os, signal
from scripted_kind import register
from pathway_local.engines.supervised_engine import SupervisedEngine
from pathway_local.passes import EngineConfig
register()
host = SupervisedEngine("scripted", EngineConfig("", settings={"delay": 3600}))
host.load(lambda notice: None, lambda: False)
print(host.pid, flush=True)
killpg = os.killpg
os.killpg = lambda *of: (killpg(*of), killpg(os.getpgrp(), signal.SIGKILL))
host.close()
"""


def test_a_parent_that_is_killed_while_it_kills_its_engine_leaves_no_folder(
    scripts_found: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = Path(tempfile.mkdtemp(dir="/tmp"))  # a longer name would not be taken
    monkeypatch.setenv("TMPDIR", str(short))
    command = [sys.executable, "-c", KILLED_WHILE_IT_KILLS]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as parent:
        assert parent.stdout
        pid = int(parent.stdout.readline())
        assert parent.wait(60) == -signal.SIGKILL
    assert _gone(pid)
    short.rmdir()  # it is empty


def _no_room(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("fails", ["os.pipe", "subprocess.Popen", "tempfile.mkdtemp"])
def test_a_machine_that_starts_no_process_is_told_and_nothing_is_left(
    begin: Begin, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, fails: str
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("pathway_local.engines.process.LONGEST_FOLDER", 200)
    held = len(list(Path("/proc/self/fd").iterdir()))
    with monkeypatch.context() as broken:
        broken.setattr(fails, _no_room)
        with pytest.raises(EngineError, match="for the engine: No space left on device") as raised:
            begin()
    assert "ulimit -n" in raised.value.hint and "in TMPDIR" in raised.value.hint
    assert len(list(Path("/proc/self/fd").iterdir())) == held
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ends", [(), ("the engine",)])
def test_a_process_that_a_driver_holds_is_told_and_not_waited_for(
    begin: Begin, monkeypatch: pytest.MonkeyPatch, ends: tuple[str, ...]
) -> None:
    """A worker's, too: until it has ended it holds the memory of its GPU."""
    host = begin()
    pid = host.hosts[0].pid
    assert pid
    assert host.hosts[0].process
    with monkeypatch.context() as held:
        held.setattr("pathway_local.engines.process.KILL_LIMIT", 0.1)
        held.setattr("os.killpg", os.kill if ends else lambda *_: None)
        with pytest.raises(EngineDied, match="does not end"):
            host.hosts[0].process.kill()
    with suppress(ProcessLookupError):  # the watcher has ended the rest
        os.killpg(pid, signal.SIGKILL)
    host.hosts[0].process = None


@pytest.mark.parametrize("config", [EngineConfig("folder\udcff"), EngineConfig("folder", settings={"a": [10**30]})])
def test_a_configuration_that_can_not_be_passed_on_is_a_start_error(config: EngineConfig) -> None:
    with pytest.raises(EngineError, match="can't be passed on"):
        Engines([SupervisedEngine("scripted", config)])
