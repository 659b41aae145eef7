"""A judge's folder that somebody prepared: no file of it makes a command hang, or ends its process."""

import json
import os
import shutil
import tempfile
from pathlib import Path

import pytest
from stored_judge import spec_of
from typed import Desk

from pathway_local.checks.judge_check import check_judge
from pathway_local.errors import EngineError
from pathway_local.judges.limited_process import LIMITS, MOST_IDS
from pathway_local.judges.weights import LARGEST_TEXT, find_folder
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
    with pytest.raises(EngineError, match=f"{name} is a link"):
        find_folder("t", str(judge))


@pytest.mark.parametrize("name", ["README.md", ".cache", "vocab.json", "other.safetensors", "merges.txt"])
def test_a_link_opens_no_file_of_the_user_to_the_engine(judge: Path, name: str) -> None:
    (judge.parent / "cases.csv").touch()
    places = {".cache": judge.parent, "merges.txt": judge / "merges.txt"}  # the last one leads to itself
    (judge / name).symlink_to(places.get(name, judge.parent / "cases.csv"))
    with pytest.raises(EngineError, match=f"{name} is a link"):
        find_folder("t", str(judge))


def test_a_file_or_a_folder_that_can_not_be_read_is_named() -> None:
    with tempfile.TemporaryDirectory() as name:  # those of pytest are closed to other users
        folder = Path(name)
        (folder / "chat_template.jinja").touch()
        for path in (folder / "chat_template.jinja", folder):
            folder.chmod(0o755)
            path.chmod(0)
            if os.geteuid() == 0:
                os.seteuid(65534)
            try:
                with pytest.raises(EngineError, match=f"^{path} can't be read: Permission denied"):
                    find_folder("t", name)
            finally:
                if os.getuid() == 0:
                    os.seteuid(0)
        folder.chmod(0o700)


def test_links_to_weights_and_to_the_hubs_blobs_are_followed(judge: Path, tmp_path: Path) -> None:
    for name, place in {
        "model.safetensors": tmp_path / "m.safetensors",
        "config.json": tmp_path / "blobs" / "c",
    }.items():
        place.parent.mkdir(exist_ok=True)
        (judge / name).rename(place)
        (judge / name).symlink_to(place)
    snapshot = tmp_path / "snapshots" / "main"
    snapshot.parent.mkdir()
    judge.rename(snapshot)
    assert find_folder("t", str(snapshot)) == snapshot


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


REGEX = {"type": "Split", "pattern": {"Regex": "(a+a+)+[^a!]"}, "behavior": "Isolated", "invert": False}
LONG = "<" + "x" * 1_000_000 + ">"
TOKEN = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": False}
MISFIT = {"direction": "Right", "max_length": 3, "strategy": "LongestFirst", "stride": 9}
GROWS = "changes texts by Replace, which we do not allow"
HOSTILE: dict[str, tuple[dict[str, object], str]] = {
    "never matches": ({"pre_tokenizer": REGEX}, "retry-limit-in-match over"),
    "far ids": ({"model": {"type": "BPE", "vocab": {"a": 2**32 - 1}, "merges": []}}, "has an id of 4,294,967,295"),
    "panics": ({"truncation": MISFIT}, "must be strictly less"),
    "no such model": ({"model": {"type": "Genie"}}, "can't be used"),
    "another normalizer": (
        {"normalizer": {"type": "Precompiled", "precompiled_charsmap": "AAAA"}},
        "by 'Precompiled', which",
    ),
    "longer": ({"normalizer": {"type": "Replace", "pattern": {"String": "a"}, "content": "a" * 100}}, GROWS),
    "between": ({"normalizer": {"type": "Replace", "pattern": {"Regex": ""}, "content": "a"}}, GROWS),
    "nested": (
        {
            "normalizer": {
                "type": "Sequence",
                "normalizers": [{"type": "Replace", "pattern": {"String": "a"}, "content": "aa"}] * 90,
            }
        },
        GROWS,
    ),
    "long": ({"added_tokens": [{"id": 4000, "content": LONG, **TOKEN}]}, "names a token of over 1,000 characters"),
}


@pytest.mark.timeout(60)
@pytest.mark.usefixtures("own_process")
@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_tokenizer_is_an_error_of_the_judge(kind: str, judge: Path) -> None:
    changed, said = HOSTILE[kind]
    with pytest.raises(EngineError, match=said) as error:
        JudgeTokenizer(_with(judge, **changed))
    assert len(str(error.value).splitlines()) == 1
    [check] = [each for each in check_judge(spec_of(judge), judge)[0] if each.status == "problem"]
    assert (check.name, said in check.found) == ("tokenizer", True)


@pytest.mark.usefixtures("own_process")
@pytest.mark.parametrize(
    ("limits", "said"), [((1, 2048), "takes over 1 seconds"), ((20, 150), "needs over|ends its process")]
)
def test_a_tokenizer_has_little_time_and_memory(
    limits: tuple[int, int], said: str, judge: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(LIMITS, "tokenizer", limits)
    vocabulary = {f"{at:x}": at for at in range(MOST_IDS - 1)}
    with pytest.raises(EngineError, match=said):
        JudgeTokenizer(_with(judge, model={"type": "BPE", "vocab": vocabulary, "merges": []}))


@pytest.mark.parametrize("key", ["unk_token", "added_tokens_decoder", "extra_special_tokens"])
def test_a_token_of_a_million_characters_in_its_settings_is_refused(judge: Path, key: str) -> None:
    path = judge / "tokenizer_config.json"
    named = {"unk_token": LONG, "added_tokens_decoder": {"4000": {"content": LONG}}, "extra_special_tokens": [LONG]}
    path.write_text(json.dumps(json.loads(path.read_text()) | {key: named[key]}))
    with pytest.raises(EngineError, match="names a token of over 1,000 characters"):
        JudgeTokenizer(judge)


def test_a_tokenizer_that_cuts_or_fills_up_texts_does_neither_here(judge: Path) -> None:
    long, before = "Judge this answer. " * 20, JudgeTokenizer(judge)
    cut = {"direction": "Right", "max_length": 3, "strategy": "LongestFirst", "stride": 0}
    fill = {
        "strategy": {"Fixed": 999},
        "direction": "Left",
        "pad_id": 0,
        "pad_type_id": 0,
        "pad_token": "<|endoftext|>",
    }
    fill["pad_to_multiple_of"] = None
    now = JudgeTokenizer(_with(judge, truncation=cut, padding=fill))
    assert now.encode(long) == before.encode(long) and now.encode_cases([long]) == before.encode_cases([long])
    assert "problem" not in {each.status for each in check_judge(spec_of(judge), judge)[0]}


@pytest.mark.parametrize("text", ["", "[]", "{", '{"normalizer": 3}', '{"normalizer": {"normalizers": [3]}}'])
def test_a_damaged_tokenizer_is_a_clear_error(judge: Path, text: str) -> None:
    (judge / "tokenizer.json").write_text(text)
    with pytest.raises(EngineError, match="can't be used"):
        JudgeTokenizer(judge)


def test_what_real_tokenizers_replace_is_fine(judge: Path) -> None:
    spaces = [{"type": "Prepend", "prepend": "▁"}, {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]
    assert JudgeTokenizer(_with(judge, normalizer={"type": "Sequence", "normalizers": spaces})).encode("Yes.")
