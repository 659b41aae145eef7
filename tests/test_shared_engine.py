"""One engine and several callers: an engine judges for one call at a time, and any other is refused."""

import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from reply_script import JUDGE, SECONDS
from typed import Desk

import pathway_local as pl
from pathway_local.engines.engines import Engines
from pathway_local.passes import Pass
from pathway_local.verdict import Value

Judged = dict[str, dict[str, Value]]
Judge = Callable[[str, range, pl.Engine], Judged]


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


def test_a_second_call_is_refused_and_the_first_goes_on(
    judge: Judge, engine: pl.Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SECONDS, "0.02")  # or the first call would have ended
    alone = judge("alone", range(20), engine)
    with ThreadPoolExecutor() as threads:
        first = threads.submit(judge, "first", range(20), engine)
        while not engine.cache._turn.locked() and not first.done():
            time.sleep(0.001)
        for call in (lambda: judge("second", range(2), engine), engine.close):
            with pytest.raises(pl.UsageError, match="a call that has not returned"):
                call()
        assert _said(first.result()) == _said(alone)
    engine.close()
    assert engine.cache._engine is None
    assert len(judge("again", range(2), engine)) == 2, "it is loaded again"


def test_a_forked_process_is_refused_and_leaves_the_engine_to_its_parent(judge: Judge, engine: pl.Engine) -> None:
    judge("before", range(2), engine)
    loaded = engine.cache._engine
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
        assert "for the process that made it" in said.read()
    assert len(judge("after", range(2), engine)) == 2
    assert engine.cache._engine is loaded and loaded is not None


def test_a_call_that_fails_gives_its_turn_back(judge: Judge, engine: pl.Engine, desk: Desk) -> None:
    with pytest.raises(pl.PathwayError):
        pl.judge(desk.work / "none.csv", "pathway-answer", run=desk.work / "none.run", engine=engine)
    assert len(judge("after", range(2), engine)) == 2
