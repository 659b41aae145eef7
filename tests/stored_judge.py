"""Judges as they lie on a disk: config, tokenizer of a family and a safetensors file, too small to judge."""

import json
from pathlib import Path

import numpy as np
from families import FAMILIES, Family, write_tokenizer
from safetensors.numpy import save_file

from pathway_local.judges.judge_spec import FOLDER, JudgeSpec

BY_NAME = {family.name: family for family in FAMILIES}


def store_judge(folder: Path, family: Family = BY_NAME["qwen"], **config: object) -> Path:
    """Write a folder that a judge could be loaded from, if its weights were more than two numbers."""
    folder.mkdir(parents=True, exist_ok=True)
    write_tokenizer(family, folder)
    vocabulary = json.loads((folder / "tokenizer.json").read_text())
    size = len(vocabulary["model"]["vocab"]) + len(vocabulary["added_tokens"])
    described = {
        "architectures": ["Qwen3ForCausalLM"],
        "model_type": "qwen3",
        "vocab_size": size,
        "hidden_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 8,
        "num_key_value_heads": 2,
        "head_dim": 8,
        "max_position_embeddings": 16384,
        "dtype": "bfloat16",
    }
    (folder / "config.json").write_text(json.dumps(described | config))
    save_file({"model.norm.weight": np.ones(2, np.float32)}, folder / "model.safetensors")
    return folder


def spec_of(folder: Path, **keys: object) -> JudgeSpec:
    """The spec of a stored judge as if an entry said that it never thinks, and `keys`."""
    told = {"name": "small", "source": str(folder), "origin": FOLDER, "context": 16384, "thinking": "never", **keys}
    return JudgeSpec.model_validate(told)
