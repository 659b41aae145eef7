"""Reads the tokenizer in a judge's folder as it has to be for texts that are encoded piece by piece."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from pathway_local.errors import EngineError
from pathway_local.judges.chat_template import plain_line
from pathway_local.judges.limited_process import AGAIN, ask
from pathway_local.judges.weights import json_if_there, read_json

MISTRAL = ("mistral", "mistral3", "ministral", "pixtral", "voxtral")
WORDS = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
    r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""How models of these types split words. Their tokenizers were saved with another pattern, which spells many words in
tokens that they never saw in training."""


def described(folder: Path) -> dict[str, Any]:
    """Return a folder's tokenizer as it is described, once a process with limits has tried it. Raises EngineError."""
    path = folder / "tokenizer.json"
    if not path.is_file():
        hint = "Save the tokenizer in its fast form (tokenizer.json) beside the weights."
        raise EngineError(f"{folder} holds no tokenizer.json", hint)
    if error := ask("tokenizer", folder=str(folder)).get("error"):
        raise EngineError(f"the tokenizer in {folder} can't be used: {plain_line(error)}", AGAIN)
    found: dict[str, Any] = read_json(path)
    first: dict[str, object] = next(iter((found.get("pre_tokenizer") or {}).get("pretokenizers") or ()), {})
    if json_if_there(folder / "config.json").get("model_type") in MISTRAL and first.get("type") == "Split":
        first["pattern"] = {"Regex": WORDS}
    return found


def of_pieces(told: Mapping[str, Any]) -> Tokenizer:
    """Return a tokenizer of texts that are encoded apart: it puts nothing before them or behind, and cuts nothing off.

    Without its added tokens it is the one for texts of cases; plain text gets the same ids from both. The library's own
    `encode_special_tokens` is not enough: an added token such as </think> that is not marked as special would still
    become its id, and a case could end a judge's thinking.
    """
    off = dict.fromkeys(("truncation", "padding", "post_processor"))
    steps = {key: _without_prefix(told.get(key)) for key in ("normalizer", "pre_tokenizer")}
    with panics_told("the judge's tokenizer can't be read"):
        return Tokenizer.from_str(json.dumps({**told, **off, **steps}))


def _without_prefix(step: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Return a step of a tokenizer that puts no blank before a text: Llama 2 and many after it begin each text so."""
    if step is None or step["type"] == "Prepend":
        return None
    for inner in ("normalizers", "pretokenizers"):
        if inner in step:
            return {**step, inner: [kept for each in step[inner] if (kept := _without_prefix(each))]}
    if step["type"] == "Metaspace":
        return {**step, "prepend_scheme": "never", "add_prefix_space": False}
    return {**step, "add_prefix_space": False} if "add_prefix_space" in step else step


@contextmanager
def panics_told(said: str) -> Iterator[None]:
    """Raise EngineError for whatever a library in Rust raises, a panic included, which is no Exception."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit, MemoryError):
        raise
    except BaseException as error:  # noqa: BLE001
        raise EngineError(f"{said} ({type(error).__name__})", AGAIN) from None
