"""What a folder's chat template shows of a judge: system turn, thinking, the end of a reply."""

import json
from pathlib import Path

import pytest

from pathway_local.errors import UsageError
from pathway_local.judges.chat_template import TemplateReading, read_template
from pathway_local.judges.judge_spec import JudgeSpec, ThinkingSpec, think_budget
from pathway_local.judges.registry import complete

TURNS = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end_of_turn|>{% endfor %}"
ASKS = "{% if add_generation_prompt %}<|assistant|>"


def folder(path: Path, template: str, *tokens: str, eos: str = "<|end_of_turn|>") -> Path:
    added = [{"id": at, "content": token, "special": True} for at, token in enumerate([eos, *tokens])]
    (path / "tokenizer.json").write_text(json.dumps({"version": "1.0", "added_tokens": added, "model": {"vocab": {}}}))
    (path / "tokenizer_config.json").write_text(json.dumps({"eos_token": eos, "bos_token": {"content": "<s>"}}))
    (path / "config.json").write_text("{}")
    (path / "chat_template.jinja").write_text(template)
    return path


def asking(opening: str, turns: str = TURNS) -> str:
    return f"{turns}{ASKS}{opening}{{% endif %}}"


TAGS = ("<think>", "</think>")
THINKERS: dict[str, tuple[str, tuple[str, ...], dict[str, object]]] = {
    "a switch that closes an empty thought": (
        asking("{% if enable_thinking is defined and not enable_thinking %}<think>\n\n</think>\n\n{% endif %}"),
        TAGS,
        {"off_by": {"enable_thinking": False}, "on_by": {"enable_thinking": True}, "start": "<think>\n"},
    ),
    "a switch that opens or closes": (
        asking("{% if thinking %}<think>{% else %}</think>{% endif %}"),
        TAGS,
        {"off_by": {"thinking": False}, "on_by": {"thinking": True}, "close": "</think>"},
    ),
    "a switch that only opens": (
        asking("{% if enable_thinking %}<think>\n{% endif %}", TURNS + "{# </think> #}"),
        TAGS,
        {"off_by": {"enable_thinking": False}, "on_by": {"enable_thinking": True}},
    ),
    "a switch that the template sets itself": (
        "{% if enable_thinking is not defined %}{% set enable_thinking = true %}{% endif %}"
        + asking("{% if enable_thinking %}<think>\n{% else %}<think>\n</think>\n{% endif %}"),
        TAGS,
        {"off_by": {"enable_thinking": False}, "on_by": {"enable_thinking": True}, "close": "</think>\n"},
    ),
    "always": (asking("<think>\n"), TAGS, {"skip": "\n</think>\n\n"}),
    "capitals in bars, switched by `reasoning`": (
        asking("{% if not reasoning %}<|START_THINKING|><|END_THINKING|>{% endif %}"),
        ("<|START_THINKING|>", "<|END_THINKING|>"),
        {
            "off_by": {"reasoning": False}, "on_by": {"reasoning": True}, "start": "<|START_THINKING|>",
            "close": "<|END_THINKING|>",
        },
    ),
    "a budget": (
        asking("{% if thinking_budget == 0 %}<seed:think></seed:think>{% endif %}"),
        ("<seed:think>", "</seed:think>"),
        {"off_by": {"thinking_budget": 0}, "start": "<seed:think>", "close": "</seed:think>"},
    ),
    "efforts": (
        "{{ raise_exception('no such effort') if reasoning_effort not in ['none', 'high', undefined] }}"
        "[SETTINGS]{{ reasoning_effort }}[/SETTINGS]" + asking("", TURNS + "{% if m %}[THINK][/THINK]{% endif %}"),
        ("[THINK]", "[/THINK]"),
        {
            "off_by": {"reasoning_effort": "none"}, "on_by": {"reasoning_effort": "high"}, "start": "[THINK]",
            "close": "[/THINK]",
        },
    ),
    "channels": (
        "{{ reasoning_effort | default('medium') }}{% for m in messages %}<|start|>{{ m.role }}<|channel|>final"
        "<|message|>{{ m.content }}<|end|>{% endfor %}{% if add_generation_prompt %}<|start|>assistant{% endif %}",
        ("<|channel|>", "<|end|>", "<|start|>", "<|message|>"),
        {
            "off_by": {"reasoning_effort": "low"}, "on_by": {"reasoning_effort": "medium"},
            "skip": "<|channel|>final<|message|>", "start": "<|channel|>analysis<|message|>",
            "close": "<|end|><|start|>assistant<|channel|>final<|message|>",
        },
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", THINKERS)
def test_how_a_judge_thinks_is_read_from_what_its_template_writes(kind: str, tmp_path: Path) -> None:
    template, tokens, expected = THINKERS[kind]
    found = read_template(folder(tmp_path, template, *tokens))
    assert found.known and found.thinks
    assert found.thinking == ThinkingSpec.model_validate({"end": tokens[1], **expected})


@pytest.mark.parametrize(
    ("template", "tokens", "known"),
    [
        (asking(""), (), True),
        (asking(""), TAGS, True),
        (asking("<think></think>"), TAGS, True),
        (asking("", TURNS + "{{ messages[-1].content.split('</think>')[-1] if none }}"), TAGS, False),
        (asking("<think>"), (), False),
        (asking("", "Think in <musing> before you reply." + TURNS), ("<musing>",), False),
    ],
    ids=["no word of it", "marks unused", "always closed", "marks removed", "end is no token", "its own marks"],
)
def test_a_judge_never_thinks_only_if_its_template_shows_that(
    template: str, tokens: tuple[str, ...], known: bool, tmp_path: Path
) -> None:
    found = read_template(folder(tmp_path, template, *tokens))
    assert (found.thinking, found.known) == (None, known)
    spec = complete(JudgeSpec(name="mine", source=str(tmp_path)), tmp_path)
    assert spec.thinks == ("never" if known else "not known")
    with pytest.raises(UsageError, match="never thinks" if known else "not known how judge 'mine' thinks"):
        think_budget("auto", spec)


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


@pytest.mark.parametrize("wants", ["{{ tools | length }}", "{{ functions.copy() }}", "{{ date_string.split() }}"])
def test_a_template_that_wants_tools_functions_or_a_date_gets_empty_ones(wants: str, tmp_path: Path) -> None:
    found = read_template(folder(tmp_path, wants + asking("<think>"), *TAGS))
    assert found.thinking is not None


@pytest.mark.usefixtures("own_process")
@pytest.mark.parametrize(
    "template", ["{% for", "{{ 'a' * 10**10 }}", "{{ 1 / 0 }}", "x" * 1_000_001, "", "{{ messages[9].content }}"]
)
def test_a_template_that_can_not_be_rendered_shows_nothing(template: str, tmp_path: Path) -> None:
    found = read_template(folder(tmp_path, template))
    assert (found.thinking, found.ends, found.system) == (None, (), "native")


def test_a_folder_without_a_template_shows_nothing(tmp_path: Path) -> None:
    assert read_template(tmp_path) == TemplateReading()
