"""What passes between a host and its engine's process comes out as it went in."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import ValidationError
from msgspec.msgpack import encode

from pathway_local.engines.wire import (
    FROM_ENGINE,
    LENGTH,
    TO_ENGINE,
    Alive,
    Failed,
    Frames,
    FromEngine,
    Load,
    Ready,
    Results,
    ToEngine,
    frame,
)
from pathway_local.passes import GREEDY, EngineConfig, EngineFacts, Pass, PassResult, Sampling
from pathway_local.sealing.seal import Seal

ids = st.lists(st.integers(0, 2**32 - 1), max_size=12).map(tuple)
passes = st.builds(
    Pass,
    id=st.text(),
    ids=ids,
    grammar=st.none() | st.text(),
    max_tokens=st.integers(1, 9),
    sampling=st.builds(Sampling, temperature=st.floats(0, 2), seed=st.integers(0, 2**31)),
    stop_ids=ids,
    logprob_ids=ids,
    after=st.text(max_size=3),
)
logprobs = st.dictionaries(st.integers(0, 2**32 - 1), st.floats(max_value=0) | st.just(float("-inf")), max_size=4)
results = st.builds(PassResult, id=st.text(), ids=ids, logprobs=st.lists(logprobs, max_size=3).map(tuple))
config = EngineConfig("/a folder/of \u00e9", max_model_len=9, settings={"a": {"b": [1, None, "c"]}})
facts = EngineFacts("vllm", "1", 4096, "float32", "cpu", "off")


@settings(suppress_health_check=[HealthCheck.too_slow])  # drawing takes long on a busy machine
@given(st.lists(passes, max_size=8), st.integers(1, 5000))
def test_passes(given_passes: list[Pass], piece: int) -> None:
    assert _through(Frames(TO_ENGINE), b"".join(map(frame, given_passes)), piece) == given_passes


def test_a_seed_is_the_cases_own_or_none_at_all() -> None:
    drawn, greedy = Sampling(temperature=1.0, top_k=9, seed=1), Sampling(top_k=9, seed=10**30)
    assert drawn.seeded(7) == Sampling(temperature=1.0, top_k=9, seed=7)
    assert greedy.seeded(7) == GREEDY


@given(st.lists(results, max_size=4), st.integers(1, 500))
def test_all_else(given_results: list[PassResult], piece: int) -> None:
    told: list[ToEngine] = [Load("module:load", config)]
    assert _through(Frames(TO_ENGINE), b"".join(map(frame, told)), piece) == told
    failed = Failed("EngineError", "OSError", "why", "what to do", memory=True)
    said: list[FromEngine] = [
        Ready(facts, Seal(filter=True, why="no namespace")),
        failed,
        Alive(),
        Results(tuple(given_results)),
    ]
    assert _through(Frames(FROM_ENGINE), b"".join(map(frame, said)), piece) == said


def test_what_an_end_may_not_say_is_refused() -> None:
    body = encode({"type": "Results", "results": [{"id": "x", "ids": ["y"]}]})
    with pytest.raises(ValidationError):
        Frames(FROM_ENGINE).feed(len(body).to_bytes(LENGTH) + body)
    with pytest.raises(ValidationError):
        Frames(TO_ENGINE).feed(frame(Alive()))


def _through(frames: Frames[Any], sent: bytes, piece: int) -> list[Any]:
    return [message for at in range(0, len(sent), piece) for message in frames.feed(sent[at : at + piece])]
