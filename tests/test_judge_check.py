import dataclasses
import json
from pathlib import Path

import pytest
from families import FAMILIES, Family
from stored_judge import BY_NAME, spec_of, store_judge

from pathway_local.check import Check
from pathway_local.checks.judge_check import check_judge
from pathway_local.errors import EngineError, WeightsMissing
from pathway_local.judges.engine_settings import checked_hash
from pathway_local.judges.judge_spec import JudgeSpec, ThinkingSpec
from pathway_local.judges.registry import complete
from pathway_local.judges.weights import weights_hash
from pathway_local.rendering.prompt import Chat, PromptWriter
from pathway_local.rendering.rubric_check import check_room
from pathway_local.rendering.tokenizer import JudgeTokenizer
from pathway_local.rubrics.rubric_file import builtin_names, load_rubric

ENTRIES: dict[str, dict[str, object]] = {
    "gemma": {"system": "fold", "end_of_turn": ["<end_of_turn>"]},
    "gemma4": {"end_of_turn": ["<turn|>"]},
    "glm": {"end_of_turn": ["<|user|>"]},
}
"""What an entry has to say of a family, since its folder does not."""

TAGS = ThinkingSpec(
    off_by={"enable_thinking": False}, on_by={"enable_thinking": True}, start="<think>\n", end="</think>"
)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {family.name: store_judge(tmp_path_factory.mktemp(family.name), family) for family in FAMILIES}


@pytest.fixture
def qwen(folders: dict[str, Path], tmp_path: Path) -> Path:
    """A copy that a test may spoil."""
    copy = tmp_path / "qwen"
    copy.mkdir()
    for path in folders["qwen"].iterdir():
        (copy / path.name).write_bytes(path.read_bytes())
    return copy


