"""Turns the log-probabilities that a service gave beside each token of a reply into probabilities of the scores."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated

from msgspec import Meta, Struct, field
from msgspec.structs import replace

from pathway_local.errors import ReplyError
from pathway_local.ratings.hosted_reply import read_strictly
from pathway_local.rubrics.output_format import OutputFormat
from pathway_local.verdict import Number, Verdict


class Token(Struct, frozen=True):
    """A token of a reply; `top_logprobs` are the likeliest ones at its place, with their log-probabilities."""

    token: str
    logprob: float = 0.0
    raw: list[Annotated[int, Meta(ge=0, le=255)]] | None = field(default=None, name="bytes")
    top_logprobs: list["Token"] = []

    @property
    def data(self) -> bytes:
        """The token's bytes; a part of a character has them apart from its text."""
        return self.token.encode() if self.raw is None else bytes(self.raw)


def with_shares(verdict: Verdict, output_format: OutputFormat, text: str, tokens: Sequence[Token]) -> Verdict:
    """Return the verdict with the share of each value of its scores among the legal ones, where the tokens tell it.

    They don't where a token can begin several values, such as 1 and 10, and where no token begins at the score.
    """
    if b"".join(token.data for token in tokens) != text.encode():
        return verdict
    scores = dict(verdict.scores)
    for name, at in _places(output_format, text):
        scale = output_format.scores[name]
        shares = _shares(scale.values_by_text(output_format.in_json), len(text[:at].encode()), tokens)
        if name in scores and shares.get(scores[name].value):
            scores[name] = replace(scores[name], probabilities=dict.fromkeys(scale.values, 0.0) | shares)
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
        if begin <= at < begin + len(token.data):
            break
        begin += len(token.data)
    else:
        return {}
    before, found = token.data[: at - begin], dict[Number, float]()
    for other in token.top_logprobs:
        rest = other.data[len(before) :].decode(errors="replace")
        fits = [value for spelled, value in values.items() if rest and _begins(rest, spelled)]
        if other.data.startswith(before) and len(fits) > 1:
            return {}
        if other.data.startswith(before) and fits:
            found[fits[0]] = found.get(fits[0], 0.0) + math.exp(min(other.logprob, 0.0))
    total = sum(found.values())
    return {value: share / total for value, share in found.items()} if total > 0 else {}


def _begins(text: str, spelled: str) -> bool:
    """Whether a token's text begins a value, or holds it whole with no letter or digit behind it."""
    return spelled.startswith(text) or (text.startswith(spelled) and not text[len(spelled) :][:1].isalnum())
