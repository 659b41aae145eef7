import pytest

from pathway_local.errors import UsageError
from pathway_local.judges.architecture import Architecture, Attention, State
from pathway_local.judges.judge_spec import JudgeSpec
from pathway_local.judges.memory import (
    GB,
    Checkpoint,
    Gpu,
    advice,
    case_bytes,
    case_formula,
    checkpoints,
    fit,
    fits,
)
from pathway_local.judges.registry import load_registry

DENSE = Architecture(Attention(36, 8, 128))
LONG = 262_144


def test_a_token_keeps_a_key_and_a_value_in_each_layer() -> None:
    per_token = 2 * 8 * 128 * 36 * 2
    assert case_bytes(DENSE, 1600) == 1600 * per_token
    assert case_bytes(DENSE, 1600, kv_bytes=1) == 1600 * per_token / 2
    assert case_bytes(DENSE, 1601) == 1616 * per_token


def test_a_window_bounds_what_sliding_layers_keep() -> None:
    sliding = Attention(50, 16, 256, window=1024)
    mixed = Architecture(Attention(10, 4, 512), sliding)
    # Per GPU of four, 32,768 tokens were estimated at 0.8203 GiB.
    assert case_bytes(mixed, 32_768) / 4 / 2**30 == pytest.approx(0.8203, abs=1e-4)
    only_full = case_bytes(Architecture(Attention(10, 4, 512)), 32_768)
    assert case_bytes(mixed, 32_768) - only_full == 50 * 2 * 16 * 256 * 2 * 1024


@pytest.mark.parametrize(
    ("full", "state", "page_bytes", "whole_context"),
    [
        # What vLLM allots for a page and for one case of 262,144 tokens in three models with recurrent layers.
        (Attention(16, 4, 256), State(48, 3_207_168), 51_380_224, 17_520_656_384),
        (Attention(10, 2, 256), State(30, 2_146_304), 21_626_880, 5_514_854_400),
        (Attention(6, 2, 128), State(23, 2_134_016), 12_877_824, 1_725_628_416),
    ],
)
def test_recurrent_layers_agree_with_the_engine(
    full: Attention, state: State, page_bytes: int, whole_context: int
) -> None:
    hybrid = Architecture(full, state=state)
    assert case_bytes(hybrid, LONG) == whole_context
    assert case_bytes(hybrid, 10_000) - case_bytes(hybrid, 10_000 - page_bytes // (full.layers * full.width * 2)) == (
        page_bytes
    )


