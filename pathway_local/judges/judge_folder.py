"""Completes a judge's entry from its folder: config, chat template, size of the weights."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pathway_local.judges.architecture import Config, Layers, architecture, context, text_config
from pathway_local.judges.chat_template import read_template
from pathway_local.judges.judge_spec import JudgeSpec
from pathway_local.judges.weights import read_json, weight_files, weights_bytes
from pathway_local.system.machine import GB

_DTYPES = {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32"}
_METHODS = {"fp8": "fp8", "fbgemm_fp8": "fp8", "mxfp4": "mxfp4", "awq": "awq", "gptq": "gptq", "nvfp4": "nvfp4"}


def complete(spec: JudgeSpec, folder: Path) -> JudgeSpec:
    """Return the entry, completed from its folder; `inferred` lists what was read there.

    Raises EngineError if the folder's config can't be read.
    """
    config = read_json(folder / "config.json")
    told: dict[str, tuple[Any, str]] = {}
    if spec.context is None and (tokens := context(config)):
        told["context"] = tokens, f"context of {tokens:,} tokens, from config.json"
    if spec.architecture is None and (found := architecture(config)):
        told |= {key: (getattr(found, key), "") for key in Layers.model_fields}
        told["layers"] = found.layers, f"{_sketch(found)}, from config.json"
    if "precision" not in spec.model_fields_set and (stored := precision(config)):
        told["precision"] = stored, f"precision {stored}, from config.json"
    if spec.weights_gb is None and all(path.is_file() for path in weight_files(folder)):
        size = weights_bytes(folder) / GB
        told |= {"weights_gb": (size, f"{size:.3g} GB of weights, from the files")} if size else {}
    told |= _template(spec, folder)
    if not told:
        return spec
    lines = tuple(line for _, line in told.values() if line)
    return spec.model_copy(update={key: value for key, (value, _) in told.items()} | {"inferred": lines})


def _sketch(found: Layers) -> str:
    kept = f"{found.latent} numbers" if found.latent else f"{found.kv_heads} heads of {found.head_size}"
    parts = [f"{found.layers} layers that keep {kept} of every token"]
    if found.sliding:
        parts.append(f"{found.sliding.layers} with a window of {found.sliding.window:,}")
    if found.recurrent:
        parts.append(f"{found.recurrent.layers} recurrent ones")
    return ", ".join(parts)


def precision(config: Config) -> str | None:
    """Return the precision that a model is stored in, by its `config.json`; None if it names none that we know."""
    quantized = config.get("quantization_config")
    if not isinstance(quantized, Mapping):
        text = text_config(config)
        return _DTYPES.get(str(text.get("dtype") or text.get("torch_dtype")))
    algorithm = str(quantized.get("quant_algo", "")).lower()
    method = str(quantized.get("quant_method", "")).lower()
    return _METHODS.get(algorithm) or _METHODS.get(method) or _compressed(quantized)


def _compressed(quantized: Config) -> str | None:
    groups = quantized.get("config_groups")
    for group in groups.values() if isinstance(groups, Mapping) else ():
        weights = group.get("weights") if isinstance(group, Mapping) else None
        if isinstance(weights, Mapping):
            named = {"4 float": "nvfp4", "4 int": "w4a16", "8 float": "fp8", "8 int": "int8"}
            return named.get(f"{weights.get('num_bits')} {weights.get('type')}")
    return None


def _template(spec: JudgeSpec, folder: Path) -> dict[str, tuple[Any, str]]:
    told: dict[str, tuple[Any, str]] = {}
    if {"system", "thinking", "end_of_turn"} <= spec.model_fields_set:
        return told
    found = read_template(folder, thinking="thinking" not in spec.model_fields_set)
    if "system" not in spec.model_fields_set and found.system == "fold":
        told["system"] = "fold", "the chat template has no system turn: its text goes into the user's turn"
    if "thinking" not in spec.model_fields_set and found.known:
        line = f"its chat template: {found.thinks}; off unless you give --think" if found.thinks else ""
        told["thinking"] = found.thinking, line
    if "end_of_turn" not in spec.model_fields_set and found.ends:
        told["end_of_turn"] = found.ends, f"a reply ends with {' or '.join(found.ends)}, as in its chat template"
    return told
