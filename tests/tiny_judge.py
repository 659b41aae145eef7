"""A judge of two layers with random weights: its replies are noise, so what reads them must hold up by itself."""

import json
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

REPOSITORY = Path(__file__).parents[1]
END, START, PAD = "<|im_end|>", "<|im_start|>", "<|endoftext|>"
VOCABULARY, WIDTH, LAYERS, HEADS, KV_HEADS, HEAD = 4000, 128, 2, 4, 2, 32
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def make_tiny_judge(folder: Path) -> Path:
    """A Qwen3-shaped model folder: config, byte-level BPE tokenizer of the rubrics' and samples' text, safetensors."""
    tokenizer = _tokenizer()
    tokenizer.save(str(folder / "tokenizer.json"))
    told = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": END, "pad_token": PAD, "chat_template": TEMPLATE}
    (folder / "tokenizer_config.json").write_text(json.dumps(told))
    return write_model(folder, tokenizer.get_vocab_size(), eos=tokenizer.token_to_id(END))


def write_model(folder: Path, size: int, eos: int, favourite: int | None = None) -> Path:
    """Config and random weights for a vocabulary of that size. `favourite` is an id that comes up once in 20 tokens."""
    config = {
        "architectures": ["Qwen3ForCausalLM"],
        "model_type": "qwen3",
        "vocab_size": size,
        "hidden_size": WIDTH,
        "intermediate_size": 2 * WIDTH,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "num_key_value_heads": KV_HEADS,
        "head_dim": HEAD,
        "max_position_embeddings": 8192,
        "rms_norm_eps": 1e-6,
        "rope_theta": 10000.0,
        "hidden_act": "silu",
        "attention_bias": False,
        "tie_word_embeddings": True,
        "eos_token_id": eos,
        "dtype": "float32",
    }
    (folder / "config.json").write_text(json.dumps(config))
    weights = _weights(size)
    if favourite is not None:
        _favour(weights["model.embed_tokens.weight"], favourite)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


def _favour(table: np.ndarray, favourite: int) -> None:
    """Let one dimension be as good as constant, so that this row's larger share of it adds to its logit."""
    table[:, 0] = 1.0
    after_norm = 1.0 / np.sqrt(np.mean(np.square(table), axis=1)).mean()
    table[favourite, 0] += np.log(len(table) / 20) / after_norm


def _tokenizer() -> Tokenizer:
    # Texts that seldom change: every edit of them changes what this judge says.
    kinds = ("prompts/*.prompty", "tests/hand_written_samples/*.csv", "tests/hand_written_samples/*.jsonl")
    sources = sorted(path for kind in kinds for path in REPOSITORY.glob(kind))
    texts = (path.read_text("utf-8") for path in sources)
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY, special_tokens=[PAD, START, END], initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def _weights(vocabulary: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)

    def random(*shape: int) -> np.ndarray:
        return rng.normal(0, 0.05, shape).astype(np.float32)

    weights = {"model.embed_tokens.weight": random(vocabulary, WIDTH), "model.norm.weight": np.ones(WIDTH, np.float32)}
    for layer in range(LAYERS):
        shapes = {
            "self_attn.q_proj": (HEADS * HEAD, WIDTH),
            "self_attn.k_proj": (KV_HEADS * HEAD, WIDTH),
            "self_attn.v_proj": (KV_HEADS * HEAD, WIDTH),
            "self_attn.o_proj": (WIDTH, HEADS * HEAD),
            "mlp.gate_proj": (2 * WIDTH, WIDTH),
            "mlp.up_proj": (2 * WIDTH, WIDTH),
            "mlp.down_proj": (WIDTH, 2 * WIDTH),
        }
        norms = {"self_attn.q_norm": HEAD, "self_attn.k_norm": HEAD, "input_layernorm": WIDTH}
        norms["post_attention_layernorm"] = WIDTH
        weights |= {f"model.layers.{layer}.{name}.weight": random(*shape) for name, shape in shapes.items()}
        weights |= {f"model.layers.{layer}.{name}.weight": np.ones(n, np.float32) for name, n in norms.items()}
    return weights
