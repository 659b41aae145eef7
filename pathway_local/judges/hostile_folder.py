"""What makes a judge's folder unfit to be read: files that never end, and tokenizers that take all memory."""

import json
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from pathway_local.errors import EngineError

LARGEST_TEXT = 64 * 2**20
"""Bytes of a file beside the weights; the largest tokenizer that we know has half as many."""

MOST_ADDED_TOKENS = 20_000
"""Tokens beside the vocabulary; Gemma 3 has 6,415. The library needs minutes and gigabytes for 100,000."""

MOST_GROWTH = 64
"""How many times longer a tokenizer's normalizer may make a text; Unicode's longest expansion is 18 times."""

_AGAIN = "Fetch or copy the judge again, from a source that you trust."


def refuse_odd_files(folder: Path) -> None:
    """Raise EngineError for a pipe, device or endless file where a judge's file should be: reading it would hang."""
    with suppress(OSError):  # an unreadable folder is reported by whoever reads its files
        for path in folder.iterdir():
            if path.suffix in (".json", ".jinja", ".txt", ".model", ".safetensors"):
                _refuse_odd(path)


def _refuse_odd(path: Path) -> None:
    try:
        found = path.stat()
    except OSError:
        return
    if not stat.S_ISREG(found.st_mode) and not stat.S_ISDIR(found.st_mode):
        raise EngineError(f"{path} is not an ordinary file", _AGAIN)
    if path.suffix != ".safetensors" and found.st_size > LARGEST_TEXT:
        raise EngineError(f"{path} is too large for its kind", _AGAIN)


def refuse_hostile_tokenizer(path: Path) -> None:
    """Raise EngineError for a tokenizer.json that would end this process: the library aborts if memory runs out."""
    try:
        described = json.loads(path.read_bytes())
        added = len(described.get("added_tokens") or ())
        growth = _growth(described.get("normalizer"))
    except (OSError, ValueError, AttributeError, TypeError, RecursionError):
        raise EngineError(f"{path} can't be read", _AGAIN) from None
    if added > MOST_ADDED_TOKENS:
        raise EngineError(
            f"{path} adds {added:,} tokens to its vocabulary, over the limit of {MOST_ADDED_TOKENS:,}", _AGAIN
        )
    if growth > MOST_GROWTH:
        raise EngineError(f"{path} would make texts over {MOST_GROWTH} times longer", _AGAIN)


def _growth(normalizer: Mapping[str, object] | None) -> float:
    """Return how many times longer a normalizer can make a text."""
    growth = 1.0
    for step in _steps(normalizer):
        if step.get("type") == "Replace":
            content, pattern = step.get("content"), step.get("pattern")
            replaced = pattern.get("String") if isinstance(pattern, Mapping) else None
            # A regex may match nothing, so that its content is put between all characters.
            matched = len(replaced) if isinstance(replaced, str) else 0
            length = len(content) if isinstance(content, str) else 0
            growth *= max(1.0, length / matched) if matched else 1.0 + length
    return growth


def _steps(normalizer: Mapping[str, object] | None) -> Iterator[Mapping[str, object]]:
    """Yield each step of a normalizer, those of sequences inside it included."""
    for inner in (normalizer or {}).get("normalizers") or ():  # type: ignore[attr-defined]
        yield from _steps(inner)
    if normalizer:
        yield normalizer
