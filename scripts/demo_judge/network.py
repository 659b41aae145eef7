"""The demo judge's network: its shape, the cache of a shared prefix, and greedy writing."""

from collections.abc import Sequence

import torch
from transformers import DynamicCache, Qwen3Config, Qwen3ForCausalLM

WIDTH, LAYERS, HEAD = 192, 5, 32
CONTEXT = 8192


def new_network(vocabulary: int, end_id: int, pad_id: int) -> Qwen3ForCausalLM:
    """Return a network of random weights; seed torch first."""
    config = Qwen3Config(
        vocab_size=vocabulary,
        hidden_size=WIDTH,
        intermediate_size=3 * WIDTH,
        num_hidden_layers=LAYERS,
        num_attention_heads=WIDTH // HEAD,
        num_key_value_heads=WIDTH // HEAD,
        head_dim=HEAD,
        max_position_embeddings=CONTEXT,
        tie_word_embeddings=True,
        eos_token_id=end_id,
        pad_token_id=pad_id,
    )
    return Qwen3ForCausalLM(config)


def prefix_cache(network: Qwen3ForCausalLM, prefix: Sequence[int], copies: int) -> DynamicCache:
    """Return keys and values of `prefix` for a batch of `copies` rows that begin with it, without gradients."""
    cache = DynamicCache(config=network.config)
    if prefix:
        ids = torch.tensor([prefix], device=network.device)
        with torch.no_grad():
            network.model(input_ids=ids, past_key_values=cache, use_cache=True)
        cache.batch_repeat_interleave(copies)
    return cache


def write_greedily(
    network: Qwen3ForCausalLM, prefix: Sequence[int], rests: Sequence[Sequence[int]], limit: int
) -> list[list[int]]:
    """Return the network's continuation of `prefix` + each of `rests`: at most `limit` ids, without the end id."""
    with torch.no_grad():
        return _write(network, prefix, rests, limit)


def _write(
    network: Qwen3ForCausalLM, prefix: Sequence[int], rests: Sequence[Sequence[int]], limit: int
) -> list[list[int]]:
    end, pad = network.config.eos_token_id, network.config.pad_token_id
    width = max(map(len, rests))
    ids = torch.tensor([[pad] * (width - len(rest)) + list(rest) for rest in rests], device=network.device)
    mask = torch.tensor([[0] * (width - len(rest)) + [1] * len(rest) for rest in rests], device=network.device)
    mask = torch.cat([mask.new_ones(len(rests), len(prefix)), mask], dim=1)
    cache = prefix_cache(network, prefix, len(rests))
    positions = (mask.cumsum(1) - 1).clamp(min=0)[:, len(prefix) :]
    written = torch.full((len(rests), 0), pad, device=network.device)
    open_rows = torch.ones(len(rests), dtype=torch.bool, device=network.device)
    for _ in range(limit):
        hidden = network.model(
            input_ids=ids, attention_mask=mask, position_ids=positions, past_key_values=cache, use_cache=True
        ).last_hidden_state[:, -1]
        ids = network.lm_head(hidden).argmax(-1, keepdim=True)
        written = torch.cat([written, ids], dim=1)
        open_rows &= ids[:, 0] != end
        if not open_rows.any():
            break
        mask = torch.cat([mask, mask.new_ones(len(rests), 1)], dim=1)
        positions = positions[:, -1:] + 1
    return [row[: row.index(end)] if end in row else row for row in written.tolist()]
