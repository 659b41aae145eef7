"""Converts a GGUF file of a small Llama into a judge's folder: config, tokenizer, chat template and safetensors.

The same file gives the same bytes everywhere, so that a registry can name the hash of the result. Neither torch nor
transformers takes part: what they write depends on their versions, and the tokenizer that transformers 5.19 makes of a
GGUF file does not split digits, which this model was trained with.

The format (version 3) is described in docs/gguf.md of ggml, the kinds of blocks in ggml-common.h. All numbers are
little-endian.
"""

import json
import re
import struct
from collections.abc import Callable, Mapping
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pathway_local.errors import EngineError
from pathway_local.judges.weights import WHOLE

_OUTER = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
    "output.weight": "lm_head.weight",
}
_OF_LAYER = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_KNOWN = {"general.architecture": "llama", "tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "smollm"}
_CONTROL = 3
"""The kind of a token that no text may become."""

_BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}


_TEXT, _LIST = 8, 9
_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_DEEPEST = 4
_USUAL_ALIGNMENT = 32

_F32 = np.dtype("<f4")
_Q8_0 = np.dtype([("scale", "<f2"), ("numbers", "i1", 32)])
_Q4_1 = np.dtype([("scale", "<f2"), ("least", "<f2"), ("pairs", "u1", 16)])


def _q8_0(blocks: NDArray[Any]) -> NDArray[np.float32]:
    found: NDArray[np.float32] = blocks["scale"].astype(np.float32)[:, None] * blocks["numbers"]
    return found


def _q4_1(blocks: NDArray[Any]) -> NDArray[np.float32]:
    steps = np.concatenate([blocks["pairs"] & 15, blocks["pairs"] >> 4], axis=1)
    scale, least = (blocks[name].astype(np.float32)[:, None] for name in ("scale", "least"))
    found: NDArray[np.float32] = steps * scale + least
    return found


_KINDS: Mapping[int, tuple[int, np.dtype[Any], Callable[[NDArray[Any]], NDArray[np.float32]]]] = {
    0: (1, _F32, lambda blocks: blocks),
    3: (32, _Q4_1, _q4_1),
    8: (32, _Q8_0, _q8_0),
}
"""The kinds of tensors that we read: numbers in a block, the block, and its numbers in float32."""


_DAMAGES = (struct.error, LookupError, ValueError, TypeError, AttributeError, ArithmeticError)


