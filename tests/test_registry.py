import json
import re
from pathlib import Path

import pytest

from pathway_local.errors import RegistryError, UnknownName, UsageError, WeightsMissing
from pathway_local.judges.registry import Registry, load_registry, user_file, weights_folder
from pathway_local.system.shipped import shipped

PINNED = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


@pytest.fixture(autouse=True)
def _homes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))


def _load(path: Path, text: str) -> Registry:
    file = path / "mine.yaml"
    file.write_text(text)
    return load_registry(file)


def _model(folder: Path) -> Path:
    folder.mkdir(parents=True)
    config = {"num_hidden_layers": 2, "num_attention_heads": 4, "hidden_size": 64, "max_position_embeddings": 2048}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "model.safetensors").write_bytes(b"weights")
    return folder


def test_our_entries_are_there_and_the_demo_comes_first() -> None:
    specs = load_registry().specs
    assert next(iter(specs)) == "demo"
    assert len(specs) == 35
    assert "fictional university" in specs["demo"].label
    assert specs["demo"].cpu


def test_our_entries_say_what_a_user_must_know_before_a_download() -> None:
    for spec in load_registry():
        assert re.fullmatch(r"[\w.-]+( [\w.-]+){0,4}", spec.licence), "a name: what else binds a user is in `notes`"
        assert spec.licence != "not stated", spec.name
        assert spec.context, spec.name
        assert "thinking" in spec.model_fields_set, spec.name
        if spec.name == "demo":
            continue
        assert spec.parameters and spec.weights_gb, spec.name
        assert spec.verified or spec.notes, spec.name
        assert re.match(r"2026-\d\d-\d\d, by ", spec.checked) and spec.template, spec.name
        if spec.verified:
            assert spec.revision and PINNED.fullmatch(spec.revision), spec.name


def test_our_weights_are_as_large_as_their_parameters_make_them() -> None:
    bits = {"bf16": 16, "fp8": 8, "w4a16": 4.5, "mxfp4": 4.25, "nvfp4": 4.5}
    for spec in load_registry():
        if spec.name == "demo" or not spec.parameters or not spec.weights_gb:
            continue
        expected = spec.parameters * bits[spec.precision] / 8
        # Small and multimodal models keep large tables or towers in 16 bits.
        assert 0.95 * expected < spec.weights_gb < 1.6 * expected + 0.5, spec.name


def test_a_folder_beside_the_file(tmp_path: Path) -> None:
    folder = _model(tmp_path / "models" / "my-judge")
    assert weights_folder(_load(tmp_path, "mine: {source: ./models/my-judge}").get("mine")) == folder


def test_single_keys_replace_ours_and_the_last_file_wins(tmp_path: Path) -> None:
    user_file().parent.mkdir(parents=True)
    user_file().write_text("qwen3-8b: {context: 8192, notes: ours}\nother: {source: a/b}\n")
    registry = _load(tmp_path, "qwen3-8b: {notes: theirs}")
    spec = registry.specs["qwen3-8b"]
    assert (spec.context, spec.notes, spec.weights_gb) == (8192, "theirs", 16.4)
    origins = [Path(registry.specs[name].origin) for name in ("demo", "other", "qwen3-8b")]
    assert origins == [shipped("models.yaml"), user_file(), tmp_path / "mine.yaml"]


def test_single_settings_of_the_engine_replace_ours(tmp_path: Path) -> None:
    ours = load_registry().specs["qwen3.5-9b"].engine
    assert ours["language_model_only"] is True
    given = _load(tmp_path, "qwen3.5-9b: {engine: {quantization: fp8_per_tensor}}").specs["qwen3.5-9b"].engine
    assert given == {**ours, "quantization": "fp8_per_tensor"}
    taken = _load(tmp_path, "qwen3.5-9b: {engine: {language_model_only: null}}").specs["qwen3.5-9b"].engine
    assert "language_model_only" not in taken
    assert _load(tmp_path, "qwen3-8b: {engine: {max_num_seqs: null}}").specs["qwen3-8b"].engine == {}


