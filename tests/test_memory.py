import pytest

from pathway_local.errors import OutOfMemory
from pathway_local.judges import placement
from pathway_local.judges.architecture import Layers, Recurrent, Sliding, architecture
from pathway_local.judges.judge_spec import JudgeSpec
from pathway_local.judges.placement import (
    SURE_CONTEXT,
    case_bytes,
    check_fits_here,
    gpus_that_hold,
    memory_for,
    smallest_gpu,
    weights_bytes,
)
from pathway_local.judges.registry import load_registry
from pathway_local.system.machine import GB, Device, Machine

DENSE = Layers(layers=36, kv_heads=8, head_size=128)
LONG = 262_144


def test_a_token_keeps_a_key_and_a_value_in_each_layer() -> None:
    per_token = 2 * 8 * 128 * 36 * 2
    assert case_bytes(DENSE, 1600) == 1600 * per_token
    assert case_bytes(DENSE, 1600, number=1) == 1600 * per_token / 2


def test_a_window_bounds_what_sliding_layers_keep() -> None:
    full = Layers(layers=10, kv_heads=4, head_size=512)
    mixed = full.model_copy(update={"sliding": Sliding(layers=50, kv_heads=16, head_size=256, window=1024)})
    # Per GPU of four, 32,768 tokens were estimated at 0.8203 GiB.
    assert case_bytes(mixed, 32_768) / 4 / 2**30 == pytest.approx(0.8203, abs=1e-4)
    only_full = case_bytes(full, 32_768)
    assert case_bytes(mixed, 32_768) - only_full == 50 * 2 * 16 * 256 * 2 * 1024


@pytest.mark.parametrize(
    ("layers", "kv_heads", "head_size", "recurrent", "whole_context"),
    [
        # What vLLM allots for one case of 262,144 tokens in three models with recurrent layers.
        (16, 4, 256, Recurrent(layers=48, size=3_207_168), 17_520_656_384),
        (10, 2, 256, Recurrent(layers=30, size=2_146_304), 5_514_854_400),
        (6, 2, 128, Recurrent(layers=23, size=2_134_016), 1_725_628_416),
    ],
)
def test_recurrent_layers_agree_with_the_engine(
    layers: int, kv_heads: int, head_size: int, recurrent: Recurrent, whole_context: int
) -> None:
    found = Layers(layers=layers, kv_heads=kv_heads, head_size=head_size, recurrent=recurrent)
    assert case_bytes(found, LONG) == pytest.approx(whole_context, rel=0.01)


def test_the_gpus_that_hold_a_judge_and_cases_beside_it() -> None:
    specs = load_registry().specs
    for spec in specs.values():
        if spec.layers is not None:
            own, one, least = weights_bytes(spec), case_bytes(spec, 5000), smallest_gpu(spec)
            assert own and least
            assert [memory_for(gb) - own >= one for gb in (least - 1, least)] == [False, True]
    assert smallest_gpu(specs["qwen3-8b"]) == 21
    assert gpus_that_hold(specs["qwen3-8b"], 4, (8, 16, 24, 48, 80, 141)) == [24, 48, 80, 141]


def test_weights_that_the_engine_makes_smaller_count_as_such() -> None:
    made = load_registry().specs["qwen3-8b"].model_copy(update={"engine": {"quantization": "fp8_per_tensor"}})
    assert weights_bytes(made) == pytest.approx(16.4 / 2 * GB)
    stored = load_registry().specs["ministral-3-14b"]
    already = stored.model_copy(update={"engine": {"quantization": "fp8_per_tensor"}})
    assert weights_bytes(already) == weights_bytes(stored)


def _card(total: float, free: float) -> Machine:
    return Machine((Device("card", int(total * GB), int(free * GB)),), 64 * GB)


@pytest.fixture
def on_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placement, "uses_gpu", lambda: True)


@pytest.mark.usefixtures("on_gpu")
def test_a_share_that_the_entry_asks_for_must_be_free_and_a_cache_of_its_own_asks_for_none() -> None:
    judge = JudgeSpec(name="j", source="/j", weights_gb=1, layers=28, kv_heads=8, head_size=128)
    asked = {"gpu_memory_utilization": 0.9}
    with pytest.raises(OutOfMemory, match=r"only 12.0 of a GPU's 24.0 GB are free, and its entry asks for 0.9 of all"):
        check_fits_here(judge, _card(24, 12), asked)
    assert check_fits_here(judge, _card(24, 22), asked).cases
    assert check_fits_here(judge, _card(24, 1.4), {"kv_cache_memory_bytes": 10**8}).gpus == 1
    with pytest.raises(OutOfMemory, match="almost all of it"):
        check_fits_here(judge, _card(24, 1.4), {})


@pytest.mark.usefixtures("on_gpu")
def test_float32_doubles_the_cache_of_any_judge_and_16_bit_variants_too() -> None:
    card, entry = _card(24, 24), {"source": "/j", "layers": 28, "kv_heads": 8, "head_size": 128, "context": 8192}
    quantized = JudgeSpec(name="j", precision="fp8", weights_gb=10, **entry)
    half, single = (check_fits_here(quantized, card, {}, dtype).cases for dtype in ("bfloat16", "float32"))
    assert half and single and half // 2 == single
    variants = {"less": {"source": "/k", "precision": "bf16", "weights_gb": 12}}
    judge = JudgeSpec.model_validate({"name": "j", "weights_gb": 16, "variants": variants, **entry})
    for dtype, fits in (("bfloat16", True), ("float32", False)):
        with pytest.raises(OutOfMemory) as raised:
            check_fits_here(judge, _card(18, 18), {}, dtype)
        assert ("j:less would fit" in raised.value.hint) is fits


def test_layers_that_keep_nothing_are_no_description() -> None:
    judge = JudgeSpec(name="j", source="/j", weights_gb=1, layers=0, kv_heads=8, head_size=64)
    assert check_fits_here(judge, Machine((), 64 * GB)).context == SURE_CONTEXT
    unknown = {"num_attention_heads": 8, "hidden_size": 64, "num_hidden_layers": 2, "layer_types": ["mamba"] * 2}
    assert architecture(unknown) is None
