"""Checks a judge's config, weights, hash and engine settings."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import ConfigDict, PositiveInt, TypeAdapter, ValidationError, with_config
from typing_extensions import TypedDict

from pathway_local.check import Check, checked
from pathway_local.errors import EngineError, RegistryError
from pathway_local.judges.judge_spec import JudgeSpec
from pathway_local.judges.limited_process import AGAIN
from pathway_local.judges.model_config import context
from pathway_local.judges.weights import (
    check_folder,
    read_json,
    tensor_names,
    weight_files,
    weights_bytes,
    weights_hash,
)
from pathway_local.system.machine import GB, Machine, uses_gpu
from pathway_local.system.safe_yaml import first_complaint


@with_config(ConfigDict(extra="forbid", strict=True, allow_inf_nan=False))
class EngineSettings(TypedDict, total=False):
    """vLLM's settings that a judge may use. None of them names code or a pickle that vLLM would load."""

    block_size: int
    compilation_config: Any
    config_format: str
    cpu_offload_gb: float
    enable_chunked_prefill: bool
    enable_prefix_caching: bool
    enforce_eager: bool
    gpu_memory_utilization: float
    kv_cache_dtype: str
    kv_cache_memory_bytes: int
    language_model_only: bool
    limit_mm_per_prompt: dict[str, Any]
    load_format: Literal["safetensors", "dummy"]
    max_num_batched_tokens: int
    max_num_seqs: int
    pipeline_parallel_size: PositiveInt
    quantization: str
    seed: int
    tensor_parallel_size: PositiveInt
    tokenizer_mode: str


_SETTINGS = TypeAdapter(EngineSettings)

PARALLEL = "tensor_parallel_size"
MEMORY_SHARE = "gpu_memory_utilization"
CACHE_BYTES = "kv_cache_memory_bytes"


def check_settings(judge: JudgeSpec) -> None:
    """Raise RegistryError if the judge makes a setting of vLLM that it may not make, or of a wrong kind."""
    try:
        _SETTINGS.validate_python(judge.engine)
    except ValidationError as error:
        (name, *_), kind, said = first_complaint(error)
        said = "is not an allowed engine setting" if kind == "extra_forbidden" else said
        hint = f"Allowed are: {', '.join(EngineSettings.__annotations__)}. Its other keys set model, context and dtype."
        raise RegistryError(f"judge {judge.name!r}: engine.{str(name)[:60]} {said}", hint) from None


def computed_in(judge: JudgeSpec, machine: Machine) -> str:
    """Return the number type in which this machine computes the judge's scores; "auto" leaves it to the engine.

    For "auto" vLLM takes 16 bits, even for 32-bit weights. A processor without bfloat16 computes in float32, unless
    the judge's entry names a type.
    """
    plain = judge.precision in ("bf16", "fp16", "fp32") and "quantization" not in judge.engine
    slow = not machine.bf16 and not (machine.gpus and uses_gpu())
    return "float32" if judge.dtype == "auto" and plain and slow else judge.dtype


def file_checks(spec: JudgeSpec, folder: Path) -> Iterator[Check]:
    """Check the files, the cheapest checks first: the last one reads every byte."""
    yield checked("config", lambda: _config(folder))
    yield checked("engine settings", lambda: _settings(spec))
    yield checked("weights", lambda: _weights(spec, folder))


def checked_hash(spec: JudgeSpec, folder: Path) -> str:
    """Return the hash of a judge's weights and texts. Raises EngineError if the registry has another hash.

    Raises WeightsMissing if a file of weights is incomplete: an engine would say so late and unclearly.
    """
    for path in weight_files(folder):
        tensor_names(path)
    found = weights_hash(folder)
    if spec.sha256 and spec.sha256 != found:
        said = f"judge {spec.name!r}: the files in {folder} have the hash {found}, the registry has {spec.sha256}"
        raise EngineError(said, f"{AGAIN} If the files are the right ones, correct sha256 in the registry.")
    return found


def _config(folder: Path) -> Check:
    config = read_json(folder / "config.json")
    tokens = context(config)
    said = f"context {tokens:,} tokens" if tokens else "no context given"
    if isinstance(config.get("auto_map"), Mapping):
        return Check("config", "note", f"{said}; it comes with its own code, which we never run")
    return Check("config", "ok", said)


def _settings(spec: JudgeSpec) -> Check:
    check_settings(spec)
    said = ", ".join(f"{name}: {value}" for name, value in spec.engine.items())
    return Check("engine settings", "ok", said or "only the defaults")


def _weights(spec: JudgeSpec, folder: Path) -> Check:
    files = weight_files(check_folder(folder, spec.name))
    found = checked_hash(spec, folder)
    number = f"{len(files)} safetensors {'file' if len(files) == 1 else 'files'}, {weights_bytes(folder) / GB:.3g} GB"
    known = f"their hash is the registry's, {found}" if spec.sha256 else f"the registry has no hash to compare: {found}"
    return Check("weights", "ok" if spec.sha256 else "note", f"{number}; {known}")
