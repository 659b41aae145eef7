"""The demo judge's network: its shape and size."""

from transformers import Qwen3Config, Qwen3ForCausalLM

from demo_judge.lessons import CONTEXT

WIDTH, LAYERS, HEAD = 192, 5, 32


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
