"""Makes judges of a real model's shape with dummy weights: as much work, but their replies are noise."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np
from safetensors.numpy import save_file
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

from pathway_local.rubrics.rubric_file import builtin_names, load_rubric

END, START, PAD = "<|im_end|>", "<|im_start|>", "<|endoftext|>"
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
LEARNT = 4000
"""Tokens learnt from the rubrics' text; made-up ones fill a larger vocabulary."""


SIZES = (
    *("num_hidden_layers", "hidden_size", "intermediate_size", "num_attention_heads", "num_key_value_heads"),
    *("head_dim", "vocab_size", "tie_word_embeddings", "dtype"),
)
Shape = Literal["tiny", "qwen3-0.6b", "qwen3-8b"]
SHAPES: dict[str, dict[str, Any]] = {
    "tiny": dict(zip(SIZES, (2, 128, 256, 4, 2, 32, LEARNT, True, "float32"), strict=True)),
    "qwen3-0.6b": dict(zip(SIZES, (28, 1024, 3072, 16, 8, 128, 151936, True, "bfloat16"), strict=True)),
    "qwen3-8b": dict(zip(SIZES, (36, 4096, 12288, 32, 8, 128, 151936, False, "bfloat16"), strict=True)),
}
"""Sizes of Qwen3-shaped models as their config names them."""


def make_judge(name: str, folder: Path) -> Path:
    """Write a folder with config, tokenizer and a stand-in for the weights; vLLM makes up dummy ones."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = _tokenizer(SHAPES[name]["vocab_size"])
    tokenizer.save(str(folder / "tokenizer.json"))
    told = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": END, "pad_token": PAD, "chat_template": TEMPLATE}
    (folder / "tokenizer_config.json").write_text(json.dumps(told))
    config = SHAPES[name] | {
        "architectures": ["Qwen3ForCausalLM"],
        "model_type": "qwen3",
        "max_position_embeddings": 32768,
        "rms_norm_eps": 1e-6,
        "rope_theta": 1e6,
        "hidden_act": "silu",
        "attention_bias": False,
        "eos_token_id": tokenizer.token_to_id(END),
        "pad_token_id": tokenizer.token_to_id(PAD),
    }
    (folder / "config.json").write_text(json.dumps(config))
    save_file({"nothing": np.zeros(1, np.float32)}, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


def _tokenizer(vocabulary: int) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    # Like Qwen3's: every digit is its own token and never joined with a blank.
    digits = pre_tokenizers.Digits(individual_digits=True)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([digits, pre_tokenizers.ByteLevel(add_prefix_space=False)])
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=LEARNT,
        special_tokens=[PAD, START, END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator((load_rubric(name).text for name in builtin_names()), trainer)
    described = json.loads(tokenizer.to_str())
    known = described["model"]["vocab"]
    for token in _made_tokens():
        if len(known) >= vocabulary:
            break
        known.setdefault(token, len(known))
    filled = Tokenizer.from_str(json.dumps(described))
    filled.add_special_tokens([AddedToken(token, special=True) for token in (PAD, START, END)])
    return filled


def _made_tokens() -> Iterator[str]:
    """Yield words of five letters, every second one with a blank before it, so that masks cost as much as real ones."""
    letters = "etaoinshrdlucmfw"
    for number in range(2 * len(letters) ** 5):
        word = "".join(letters[number // 2 // len(letters) ** place % len(letters)] for place in range(5))
        yield f"\u0120{word}" if number % 2 else word