def test_another_source_inherits_nothing(tmp_path: Path) -> None:
    spec = _load(tmp_path, "qwen3-8b: {source: someone/Qwen3-8B-tuned}").specs["qwen3-8b"]
    assert (spec.revision, spec.licence, spec.verified) == (None, "not stated", False)


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("mine:\n  source: a/b\n  contxt: 5\n", "line 3, column 3: mine.contxt: no such key", "lists all keys"),
        (
            "mine:\n  source: a/b\n  thinking:\n    end: x\n    of_by: {}\n",
            "line 5, column 5: mine.thinking.of_by",
            "lists all keys",
        ),
        ("mine: {context: 5}\n", "line 1, column 1: mine lacks its source", "source:"),
        ("mine:\n  source: a/b\n  context: many\n", "line 3, column 3: mine.context: must be a whole number", ""),
        ("mine:\n  source: a/b\n  context: -5\n", "line 3, column 3: mine.context", ""),
        ("mine:\n  source: a/b\n  revision: 123456\n", "line 3, column 3: mine.revision", "quotes"),
        ("mine: {source: a/b, revision: ../../x}\n", "mine.revision: ", ""),
        ("mine: {source: what is this}\n", "mine.source: must be owner/name", ""),
        ("mine: {source: 'package:../../etc'}\n", "mine.source: must be owner/name", ""),
        ("mine: {source: a/b, precision: 3bit}\n", "mine.precision", ""),
        ("mine: {source: a/b, sha256: abc}\n", "mine.sha256", ""),
        ("mine: {source: a/b, parameters: .inf}\n", "mine.parameters", ""),
        ("mine: {source: a/b, thinking: always}\n", "mine.thinking", ""),
        ("mine: {source: a/b, engine: {trust_remote_code: true}}\n", "mine.engine: asks for trust_remote_code", ""),
        (f'mine: {{source: a/b, "\\n{"x" * 99}": 1}}', rf"mine.\n{'x' * 58}: no such key", "lists all keys"),
        ("mine: {like: demo, source: a/b}\n", "line 1, column 8: mine.like: no such key", "lists all keys"),
        ("mine: {source: a/b, end_of_turn: '</s>'}\n", "mine.end_of_turn: must be a list", ""),
        ("mine: /models/x\n", "line 1, column 1: mine holds no keys", "source"),
        ("mine: {1: 2}\n", "line 1, column 1: mine holds no keys", ""),
        ("my judge: {source: a/b}\n", "line 1, column 1: 'my judge' is not a valid name for a judge", ""),
        ("1: {source: a/b}\n", "1 is not a valid name for a judge", ""),
        ("- mine\n", "holds no entries", ""),
        ("mine: {source: a/b, source: a/c}\n", "line 1", ""),
        ("mine: {source: a/b\n", "line 2", ""),
        ("\x00", "mine.yaml", ""),
    ],
)
def test_mistakes_are_named_with_file_line_and_key(tmp_path: Path, text: str, message: str, hint: str) -> None:
    with pytest.raises(RegistryError) as error:
        _load(tmp_path, text)
    assert message in str(error.value)
    assert "mine.yaml" in str(error.value)
    assert "\n" not in str(error.value)
    assert hint in error.value.hint


def test_a_mistake_is_looked_for_in_the_file_that_made_it(tmp_path: Path) -> None:
    user_file().parent.mkdir(parents=True)
    user_file().write_text("\nqwen3-8b: {contxt: 8192}\n")
    with pytest.raises(RegistryError, match=f"{user_file()} line 2"):
        _load(tmp_path, "qwen3-8b: {notes: fine}")


def test_paths_that_are_no_registry(tmp_path: Path) -> None:
    (tmp_path / "latin.yaml").write_bytes("a: {source: a/b, notes: \xe9}".encode("latin-1"))
    for path, said in [("gone.yaml", "no file"), (".", "no file"), ("latin.yaml", "not UTF-8"), ("x" * 5000, "x")]:
        with pytest.raises(RegistryError, match=said):
            load_registry(tmp_path / path)


def test_unknown_names_list_the_nearest_first() -> None:
    with pytest.raises(UnknownName) as error:
        load_registry().get("qwen3-9b")
    assert error.value.hint.startswith("There are: qwen3.5-9b, qwen3-8b")


def test_a_source_in_place_of_a_name_is_told_whose_it_is() -> None:
    with pytest.raises(UsageError) as refused:
        load_registry().get("Qwen/Qwen3-8B")
    assert refused.value.hint == "It is the source of a judge: name that, qwen3-8b."


def test_any_folder_with_a_model_works_without_an_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = _model(tmp_path / "My Judge")
    spec = load_registry().get(str(folder))
    assert (spec.name, spec.context, spec.key) == ("My-Judge", 2048, str(folder))
    assert weights_folder(load_registry().get(spec.key)) == folder
    monkeypatch.chdir(tmp_path)
    assert load_registry().get("My Judge").source == str(folder)
    assert load_registry().get("./My Judge").source == str(folder)


def test_a_folder_beside_the_fetched_judges_is_found_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    folder = tmp_path / "pathway-local" / "models" / "mine"
    folder.parent.mkdir(parents=True)
    _model(folder)
    spec = load_registry().get("mine")
    assert (spec.name, weights_folder(spec)) == ("mine", folder)
    assert load_registry().get(spec.key).name == "mine"
    for name in ("../models/mine", "..", "mines"):
        with pytest.raises(UsageError):
            load_registry().get(name)


def test_paths_that_are_no_judge(tmp_path: Path) -> None:
    registry = load_registry()
    for name in (str(tmp_path / "gone"), "no/such", "~nobody/x", "a/" + "b" * 5000):
        with pytest.raises(UsageError, match="no folder"):
            registry.get(name)
    for name in ("a\0b", "x" * 5000, "", ":"):
        with pytest.raises(UnknownName):
            registry.get(name)
    with pytest.raises(WeightsMissing, match=r"no config\.json"):
        weights_folder(registry.get(str(tmp_path)))


def test_shipped_files_are_found_in_a_checkout_and_in_an_installation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert shipped("models.yaml").parent == Path(__file__).parents[1]
    package = tmp_path / "site-packages" / "pathway_local"
    (package / "_shipped").mkdir(parents=True)
    (package / "_shipped" / "models.yaml").write_text("demo: {source: package:demo}")
    (package.parent / "models.yaml").write_text("not ours: a stranger's file beside the package")
    monkeypatch.setattr("pathway_local.system.shipped._PACKAGE", package)
    assert shipped("models.yaml") == package / "_shipped" / "models.yaml"
    with pytest.raises(UsageError, match="lacks prompts"):
        shipped("prompts")
