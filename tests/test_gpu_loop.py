"""The loop that a GPU uses: asynchronous scheduling, where our corrections of vLLM's core may change no token."""

import logging
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import Mock, create_autospec

import pytest
from engine_passes import FORMATS, READABLE, Maker
from gpu_loop import GpuLoop, prompt_hash
from msgspec.structs import replace
from tiny_judge import END

from benchmark.made_cases import write_cases
from benchmark.stage import prompts
from pathway_local.judging.pool import Completion, Pool, Request
from pathway_local.passes import EngineConfig, Pass, PassResult
from pathway_local.rendering.prompt import Thinking
from pathway_local.rendering.tokenizer import JudgeTokenizer
from pathway_local.rubrics.rubric_file import load_rubric
from pathway_local.verdict import NO_TOKENS

CONTEXT = 4096
CASES = 4
SAMPLES = 8
CACHE = 4_620_288
"""Bytes of a cache that holds 4,512 tokens of the tiny judge."""

Load = Callable[..., GpuLoop]


@pytest.fixture(scope="module", autouse=True)
def _environment() -> Iterator[None]:
    """The environment that the engine sets for its own process is not left to other files."""
    before = dict(os.environ)
    logging.disable(logging.WARNING)
    yield
    logging.disable(logging.NOTSET)
    os.environ.clear()
    os.environ.update(before)


@contextmanager
def loading(judge: Path) -> Iterator[Load]:
    """Load engines with so small a cache that vLLM preempts some passes."""
    loaded: list[GpuLoop] = []

    def load(*, corrected: bool = True) -> GpuLoop:
        config = EngineConfig(str(judge), "float32", CONTEXT, {"kv_cache_memory_bytes": CACHE})
        loaded.append(GpuLoop(config, corrected=corrected))
        return loaded[-1]

    yield load
    for engine in loaded:
        engine.close()


@pytest.fixture
def load(tiny_judge: Path) -> Iterator[Load]:
    """Loads engines for one test."""
    with loading(tiny_judge) as load:
        yield load


@pytest.fixture(scope="module")
def engines(tiny_judge: Path) -> Iterator[tuple[GpuLoop, GpuLoop]]:
    """Our engine and one without our corrections, for tests that leave them idle."""
    with loading(tiny_judge) as load:
        yield load(), load(corrected=False)


@pytest.fixture(scope="module")
def make(tiny_judge: Path) -> Maker:
    return Maker(tiny_judge)


