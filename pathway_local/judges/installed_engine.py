"""Reads from vLLM's files which settings and models it supports, since importing vLLM takes many seconds."""

import ast
from collections.abc import Iterator, Mapping
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from pathway_local.errors import EngineMissing
from pathway_local.judges.architecture import class_names
from pathway_local.system.installed import EITHER_BUILD, vllm_version

_ARGUMENTS = "engine/arg_utils.py"
_MODELS = "model_executor/models/registry.py"


@lru_cache(1)
def settings_names() -> tuple[str, ...]:
    """Return the names of vLLM's settings: the fields of its EngineArgs. Raises EngineMissing."""
    for node in _parsed(_ARGUMENTS).body:
        if isinstance(node, ast.ClassDef) and node.name == "EngineArgs":
            fields = [part.target for part in node.body if isinstance(part, ast.AnnAssign)]
            return tuple(target.id for target in fields if isinstance(target, ast.Name))
    raise _unknown(_ARGUMENTS)


@lru_cache(1)
def architectures() -> frozenset[str]:
    """Return the architectures that the installed vLLM runs, as `config.json` names them. Raises EngineMissing."""
    tables = dict(_tables(_parsed(_MODELS)))
    if "_VLLM_MODELS" not in tables:
        raise _unknown(_MODELS)
    return frozenset(_names(tables["_VLLM_MODELS"], tables))


def check_architecture(config: Mapping[str, object]) -> str:
    """Return in words how vLLM runs the model of this `config.json`. Raises EngineMissing if it can't."""
    named = class_names(config)
    found = vllm_version()
    if not named:
        return f"its config names no architecture; vLLM {found} goes by its model_type"
    if known := [name for name in named if name in architectures()]:
        return f"{known[0]}, which vLLM {found} knows"
    if _transformers_knows(str(config.get("model_type", ""))):
        return f"{named[0]}, which vLLM {found} does not know, but may run through transformers"
    raise EngineMissing(
        f"vLLM {found} knows no model of the architecture {named[0][:80]!r}",
        "Update vLLM if the model is newer, or use another judge: code that comes with a model is never run.",
    )


def _transformers_knows(model_type: str) -> bool:
    found = find_spec("transformers")
    if not found or not found.submodule_search_locations or not model_type.replace("-", "_").isidentifier():
        return False
    return (Path(found.submodule_search_locations[0]) / "models" / model_type.replace("-", "_")).is_dir()


def _parsed(file: str) -> ast.Module:
    found = find_spec("vllm")
    if not found or not found.submodule_search_locations:
        raise EngineMissing("vLLM is not installed", f"Install it: {EITHER_BUILD}.")
    try:
        return ast.parse((Path(found.submodule_search_locations[0]) / file).read_bytes())
    except (OSError, SyntaxError):
        raise _unknown(file) from None


def _unknown(file: str) -> EngineMissing:
    said = f"vLLM {vllm_version()} has another {file} than expected"
    return EngineMissing(said, "Install the version that this release was tested with.")


def _tables(tree: ast.Module) -> Iterator[tuple[str, ast.Dict]]:
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict):
            yield from ((target.id, node.value) for target in node.targets if isinstance(target, ast.Name))


def _names(table: ast.Dict, tables: Mapping[str, ast.Dict]) -> Iterator[str]:
    """Yield the keys of a table, and of the tables that it includes by `**`."""
    for key, value in zip(table.keys, table.values, strict=True):
        if isinstance(key, ast.Constant):
            yield str(key.value)
        elif key is None and isinstance(value, ast.Name) and value.id in tables:
            yield from _names(tables[value.id], tables)
