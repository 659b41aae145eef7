import json
from pathlib import Path

import pytest

from pathway_local.errors import EngineError
from pathway_local.judges.judge_spec import JudgeSpec
from pathway_local.judges.model_config import context, precision
from pathway_local.judges.registry import complete

CONFIG = {
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "hidden_size": 64,
    "max_position_embeddings": 4096,
    "dtype": "float16",
}
CHATML = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"


def _folder(path: Path, config: object = CONFIG, template: str = CHATML) -> Path:
    (path / "config.json").write_text(json.dumps(config))
    (path / "model.safetensors").write_bytes(b"0" * 1000)
    (path / "chat_template.jinja").write_text(template)
    return path


def _spec(folder: Path, **keys: object) -> JudgeSpec:
    return JudgeSpec.model_validate({"name": "mine", "source": str(folder), **keys})


def test_one_line_is_enough(tmp_path: Path) -> None:
    found = complete(_spec(_folder(tmp_path)))
    assert (found.context, found.precision, found.weights_gb) == (4096, "fp16", 1e-6)


def test_what_the_entry_says_stays(tmp_path: Path) -> None:
    given = _spec(
        _folder(tmp_path, template="enable_thinking </think>"),
        context=2048,
        precision="fp8",
        weights_gb=1,
        system="native",
        thinking="never",
    )
    assert complete(given) == given


@pytest.mark.parametrize(
    "config",
    [
        {"n_positions": 1024},
        {"vision_config": {"max_position_embeddings": 9}, "text_config": {"max_position_embeddings": 1024}},
        {"max_position_embeddings": True, "max_seq_len": -1, "seq_length": 1024},
    ],
)
def test_the_context_of_older_configs_and_of_those_with_several_parts(config: dict[str, object]) -> None:
    assert context(config) == 1024


@pytest.mark.parametrize(
    ("template", "system"),
    [
        (CHATML, "native"),
        ("{% for m in messages %}[INST] {{ m.content }} [/INST]{% endfor %}", "fold"),
        (
            "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no system role') }}{% endif %}"
            "{{ m.content }}{% endfor %}",
            "fold",
        ),
        ("{% for m in messages %}{% if m.role == 'user' %}{{ m.content }}{% endif %}{% endfor %}", "fold"),
        ("", "native"),
    ],
)
def test_the_chat_template_tells_whether_there_is_a_system_turn(tmp_path: Path, template: str, system: str) -> None:
    assert complete(_spec(_folder(tmp_path, template=template))).system == system


@pytest.mark.parametrize("quantization", [{"quant_method": "fp8"}, {"quant_method": "of tomorrow"}, {}])
def test_weights_that_are_quantized_are_no_plain_numbers(quantization: object) -> None:
    assert precision({"quantization_config": quantization, "dtype": "bfloat16"}) == "quantized"


def test_the_precision_of_an_inner_model(tmp_path: Path) -> None:
    assert precision({"text_config": {"torch_dtype": "bfloat16"}}) == "bf16"


def test_a_broken_config_names_the_file(tmp_path: Path) -> None:
    _folder(tmp_path)
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(EngineError, match=r"config\.json is not JSON"):
        complete(_spec(tmp_path))


def test_a_context_is_a_sensible_number_also_inside_a_config_of_several_parts() -> None:
    for value in (-1, 0, True, "4096", 4096.0, 2**40, None, [4096]):
        assert context({"max_position_embeddings": value}) is None
    assert context({"text_config": 7, "n_positions": 1024}) == 1024
    inner = {"max_position_embeddings": 262_144}
    assert context({"max_position_embeddings": 77, "thinker_config": {"text_config": inner}}) == 262_144
