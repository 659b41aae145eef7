"""A model's `config.json`: the part about the language model, its classes, and its context."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

Config = Mapping[str, object]
Count = Annotated[int, Field(gt=0, le=2**40)]

_DTYPES = {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32"}
_TEXT = ("text_config", "llm_config", "language_config", "thinker_config")


def text_config(config: Config) -> dict[str, object]:
    """Return the part of a config that describes the language model, with the outer keys under it."""
    outer = dict(config)
    for key in _TEXT:
        inner = config.get(key)
        if isinstance(inner, Mapping):
            return {**outer, **text_config(inner)}
    return outer


def class_names(config: Config) -> list[str]:
    """Return the model classes that a config names; any of them can run it."""
    given = config.get("architectures")
    return [str(name) for name in given] if isinstance(given, list) else []


def whole(config: Config, *keys: str) -> int | None:
    """Return the first of these keys that holds a whole number above zero."""
    for key in keys:
        value = config.get(key)
        if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**40:
            return value
    return None


def precision(config: Config) -> str | None:
    """Return the precision that a model is stored in; None if its config names none that we know."""
    if isinstance(config.get("quantization_config"), Mapping):
        return "quantized"
    text = text_config(config)
    return _DTYPES.get(str(text.get("dtype") or text.get("torch_dtype")))


def context(config: Config) -> int | None:
    """Return the most tokens that the model supports."""
    return whole(text_config(config), "max_position_embeddings", "n_positions", "max_seq_len", "seq_length")
