"""A whole run, watched by strace: neither the command nor its engine reaches anyone, with or without namespaces."""

import json
import os
import re
import shutil
import sqlite3
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from typed import HERE, Desk

from pathway_local.sealing.seal import Seal
from pathway_local.system.machine import is_cpu_build

NEEDS_STRACE = pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace: apt-get install strace")
ADDRESS = re.compile(r"sa_family=(AF_\w+)(.*)")
LOOPBACK = re.compile(r'inet_addr\("127\.|"::1"')
SHARED = Path("/dev/shm")
FORBIDDING = [sys.executable, str(HERE / "without_namespaces.py")]
UNFILTERED = [sys.executable, str(HERE / "without_filters.py")]


@pytest.fixture
def desk(tmp_path: Path, tiny_judge: Path) -> Desk:
    return Desk(tmp_path, shutil.copytree(tiny_judge, tmp_path / "its-judge"))


def _traced(
    desk: Desk, command: Sequence[str], *, before: Sequence[str] = (), refused: bool = False
) -> tuple[list[str], str]:
    """The network calls of a command and of all that it starts, `refused` ones too; and what it says on stderr."""
    log = desk.root / "calls"
    # Much faster, but calls that another filter has refused by then don't show.
    fast = [] if refused else ["--seccomp-bpf"]
    tracer = ["strace", "-f", *fast, "-qq", "-e", "trace=%network", "-s", "300", "-o", str(log)]
    # Each call of every process is stopped at where none may be missed, and vLLM's workers wait for each other by many.
    done = desk.typed(*command, before=[*before, *tracer], timeout=1500 if refused else 280)
    return log.read_text().splitlines(), done.stderr


def _addressed(calls: Sequence[str]) -> list[tuple[str, str, str]]:
    """Call, address and outcome of each call that names an address, except the kernel's own."""
    found = []
    for line in calls:
        call = line.split(maxsplit=1)[1].partition("(")[0]
        if call in ("connect", "sendto", "sendmsg", "sendmmsg") and (address := ADDRESS.search(line)):
            outcome = line.rpartition(" = ")[2]
            if address[1] != "AF_NETLINK":
                found.append((call, address[0], outcome))
    return found


def _reached(calls: Sequence[str]) -> list[tuple[str, str, str]]:
    """Those that were not refused by the filter."""
    return [found for found in _addressed(calls) if "EACCES" not in found[2]]


def _opened(calls: Sequence[str]) -> set[str]:
    """Family and type of the sockets that were opened."""
    opened = (re.search(r"socket\((\w+), (SOCK_\w+).* = (\d+)", line) for line in calls)
    return {f"{found[1]} {found[2]}" for found in opened if found}


def _sealed(desk: Desk) -> str:
    query = "SELECT json_extract(facts, '$.engines[0].seal') FROM jobs"
    return str(Seal(**json.loads(sqlite3.connect(desk.work / "may.run").execute(query).fetchone()[0])))


@NEEDS_STRACE
def test_nobody_is_reached_with_the_scripted_engine(desk: Desk) -> None:
    calls, _ = _traced(desk, desk.judging(desk.cases(20), "--seal", "required"))
    assert _sealed(desk) == "namespace+filter+files"
    assert _reached(calls) == []
    # The seal's own look at its interfaces, before anything else is imported. So the tracer sees calls.
    assert _opened(calls) == {"AF_INET SOCK_DGRAM", "AF_NETLINK SOCK_RAW"}


def _plant_code(judge: Path, mark: Path) -> None:
    """Let the judge bring code that makes the mark once it is imported, and name it wherever transformers looks."""
    (judge / "evil.py").write_text(f"from pathlib import Path\nPath({str(mark)!r}).touch()\nclass Evil: pass\n")
    named = {"AutoConfig": "evil.Evil", "AutoModelForCausalLM": "evil.Evil", "AutoTokenizer": ["evil.Evil"] * 2}
    for path in (judge / "config.json", judge / "tokenizer_config.json"):
        path.write_text(json.dumps({**json.loads(path.read_text()), "auto_map": named}))


@NEEDS_STRACE
@pytest.mark.soak
@pytest.mark.parametrize("namespaces", [True, False])
def test_nobody_is_reached_and_no_code_of_the_judge_runs_with_real_vllm(
    desk: Desk, tmp_path: Path, namespaces: bool
) -> None:
    mark = tmp_path / "its-code-ran"
    _plant_code(desk.judge, mark)
    command = desk.judging(desk.cases(2), "--detail", "score", engine="vllm")
    calls, _ = _traced(desk, command, before=() if namespaces else FORBIDDING)
    assert _sealed(desk) == ("namespace+filter+files" if namespaces else "filter+files")
    assert _reached(calls) == []
    bound = [line for line in calls if "bind(" in line and "AF_INET" in line]
    assert bound
    assert all(LOOPBACK.search(line) for line in bound)
    datagrams = [line for line in calls if "AF_INET, SOCK_DGRAM" in line and " = -1" not in line]
    assert len(datagrams) <= 4  # the seal's own, before vLLM
    assert not mark.exists()
    if is_cpu_build():  # what vLLM writes where another process looked at the model and answered by a pickle
        assert not list(desk.home.rglob("modelinfos"))


