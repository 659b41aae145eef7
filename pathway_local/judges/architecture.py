"""Reads from a model's `config.json` what the model keeps in memory for each token.

An attention layer keeps a key and a value of every token (Vaswani et al. 2017), fewer heads of them under
grouped-query attention (Ainslie et al. 2023), one compressed vector under latent attention (DeepSeek-V2,
2024), and only a window's worth where attention slides. A recurrent layer (Mamba, gated delta networks)
keeps one state of fixed size per case.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

Config = Mapping[str, object]
Count = Annotated[int, Field(gt=0, le=2**40)]

_SLIDING = {"sliding_attention", "chunked_attention", "local_attention"}
_STATE = {"linear_attention", "mamba", "mamba2", "recurrent", "M"}
_FULL = {"full_attention", "attention", "global_attention", "hybrid", "*"}
_TEXT = ("text_config", "llm_config", "language_config", "thinker_config")


class Keys(BaseModel):
    """Keys of an entry in a registry file; unknown ones are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Sliding(Keys):
    """Attention layers that keep only the last `window` tokens."""

    layers: Count
    kv_heads: Count
    head_size: Count
    window: Count


class Recurrent(Keys):
    """Layers that keep one state per case, whatever its length: `size` bytes each."""

    layers: Count
    size: Count


class Layers(Keys):
    """The layers that keep something of a case.

    `layers`, `kv_heads` and `head_size` (or `latent`, the numbers that a token keeps under latent attention) describe
    the attention layers that keep every token, `sliding` and `recurrent` the others.
    """

    layers: Annotated[int, Field(ge=0, le=10_000)] | None = None
    kv_heads: Count | None = None
    head_size: Count | None = None
    latent: Count | None = None
    sliding: Sliding | None = None
    recurrent: Recurrent | None = None

    @property
    def width(self) -> int:
        """Numbers that one token keeps in a layer that keeps every token; 0 if unknown."""
        return self.latent or 2 * (self.kv_heads or 0) * (self.head_size or 0)


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


def architecture(config: Config) -> Layers | None:
    """Return the layers that a `config.json` describes; None if it does not say enough, or impossible numbers."""
    text = text_config(config)
    kinds = _layer_kinds(text)
    heads = whole(text, "num_attention_heads", "n_head")
    hidden = whole(text, "hidden_size", "n_embd", "d_model")
    head_size = whole(text, "head_dim") or (hidden // heads if hidden and heads else None)
    kv_heads = whole(text, "num_key_value_heads", "num_kv_heads") or heads
    if not kinds or not head_size or not kv_heads:
        return None
    # The last layers of such a model (Gemma 3n) read the keys and values of earlier layers and keep none themselves.
    if (shared := whole(text, "num_kv_shared_layers")) and shared < len(kinds):
        kinds = kinds[:-shared]
    full, slides, states = (sum(kind in named for kind in kinds) for named in (_FULL, _SLIDING, _STATE))
    window, state = whole(text, "sliding_window", "attention_chunk_size"), _state_size(text)
    if not (full or (slides and window) or (states and state)):
        return None  # no case would take any memory
    sliding = {"layers": slides, "kv_heads": kv_heads, "head_size": head_size, "window": window}
    others = {
        "sliding": sliding if slides and window else None,
        "recurrent": {"layers": states, "size": state} if states and state else None,
    }
    try:
        return Layers.model_validate({"layers": full, **_kept(text, kv_heads, head_size), **others})
    except ValidationError:
        return None  # no model has so many


def context(config: Config) -> int | None:
    """Return the most tokens that the model supports."""
    return whole(text_config(config), "max_position_embeddings", "n_positions", "max_seq_len", "seq_length")


def _kept(text: Config, kv_heads: int, head_size: int) -> dict[str, int]:
    """Return what the layers that keep every token keep of one."""
    rank, rope = whole(text, "kv_lora_rank"), whole(text, "qk_rope_head_dim")
    if rank and rope:
        return {"latent": rank + rope}
    # Gemma 4's global layers have heads of their own number and size; the number counts only under K = V.
    if wide := whole(text, "global_head_dim"):
        shared = whole(text, "num_global_key_value_heads") if text.get("attention_k_eq_v") else None
        return {"kv_heads": shared or kv_heads, "head_size": wide}
    return {"kv_heads": kv_heads, "head_size": head_size}


def _layer_kinds(text: Config) -> list[str]:
    # The first two are lists of names; the third is a text with one letter a layer, such as "M-M*".
    for key in ("layer_types", "layers_block_type", "hybrid_override_pattern"):
        kinds = text.get(key)
        if isinstance(kinds, Sequence) and kinds and all(isinstance(kind, str) for kind in kinds):
            return list(kinds)
    layers = whole(text, "num_hidden_layers", "n_layer", "num_layers") or 0
    if layers > 10_000:
        return []
    if every := whole(text, "full_attention_interval"):
        return ["linear_attention" if (at + 1) % every else "full_attention" for at in range(layers)]
    if every := whole(text, "sliding_window_pattern", "_sliding_window_pattern"):
        return ["sliding_attention" if (at + 1) % every else "full_attention" for at in range(layers)]
    # Some configs (Qwen 2) name a window that they switch off, or one as long as the context: neither saves memory.
    window = whole(text, "sliding_window")
    slides = window and text.get("use_sliding_window") is not False and window < (context(text) or window + 1)
    return ["sliding_attention" if slides else "full_attention"] * layers


def _state_size(text: Config) -> int:
    """Return the bytes of a recurrent layer's state: the recurrence in 32 bits, its short convolution in 16."""

    def number(*keys: str) -> int:
        return whole(text, *keys) or 0

    if value_heads := number("linear_num_value_heads"):
        key_size, value_size = number("linear_key_head_dim"), number("linear_value_head_dim")
        recurrence = value_heads * key_size * value_size
        channels = 2 * number("linear_num_key_heads") * key_size + value_heads * value_size
        kernel = number("linear_conv_kernel_dim")
    else:
        inner = number("mamba_num_heads", "mamba_n_heads") * number("mamba_head_dim", "mamba_d_head")
        size = number("ssm_state_size", "mamba_d_state")
        recurrence = inner * size
        channels = inner + 2 * number("n_groups", "mamba_n_groups") * size
        kernel = number("conv_kernel", "mamba_d_conv")
    return 4 * recurrence + 2 * channels * max(kernel - 1, 0)
