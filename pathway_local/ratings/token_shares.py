"""Probabilities of a hosted judge's scores, from the log-probabilities that its service gave beside each token."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from pathway_local.errors import ReplyError
from pathway_local.ratings.hosted_reply import read_strictly
from pathway_local.rubrics.output_format import OutputFormat
from pathway_local.verdict import Number, Verdict


class Token(Struct, frozen=True):
    """The bytes of a token, and the log-probabilities of the likeliest ones at its place."""

    text: bytes
    likely: Mapping[bytes, float]


def tokens_in(choice: Mapping[str, Any]) -> tuple[Token, ...]:
    """Return the tokens of a chat completion's choice; none if it has none as its service documents them."""
    try:
        content = (choice.get("logprobs") or {}).get("content") or ()
        return tuple(
            Token(_bytes(each), {_bytes(other): float(other["logprob"]) for other in each["top_logprobs"]})
            for each in content
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        return ()


def _bytes(token: Mapping[str, Any]) -> bytes:
    """Return a token's bytes; a part of a character has them apart from its text."""
    told = token.get("bytes")
    return bytes(told) if isinstance(told, list) else str(token["token"]).encode()


def with_shares(verdict: Verdict, output_format: OutputFormat, text: str, tokens: Sequence[Token]) -> Verdict:
    """Return the verdict with the share of each value of its scores among the legal ones, where the tokens tell it.

    They don't where a token can begin several values, such as 1 and 10, and where no token begins at the score.
    """
    if b"".join(token.text for token in tokens) != text.encode():
        return verdict
    scores = dict(verdict.scores)
    for name, at in _places(output_format, text):
        field = output_format.scores[name]
        shares = _shares(field.values_by_text(output_format.in_json), len(text[:at].encode()), tokens)
        if name in scores and shares.get(scores[name].value):
            scores[name] = replace(scores[name], probabilities=dict.fromkeys(field.values, 0.0) | shares)
    return replace(verdict, scores=scores)


def _places(output_format: OutputFormat, text: str) -> Iterator[tuple[str, int]]:
    """Yield each score with its place: behind its key in JSON, else where a reply that keeps the layout has it."""
    if output_format.in_json:
        for name in output_format.scores:
            found = list(re.finditer(rf'"{re.escape(name.rpartition(".")[2])}"\s*:\s*', text))
            if len(found) == 1:
                yield name, found[0].end()
        return
    try:
        spans = read_strictly(text, output_format).spans
    except ReplyError:
        return
    yield from ((name, spans[name][0]) for name in output_format.scores if name in spans)


def _shares(values: Mapping[str, Number], at: int, tokens: Sequence[Token]) -> dict[Number, float]:
    """Return the share of each value that a token at this place begins; empty if one begins several values."""
    begin = 0
    for token in tokens:
        if begin <= at < begin + len(token.text):
            break
        begin += len(token.text)
    else:
        return {}
    before, found = token.text[: at - begin], dict[Number, float]()
    for text, logprob in token.likely.items():
        rest = text[len(before) :].decode(errors="replace")
        fits = [value for spelled, value in values.items() if rest and _begins(rest, spelled)]
        if text.startswith(before) and len(fits) > 1:
            return {}
        if text.startswith(before) and fits:
            found[fits[0]] = found.get(fits[0], 0.0) + math.exp(min(logprob, 0.0))
    total = sum(found.values())
    return {value: share / total for value, share in found.items()} if total > 0 else {}


def _begins(text: str, spelled: str) -> bool:
    """Whether a token's text begins a value, or holds it whole with no letter or digit behind it."""
    return spelled.startswith(text) or (text.startswith(spelled) and not text[len(spelled) :][:1].isalnum())
