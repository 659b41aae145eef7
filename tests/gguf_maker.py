"""Writes GGUF files, and wheels that hold one: a Llama of two layers with random weights."""

import json
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tiny_bundle import make_wheel
from tiny_judge import END, PAD, START, TEMPLATE

LAYERS, WIDTH, INNER, HEADS, KV_HEADS = 2, 64, 128, 4, 2
F32, Q4_1, Q8_0 = 0, 3, 8
INSIDE = "tiny_model/tiny.gguf"
EVIL = "from pathlib import Path\nPath({mark!r}).touch()\n"


def tiny_facts(folder: Path, **changed: object) -> dict[str, object]:
    """The facts of a GGUF file with the tokens of the judge in `folder`; a fact of None is left out."""
    model = json.loads((folder / "tokenizer.json").read_text())["model"]
    tokens = sorted(model["vocab"], key=model["vocab"].__getitem__)
    facts: dict[str, object] = {
        "general.architecture": "llama",
        "llama.block_count": LAYERS,
        "llama.context_length": 8192,
        "llama.embedding_length": WIDTH,
        "llama.feed_forward_length": INNER,
        "llama.attention.head_count": HEADS,
        "llama.attention.head_count_kv": KV_HEADS,
        "llama.attention.layer_norm_rms_epsilon": 1e-5,
        "llama.rope.freq_base": 1e5,
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "smollm",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": [3 if token in (PAD, START, END) else 1 for token in tokens],
        "tokenizer.ggml.merges": [" ".join(pair) for pair in model["merges"]],
        "tokenizer.ggml.bos_token_id": tokens.index(START),
        "tokenizer.ggml.eos_token_id": tokens.index(END),
        "tokenizer.ggml.unknown_token_id": tokens.index(PAD),
        "tokenizer.ggml.padding_token_id": tokens.index(END),
        "tokenizer.chat_template": TEMPLATE,
    }
    return {key: value for key, value in (facts | changed).items() if value is not None}


def tiny_tensors(tokens: int) -> dict[str, tuple[int, tuple[int, ...]]]:
    """The kind and the shape of each tensor of the tiny Llama."""
    head = WIDTH // HEADS
    tensors = {"token_embd.weight": (Q8_0, (tokens, WIDTH)), "output_norm.weight": (F32, (WIDTH,))}
    for layer in range(LAYERS):
        shapes = {
            "attn_q": (WIDTH, WIDTH),
            "attn_k": (KV_HEADS * head, WIDTH),
            "attn_v": (KV_HEADS * head, WIDTH),
            "attn_output": (WIDTH, WIDTH),
            "ffn_gate": (INNER, WIDTH),
            "ffn_up": (INNER, WIDTH),
            "ffn_down": (WIDTH, INNER),
        }
        tensors |= {f"blk.{layer}.{name}.weight": (Q4_1, shape) for name, shape in shapes.items()}
        tensors |= {f"blk.{layer}.{name}.weight": (F32, (WIDTH,)) for name in ("attn_norm", "ffn_norm")}
    return tensors


def gguf(facts: Mapping[str, object], tensors: Mapping[str, tuple[int, Sequence[int]]], seed: int = 0) -> bytes:
    """Return a GGUF file of random numbers."""
    rng, places, blocks = np.random.default_rng(seed), b"", b""
    for name, (kind, shape) in tensors.items():
        sizes = b"".join(struct.pack("<Q", size) for size in reversed(shape))
        places += _text(name) + struct.pack("<I", len(shape)) + sizes + struct.pack("<IQ", kind, len(blocks))
        blocks += _blocks(kind, int(np.prod(shape)), rng)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(facts))
    head += b"".join(_text(key) + _value(value) for key, value in facts.items()) + places
    return head + b"\0" * (-len(head) % 32) + blocks


def tiny_gguf(judge: Path, **changed: object) -> bytes:
    """Return the GGUF file of the tiny Llama."""
    facts = tiny_facts(judge, **changed)
    return gguf(facts, tiny_tensors(len(tiny_facts(judge)["tokenizer.ggml.tokens"])))  # type: ignore[arg-type]


def model_wheel(folder: Path, data: bytes, mark: Path) -> Path:
    """Write a wheel that holds a GGUF file, and code that touches `mark` if anything imports it."""
    code = {"tiny_model/__init__.py": EVIL.format(mark=str(mark))}
    return make_wheel(folder, "tiny_model", "1.0", {**code, INSIDE: data})


def _blocks(kind: int, numbers: int, rng: np.random.Generator) -> bytes:
    if kind == F32:
        return rng.normal(1, 0.1, numbers).astype("<f4").tobytes()
    assert numbers % 32 == 0
    count = numbers // 32
    scales = rng.uniform(0.001, 0.01, (count, 1 if kind == Q8_0 else 2)).astype("<f2")
    packed = rng.integers(0, 256, (count, 32 if kind == Q8_0 else 16), np.uint8)
    return b"".join(scale.tobytes() + block.tobytes() for scale, block in zip(scales, packed, strict=True))


def _text(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()


def _value(value: Any) -> bytes:
    if isinstance(value, list):
        inner = 8 if isinstance(value[0], str) else 5
        items = b"".join(_text(each) if inner == 8 else struct.pack("<i", each) for each in value)
        return struct.pack("<IIQ", 9, inner, len(value)) + items
    if isinstance(value, str):
        return struct.pack("<I", 8) + _text(value)
    return struct.pack("<If", 6, value) if isinstance(value, float) else struct.pack("<II", 4, value)