def test_a_core_of_its_own_process_can_read_each_pass(
    engines: tuple[GpuLoop, GpuLoop], make: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A request that such a core can't decode ends its thread of requests: a judge on several GPUs waits for ever."""
    from vllm.v1.engine import EngineCoreRequest
    from vllm.v1.serial_utils import MsgpackDecoder, MsgpackEncoder

    engine, _ = engines
    taken = engine.vllm.engine_core.add_request
    sent = create_autospec(taken, side_effect=taken)
    monkeypatch.setattr(engine.vllm.engine_core, "add_request", sent)
    first = make.judging("json", 0)
    for item in (first, replace(first, id="next", after=first.id), make.probing(1)):
        engine.submit(item)
    while engine.results():
        pass
    read = [MsgpackDecoder(EngineCoreRequest).decode(MsgpackEncoder().encode(call.args[0])) for call in sent.mock_calls]
    assert [request.priority for request in read] == [1, 0, 1]


def requests(judge: Path, folder: Path) -> list[Request]:
    """Cases under several rubrics, half of them with thinking before the reply."""
    tokenizer, names = JudgeTokenizer(judge), ("pathway-answer", "groundedness", "gold-answer")
    rubrics = list(map(load_rubric, names))
    files = [write_cases(folder / f"{rubric.name}.csv", rubric.inputs, CASES, 1) for rubric in rubrics]
    thinking = Thinking(30, tokenizer.id_of(END), tokenizer.encode("\n"))
    return [
        Request(f"{detail}-{at}", prompt, thinking=thinking if at % 2 else None)
        for detail in ("through-score", "score")
        for at, prompt in enumerate(
            each for rubric, file in zip(rubrics, files, strict=True) for each in prompts(rubric, judge, file, detail)
        )
    ]


def judged(engine: GpuLoop, judge: Path, asked: Iterable[Request]) -> dict[str, Completion]:
    pool = Pool(lambda: engine, JudgeTokenizer(judge), CONTEXT)
    for request in asked:
        pool.submit(request)
    found: dict[str, Completion] = {}
    while pool.in_flight:
        found |= {done.id: replace(done, tokens=NO_TOKENS) for done in pool.completions()}
    return found


def run(engine: GpuLoop, passes: Iterable[Pass]) -> dict[str, PassResult]:
    for item in passes:
        engine.submit(item)
    found: dict[str, PassResult] = {}
    while some := engine.results():
        found |= {result.id: replace(result, cached_tokens=0) for result in some}
    return found


def kinds(make: Maker) -> list[Pass]:
    """Passes of all kinds: each format, probes, and a free text that ends by its stop id."""
    free = [Pass(f"free-{at}", make.ids(f"Think {at}."), None, 20, stop_ids=(7,)) for at in range(SAMPLES)]
    replies = [make.judging(kind, case) for case in range(SAMPLES) for kind in FORMATS]
    return [*replies, *map(make.probing, range(SAMPLES)), *free]


def preemptions(engine: GpuLoop, monkeypatch: pytest.MonkeyPatch) -> Mock:
    """The calls by which vLLM preempts a pass, counted until the test ends."""
    scheduler = engine.core.scheduler
    counted = Mock(side_effect=scheduler._preempt_request)
    monkeypatch.setattr(scheduler, "_preempt_request", counted)
    return counted


def test_every_verdict_is_the_same_with_and_without_our_corrections(
    engines: tuple[GpuLoop, GpuLoop], tiny_judge: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = requests(tiny_judge, tmp_path)
    ours, plain = engines
    preempted = preemptions(ours, monkeypatch)
    found = judged(ours, tiny_judge, asked)
    assert preempted.call_count > 0, "so stale tokens arrive"
    assert found == judged(plain, tiny_judge, asked)
    assert len(found) == len(asked)
    for request in asked:
        done = found[request.id]
        assert done.reading and done.probabilities, done.problem
        assert bool(done.thinking) == bool(request.thinking)


def test_passes_end_readable_though_one_is_rejected_one_aborted_and_all_preempted(
    engines: tuple[GpuLoop, GpuLoop], make: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    passes = kinds(make)
    bad, gone = make.judging("tags", 99), make.judging("json", 98)
    found = []
    for engine in engines:
        draw_wrongly(engine, bad, monkeypatch)
        engine.submit(gone)
        for _ in range(9):
            engine.step()
        [(number, _)] = engine._held.items()
        engine.vllm.abort_request([number])
        del engine._held[number]
        for item in passes[:SAMPLES]:
            engine.submit(item)
        for _ in range(9):
            engine.step()
        assert engine.vllm.reset_prefix_cache(reset_running_requests=True), "drops the tokens on their way"
        found.append(run(engine, [*passes[SAMPLES:], bad]))
    assert found[0] == found[1]
    assert found[0].pop(bad.id) == PassResult(bad.id, finish="error", error="vLLM ended the request by 'error'")
    for name, result in found[0].items():
        kind = name.partition("-")[0]
        assert kind not in READABLE or (result.finish == "stop" and READABLE[kind](make.text(result.ids))), name
    assert {result.finish for name, result in found[0].items() if "free" in name} == {"stop", "length"}
    assert {result.finish for name, result in found[0].items() if "probe" in name} == {"length"}


def draw_wrongly(engine: GpuLoop, item: Pass, monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw a token that the grammar forbids, as the tenth of that pass, whatever the mask says."""
    draw, wrong = engine.executor.draw, prompt_hash(item.ids)

    def drawn(prompt: int, position: int, row: Any, stops: list[int]) -> int:
        return int(draw(prompt, position, ~row if (prompt, position) == (wrong, 9) else row, stops))

    monkeypatch.setattr(engine.executor, "draw", drawn)


def test_a_grammar_is_compiled_once_for_all_its_requests_and_few_are_kept(
    load: Load, make: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    from vllm.v1.structured_output.backend_guidance import GuidanceBackend

    compile_one = create_autospec(GuidanceBackend.compile_grammar, side_effect=GuidanceBackend.compile_grammar)
    monkeypatch.setattr(GuidanceBackend, "compile_grammar", compile_one)
    engine = load()
    first = run(engine, kinds(make))
    assert compile_one.call_count == len(FORMATS) + 1, "and the probes'"
    assert run(engine, kinds(make)) == first, "a copied grammar is as new"
    assert compile_one.call_count == len(FORMATS) + 1
    monkeypatch.setattr("pathway_local.engines.vllm_core.GRAMMARS", 2)
    own = [Pass(f"own-{at}", (5,), f'start: "{at}"\n', 9) for at in range(4)]
    usual = make.judging("tags", 0)
    for item in own:
        run(engine, [item, usual])
    assert compile_one.call_count == len(FORMATS) + 1 + len(own), "a rubric's grammar stays, those of single cases go"
    run(engine, own[:1])
    assert compile_one.call_count == len(FORMATS) + 2 + len(own)


def test_another_version_goes_its_own_way_without_a_change_of_tokens(
    engines: tuple[GpuLoop, GpuLoop], load: Load, make: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    passes = kinds(make)[:9]
    expected = run(engines[1], passes)
    monkeypatch.setattr("pathway_local.engines.vllm.TESTED", ("0.1.",))
    engine = load()
    assert engine.facts.note.startswith(f"vLLM {engine.facts.version} is not tested")
    assert run(engine, passes) == expected


def test_a_step_whose_grammars_have_all_ended_does_not_end_the_engine(engines: tuple[GpuLoop, GpuLoop]) -> None:
    engine = engines[0]
    from vllm.inputs.engine import tokens_input

    from pathway_local.engines.vllm_core import sampling_params

    settings = sampling_params(Pass("", (5,), 'start: "a"\n', 9))
    settings.ignore_eos = True
    engine.vllm.add_request("0", tokens_input([5]), settings)
    found = []
    while engine.vllm.has_unfinished_requests():
        found += engine.vllm.step()
    assert len(found[0].outputs[0].token_ids) == 9


def test_the_engine_starts_passes_in_waves(tiny_judge: Path, make: Maker) -> None:
    """Few steps read a prompt beside replies that are being written, though each reply is continued by a probe."""
    seats, lengths = 64, {f"{at}": 40 + 7 * at % 81 for at in range(200)}
    passes = {name: Pass(name, make.ids(f"Judge {name}."), None, most) for name, most in lengths.items()}
    engine = GpuLoop(EngineConfig(str(tiny_judge), "float32", CONTEXT, {"max_num_seqs": seats}))
    found, replies = [], list[dict[str, PassResult]]()
    for _ in range(2):
        before = engine.executor.steps, engine.executor.mixed
        for item in passes.values():
            engine.submit(item)
        replies.append({})
        while done := engine.results():
            for result in done:
                replies[-1][result.id] = replace(result, cached_tokens=0)
                if item := passes.get(result.id):
                    own = (*item.ids, *result.ids)
                    engine.submit(Pass(f"after {item.id}", own, None, 1, after=item.id))
        found.append((engine.executor.steps - before[0], engine.executor.mixed - before[1]))
        engine.core._should_throttle_prefills = lambda: False
    engine.close()
    assert replies[0] == replies[1]
    assert len(replies[0]) == 2 * len(lengths)
    (steps, mixed), (without, many) = found
    assert many > 0.55 * without, "as long as passes start one by one"
    assert mixed < many / 3
    assert steps <= 1.15 * without
