"""One engine and several callers: each call gets the verdicts of its own cases, and waits its turn or is refused."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from types import FrameType

import pytest
from reply_script import JUDGE, SECONDS
from typed import Desk

import pathway_local as pl
from pathway_local.engines.engines import Engines
from pathway_local.passes import Pass
from pathway_local.verdict import Value

Judged = dict[str, dict[str, Value]]
Judge = Callable[[str, range, pl.Engine], Judged]

SLOW = "0.02"
"""Seconds that each of a case's two passes takes where a second call must find the first one still judging."""


@pytest.fixture
def judge(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Judge:
    """Judges some cases into the run of a name and returns its rows by case; a reply follows from its case's texts."""
    for name in ("PYTHONPATH", JUDGE):
        monkeypatch.setenv(name, desk.environment[name])

    def judged(name: str, numbers: range, engine: pl.Engine) -> Judged:
        cases = [{"id": f"{i}", "question": f"What is {i}?", "answer": f"It is {i}."} for i in numbers]
        run = pl.judge(
            cases,
            desk.work / "small.prompty",
            judge="scripted",
            models=desk.work / "models.yaml",
            run=desk.work / f"{name}.run",
            engine=engine,
            progress=False,
        )
        return {str(row["case"]): row for row in run.verdicts}

    return judged


@pytest.fixture
def engine() -> Iterator[pl.Engine]:
    with pl.Engine("scripted") as engine:
        yield engine


def _said(found: Judged) -> list[list[Value]]:
    return [[row[name] for name in ("reason", "score", "score_p1", "failure")] for row in found.values()]


def test_threads_that_share_an_engine_get_their_own_verdicts(judge: Judge, engine: pl.Engine) -> None:
    parts = [range(first, first + 40) for first in (0, 100, 200)]
    alone = [judge(f"alone-{part.start}", part, engine) for part in parts]
    with ThreadPoolExecutor() as threads:
        futures = [threads.submit(judge, f"shared-{part.start}", part, engine) for part in parts]
        assert not wait(futures, 120).not_done
    for part, before, future in zip(parts, alone, futures, strict=True):
        found = future.result()
        assert list(found) == [str(number) for number in part]
        assert len({str(row["reason"]) for row in found.values()}) > 30  # or others' verdicts would look alike
        assert _said(found) == _said(before)


def test_no_two_passes_of_an_engine_share_an_id(
    judge: Judge, engine: pl.Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids: list[str] = []
    submit = Engines.submit

    def noted(host: Engines, item: Pass) -> None:
        ids.append(item.id)
        submit(host, item)

    monkeypatch.setattr(Engines, "submit", noted)
    for name in ("one", "two"):
        judge(name, range(3), engine)
    assert len(set(ids)) == len(ids) >= 12


def test_a_second_call_waits_and_says_so(judge: Judge, engine: pl.Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SECONDS, SLOW)
    judge("load", range(1), engine)
    with ThreadPoolExecutor() as threads:
        first = threads.submit(judge, "first", range(40), engine)
        _until(engine.cache._turn.locked)
        engine.close()
        assert engine.cache.engine_now is None
        assert [row["failure"] for row in first.result().values()] == [None] * 40
        notes: list[str] = []
        with engine.cache.turn():
            waiting = threads.submit(_turn, engine, notes)
            _until(lambda: bool(notes))
            assert not waiting.done()
        waiting.result(60)
    assert notes == ["another thread is using the engine: waiting until it has finished"]
    assert len(judge("again", range(2), engine)) == 2  # it is loaded again


def test_two_calls_into_one_run_file_take_turns(judge: Judge, engine: pl.Engine) -> None:
    with ThreadPoolExecutor() as threads:
        futures = [threads.submit(judge, "one", range(30), engine) for _ in range(3)]
        assert not wait(futures, 120).not_done
    assert all(len(each.result()) == 30 for each in futures)


def test_a_call_from_inside_a_call_is_refused_and_the_outer_one_goes_on(
    judge: Judge, engine: pl.Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SECONDS, SLOW)
    judge("load", range(1), engine)
    refused: list[str] = []

    def heard(number: int, frame: FrameType | None) -> None:
        for call in (lambda: judge("inner", range(2), engine), engine.close):
            with pytest.raises(pl.UsageError, match="comes from inside it") as raised:
                call()
            refused.append(raised.value.hint)

    before = signal.signal(signal.SIGALRM, heard)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.5)
        assert len(judge("outer", range(60), engine)) == 60
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert len(refused) == 2 and all(refused)


def test_a_forked_process_is_refused_and_leaves_the_engine_to_its_parent(judge: Judge, engine: pl.Engine) -> None:
    judge("before", range(2), engine)
    loaded = engine.cache.engine_now
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        try:
            judge("inherited", range(2), engine)
        except pl.UsageError as error:
            os.write(writer, f"{error} {error.hint}".encode())
        engine.close()
        os._exit(0)
    os.close(writer)
    assert os.waitpid(child, 0)[1] == 0
    with os.fdopen(reader) as said:
        refusal = "this process was forked from the one that made the engine, and can't use it"
        assert said.read() == f"{refusal} Make an engine in each process."
    assert len(judge("after", range(2), engine)) == 2
    assert engine.cache.engine_now is loaded and loaded is not None


def test_a_call_that_fails_gives_its_turn_back(judge: Judge, engine: pl.Engine, desk: Desk) -> None:
    with pytest.raises(pl.PathwayError):
        pl.judge(desk.work / "none.csv", "pathway-answer", run=desk.work / "none.run", engine=engine)
    assert len(judge("after", range(2), engine)) == 2


def _turn(engine: pl.Engine, notes: list[str]) -> None:
    with engine.cache.turn(notes.append):
        pass


def _until(happened: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not happened():
        assert time.monotonic() < until
        time.sleep(0.001)