class GgufFile:
    """The `facts` of a GGUF file by key, and its tensors by name. Raises what `_DAMAGES` lists for another file."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0
        if self._take(4) != b"GGUF" or self._number("I") != 3:
            raise ValueError("it is no GGUF file of version 3")
        tensors, facts = self._number("Q"), self._number("Q")
        self.facts = {self._text(): self._value(self._number("I")) for _ in range(facts)}
        self._places = {self._text(): self._place() for _ in range(tensors)}
        step = self.facts.get("general.alignment", _USUAL_ALIGNMENT)
        self._begin = -(-self._at // step) * step

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of each tensor, outermost dimension first."""
        return {name: shape for name, (shape, _, _) in self._places.items()}

    def tensor(self, name: str) -> NDArray[np.float32]:
        """Return a tensor in float32."""
        shape, kind, offset = self._places[name]
        if kind not in _KINDS:
            raise ValueError(f"its tensor {name[:60]!r} is of kind {kind}, and only F32, Q4_1 and Q8_0 are read")
        size, block, numbers = _KINDS[kind]
        return numbers(np.frombuffer(self._data, block, prod(shape) // size, self._begin + offset)).reshape(shape)

    def _take(self, length: int) -> bytes:
        found = self._data[self._at : self._at + length]
        if len(found) < length:
            raise ValueError("the file ends too early")
        self._at += length
        return found

    def _number(self, code: str) -> Any:
        [found] = struct.unpack(f"<{code}", self._take(struct.calcsize(f"<{code}")))
        return found

    def _text(self) -> str:
        return self._take(self._number("Q")).decode()

    def _value(self, kind: int, depth: int = 0) -> Any:
        if kind == _TEXT:
            return self._text()
        if kind == _LIST and depth < _DEEPEST:
            inner, length = self._number("I"), self._number("Q")
            return [self._value(inner, depth + 1) for _ in range(length)]
        return self._number(_NUMBERS[kind])

    def _place(self) -> tuple[tuple[int, ...], int, int]:
        """Return a tensor's shape, its kind, and its offset in bytes."""
        sizes = [self._number("Q") for _ in range(self._number("I"))]
        return tuple(reversed(sizes)), self._number("I"), self._number("Q")


def write_judge(data: bytes, folder: Path) -> None:
    """Write a judge's folder from the bytes of a GGUF file. Raises EngineError for another kind of file, OSError."""
    folder.mkdir()
    try:
        file = GgufFile(data)
        for key, known in _KNOWN.items():
            if (found := file.facts.get(key)) != known:
                raise ValueError(f"its {key} is {str(found)[:40]!r}, and only {known!r} can be converted")
        for name, text in _texts(file.facts, tied="output.weight" not in file.shapes).items():
            (folder / name).write_text(text, "utf-8")
        _write_weights(file, folder / WHOLE)
    except _DAMAGES as error:
        raise EngineError(f"it is damaged, or of another kind ({type(error).__name__}: {str(error)[:120]})") from None


def _texts(facts: Mapping[str, Any], *, tied: bool) -> dict[str, str]:
    """Return the files beside the weights by name."""
    tokens, ids = facts["tokenizer.ggml.tokens"], _special(facts)
    named = {f"{kind}_token": tokens[number] for kind, number in ids.items()}
    objects: dict[str, object] = {
        "config.json": {**_config(facts, tied=tied), **_with_ids(ids)},
        "generation_config.json": _with_ids(ids),
        "tokenizer.json": _tokenizer(tokens, facts["tokenizer.ggml.token_type"], facts["tokenizer.ggml.merges"]),
        "tokenizer_config.json": {"tokenizer_class": "PreTrainedTokenizerFast", **named},
    }
    written = {name: json.dumps(each, ensure_ascii=False, indent=1) + "\n" for name, each in objects.items()}
    return {**written, "chat_template.jinja": facts["tokenizer.chat_template"]}


def _special(facts: Mapping[str, Any]) -> dict[str, int]:
    return {short: facts[f"tokenizer.ggml.{short}_token_id"] for short in ("bos", "eos")} | {
        "pad": facts["tokenizer.ggml.padding_token_id"],
        "unk": facts["tokenizer.ggml.unknown_token_id"],
    }


def _with_ids(ids: Mapping[str, int]) -> dict[str, int]:
    return {f"{kind}_token_id": number for kind, number in ids.items() if kind != "unk"}


def _config(facts: Mapping[str, Any], *, tied: bool) -> dict[str, object]:
    own = {key.removeprefix("llama."): value for key, value in facts.items() if key.startswith("llama.")}
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "dtype": "bfloat16",
        "vocab_size": len(facts["tokenizer.ggml.tokens"]),
        "max_position_embeddings": own["context_length"],
        "hidden_size": own["embedding_length"],
        "intermediate_size": own["feed_forward_length"],
        "num_hidden_layers": own["block_count"],
        "num_attention_heads": own["attention.head_count"],
        "num_key_value_heads": own["attention.head_count_kv"],
        "head_dim": own["embedding_length"] // own["attention.head_count"],
        "hidden_act": "silu",
        "rms_norm_eps": own["attention.layer_norm_rms_epsilon"],
        "rope_parameters": {"rope_type": "default", "rope_theta": own["rope.freq_base"]},
        "tie_word_embeddings": tied,
    }


def _tokenizer(tokens: list[str], kinds: list[int], merges: list[str]) -> dict[str, object]:
    marks = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    numbered = enumerate(zip(tokens, kinds, strict=True))
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": at, "content": token, **marks} for at, (token, kind) in numbered if kind == _CONTROL],
        "normalizer": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": True}, _BYTES]},
        "post_processor": None,
        "decoder": _BYTES,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": {token: at for at, token in enumerate(tokens)},
            "merges": [merge.split(" ") for merge in merges],
        },
    }


def _write_weights(file: GgufFile, path: Path) -> None:
    """Write all tensors as bfloat16, one after the other: safetensors' own writer needs torch for that type."""
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    end = 0
    for name, shape in file.shapes.items():
        begin, end = end, end + 2 * prod(shape)
        header[_name(name)] = {"dtype": "BF16", "shape": shape, "data_offsets": (begin, end)}
    described = json.dumps(header).encode()
    described += b" " * (-len(described) % 8)
    heads = {"attn_q": file.facts["llama.attention.head_count"], "attn_k": file.facts["llama.attention.head_count_kv"]}
    with path.open("xb") as stream:
        stream.write(len(described).to_bytes(8, "little") + described)
        for name in file.shapes:
            parts = heads.get(name.split(".")[-2])
            stream.write(_bfloat16(_halves(file.tensor(name), parts) if parts else file.tensor(name)).tobytes())


def _name(name: str) -> str:
    """Return the name that transformers gives a tensor of a Llama."""
    if name in _OUTER:
        return _OUTER[name]
    found = re.fullmatch(r"blk\.(\d+)\.(\w+)\.weight", name, re.ASCII)
    if not found or found[2] not in _OF_LAYER:
        raise ValueError(f"its tensor {name[:60]!r} is not one of a Llama")
    return f"model.layers.{found[1]}.{_OF_LAYER[found[2]]}.weight"


def _halves(rows: NDArray[np.float32], heads: int) -> NDArray[np.float32]:
    """Return the rows of queries or keys as transformers rotates them: a head's halves; GGUF keeps pairs instead."""
    return rows.reshape(heads, -1, 2, rows.shape[1]).swapaxes(1, 2).reshape(rows.shape)


def _bfloat16(numbers: NDArray[np.float32]) -> NDArray[np.uint16]:
    """Return the bits of numbers as bfloat16, rounded to the nearest, to even where two are as near."""
    bits = np.ascontiguousarray(numbers).view("<u4")
    rounded: NDArray[np.uint16] = ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype("<u2")
    return rounded
