"""Real vLLM in its sealed process: every reply keeps its format, alone or among others."""

import inspect
import math
import os
import signal
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from engine_passes import DIGIT, FORMATS, READABLE, Maker
from msgspec.structs import replace

from pathway_local.engines.engine import CPU_HANG_LIMIT
from pathway_local.engines.engines import Engines
from pathway_local.engines.supervised_engine import SupervisedEngine
from pathway_local.engines.vllm import (
    CORE_APART,
    CPU_BLOCK,
    CPU_SEQUENCES,
    EXACT_HEAD,
    FITTED,
    VllmEngine,
    _has_plain_head,
    _prepared,
    engine_options,
)
from pathway_local.judging.value_probabilities import MOST_NAMED
from pathway_local.passes import EngineConfig, Pass, PassResult, Sampling
from pathway_local.sealing.launch import _caches
from pathway_local.sealing.seal import WHOLE
from pathway_local.system.private_process import members

SAMPLES = 20


@pytest.fixture(scope="module")
def make(tiny_judge: Path) -> Maker:
    return Maker(tiny_judge)


def _run(host: Engines, passes: Iterable[Pass]) -> dict[str, PassResult]:
    for item in passes:
        host.submit(item)
    found: dict[str, PassResult] = {}
    while some := host.results():
        found |= {result.id: result for result in some}
    return found


def test_formats_of_all_kinds_in_one_batch_end_by_themselves_and_are_readable(vllm_host: Engines, make: Maker) -> None:
    hot = [
        make.judging(kind, case, Sampling(temperature=1.0, seed=case)) for case in range(SAMPLES) for kind in FORMATS
    ]
    found = _run(vllm_host, hot)
    assert len(found) == len(hot) == 3 * SAMPLES
    assert {result.finish for result in found.values()} == {"stop"}
    unreadable = [name for name, result in found.items() if not READABLE[name.partition("-")[0]](make.text(result.ids))]
    assert unreadable == []
    assert len({result.ids for result in found.values()}) > 2 * SAMPLES


def test_a_seed_draws_the_same_again_and_another_seed_something_else(vllm_host: Engines, make: Maker) -> None:
    item = make.judging("json", 1, Sampling(temperature=1.0, top_p=0.95, top_k=50, seed=7))
    again = replace(item, id="again")
    other = replace(item, id="other", sampling=Sampling(temperature=1.0, top_p=0.95, top_k=50, seed=8))
    found = _run(vllm_host, [item, again, other])
    assert found[item.id].ids == found["again"].ids != found["other"].ids


def test_log_probabilities_are_those_of_the_legal_ids_before_temperature(vllm_host: Engines, make: Maker) -> None:
    cold, hot = make.probing(1), replace(make.probing(1, Sampling(temperature=2.0, seed=1)), id="hot")
    found = _run(vllm_host, [cold, hot])
    result = found[cold.id]
    [first] = result.logprobs
    assert set(first) == set(cold.logprob_ids)
    assert sum(map(math.exp, first.values())) == pytest.approx(1, abs=1e-5)
    assert result.ids == (max(first, key=lambda token: first[token]),)
    assert found["hot"].logprobs[0] == pytest.approx(first, abs=1e-4)


def test_shares_among_named_ids_are_the_same_with_and_without_a_grammar(vllm_host: Engines, make: Maker) -> None:
    ids = tuple(range(300, 300 + MOST_NAMED))
    held = Pass("held", make.ids("Judge."), f"start: <[300-{ids[-1]}]>\n", 1, logprob_ids=ids)
    more = replace(held, id="more", logprob_ids=(*ids, ids[-1] + 1))
    found = _run(vllm_host, [held, replace(held, id="free", grammar=None), more])
    [among], [free] = found["held"].logprobs, found["free"].logprobs
    assert sum(map(math.exp, among.values())) == pytest.approx(1, abs=1e-4)
    mass = math.log(sum(map(math.exp, free.values())))
    assert {token: value - mass for token, value in free.items()} == pytest.approx(dict(among), abs=1e-4)
    assert found["more"].finish == "error"


def test_each_token_of_a_reply_has_its_log_probabilities(vllm_host: Engines, make: Maker) -> None:
    digits = make.probing(3).logprob_ids
    item = Pass("said", make.ids("Judge this.\n**Score:** "), 'start: /[1-5]/ "!"\n', 9, logprob_ids=digits)
    result = _run(vllm_host, [item])["said"]
    assert len(result.logprobs) == len(result.ids) + 1, "the end token has its own"
    [score] = [each for each in result.logprobs if max(each.values()) > -math.inf]
    assert sum(map(math.exp, score.values())) == pytest.approx(1, abs=1e-4)