@NEEDS_STRACE
@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="vLLM wants a processor for each of its workers")
def test_workers_of_vllm_reach_only_each_other_and_leave_nothing_behind(desk: Desk) -> None:
    shared, desk.environment["VLLM_CPU_OMP_THREADS_BIND"] = set(SHARED.iterdir()), "0|1"
    command = desk.judging(desk.cases(2), "--detail", "score", engine="vllm", judge="workers")
    calls, _ = _traced(desk, command, before=FORBIDDING, refused=True)
    assert _sealed(desk) == "filter+files"
    # The gate answers ENOENT for a service that libraries look for, such as the one for names of users.
    reached = {address for call, address, _ in _reached(calls) if "ENOENT" not in address}
    local = {address for address in reached if "AF_UNIX" in address}
    assert local
    assert all('sun_path="/tmp/pathway-' in address for address in local)
    folders = {Path(address.split('"')[1]).parent for address in local}
    assert not any(folder.exists() for folder in folders)
    assert all(LOOPBACK.search(address) for address in reached - local)
    assert not list(desk.tmp.iterdir())
    assert {path for path in set(SHARED.iterdir()) - shared if path.name.startswith("vllm")} == set()


@NEEDS_STRACE
@pytest.mark.soak
def test_the_tracer_would_see_it(desk: Desk) -> None:
    """Without a seal the same look finds what a script does."""
    desk = Desk(desk.root / "open", desk.judge, "reply_and_call")
    calls, said = _traced(desk, desk.judging(desk.cases(2), "--seal", "off"))
    assert "not sealed" in said
    assert _sealed(desk) == "not at all"
    assert any("192.0.2.1" in address for _, address, _ in _reached(calls))


@NEEDS_STRACE
@pytest.mark.parametrize("namespaces", [True, pytest.param(False, marks=pytest.mark.soak)])
def test_an_engine_that_tries_is_refused_and_seen(desk: Desk, namespaces: bool) -> None:
    desk = Desk(desk.root / "open", desk.judge, "reply_and_call")
    command = desk.judging(desk.cases(2))
    calls, said = _traced(desk, command, before=() if namespaces else FORBIDDING, refused=True)
    assert _sealed(desk) == ("namespace+filter+files" if namespaces else "filter+files")
    assert ("no network namespace here" in said) is not namespaces
    assert any("192.0.2.1" in address for _, address, _ in _addressed(calls))
    assert _reached(calls) == []


def test_required_refuses_before_anything_is_written(desk: Desk) -> None:
    command = desk.judging(desk.cases(2), "--seal", "required")
    refused = desk.typed(*command, code=5, before=FORBIDDING)
    assert "no network namespace" in refused.stderr
    assert not (desk.work / "may.run").exists()


def test_a_namespace_without_a_filter_is_told_and_not_what_is_required(desk: Desk) -> None:
    command = desk.judging(desk.cases(2))
    refused = desk.typed(*command, "--seal", "required", code=5, before=UNFILTERED)
    assert "only: namespace+files" in refused.stderr and "filters no system calls" in refused.stderr
    assert not (desk.work / "may.run").exists()
    told = desk.typed(*command, before=UNFILTERED)
    assert _sealed(desk) == "namespace+files"
    assert "it can reach other programs' local sockets" in " ".join(told.stderr.split())


def test_required_is_refused_where_only_the_command_goes_unfiltered(desk: Desk) -> None:
    desk.environment["PYTHONPATH"] += f"{os.pathsep}{HERE / 'unfiltered_command'}"
    refused = desk.typed(*desk.judging(desk.cases(2)), "--seal", "required", code=5)
    assert "can't keep the process that reads the cases from opening sockets" in refused.stderr
    assert not (desk.work / "may.run").exists()


def test_the_command_itself_can_open_no_socket_while_it_judges(desk: Desk) -> None:
    """The filter holds the thread that handles cases and all that it starts; libraries' own threads are older."""
    desk.environment["REPLY_SCRIPT_SECONDS"] = "0.3"
    with desk.begun(*desk.judging(desk.cases(40))) as process:
        assert process.stderr
        assert any("sealed:" in line for line in process.stderr)
        held = {int(path.name): "Seccomp:\t2" in (path / "status").read_text() for path in _threads(process.pid)}
        process.terminate()
        process.communicate(timeout=60)
    assert held[process.pid]
    assert sum(held.values()) >= 4  # the loop, commits to the run, the engine's output, and the tokenizer's


def _threads(process: int) -> list[Path]:
    return list(Path(f"/proc/{process}/task").iterdir())
