"""Checks of a judge's config, engine settings, weights and hash."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from pathway_local.check import Check, checked
from pathway_local.errors import EngineError
from pathway_local.judges.architecture import context
from pathway_local.judges.engine_settings import check_architecture, resolve
from pathway_local.judges.judge_spec import JudgeSpec
from pathway_local.judges.weights import (
    changed_files,
    check_folder,
    read_json,
    read_record,
    tensor_names,
    weight_files,
    weights_hash,
)
from pathway_local.system.machine import GB, Machine, vllm_version

_AGAIN = "Fetch or copy it again."


def file_checks(spec: JudgeSpec, folder: Path, machine: Machine) -> Iterator[Check]:
    """Check the files, the cheapest checks first: the hash reads every byte."""
    yield checked("config", lambda: _config(folder))
    yield checked("engine settings", lambda: _settings(spec, folder, machine))
    weights = checked("weights", lambda: _weights(spec, folder))
    yield weights
    if weights.status == "ok":
        yield checked("hash", lambda: _hash(spec, folder))


def checked_hash(spec: JudgeSpec, folder: Path) -> str:
    """Return the hash of a judge's weights and texts. Raises EngineError if the registry has another hash.

    Raises WeightsMissing if a file of weights is incomplete: an engine would say so late and unclearly.
    """
    for path in weight_files(folder):
        tensor_names(path)
    found = weights_hash(folder)
    if spec.sha256 and spec.sha256 != found:
        said = f"judge {spec.name!r}: the files in {folder} have the hash {found}, the registry has {spec.sha256}"
        raise EngineError(said, f"{_AGAIN} If the files are the right ones, correct sha256 in the registry.")
    return found


def _config(folder: Path) -> Check:
    config = read_json(folder / "config.json")
    tokens = context(config)
    said = f", context {tokens:,} tokens" if tokens else ", no context given"
    if not vllm_version():
        return Check("config", "note", f"readable{said}; without vLLM we can't check that it supports the model")
    found = check_architecture(config)
    if isinstance(config.get("auto_map"), Mapping):
        return Check("config", "note", f"{found}{said}; it comes with its own code, which we never run")
    return Check("config", "note" if "not know" in found else "ok", f"{found}{said}")


def _settings(spec: JudgeSpec, folder: Path, machine: Machine) -> Check:
    if not spec.engine:
        return Check("engine settings", "ok", "only the defaults")
    found = resolve(spec.engine, machine, read_json(folder / "config.json"), spec.name)
    return Check("engine settings", "ok", ", ".join(f"{name}: {value}" for name, value in found.items()))


def _weights(spec: JudgeSpec, folder: Path) -> Check:
    files = weight_files(check_folder(folder, spec.name))
    for path in files:
        tensor_names(path)
    total = sum(path.stat().st_size for path in files) / GB
    return Check("weights", "ok", f"{len(files)} safetensors {'file' if len(files) == 1 else 'files'}, {total:.3g} GB")


def _hash(spec: JudgeSpec, folder: Path) -> Check:
    found = checked_hash(spec, folder)
    if spec.sha256:
        return Check("hash", "ok", f"the registry's, {found}")
    record = read_record(folder)
    if record is None:
        return Check("hash", "note", f"neither the registry nor a record of a fetch has a hash to compare: {found}")
    if record.sha256 != found:
        changed = changed_files(folder, record)
        said = f"{', '.join(changed[:3]) or 'a file'} changed since it was fetched" + " and more" * (len(changed) > 3)
        return Check("hash", "problem", said, f"If you did not change it: delete {folder} and fetch or copy it again.")
    if spec.revision and record.revision != spec.revision:
        said = f"this is revision {record.revision}, but the registry names {spec.revision}"
        return Check("hash", "problem", said, f"Run `pathway-local judges fetch {spec.name}`.")
    return Check("hash", "ok", f"as fetched, {found}")