def test_the_prefix_cache_skips_what_prompts_share(vllm_host: Engines, make: Maker) -> None:
    shared = tuple(range(300, 1200))
    first = Pass("first", (*shared, *make.ids("first case")), DIGIT, 1)
    second = Pass("second", (*shared, *make.ids("another case")), DIGIT, 1)
    _run(vllm_host, [first])
    found = _run(vllm_host, [second])
    assert len(shared) - CPU_BLOCK < found["second"].cached_tokens <= len(shared)


def test_a_pass_that_continues_comes_before_those_that_begin(vllm_host: Engines, make: Maker) -> None:
    begin = [Pass(f"begins-{at}", make.ids(f"Judge {at}."), None, 20) for at in range(3 * CPU_SEQUENCES)]
    order = list(_run(vllm_host, [*begin, replace(make.probing(4), id="continues", after="0")]))
    assert order.index("continues") <= 2 * CPU_SEQUENCES, "what is in the batch, and at most one batch more"


def test_a_refused_pass_fails_alone_and_its_error_tells_nothing_of_the_case(vllm_host: Engines, make: Maker) -> None:
    good = make.judging("tags", 3)
    bad = [*make.refused(8192), replace(good, id="cold", sampling=Sampling(temperature=-1.0))]
    found = _run(vllm_host, [*bad, good])
    assert found[good.id].finish == "stop"
    assert {found[item.id].finish for item in bad} == {"error"}
    assert "secret" not in "".join(result.error for result in found.values())
    said = f"the prompt has {len(good.ids) * 8192} tokens, and the judge's context holds 8192"
    assert found["long"].error == said


def test_what_ends_a_pass_is_told_and_left_out(vllm_host: Engines, make: Maker) -> None:
    make.check_ends(_run(vllm_host, make.ending(8192)))


def test_facts_say_what_was_loaded(vllm_host: Engines) -> None:
    facts = vllm_host.facts
    assert (facts.engine, facts.max_model_len, facts.dtype, facts.device) == ("vllm", 8192, "float32", "cpu")
    assert facts.note == "", "we correct the core of this version"
    assert vllm_host.hosts[0].hang_limit == CPU_HANG_LIMIT
    assert facts.version.startswith("0.")


def test_outlines_cache_is_never_opened(vllm_host: Engines) -> None:
    assert not list(Path(_caches()["OUTLINES_CACHE_DIR"]).iterdir())


@pytest.mark.soak
def test_killed_among_cases_it_starts_again_and_loses_none(vllm_host: Engines, make: Maker) -> None:
    for case in range(30):
        vllm_host.submit(make.judging("sections", case))
    first = vllm_host.results()
    assert vllm_host.hosts[0].pid
    os.kill(vllm_host.hosts[0].pid, signal.SIGKILL)
    found = {result.id: result for result in first} | _run(vllm_host, [])
    assert len(found) == 30
    assert all(READABLE["sections"](make.text(result.ids)) for result in found.values())


@pytest.mark.soak
def test_passes_that_a_small_cache_makes_vllm_preempt_all_end_readable(tiny_judge: Path, make: Maker) -> None:
    """vLLM computes a preempted pass anew, with its seed, and goes on where it was."""
    config = EngineConfig(str(tiny_judge), "float32", 2048, {"kv_cache_memory_bytes": 2_500_000})
    with closing(Engines([SupervisedEngine("vllm", config)])) as host:
        hot = [
            make.judging(kind, case, Sampling(temperature=1.0, seed=case))
            for case in range(2 * SAMPLES)
            for kind in FORMATS
        ]
        found = _run(host, hot)
    assert {result.finish for result in found.values()} == {"stop"}
    assert len(found) == len(hot)
    assert all(READABLE[name.partition("-")[0]](make.text(result.ids)) for name, result in found.items())


