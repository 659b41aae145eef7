"""Whatever a rubric file or a registry holds, reading it gives a rubric or a registry, or one of our own errors."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from fuzz import REGISTRY, edited, fuzz
from hypothesis import given
from hypothesis import strategies as st
from typed import RUBRIC

from pathway_local.errors import PathwayError, RegistryError, RubricError
from pathway_local.judges.registry import load_registry
from pathway_local.rubrics.rubric_file import builtin_names, load_rubric, rubric_path

Read = Callable[[str], object]

seeds = st.integers(0, 2**32)
scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.dates()
keys = st.sampled_from(
    ["name", "inputs", "outputs", "layout", "fields", "type", "min", "max", "values", "source", "context", "engine"]
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys | st.text(max_size=5), inner, max_size=4)
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


@pytest.fixture(scope="module")
def rubric(folder: Path) -> Read:
    return lambda text: _read(folder / "random.prompty", text, lambda path: load_rubric(str(path)))


@pytest.fixture(scope="module")
def registry(folder: Path) -> Read:
    return lambda text: _read(folder / "random.yaml", text, load_registry)


def _read(path: Path, text: str, load: Callable[[Path], object]) -> object:
    """What is read, or the error; anything else that is raised fails the test."""
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        return load(path)
    except PathwayError as error:
        assert 0 < len(str(error)) < 2000
        assert "\n" not in str(error)
        return error


@fuzz
@given(st.sampled_from(["", *builtin_names()]), seeds)
def test_edited_rubrics(rubric: Read, name: str, seed: int) -> None:
    text = rubric_path(name).read_text() if name else RUBRIC
    rubric(edited(text, random.Random(seed)))


@fuzz
@given(seeds)
def test_edited_registries(registry: Read, seed: int) -> None:
    assert not isinstance(registry(REGISTRY), PathwayError), "an edit of a wrong one would find little"
    registry(edited(REGISTRY, random.Random(seed)))


@fuzz
@given(values, st.booleans())
def test_any_yaml_as_front_matter_or_outputs(rubric: Read, value: object, whole: bool) -> None:
    front = value if whole else {"name": "r", "inputs": {"question": {"type": "string"}}, "outputs": value}
    rubric(f"---\n{yaml.safe_dump(front, allow_unicode=True)}\n---\nuser:\n{{{{question}}}}\n")


@fuzz
@given(values, st.booleans())
def test_any_yaml_as_registry_or_entry(registry: Read, value: object, whole: bool) -> None:
    registry(yaml.safe_dump(value if whole else {"mine": value}, allow_unicode=True))


@pytest.mark.parametrize("front", ["outputs: [{name: []}]", "inputs: [{name: []}]", "inputs: [{name: {a: 1}}]"])
def test_a_name_that_is_no_text_is_told(rubric: Read, front: str) -> None:
    given = front if "inputs" in front else f"inputs: {{question: {{}}}}\n{front}"
    assert isinstance(rubric(f"---\n{given}\n---\nuser:\n{{{{question}}}}\n"), RubricError)


@pytest.mark.parametrize(
    "bomb",
    [
        "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [{f'*a{n - 1}, ' * 9}]\n" for n in range(1, 30)),
        f"a: {'[' * 5_000}",
        f"a: {'{a: ' * 5_000}",
        "".join(f"{' ' * n}a:\n" for n in range(1500)),
        f"a: {'x' * 3_000_000}",
        "a: !!python/object/apply:os.system ['true']",
        f"a: {'9' * 100_000}",
    ],
    ids=["aliases", "lists", "maps", "indents", "size", "tag", "digits"],
)
def test_yaml_bombs_are_refused(rubric: Read, registry: Read, bomb: str) -> None:
    assert isinstance(registry(bomb), RegistryError)
    assert isinstance(rubric(f"---\n{bomb}\n---\nuser:\nx\n"), RubricError)
