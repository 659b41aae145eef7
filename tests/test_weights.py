import json
import os
from pathlib import Path

import pytest

from pathway_local.errors import EngineError, WeightsMissing
from pathway_local.judges.weights import (
    chat_template,
    check_folder,
    find_folder,
    is_hub_id,
    read_json,
    weight_files,
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


def test_a_pinned_commit_is_found_in_the_hub_cache(tmp_path: Path) -> None:
    commit = "b968826d9c46dd6066d109eabc6255188de91218"
    snapshot = _model(tmp_path / "hf/hub/models--Qwen--Qwen3-8B/snapshots" / commit)
    assert find_folder("qwen3-8b", "Qwen/Qwen3-8B", commit) == snapshot


def test_without_a_commit_the_main_branch_decides(tmp_path: Path) -> None:
    hub = tmp_path / "hf/hub/models--a--b"
    _model(hub / "snapshots/111")
    wanted = _model(hub / "snapshots/222")
    (hub / "refs").mkdir()
    (hub / "refs/main").write_text("222\n")
    assert find_folder("b", "a/b") == wanted


def test_another_commit_on_the_disk_is_not_taken_for_the_pinned_one(tmp_path: Path) -> None:
    _model(tmp_path / "hf/hub/models--a--b/snapshots/111")
    with pytest.raises(WeightsMissing, match="this disk has revision 111, its entry asks for 333"):
        find_folder("b", "a/b", "333")


def test_a_branch_that_points_outside_is_not_followed(tmp_path: Path) -> None:
    hub = tmp_path / "hf/hub/models--a--b"
    _model(tmp_path / "hf/hub/models--a--b/elsewhere")
    (hub / "snapshots").mkdir()
    (hub / "refs").mkdir()
    (hub / "refs/main").write_text("../elsewhere")
    with pytest.raises(WeightsMissing):
        find_folder("b", "a/b")


def test_the_users_own_copy_comes_first(tmp_path: Path) -> None:
    _model(tmp_path / "hf/hub/models--a--b/snapshots/111")
    own = _model(tmp_path / "data/pathway-local/models/b-bf16")
    assert find_folder("b:bf16", "a/b", "111") == own


def test_what_is_missing_comes_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(WeightsMissing) as missing:
        find_folder("b", "a/b")
    assert "judges fetch b" in missing.value.hint
    assert "docs/judges.md" in missing.value.hint
    with pytest.raises(WeightsMissing, match="no folder"):
        find_folder("b", str(tmp_path / "gone"))
    with pytest.raises(WeightsMissing, match="no folder"):
        find_folder("b", "/" + "x" * 5000)


def test_pickled_weights_are_refused_by_name(tmp_path: Path) -> None:
    folder = _model(tmp_path / "m", **{"pytorch_model.bin": b"pickle"})
    with pytest.raises(WeightsMissing, match=r"only pickled weights \(pytorch_model.bin\)"):
        check_folder(folder, "m")


def test_a_missing_shard_is_named(tmp_path: Path) -> None:
    folder = _model(tmp_path / "m", **{"model-1.safetensors": b"1"})
    index = {"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(WeightsMissing, match=r"lacks 1 of 2 weight files, first model-2\.safetensors"):
        check_folder(folder, "m")
    (folder / "model-2.safetensors").write_bytes(b"22")
    assert check_folder(folder, "m") == folder
    assert weights_bytes(folder) == 3


def test_an_index_reaches_no_file_outside_the_folder(tmp_path: Path) -> None:
    folder = _model(tmp_path / "m")
    (folder / "model.safetensors.index.json").write_text('{"weight_map": {"a": "../../etc/passwd"}}')
    with pytest.raises(EngineError, match="not a safetensors file of this folder"):
        weight_files(folder)


def test_a_second_copy_of_the_weights_is_left_alone(tmp_path: Path) -> None:
    both = _model(tmp_path / "both", **{"model.safetensors": b"1", "consolidated.safetensors": b"1"})
    assert [path.name for path in weight_files(both)] == ["model.safetensors"]
    only = _model(tmp_path / "only", **{"consolidated.safetensors": b"1"})
    assert [path.name for path in weight_files(only)] == ["consolidated.safetensors"]


def test_the_hash_is_of_the_content_wherever_it_lies(tmp_path: Path) -> None:
    first, second = _model(tmp_path / "a"), _model(tmp_path / "b")
    assert weights_hash(first) == weights_hash(second)
    (second / "README.md").write_text("not part of the judge")
    assert weights_hash(first) == weights_hash(second)
    for name in ("config.json", "model.safetensors", "tokenizer.json", "chat_template.jinja"):
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
    (tmp_path / "chat_template.jinja").write_text("on its own")
    assert chat_template(tmp_path) == "on its own"