def _check(spec: JudgeSpec, folder: Path, *rubrics: str) -> dict[str, Check]:
    """All checks, with those of these rubrics: they take most of the time, and most tests look at others."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("pathway_local.checks.judge_check.builtin_names", lambda: rubrics or ("criteria",))
        return _by_name(check_judge(spec, folder)[0])


def _by_name(checks: list[Check]) -> dict[str, Check]:
    assert len({check.name for check in checks}) == len(checks)
    return {check.name: check for check in checks}


def _problems(checks: dict[str, Check]) -> list[str]:
    return [check.name for check in checks.values() if check.status == "problem"]


def _retemplate(folder: Path, text: str) -> Path:
    (folder / "chat_template.jinja").write_text(text)
    return folder


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_a_sound_judge_of_each_family_is_ready(folders: dict[str, Path], family: Family) -> None:
    folder = folders[family.name]
    spec = complete(spec_of(folder, thinking=family.thinking, **ENTRIES.get(family.name, {})))
    checks, prompt = check_judge(spec, folder)
    found = _by_name(checks)
    assert not _problems(found)
    assert {f"rubric {name}" for name in builtin_names()} <= found.keys()
    assert found["config"].found.startswith("context ")
    assert "(the case's" in prompt
    assert any(special in prompt for special in family.specials)


def test_a_template_that_refuses_or_drops_the_system_turn_has_to_fold(folders: dict[str, Path], qwen: Path) -> None:
    raises = _check(spec_of(folders["gemma"], end_of_turn=["<end_of_turn>"]), folders["gemma"])
    assert _problems(raises) == ["system turn"]
    assert raises["system turn"].found == "the chat template fails: no system role"
    assert f"mine: {{source: {folders['gemma']}, system: fold}}" in raises["system turn"].fix
    drops = "{% for m in messages if m.role == 'user' %}<|im_start|>user\n{{ m.content }}<|im_end|>\n{% endfor %}"
    dropped = _check(spec_of(_retemplate(qwen, drops)), qwen)
    assert "drops the system turn" in dropped["system turn"].found
    assert dropped["system turn"].status == "problem"
    assert dropped["system turn"].fix.endswith("system: fold}` into your models.yaml.")
    assert "Put `small: {system: fold}` into" in _check(spec_of(qwen, origin="mine.yaml"), qwen)["system turn"].fix
    assert _check(spec_of(qwen, system="fold"), qwen)["system turn"].status == "ok"


def test_a_template_that_puts_the_system_turn_last_or_no_user_turn_in(qwen: Path) -> None:
    behind = "{% for m in messages | reverse %}<|im_start|>{{ m.content }}<|im_end|>{% endfor %}"
    assert "behind the user turn" in _check(spec_of(_retemplate(qwen, behind)), qwen)["system turn"].found
    deaf = "{% for m in messages if m.role == 'system' %}{{ m.content }}{% endfor %}"
    assert "drops the user turn" in _check(spec_of(_retemplate(qwen, deaf)), qwen)["system turn"].found


def test_a_template_that_fails_in_ways_of_its_own_is_only_a_row(qwen: Path) -> None:
    for text in ("{% for", "{{ 1 / 0 }}", "{{ messages[0].nothing.at.all }}", "{{ 'a' + 1 }}", "{{ range(10**9) }}"):
        found = _check(spec_of(_retemplate(qwen, text)), qwen)
        assert found["system turn"].status == "problem", text
        assert found["tokenizer" if "tokenizer" in found else "vocabulary"].status == "ok"


OPENS = "{% if enable_thinking is not defined or enable_thinking %}<think>\n{% else %}<think></think>{% endif %}"
ASK = "{% if add_generation_prompt %}<|im_start|>assistant\n"
TURNS = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"


@pytest.mark.parametrize(
    ("asks", "thinking", "problem"),
    [
        ("{% if not enable_thinking %}<think>\n\n</think>\n\n{% endif %}", TAGS, ""),
        (OPENS, TAGS.model_copy(update={"start": ""}), ""),
        (OPENS, TAGS, "would open it again"),
        (OPENS, None, ""),
        (OPENS, TAGS.model_copy(update={"start": "", "off_by": {"enable_thinkin": False}}), "switch changes nothing"),
        ("<think>\n", TAGS, "switch changes nothing"),
        ("<think>\n", ThinkingSpec(end="</think>"), "begins alike"),
        (
            "{{ enable_thinking }}",
            ThinkingSpec(off_by={"enable_thinking": 0}, start="[T]", end="[/T]"),
            "not one token",
        ),
        ("", None, ""),
    ],
)
def test_the_thinking_switch_does_what_the_entry_says(
    qwen: Path, asks: str, thinking: ThinkingSpec | None, problem: str
) -> None:
    _retemplate(qwen, TURNS + ASK + asks + "{% endif %}")
    found = _check(spec_of(qwen, thinking=thinking), qwen)["thinking"]
    assert found.status == ("problem" if problem else "ok")
    assert problem in found.found


def test_a_judge_that_starts_its_answer_in_a_channel_of_its_own(tmp_path: Path) -> None:
    channels = Family(
        "channels",
        "<|return|>",
        ("<|return|>", "<|start|>", "<|end|>", "<|message|>", "<|channel|>"),
        "<|start|>system<|message|>Reasoning: {{ reasoning_effort | default('medium') }}<|end|>"
        "{% for m in messages %}<|start|>{{ m.role }}"
        "{{ '<|channel|>final' if m.role == 'assistant' }}<|message|>{{ m.content }}"
        "{{ '<|return|>' if loop.last and m.role == 'assistant' else '<|end|>' }}{% endfor %}"
        "{% if add_generation_prompt %}<|start|>assistant{% endif %}",
    )
    folder = store_judge(tmp_path / "channels", channels)
    spec = spec_of(folder, thinking=BY_NAME["harmony"].thinking)
    found = _check(spec, folder)
    assert not _problems(found)
    assert found["end of turn"].found == "<|return|>"
    assert "<|start|>assistant<|channel|>final<|message|>{" in check_judge(spec, folder)[1]


def test_what_ends_a_reply_is_read_from_the_template(folders: dict[str, Path], qwen: Path) -> None:
    assert _check(spec_of(folders["llama"]), folders["llama"])["end of turn"].found == "<|eot_id|>"
    config = json.loads((qwen / "tokenizer_config.json").read_text())
    (qwen / "tokenizer_config.json").write_text(json.dumps(config | {"eos_token": "<|endoftext|>"}))
    wrong = _check(spec_of(qwen), qwen)["end of turn"]
    assert wrong.status == "problem"
    assert 'end_of_turn: ["<|im_end|>"]' in wrong.fix
    right = _check(spec_of(qwen, end_of_turn=["<|im_end|>"]), qwen)["end of turn"]
    assert (right.status, set(right.found.split(", "))) == ("ok", {"<|endoftext|>", "<|im_end|>"})


def test_an_end_of_turn_token_that_is_not_there(folders: dict[str, Path]) -> None:
    found = _check(spec_of(folders["qwen"], end_of_turn=["<|eot_id|>"]), folders["qwen"])
    assert _problems(found) == ["tokenizer"]
    assert "<|eot_id|>" in found["tokenizer"].found and "end_of_turn" in found["tokenizer"].fix


def test_a_judge_without_a_chat_template_gets_none_of_ours(folders: dict[str, Path], tmp_path: Path) -> None:
    folder = store_judge(tmp_path / "bare", dataclasses.replace(BY_NAME["qwen"], template=""))
    template = folder / "chat_template.jinja"
    template.unlink(missing_ok=True)
    found = _check(spec_of(folder), folder)
    assert _problems(found) == ["chat template"]
    assert "chat_template.jinja" in found["chat template"].fix
    before = weights_hash(folder)
    template.write_text(BY_NAME["qwen"].template)
    assert weights_hash(folder) != before, "a judge with another template is another judge"
    assert not _problems(_check(complete(spec_of(folder)), folder))


def test_todays_date_in_the_prompt_is_told(qwen: Path) -> None:
    _retemplate(qwen, "{{ strftime_now('%d %B %Y') }}" + TURNS)
    assert "today's date" in _check(spec_of(qwen), qwen)["chat template"].found
    _retemplate(qwen, "{% set today = strftime_now('%Y-%m-%d') %}" + TURNS)
    assert _check(spec_of(qwen), qwen)["chat template"].status == "ok"


def test_damaged_weights_are_found_without_loading_them(qwen: Path) -> None:
    whole = (qwen / "model.safetensors").read_bytes()
    for spoiled, message in (
        (whole[:-4], "file not fully covered"),
        (whole + b"....", "file not fully covered"),
        (whole[:20], "invalid header length"),
        (b"", "header too small"),
        (b"\xff" * 8 + whole[8:], "header too large"),
        (whole[:8] + b"x" + whole[9:], "invalid JSON in header"),
        ((2).to_bytes(8, "little") + b"[]", "invalid JSON in header"),
    ):
        (qwen / "model.safetensors").write_bytes(spoiled)
        found = _check(spec_of(qwen), qwen)
        assert _problems(found) == ["weights"], message
        assert message in found["weights"].found
        with pytest.raises(WeightsMissing, match=message):
            checked_hash(spec_of(qwen), qwen)
    (qwen / "model.safetensors").unlink()
    (qwen / "pytorch_model.bin").write_bytes(b"pickled")
    assert "holds no safetensors files, and pickled ones are never read" in _check(spec_of(qwen), qwen)["weights"].found


def test_the_hash_is_that_of_the_registry(qwen: Path) -> None:
    hashed = weights_hash(qwen)
    unknown = _check(spec_of(qwen), qwen)["weights"]
    assert (unknown.status, unknown.found.rpartition(" ")[2]) == ("note", hashed)
    assert _check(spec_of(qwen, sha256=hashed), qwen)["weights"].found.endswith(f"the registry's, {hashed}")
    (qwen / "config.json").write_text((qwen / "config.json").read_text() + "\n")
    wrong = _check(spec_of(qwen, sha256=hashed), qwen)["weights"]
    assert wrong.status == "problem" and hashed in wrong.found


def test_config_settings_and_vocabulary(qwen: Path) -> None:
    config = json.loads((qwen / "config.json").read_text())

    def found(spec: JudgeSpec, **changed: object) -> dict[str, Check]:
        (qwen / "config.json").write_text(json.dumps(config | changed))
        return _check(spec, qwen)

    assert found(spec_of(qwen))["engine settings"].found == "only the defaults"
    typo = found(spec_of(qwen, engine={"max_num_seq": 3}))["engine settings"]
    assert typo.status == "problem" and "max_num_seqs" in typo.fix
    assert found(spec_of(qwen, engine={"max_num_seqs": 3}))["engine settings"].found == "max_num_seqs: 3"
    assert "never run" in found(spec_of(qwen), auto_map={"AutoConfig": "x.Y"})["config"].found
    assert _problems(found(spec_of(qwen), vocab_size=1000)) == ["vocabulary"]
    (qwen / "config.json").write_text("{")
    broken = _check(spec_of(qwen), qwen)
    assert _problems(broken) == ["config", "tokenizer"]
    assert "config.json is not JSON" in broken["tokenizer"].found


@pytest.mark.parametrize("name", ["tokenizer.json", "tokenizer_config.json", "generation_config.json"])
@pytest.mark.parametrize(
    "text",
    ["", "{}", "[]", '{"model": 3}', '{"added_tokens": [{"id": "x"}]}', '{"eos_token_id": [[1]]}', "\x00"],
)
def test_broken_tokenizer_files_are_rows_and_no_traceback(qwen: Path, name: str, text: str) -> None:
    (qwen / name).write_text(text)
    found = _check(spec_of(qwen), qwen)
    assert "weights" in found
    if name == "tokenizer.json":
        assert "tokenizer" in _problems(found)


def test_a_context_too_short_for_a_rubric_is_told_with_both_numbers(folders: dict[str, Path]) -> None:
    folder = folders["qwen"]
    found = _check(spec_of(folder, context=1024), folder, *builtin_names())
    # The rubric whose rows bring their own criteria is short enough, and so is the comparison.
    short = ("criteria", "pair-answer")
    assert _problems(found) == [f"rubric {name}" for name in builtin_names() if name not in short]
    row = found["rubric pathway-answer"]
    assert row.found.startswith("the judge's context of 1,024 tokens is too short for the rubric pathway-answer")
    writer = PromptWriter(load_rubric("pathway-answer"), JudgeTokenizer(folder), Chat(), context=1024)
    with pytest.raises(EngineError, match="is too short"):
        check_room(writer)


def test_a_context_that_leaves_little_room_is_worth_a_note(folders: dict[str, Path]) -> None:
    folder = folders["qwen"]
    writer = PromptWriter(load_rubric("pathway-answer"), JudgeTokenizer(folder), Chat(), context=1 << 20)
    lengths = check_room(writer)
    needed = lengths.own + lengths.reply
    row = _check(spec_of(folder, context=needed + 300), folder, "pathway-answer")["rubric pathway-answer"]
    assert (row.status, "only 300 are left" in row.found) == ("note", True)
