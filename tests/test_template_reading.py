"""What a folder's chat template shows of a judge: system turn, the end of a reply, and that it speaks of thinking."""

import json
from pathlib import Path

import pytest

from pathway_local.errors import RegistryError
from pathway_local.judges.chat_template import TemplateReading, read_template
from pathway_local.judges.judge_spec import JudgeSpec, think_budget
from pathway_local.judges.registry import complete, load_registry

TURNS = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end_of_turn|>{% endfor %}"
ASKS = "{% if add_generation_prompt %}<|assistant|>"
USUAL = "{off_by: {enable_thinking: false}, on_by: {enable_thinking: true}, end: </think>}"


def folder(path: Path, template: str, *tokens: str, eos: str = "<|end_of_turn|>") -> Path:
    added = [{"id": at, "content": token, "special": True} for at, token in enumerate([eos, *tokens])]
    (path / "tokenizer.json").write_text(json.dumps({"version": "1.0", "added_tokens": added, "model": {"vocab": {}}}))
    (path / "tokenizer_config.json").write_text(json.dumps({"eos_token": eos, "bos_token": {"content": "<s>"}}))
    (path / "config.json").write_text("{}")
    (path / "chat_template.jinja").write_text(template)
    return path


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
    (tmp_path / "judge").mkdir()
    made = folder(tmp_path / "judge", template, "<think>", "</think>")
    spec = complete(JudgeSpec(name="mine", source=str(made)))
    assert spec.thinks == thinks
    if thinks == "never":
        assert think_budget("0", spec) == 0
        return
    for wanted in ("0", "auto"):
        with pytest.raises(RegistryError, match="'mine': its chat template speaks of thinking") as asked:
            think_budget(wanted, spec)
        assert "`mine: {thinking: never}`" in asked.value.hint
    file = tmp_path / "models" / "mine.yaml"
    file.parent.mkdir()
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
    tokens = ("<|end_of_turn|>", "<|user|>", "<|end|>")
    found = read_template(folder(tmp_path, turns, *tokens, eos=eos))
    assert found.ends == ends


def test_an_end_that_the_generation_config_declares_is_no_news(tmp_path: Path) -> None:
    made = folder(tmp_path, TURNS, "<|end_of_turn|>", eos="<|endoftext|>")
    (made / "generation_config.json").write_text('{"eos_token_id": [0, 1]}')
    assert read_template(made).ends == ()


@pytest.mark.usefixtures("own_process")
@pytest.mark.parametrize(
    "template", ["{% for", "{{ 'a' * 10**10 }}", "{{ 1 / 0 }}", "x" * 1_000_001, "", "{{ messages[9].content }}"]
)
def test_a_template_that_can_not_be_rendered_shows_nothing(template: str, tmp_path: Path) -> None:
    found = read_template(folder(tmp_path, template))
    assert (found.ends, found.system) == ((), "native")


def test_a_folder_without_a_template_shows_nothing(tmp_path: Path) -> None:
    assert read_template(tmp_path) == TemplateReading()
