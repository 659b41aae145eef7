"""transformers gives a second opinion on vLLM: the same ids for the same pass, or a tie too near to call."""

import json
import math
import shutil
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from engine_passes import FORMATS, READABLE, Maker
from msgspec.structs import replace
from safetensors.numpy import load_file, save_file

from pathway_local.engines.engines import Engines
from pathway_local.engines.transformers import TransformersEngine
from pathway_local.errors import WeightsMissing
from pathway_local.passes import EngineConfig, Pass, PassResult, Sampling

NEAR = 1e-3


@pytest.fixture(scope="module")
def make(tiny_judge: Path) -> Maker:
    return Maker(tiny_judge)


@pytest.fixture(scope="module")
def engine(tiny_judge: Path) -> TransformersEngine:
    return TransformersEngine(EngineConfig(str(tiny_judge), "float32", 2048))


def _run(engine: Engines | TransformersEngine, passes: Iterable[Pass]) -> dict[str, PassResult]:
    for item in passes:
        engine.submit(item)
    found: dict[str, PassResult] = {}
    # A host waits for results itself; the engine alone is stepped, as its process does.
    while some := engine.results() if isinstance(engine, Engines) else engine.step():
        found |= {result.id: result for result in some}
    return found


def _gap(engine: TransformersEngine, item: Pass, one: PassResult, other: PassResult, end: int) -> float:
    """How far apart the logits are of the two tokens at which two results part."""
    ones, others = (*one.ids, end), (*other.ids, end)
    at = next(at for at, pair in enumerate(zip(ones, others, strict=False)) if pair[0] != pair[1])
    import torch

    with torch.inference_mode():
        logits = engine._model.model(torch.tensor([[*item.ids, *ones[:at]]])).logits[0, -1]
    return float(abs(logits[ones[at]] - logits[others[at]]))


def test_at_temperature_0_it_gives_what_vllm_gives(vllm_host: Engines, engine: TransformersEngine, make: Maker) -> None:
    passes = [make.judging(kind, case) for case in range(9) for kind in FORMATS]
    passes += [Pass(f"free-{case}", make.ids(f"Case {case}"), None, 12) for case in range(4)]
    ours, theirs = _run(engine, passes), _run(vllm_host, passes)
    assert len(ours) == len(theirs) == len(passes) >= 30
    apart = [item for item in passes if ours[item.id].ids != theirs[item.id].ids]
    gaps = [_gap(engine, item, ours[item.id], theirs[item.id], engine._end) for item in apart]
    assert max(gaps, default=0.0) < NEAR
    assert len(apart) <= len(passes) // 10
    assert all(ours[item.id].finish == theirs[item.id].finish for item in passes if item not in apart)


def test_its_log_probabilities_are_vllms(vllm_host: Engines, engine: TransformersEngine, make: Maker) -> None:
    passes = [make.probing(case, Sampling(temperature=case / 10, seed=1)) for case in range(10)]
    strange = make.tokenizer.token_to_id("a")
    passes.append(replace(passes[0], id="strange", logprob_ids=(*passes[0].logprob_ids, strange)))
    ours, theirs = _run(engine, passes), _run(vllm_host, passes)
    for item in passes:
        [own], [other] = ours[item.id].logprobs, theirs[item.id].logprobs
        assert own == pytest.approx(dict(other), abs=1e-4)
        assert sum(map(math.exp, own.values())) == pytest.approx(1, abs=1e-5)


def test_samples_keep_their_format(engine: TransformersEngine, make: Maker) -> None:
    hot = [make.judging(kind, case, Sampling(1.0, seed=case)) for case in range(4) for kind in FORMATS]
    found = _run(engine, hot)
    assert {result.finish for result in found.values()} == {"stop"}
    assert all(READABLE[name.partition("-")[0]](make.text(result.ids)) for name, result in found.items())
    assert len({result.ids for result in found.values()}) > len(hot) // 2


def test_what_a_pass_draws_does_not_depend_on_its_batch(engine: TransformersEngine, make: Maker) -> None:
    items = [make.judging("json", case, Sampling(1.0, top_p=0.9, top_k=40, seed=case)) for case in range(3)]
    together = _run(engine, items)
    assert {item.id: _run(engine, [item])[item.id].ids for item in items} == {
        name: result.ids for name, result in together.items()
    }


def test_top_k_and_top_p_leave_the_likeliest(engine: TransformersEngine, make: Maker) -> None:
    item = Pass("greedy", make.ids("Judge."), None, 5)
    narrow = [replace(item, id=f"k{n}", sampling=Sampling(5.0, top_k=1, seed=n)) for n in range(3)]
    narrow += [replace(item, id=f"p{n}", sampling=Sampling(5.0, top_p=1e-9, seed=n)) for n in range(3)]
    found = _run(engine, [item, *narrow])
    assert {result.ids for result in found.values()} == {found["greedy"].ids}


def test_a_refused_pass_fails_alone(engine: TransformersEngine, make: Maker) -> None:
    good = make.judging("tags", 3)
    bad = make.refused(2048)
    found = _run(engine, [*bad, good])
    assert found[good.id].finish == "stop"
    assert {found[item.id].finish for item in bad} == {"error"}
    assert "secret" not in "".join(result.error for result in found.values())


def test_what_ends_a_pass_is_told_and_left_out(engine: TransformersEngine, make: Maker) -> None:
    make.check_ends(_run(engine, make.ending(2048)))


def test_it_shows_signs_of_life_at_every_token(tiny_judge: Path, make: Maker) -> None:
    beats: list[int] = []
    engine = TransformersEngine(EngineConfig(str(tiny_judge), "float32", 2048), lambda: beats.append(1))
    _run(engine, [Pass("cut", make.ids("Judge."), None, 7)])
    assert len(beats) == 7


def _copied(judge: Path, folder: Path, **weights: object) -> Path:
    copy = Path(shutil.copytree(judge, folder / "judge"))
    kept = {
        name: tensor
        for name, tensor in {**load_file(judge / "model.safetensors"), **weights}.items()
        if tensor is not None
    }
    save_file(kept, copy / "model.safetensors", metadata={"format": "pt"})
    return copy


NORM = "model.norm.weight"


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        ({NORM: None}, "lack 1 tensors, first 'model.norm.weight'"),
        ({NORM: None, "model.norms.weight": np.ones(128, np.float32)}, "lack 1 tensors"),
        ({"more": np.ones(3, np.float32)}, "hold, beside those of the model, 1 tensors, first 'more'"),
        ({NORM: np.ones(3, np.float32)}, "misfit 1 tensors"),
    ],
)
def test_weights_that_are_missing_or_strange_are_refused(
    weights: dict[str, object], said: str, tiny_judge: Path, tmp_path: Path
) -> None:
    with pytest.raises(WeightsMissing, match=said):
        TransformersEngine(EngineConfig(str(_copied(tiny_judge, tmp_path, **weights)), "float32", 2048))


def test_a_generation_config_changes_no_token(tiny_judge: Path, tmp_path: Path, make: Maker) -> None:
    passes = [Pass(f"free-{case}", make.ids(f"Case {case}"), None, 12) for case in range(4)]
    judge = _copied(tiny_judge, tmp_path)
    plain = _run(TransformersEngine(EngineConfig(str(judge), "float32", 2048)), passes)
    favourite = plain["free-0"].ids[0]
    told = {"suppress_tokens": [favourite], "repetition_penalty": 1.8, "no_repeat_ngram_size": 2, "num_beams": 3}
    (judge / "generation_config.json").write_text(json.dumps(told))
    assert _run(TransformersEngine(EngineConfig(str(judge), "float32", 2048)), passes) == plain
