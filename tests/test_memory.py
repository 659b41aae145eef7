import pytest

from pathway_local.judges.architecture import Architecture, Attention, State
from pathway_local.judges.placement import GB, Room, Weights, case_bytes, weights_of
from pathway_local.judges.registry import load_registry

DENSE = Architecture(Attention(36, 8, 128))
LONG = 262_144


def test_a_token_keeps_a_key_and_a_value_in_each_layer() -> None:
    per_token = 2 * 8 * 128 * 36 * 2
    assert case_bytes(DENSE, 1600) == 1600 * per_token
    assert case_bytes(DENSE, 1600, kv_bytes=1) == 1600 * per_token / 2


def test_a_window_bounds_what_sliding_layers_keep() -> None:
    sliding = Attention(50, 16, 256, window=1024)
    mixed = Architecture(Attention(10, 4, 512), sliding)
    # Per GPU of four, 32,768 tokens were estimated at 0.8203 GiB.
    assert case_bytes(mixed, 32_768) / 4 / 2**30 == pytest.approx(0.8203, abs=1e-4)
    only_full = case_bytes(Architecture(Attention(10, 4, 512)), 32_768)
    assert case_bytes(mixed, 32_768) - only_full == 50 * 2 * 16 * 256 * 2 * 1024


@pytest.mark.parametrize(
    ("full", "state", "whole_context"),
    [
        # What vLLM allots for one case of 262,144 tokens in three models with recurrent layers.
        (Attention(16, 4, 256), State(48, 3_207_168), 17_520_656_384),
        (Attention(10, 2, 256), State(30, 2_146_304), 5_514_854_400),
        (Attention(6, 2, 128), State(23, 2_134_016), 1_725_628_416),
    ],
)
def test_recurrent_layers_agree_with_the_engine(full: Attention, state: State, whole_context: int) -> None:
    assert case_bytes(Architecture(full, state=state), LONG) == pytest.approx(whole_context, rel=0.01)


def test_the_shipped_figures_are_those_of_this_arithmetic() -> None:
    checked = 0
    for spec in load_registry():
        own, shape = weights_of(spec, spec), spec.architecture
        if spec.min_gpu_gb is None or shape is None or own is None:
            continue
        assert [Room(gb).cases(own, shape, 5000) > 0 for gb in (spec.min_gpu_gb - 1, spec.min_gpu_gb)] == [False, True]
        good = tuple(gb for gb in (8, 16, 24, 48, 80, 141) if Room(gb).cases(own, shape, 5000) >= 4)
        assert spec.good_for == good, spec.name
        checked += 1
    assert checked >= 23


def test_weights_that_the_engine_makes_smaller_count_as_such() -> None:
    made = load_registry().specs["qwen3-8b"].model_copy(update={"engine": {"quantization": "fp8_per_tensor"}})
    assert weights_of(made, made) == Weights(pytest.approx(16.4 / 2 * GB), "fp8")
    stored = load_registry().specs["ministral-3-14b"]
    already = stored.model_copy(update={"engine": {"quantization": "fp8_per_tensor"}})
    assert weights_of(already, already) == weights_of(stored, stored)
