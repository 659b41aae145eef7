"""Converts a GGUF file of a small Llama into a judge's folder: config, tokenizer, chat template and safetensors.

The same file gives the same bytes everywhere, so that a registry can name the hash of the result. Neither torch nor
transformers takes part: what they write depends on their versions, and the tokenizer that transformers 5.19 makes of a
GGUF file does not split digits, which this model was trained with.
"""

import json
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pathway_local.errors import EngineError
from pathway_local.judges.gguf_file import GgufFile
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


def write_judge(data: bytes, folder: Path) -> None:
    """Write a judge's folder from the bytes of a GGUF file. Raises EngineError for another kind of model, OSError."""
    file = GgufFile(data)
    for key, known in _KNOWN.items():
        if (found := file.facts.get(key)) != known:
            raise EngineError(f"its {key} is {str(found)[:40]!r}, and only {known!r} can be converted")
    try:
        texts = _texts(file.facts, tied="output.weight" not in file.shapes)
    except (KeyError, TypeError, ValueError, ZeroDivisionError) as error:
        raise EngineError(f"it lacks a fact about its model ({type(error).__name__}: {str(error)[:60]})") from None
    folder.mkdir()
    for name, text in texts.items():
        (folder / name).write_text(text, "utf-8")
    _write_weights(file, folder / WHOLE)


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
    """Return the name that transformers gives a tensor of a Llama. Raises EngineError for an unknown one."""
    if name in _OUTER:
        return _OUTER[name]
    blk, _, rest = name.partition(".")
    layer, _, part = rest.partition(".")
    kind = part.removesuffix(".weight")
    if blk != "blk" or not layer.isdecimal() or kind not in _OF_LAYER or kind == part:
        raise EngineError(f"its tensor {name[:60]!r} is not one of a Llama")
    return f"model.layers.{layer}.{_OF_LAYER[kind]}.weight"


def _halves(rows: NDArray[np.float32], heads: int) -> NDArray[np.float32]:
    """Return the rows of queries or keys as transformers rotates them: a head's halves; GGUF keeps pairs instead."""
    return rows.reshape(heads, -1, 2, rows.shape[1]).swapaxes(1, 2).reshape(rows.shape)


def _bfloat16(numbers: NDArray[np.float32]) -> NDArray[np.uint16]:
    """Return the bits of numbers as bfloat16, rounded to the nearest, to even where two are as near."""
    bits = np.ascontiguousarray(numbers).view("<u4")
    rounded: NDArray[np.uint16] = ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype("<u2")
    return rounded