def test_cases_in_flight_are_what_is_left_over_one_case() -> None:
    gpu = Gpu(24, utilisation=0.9, reserve_gb=1.6)
    found = fit(Checkpoint("j", "bf16", 16e9), DENSE, gpu, 1600)
    assert found.left == pytest.approx(4e9)
    assert found.cases == int(4e9 // (1600 * 147_456))
    assert found.fits
    assert "24 GB x 0.9 - 1.6 GB reserve - 16.0 GB weights = 4.0 GB" in found.arithmetic()


def test_weights_too_large_hold_no_case_and_not_a_negative_number() -> None:
    found = fit(Checkpoint("j", "bf16", 30e9), DENSE, Gpu(24), 1600)
    assert (found.cases, found.fits) == (0, False)


def _spec(**keys: object) -> JudgeSpec:
    shape = {"layers": 36, "kv_heads": 8, "head_size": 128, "context": 8192}
    return JudgeSpec.model_validate({"name": "j", "source": "a/b", **shape, **keys})


def test_listed_weights_come_before_estimates_and_replace_them() -> None:
    spec = _spec(
        parameters=8.0,
        weights_gb=16.4,
        variants={"int4": {"source": "a/b-4bit", "precision": "awq", "weights_gb": 5.7}},
    )
    found = checkpoints(spec)
    assert [(one.precision, one.weights / 1e9, one.estimated) for one in found] == [
        ("bf16", 16.4, False),
        ("awq", 5.7, False),
        ("fp8", 8.0, True),
    ]


def test_advice_names_the_variant_that_would_fit() -> None:
    variants = {"int4": {"source": "a/b-4bit", "precision": "awq", "weights_gb": 5.7}}
    spec = _spec(parameters=8.0, weights_gb=16.4, variants=variants)
    said = advice(spec, fits(spec, Gpu(16), 3000, 800))
    assert said.startswith("j does not fit, 4.1 GB short")
    assert "j:int4 would" in said
    assert advice(spec, fits(spec, Gpu(24), 3000, 800)).startswith("j fits, with 6 cases in flight")


def test_advice_admits_that_a_precision_is_only_estimated_or_that_nothing_helps() -> None:
    spec = _spec(parameters=8.0, weights_gb=16.4)
    assert "In w4a16 it would, but no such weights are listed" in advice(spec, fits(spec, Gpu(10), 3000, 800))
    assert "No variant of it fits" in advice(spec, fits(spec, Gpu(4), 3000, 800))


def test_advice_sees_cases_longer_than_the_context() -> None:
    spec = _spec(parameters=8.0)
    assert "9,000 tokens" in advice(spec, fits(spec, Gpu(80), 8200, 800))


def test_too_little_known_is_said() -> None:
    bare = JudgeSpec(name="j", source="a/b", parameters={"total": 8})  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="does not say enough"):
        fits(bare, Gpu(24), 1000, 100)
    with pytest.raises(UsageError, match="does not say enough"):
        fits(_spec(), Gpu(24), 1000, 100)


def test_the_shipped_figures_are_those_of_this_arithmetic() -> None:
    checked = 0
    for spec in load_registry():
        if spec.min_gpu_gb is None or spec.architecture is None:
            continue
        own = checkpoints(spec)[0]
        at = [fit(own, spec.architecture, Gpu(gb), 5000) for gb in (spec.min_gpu_gb - 1, spec.min_gpu_gb)]
        assert [one.fits for one in at] == [False, True], spec.name
        sizes = (8, 16, 24, 48, 80, 141)
        good = tuple(gb for gb in sizes if fit(own, spec.architecture, Gpu(gb), 5000).cases >= 4)
        assert spec.good_for == good, spec.name
        checked += 1
    assert checked >= 23


def test_the_memory_of_a_case_is_explained() -> None:
    registry = load_registry()
    for name, said in (
        ("qwen3-8b", "36 layers x 2 x 8 heads x 128 x 2 bytes x 5,008 tokens = 0.738 GB"),
        ("gemma-4-12b", "+ 40 sliding layers x 2 x 8 heads x 256 x 2 bytes x 1,024 tokens ="),
        ("qwen3.5-9b", "+ 2 states of 24 recurrent layers ="),
        ("glm-4.7-flash", "47 layers x 576 numbers x 2 bytes"),
    ):
        shape = registry.specs[name].architecture
        assert shape and said in case_formula(shape, 5000)
    assert pytest.approx(0.738 * GB, rel=1e-3) == 36 * 2 * 8 * 128 * 2 * 5008


def test_weights_that_the_engine_makes_smaller_count_as_such() -> None:
    spec = load_registry().specs["qwen3-8b"]
    assert "engine: {quantization: fp8_per_tensor}" in advice(spec, fits(spec, Gpu(16), 4000, 1000))
    made = spec.model_copy(update={"engine": {"quantization": "fp8_per_tensor"}})
    own = checkpoints(made)[0]
    assert (own.precision, own.estimated) == ("fp8", True)
    assert own.weights == pytest.approx(16.4 / 2 * GB)
    assert fits(made, Gpu(16), 4000, 1000)[0].fits
    stored = load_registry().specs["ministral-3-14b"]
    already = stored.model_copy(update={"engine": {"quantization": "fp8_per_tensor"}})
    assert checkpoints(already)[0] == checkpoints(stored)[0]
