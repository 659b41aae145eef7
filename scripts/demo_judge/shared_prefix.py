"""Attention of many rows to one prefix, whose keys and values are held once and take no gradient.

The usual cache copies them into every row, and training computes gradients that nobody uses: with a rubric of 1,000
tokens or more, that takes most of the time.
"""

from collections.abc import Sequence
from typing import Any

import torch
from transformers import AttentionInterface, DynamicCache, Qwen3ForCausalLM

NAME = "shared_prefix"

KeysAndValues = list[tuple[torch.Tensor, torch.Tensor]]
"""Keys and values of each layer, of shape (heads, prefix, head size)."""


def keys_and_values(network: Qwen3ForCausalLM, prefix: Sequence[int]) -> KeysAndValues:
    """Return the keys and values of `prefix`."""
    cache = DynamicCache(config=network.config)
    ids = torch.tensor([prefix], device=network.device)
    with torch.no_grad():
        network.model(input_ids=ids, past_key_values=cache, use_cache=True)
    return [(layer.keys[0], layer.values[0]) for layer in cache.layers]


def attend(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    *,
    scaling: float,
    prefix: KeysAndValues,
    **_: Any,
) -> tuple[torch.Tensor, None]:
    """Return the causal attention of each row to itself and of all rows to the prefix, in one softmax.

    Shapes are (rows, heads, tokens, head size). Both parts subtract the larger of their maxima, so that exp can't
    overflow.
    """
    rows, heads, tokens, size = query.shape
    first_keys, first_values = prefix[module.layer_idx]
    together = query.transpose(0, 1).reshape(heads, rows * tokens, size)
    before = (together @ first_keys.transpose(1, 2) * scaling).float()
    later = torch.ones(tokens, tokens, dtype=torch.bool, device=query.device).triu(1)
    own = (query @ key.transpose(2, 3) * scaling).float().masked_fill(later, -torch.inf)

    before_top = before.amax(-1, keepdim=True).view(heads, rows, tokens, 1).transpose(0, 1)
    top = torch.maximum(own.amax(-1, keepdim=True), before_top).detach()
    own = (own - top).exp()
    before = (before - top.transpose(0, 1).reshape(heads, rows * tokens, 1)).exp()
    mass = own.sum(-1, keepdim=True) + before.sum(-1).view(heads, rows, tokens, 1).transpose(0, 1)
    from_before = (before.to(query.dtype) @ first_values).view(heads, rows, tokens, size).transpose(0, 1)
    mixed = (own.to(query.dtype) @ value + from_before) / mass.to(query.dtype)
    return mixed.transpose(1, 2), None


AttentionInterface.register(NAME, attend)
