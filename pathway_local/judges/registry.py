"""The registry of judges: the built-in models.yaml, the user's own file over it, and any folder with a model."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from pathway_local.errors import RegistryError, UnknownName, UsageError, WeightsMissing
from pathway_local.judges.chat_template import read_template
from pathway_local.judges.judge_spec import FOLDER, JudgeSpec, RegistryEntry
from pathway_local.judges.model_config import context, precision
from pathway_local.judges.weights import (
    check_folder,
    find_folder,
    is_folder,
    local_path,
    models_home,
    read_json,
    weight_files,
    weights_bytes,
)
from pathway_local.system.machine import GB
from pathway_local.system.safe_yaml import Places, first_complaint, load_yaml
from pathway_local.system.shipped import shipped
from pathway_local.system.visible import visible


def complete(spec: JudgeSpec) -> JudgeSpec:
    """Return an entry with what it leaves out read from its folder, if it is on this disk. Raises EngineError."""
    try:
        folder = find_folder(spec.name, spec.source, spec.revision)
    except WeightsMissing:
        return spec
    if not (folder / "config.json").is_file():
        return spec
    config = read_json(folder / "config.json")
    told: dict[str, object] = {"context": context(config), "precision": precision(config)}
    if all(path.is_file() for path in weight_files(folder)):
        told["weights_gb"] = weights_bytes(folder) / GB
    told = {key: value for key, value in told.items() if value}
    if not {"system", "thinking", "end_of_turn"} <= spec.model_fields_set:
        found = read_template(folder)
        told |= {"system": found.system, "end_of_turn": found.ends} | ({} if found.thinking else {"thinking": None})
    return spec.model_copy(update={key: told[key] for key in told.keys() - spec.model_fields_set})


USUAL_JUDGE = "demo"
"""The judge if none is named."""

_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,63}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Registry:
    """Judges by name, in the order of their files."""

    specs: Mapping[str, JudgeSpec]

    def __iter__(self) -> Iterator[JudgeSpec]:
        return iter(self.specs.values())

    def get(self, name: str) -> JudgeSpec:
        """Return the judge of that name, folder, or folder's name in `models_home()`, completed from its folder.

        Raises UnknownName, UsageError if there is no such folder, EngineError for a broken one.
        """
        return complete(self.specs.get(name) or _of_folder(name, self.specs))


def _of_folder(name: str, known: Mapping[str, JudgeSpec]) -> JudgeSpec:
    folder = local_path(name)
    if "/" not in name and not _holds_model(folder):
        folder = models_home() / name
        if not _NAME.fullmatch(name) or not _holds_model(folder):
            raise UnknownName("judge", name, known, "You can also name a folder with a model")
    if not is_folder(folder):
        hint = "Name a judge of `pathway-local judges list`, or a folder with a model's config.json and safetensors."
        if same := [spec.name for spec in known.values() if spec.source == name]:
            hint = f"It is the source of a judge: name that, {same[0]}."
        raise UsageError(f"there is no folder {name!r}, and no judge of that name", hint)
    short = re.sub(r"[^\w.-]", "-", folder.resolve().name).lstrip("._-")[:64] or "judge"
    return JudgeSpec(name=short, source=str(folder.resolve()), origin=FOLDER)


def _holds_model(folder: Path) -> bool:
    return is_folder(folder) and (folder / "config.json").is_file()


def weights_folder(spec: JudgeSpec) -> Path:
    """Return the folder with a judge's complete weights on this disk. Raises WeightsMissing with what to do."""
    return check_folder(find_folder(spec.name, spec.source, spec.revision), spec.name)


def user_file() -> Path:
    """Return the path of the user's own entries; it may not exist."""
    config = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(config) / "pathway-local" / "models.yaml"


