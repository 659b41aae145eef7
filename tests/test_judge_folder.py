"""What a judge's folder adds to its entry: context, precision, and what its chat template shows."""

import json
from pathlib import Path

import pytest

from pathway_local.errors import EngineError, RegistryError
from pathway_local.judges.chat_template import TemplateReading, read_template
from pathway_local.judges.judge_spec import JudgeSpec, think_budget
from pathway_local.judges.model_config import context, precision
from pathway_local.judges.registry import complete, load_registry

CONFIG = {"max_position_embeddings": 4096, "dtype": "float16"}
TURNS = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end_of_turn|>{% endfor %}"
ASKS = "{% if add_generation_prompt %}<|assistant|>"
USUAL = "{off_by: {enable_thinking: false}, on_by: {enable_thinking: true}, end: </think>}"


def folder(path: Path, template: str = TURNS, *tokens: str, eos: str = "<|end_of_turn|>") -> Path:
    path.mkdir(exist_ok=True)
    added = [{"id": at, "content": token, "special": True} for at, token in enumerate([eos, *tokens])]
    (path / "tokenizer.json").write_text(json.dumps({"version": "1.0", "added_tokens": added, "model": {"vocab": {}}}))
    (path / "tokenizer_config.json").write_text(json.dumps({"eos_token": eos, "bos_token": {"content": "<s>"}}))
    (path / "config.json").write_text(json.dumps(CONFIG))
    (path / "model.safetensors").write_bytes(b"0" * 1000)
    (path / "chat_template.jinja").write_text(template)
    return path


def spec(path: Path, **keys: object) -> JudgeSpec:
    return JudgeSpec.model_validate({"name": "mine", "source": str(path), **keys})


def test_one_line_is_enough_and_what_the_entry_says_stays(tmp_path: Path) -> None:
    found = complete(spec(folder(tmp_path)))
    assert (found.context, found.precision, found.weights_gb) == (4096, "fp16", 1e-6)
    told = spec(tmp_path, context=2048, precision="fp8", weights_gb=1, system="native", thinking="never")
    assert complete(told.model_copy(update={"end_of_turn": ()})).model_dump() == told.model_dump()
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(EngineError, match=r"config\.json is not JSON"):
        complete(spec(tmp_path))


@pytest.mark.parametrize(
    ("config", "tokens"),
    [
        ({"n_positions": 1024}, 1024),
        ({"vision_config": {"max_position_embeddings": 9}, "text_config": {"max_position_embeddings": 1024}}, 1024),
        ({"max_position_embeddings": True, "max_seq_len": -1, "seq_length": 1024}, 1024),
        ({"text_config": 7, "n_positions": 1024}, 1024),
        ({"max_position_embeddings": 77, "thinker_config": {"text_config": {"max_position_embeddings": 9}}}, 9),
        *(({"max_position_embeddings": value}, None) for value in (-1, 0, True, "4096", 4096.0, 2**40, None, [4096])),
    ],
)
def test_a_context_is_a_sensible_number_also_in_older_configs_and_those_of_several_parts(
    config: dict[str, object], tokens: int | None
) -> None:
    assert context(config) == tokens


@pytest.mark.parametrize(
    ("config", "found"),
    [
        *(({"quantization_config": told, "dtype": "bfloat16"}, "quantized") for told in ({"quant_method": "x"}, {})),
        ({"text_config": {"torch_dtype": "bfloat16"}}, "bf16"),
    ],
)
def test_a_config_tells_the_precision_and_quantized_weights_are_no_plain_numbers(
    config: dict[str, object], found: str
) -> None:
    assert precision(config) == found


@pytest.mark.parametrize(
    ("template", "system"),
    [
        (TURNS, "native"),
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
    assert complete(spec(folder(tmp_path, template))).system == system


@pytest.mark.parametrize(
    ("template", "thinks"),
    [
        (TURNS + ASKS + "{% endif %}", "never"),
        (TURNS + ASKS + "<think>\n{% endif %}", "not known"),
        (TURNS + "{{ messages[-1].content.split('</Thought>')[-1] if none }}", "not known"),
        ("{{ 1 / 0 if reasoning_effort }}", "not known"),
    ],
)
def test_how_a_judge_thinks_must_be_said_if_its_template_speaks_of_it(
    template: str, thinks: str, tmp_path: Path
) -> None:
    made = folder(tmp_path / "judge", template, "<think>", "</think>")
    found = complete(spec(made))
    assert found.thinks == thinks
    if thinks == "never":
        assert think_budget("0", found) == 0
        return
    for wanted in ("0", "auto"):
        with pytest.raises(RegistryError, match="'mine': its chat template speaks of thinking") as asked:
            think_budget(wanted, found)
        assert "`mine: {thinking: never}`" in asked.value.hint
    file = tmp_path / "mine.yaml"
    for said, able in (("never", "never"), (USUAL, "can")):
        file.write_text(f"mine: {{source: {made}, thinking: {said}}}\n")
        assert load_registry(file).get("mine").thinks == able
        assert said in asked.value.hint


@pytest.mark.parametrize(
    ("turns", "eos", "ends"),
    [
        (TURNS, "<|end_of_turn|>", ()),
        (TURNS, "<|endoftext|>", ("<|end_of_turn|>",)),
        ("{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}", "<|endoftext|>", ("<|user|>",)),
        ("{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}", "<|endoftext|>", ()),
    ],
    ids=["declared", "another", "the next turn's mark", "no token"],
)
def test_the_token_behind_a_rendered_reply_ends_one(
    turns: str, eos: str, ends: tuple[str, ...], tmp_path: Path
) -> None:
    made = folder(tmp_path, turns, "<|end_of_turn|>", "<|user|>", "<|end|>", eos=eos)
    assert read_template(made).ends == ends
    (made / "generation_config.json").write_text('{"eos_token_id": [0, 1, 2]}')
    assert read_template(made).ends == (), "an end that the generation config declares is no news"


@pytest.mark.usefixtures("own_process")
@pytest.mark.parametrize(
    "template", ["{% for", "{{ 'a' * 10**10 }}", "{{ 1 / 0 }}", "x" * 1_000_001, "", "{{ messages[9].content }}"]
)
def test_a_template_that_can_not_be_rendered_shows_nothing(template: str, tmp_path: Path) -> None:
    assert read_template(tmp_path) == TemplateReading(), "as a folder without one"
    assert read_template(folder(tmp_path, template)) == TemplateReading()
