import json
import os
from pathlib import Path

import pytest

from pathway_local.errors import EngineError, WeightsMissing
from pathway_local.judges.weights import (
    INDEX,
    chat_template,
    check_folder,
    find_folder,
    is_hub_id,
    read_json,
    weights_bytes,
    weights_hash,
)


@pytest.fixture(autouse=True)
def _homes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_HUB_CACHE", raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


def _model(folder: Path, **files: bytes) -> Path:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text('{"model_type": "qwen3"}')
    for name, data in (files or {"model.safetensors": b"weights"}).items():
        (folder / name.replace("__", "-")).write_bytes(data)
    return folder


def test_hub_ids_and_paths_are_told_apart() -> None:
    assert is_hub_id("Qwen/Qwen3-8B")
    for other in ("/models/x", "./x", "~/x", "a/b/c", "Qwen", "../x", "a/..", "-a/b", ""):
        assert not is_hub_id(other), other


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hf/hub"))
    return tmp_path / "hf/hub/models--a--b"


def test_the_hub_cache_is_read_at_the_pinned_commit_else_at_the_main_branch(hub: Path) -> None:
    first, second = (_model(hub / "snapshots" / commit) for commit in ("1" * 40, "222"))
    (hub / "refs").mkdir()
    (hub / "refs/main").write_text("222")
    assert (find_folder("b", "a/b", "1" * 40), find_folder("b", "a/b")) == (first, second)
    with pytest.raises(WeightsMissing, match="no a/b at revision 333"):
        find_folder("b", "a/b", "333")


def test_the_users_own_copy_comes_first(hub: Path, tmp_path: Path) -> None:
    _model(hub / "snapshots/111")
    own = _model(tmp_path / "data/pathway-local/models/b")
    assert find_folder("b", "a/b", "111") == own


def test_what_is_missing_comes_with_what_to_do(hub: Path, tmp_path: Path) -> None:
    with pytest.raises(WeightsMissing) as missing:
        find_folder("b", "a/b")
    assert "judges fetch b" in missing.value.hint
    assert "docs/judges.md" in missing.value.hint
    with pytest.raises(WeightsMissing, match="no folder"):
        find_folder("b", str(tmp_path / "gone"))
    with pytest.raises(WeightsMissing, match="no folder"):
        find_folder("b", "/" + "x" * 5000)


UNSEEN = (
    *("pytorch_model.bin", "adapter_config.json", "consolidated.safetensors", "params.json", "vocab.bin"),
    *("additional_chat_templates/default.jinja", "original/config.json", "tokenizer.4.0.0.json"),
)


@pytest.mark.parametrize("name", UNSEEN)
def test_a_file_that_a_library_may_read_unseen_is_refused_by_its_name(name: str, tmp_path: Path) -> None:
    folder = _model(tmp_path / "m")
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text("{}")
    with pytest.raises(EngineError, match=f"{name.partition('/')[0]} is no file of a judge that we know"):
        find_folder("m", str(folder))


def test_documents_are_no_part_of_a_judge(tmp_path: Path) -> None:
    folder = _model(tmp_path / "m")
    before = weights_hash(find_folder("m", str(folder)))
    (folder / ".cache").mkdir()
    for name in ("README.md", "LICENSE", ".gitattributes", "modeling_x.py", "figure.png", "Notice.txt"):
        (folder / name).write_text("not read")
    assert weights_hash(find_folder("m", str(folder))) == before


@pytest.mark.parametrize(
    ("file", "key", "value"),
    [
        ("config.json", "speculators_config", {"verifier": {"name_or_path": "/evil"}}),
        ("config.json", "configuration_files", ["/evil/config.4.0.0.json"]),
        ("tokenizer_config.json", "fast_tokenizer_files", ["/evil/tokenizer.4.0.0.json"]),
    ],
)
def test_a_config_that_names_other_files_is_refused(file: str, key: str, value: object, tmp_path: Path) -> None:
    folder = _model(tmp_path / "m")
    (folder / file).write_text(json.dumps({key: value}))
    with pytest.raises(EngineError, match=key):
        find_folder("m", str(folder))


def test_a_missing_shard_is_named(tmp_path: Path) -> None:
    folder = _model(tmp_path / "m", **{"model-1.safetensors": b"1"})
    index = {"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}
    (folder / INDEX).write_text(json.dumps(index))
    with pytest.raises(WeightsMissing, match=r"lacks 1 of 2 weight files, first 'model-2\.safetensors'"):
        check_folder(folder, "m")
    (folder / "model-2.safetensors").write_bytes(b"22")
    assert check_folder(folder, "m") == folder
    assert weights_bytes(folder) == 3


@pytest.mark.parametrize("name", ["../../etc/passwd", "/evil.safetensors", "a/b.safetensors", "x.bin", ""])
def test_an_index_reaches_no_file_outside_the_folder(name: str, tmp_path: Path) -> None:
    folder = _model(tmp_path / "m")
    (folder / INDEX).write_text(json.dumps({"weight_map": {"a": name}}))
    with pytest.raises(WeightsMissing, match="lacks 1 of 1 weight files"):
        check_folder(folder, "m")


def test_the_hash_is_of_the_content_wherever_it_lies(tmp_path: Path) -> None:
    first, second = _model(tmp_path / "a"), _model(tmp_path / "b")
    assert weights_hash(first) == weights_hash(second)
    (second / "README.md").write_text("not part of the judge")
    assert weights_hash(first) == weights_hash(second)
    for name in ("config.json", "model.safetensors", INDEX, "tokenizer.json", "chat_template.jinja"):
        before = weights_hash(second)
        (second / name).write_text(f"other {name}")
        assert weights_hash(second) != before, name


def test_the_hash_follows_links_and_notices_a_change_of_the_same_size(tmp_path: Path) -> None:
    folder = _model(tmp_path / "a")
    blob = tmp_path / "blob"
    blob.write_bytes(b"weights")
    plain = weights_hash(folder)
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors").symlink_to(blob)
    assert weights_hash(folder) == plain
    blob.write_bytes(b"WEIGHTS")
    os.utime(blob, ns=(1, 1))
    assert weights_hash(folder) != plain


def test_broken_json_is_an_error_with_the_files_name(tmp_path: Path) -> None:
    for data in (b"{", b"[]", b"\xff\xfe\x00", b"[" * 100_000):
        (tmp_path / "config.json").write_bytes(data)
        with pytest.raises(EngineError, match=r"config\.json"):
            read_json(tmp_path / "config.json")
    with pytest.raises(EngineError, match="can't be read"):
        read_json(tmp_path / "gone.json")


def test_the_chat_template_is_found_in_each_of_its_places(tmp_path: Path) -> None:
    assert chat_template(tmp_path) == ""
    (tmp_path / "tokenizer_config.json").write_text('{"chat_template": "in the tokenizer"}')
    assert chat_template(tmp_path) == "in the tokenizer"
    named = [{"name": "tools", "template": "with tools"}, {"name": "default", "template": "the usual one"}]
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"chat_template": named}))
    assert chat_template(tmp_path) == "the usual one"
    (tmp_path / "chat_template.jinja").write_text("on its own")
    assert chat_template(tmp_path) == "on its own"