def load_registry(extra: Path | None = None) -> Registry:
    """Return the built-in entries, overridden by the user's own, and those by the entries of the file `extra`.

    A later entry of the same name replaces single keys, and single settings of `engine` (null removes one). An entry
    with another source starts anew. Raises RegistryError that names file, line and key.
    """
    paths = [*([user_file()] if user_file().is_file() else []), *([extra] if extra is not None else [])]
    files = [_built_in(), *map(_read, paths)]
    merged: dict[str, dict[str, Any]] = {}
    for file in files:
        for name, entry in file.entries():
            before = merged.get(name, {})
            if entry.get("source", before.get("source")) != before.get("source"):
                before = {}
            merged[name] = {**before, **entry}
            if isinstance(told := entry.get("engine"), Mapping) and isinstance(before.get("engine", {}), Mapping):
                joined = {**before.get("engine", {}), **told}
                merged[name]["engine"] = {key: value for key, value in joined.items() if value is not None}
    return Registry(
        {name: _spec(name, keys, [each for each in files if name in each.tree]) for name, keys in merged.items()}
    )


@dataclass(frozen=True, slots=True)
class _File:
    path: Path
    tree: Mapping[str, object]
    text: str

    def where(self, *keys: str | int) -> str:
        """File, line and column of a key, or of the nearest key around it."""
        return Places(self.text, str(self.path)).of(*keys)

    def entries(self) -> Iterator[tuple[str, dict[str, object]]]:
        for name, entry in self.tree.items():
            if not isinstance(name, str) or not _NAME.fullmatch(name):
                raise RegistryError(
                    f"{self.where(name)}: {ascii(name)[:60]} is not a valid name for a judge",
                    "Use letters, digits, dots and dashes.",
                )
            if not isinstance(entry, Mapping) or not all(isinstance(key, str) for key in entry):
                hint = f"Write `{name}: {{source: /folder/of/the/model}}`."
                raise RegistryError(f"{self.where(name)}: {name} holds no keys", hint)
            source = entry.get("source")
            if isinstance(source, str) and source.startswith(("./", "../")):
                entry = {**entry, "source": str((self.path.parent / source).resolve())}
            yield name, dict(entry)


@cache
def _built_in() -> _File:
    return _read(shipped("models.yaml"))


def _read(path: Path) -> _File:
    try:
        if not path.is_file():
            raise RegistryError(f"there is no file {path}", "Give --models an existing YAML file.")
        text = path.read_text("utf-8-sig")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text, or its name can't be used"
        raise RegistryError(f"{path} can't be read: {reason}", "Correct it, or its permissions.") from None
    tree = load_yaml(text, str(path), RegistryError) or {}
    if not isinstance(tree, Mapping):
        raise RegistryError(f"{path} holds no entries", "Write lines like `name: {source: /folder/of/the/model}`.")
    return _File(path, tree, text)


def _spec(name: str, values: Mapping[str, object], files: Sequence[_File]) -> JudgeSpec:
    """Return the judge of that name in these files, of which the last decides where they differ."""
    if "source" not in values:
        said = f"{files[-1].where(name)}: {name} lacks its source"
        raise RegistryError(said, "Add `source:` with a folder or hub id.")
    try:
        entry = RegistryEntry.model_validate(values)
    except ValidationError as error:
        raise _explained(name, files, error) from None
    return JudgeSpec(name=name, origin=str(files[-1].path), **entry.model_dump(exclude_unset=True))


def _explained(name: str, files: Sequence[_File], error: ValidationError) -> RegistryError:
    """Return one line for pydantic's first complaint, with the key's file and line."""
    path, kind, said = first_complaint(error)
    key = path[0] if path else ""
    file = next((each for each in reversed(files) if key in dict(each.entries())[name]), files[-1])
    at = f"{file.where(name, *path)}: {'.'.join(visible(str(each))[:60] for each in (name, *path))}"
    if kind == "extra_forbidden":
        return RegistryError(
            f"{at}: no such key", f"The comment at the top of {shipped('models.yaml')} lists all keys."
        )
    return RegistryError(f"{at}: {said}", "Put it in quotes." if kind == "string_type" else "Correct it there.")