@pytest.mark.soak
def test_a_killed_core_in_its_own_process_is_noticed_and_nothing_is_lost(
    tiny_judge: Path, make: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CORE_APART, "1")
    with closing(Engines([SupervisedEngine("vllm", EngineConfig(str(tiny_judge), "float32", 2048))])) as host:
        for case in range(30):
            host.submit(make.judging("sections", case))
        first = host.results()
        assert host.hosts[0].pid
        [core] = [each for each in members(host.hosts[0].pid) if b"EngineCore" in (each / "cmdline").read_bytes()]
        os.kill(int(core.name), signal.SIGKILL)
        found = {result.id: result for result in first} | _run(host, [])
    assert len(found) == 30
    assert all(READABLE["sections"](make.text(result.ids)) for result in found.values())


def test_a_judges_settings_replace_the_usual_ones_and_never_the_fixed(tiny_judge: Path) -> None:
    options = engine_options(EngineConfig(str(tiny_judge), settings={"block_size": 64, "max_num_seqs": 3}), on_cpu=True)
    assert (options["block_size"], options["max_num_seqs"], options["enable_prefix_caching"]) == (64, 3, True)
    assert options["structured_outputs_config"]["backend"] == "guidance"
    assert "block_size" not in engine_options(EngineConfig(str(tiny_judge)), on_cpu=False)


@pytest.mark.parametrize(
    ("method", "plain"),
    [
        (None, True),
        ({"quant_method": "compressed-tensors", "ignore": ["lm_head"]}, True),
        ({"quant_method": "modelopt", "ignore": ["lm_head", "model.layers.0"]}, True),
        ({"quant_method": "gptq", "lm_head": True}, False),
        ({"quant_method": "awq", "modules_to_not_convert": None}, False),
    ],
)
def test_a_quantized_last_layer_is_known(method: object, plain: bool) -> None:
    assert _has_plain_head({"quantization_config": method} if method else {}) is plain


@pytest.mark.parametrize("cpu", [False, True])
def test_a_gpu_computes_logits_in_float32(tiny_judge: Path, monkeypatch: pytest.MonkeyPatch, cpu: bool) -> None:
    monkeypatch.setattr("pathway_local.engines.vllm.is_cpu_build", lambda: cpu)
    monkeypatch.setattr(os, "environ", dict(os.environ))
    found = _prepared(EngineConfig(str(tiny_judge))).get("hf_overrides")
    assert found == (None if cpu else EXACT_HEAD)


@pytest.mark.parametrize(
    ("settings", "free", "cache"),
    [
        # key and value, layers, heads, head size, bytes; then the context, and what is in flight
        ({"max_num_seqs": 3}, 1 << 40, 2 * 2 * 2 * 32 * 4 * (2048 + 3 * 1024)),
        ({}, 32 << 20, 8 << 20),
        ({"kv_cache_memory_bytes": 7 << 20}, 32 << 20, 7 << 20),
    ],
)
def test_vllm_is_told_its_cache_and_to_cut_the_context_to_it(
    tiny_judge: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, object], free: int, cache: int
) -> None:
    import vllm
    from vllm.v1.core.kv_cache_utils import get_kv_cache_configs

    class Told(Exception):
        pass

    def load(described: Any, *_: object, **__: object) -> None:
        model = described.model_config
        raise Told(model.max_model_len, model.original_max_model_len, described.cache_config.kv_cache_memory_bytes)

    monkeypatch.setattr(os, "environ", dict(os.environ))
    monkeypatch.setattr(vllm.LLMEngine, "from_vllm_config", load)
    monkeypatch.setattr("pathway_local.engines.vllm.free_memory", lambda: free)
    with pytest.raises(Told) as told:
        VllmEngine(EngineConfig(str(tiny_judge), "float32", 2048, settings))
    assert told.value.args == (2048, FITTED, cache)
    assert f"original_max_model_len == {FITTED}" in inspect.getsource(get_kv_cache_configs)


@pytest.mark.soak
@pytest.mark.parametrize("settings", [{"enforce_eager": False}, {"tensor_parallel_size": 2}])
def test_compilation_and_several_processes_work_under_the_whole_seal(
    tiny_judge: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, object]
) -> None:
    if "enforce_eager" not in settings:
        monkeypatch.setenv("VLLM_CPU_OMP_THREADS_BIND", "0|1")
    config = EngineConfig(str(tiny_judge), "float32", 512, {"max_num_seqs": 4, **settings})
    with closing(Engines([SupervisedEngine("vllm", config)])) as engines:
        engines.submit(Pass("a", (5, 6, 7), None, 4))
        assert [result.error for result in engines.results()] == [""]
        assert engines.seal == WHOLE
