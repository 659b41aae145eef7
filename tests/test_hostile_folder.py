"""A judge's folder that somebody prepared: no file of it makes a command hang, or ends its process."""

import json
import os
import shutil
from pathlib import Path

import pytest
from typed import Desk

from pathway_local.errors import EngineError
from pathway_local.judges.weights import LARGEST_TEXT, MOST_ADDED_TOKENS, find_folder
from pathway_local.rendering.tokenizer import JudgeTokenizer

FILES = ("config.json", "tokenizer.json", "generation_config.json", "chat_template.jinja", "model.safetensors")


@pytest.fixture
def judge(tiny_judge: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(tiny_judge, tmp_path / "judge"))


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", FILES)
def test_a_pipe_or_a_device_in_place_of_a_file_is_refused(judge: Path, name: str) -> None:
    (judge / name).unlink(missing_ok=True)
    os.mkfifo(judge / name)
    with pytest.raises(EngineError, match=f"{name} is not an ordinary file"):
        find_folder("t", str(judge))
    (judge / name).unlink()
    (judge / name).symlink_to("/dev/zero")
    with pytest.raises(EngineError, match=f"{name} is not an ordinary file"):
        find_folder("t", str(judge))


def test_a_file_without_an_end_is_refused_and_weights_may_be_large(judge: Path) -> None:
    os.truncate(judge / "model.safetensors", LARGEST_TEXT + 1)
    assert find_folder("t", str(judge)) == judge.resolve()
    os.truncate(judge / "tokenizer.json", LARGEST_TEXT + 1)
    with pytest.raises(EngineError, match=r"tokenizer.json is too large"):
        find_folder("t", str(judge))


@pytest.mark.timeout(60)
def test_a_command_says_so_and_ends(judge: Path, tmp_path: Path) -> None:
    (judge / "tokenizer.json").unlink()
    os.mkfifo(judge / "tokenizer.json")
    desk = Desk(tmp_path / "desk", judge)
    told = desk.typed(*desk.judging(desk.cases(1)), code=5).stderr
    assert "tokenizer.json is not an ordinary file" in " ".join(told.split())


def _with(judge: Path, **changed: object) -> Path:
    path = judge / "tokenizer.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changed))
    return judge


@pytest.mark.parametrize(
    "normalizer",
    [
        {"type": "Replace", "pattern": {"String": "a"}, "content": "a" * 100},
        {"type": "Replace", "pattern": {"Regex": ""}, "content": "a" * 100},
        {
            "type": "Sequence",
            "normalizers": [{"type": "Replace", "pattern": {"String": "a"}, "content": "a" * 10}] * 3,
        },
    ],
)
def test_a_tokenizer_that_multiplies_texts_is_refused(judge: Path, normalizer: dict[str, object]) -> None:
    with pytest.raises(EngineError, match="times longer"):
        JudgeTokenizer(_with(judge, normalizer=normalizer))


def test_a_tokenizer_with_countless_added_tokens_is_refused(judge: Path) -> None:
    token = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": False}
    added = [{"id": 1000 + at, "content": f"<{at}>", **token} for at in range(MOST_ADDED_TOKENS + 1)]
    with pytest.raises(EngineError, match="adds 20,001 tokens"):
        JudgeTokenizer(_with(judge, added_tokens=added))


@pytest.mark.parametrize("text", ["", "[]", "{", '{"normalizer": 3}', '{"normalizer": {"normalizers": [3]}}'])
def test_a_damaged_tokenizer_is_a_clear_error(judge: Path, text: str) -> None:
    (judge / "tokenizer.json").write_text(text)
    with pytest.raises(EngineError, match="can't be read"):
        JudgeTokenizer(judge)


def test_what_real_tokenizers_replace_is_fine(judge: Path) -> None:
    spaces = [{"type": "Prepend", "prepend": "▁"}, {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]
    assert JudgeTokenizer(_with(judge, normalizer={"type": "Sequence", "normalizers": spaces})).encode("Yes.")
