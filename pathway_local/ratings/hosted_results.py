"""Reads result files of batch services, recognised by their keys: OpenAI's, `vllm run-batch`'s and Anthropic's.

Where a service gave log-probabilities beside each token, they become probabilities of the scores.
"""

import json
import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from pathway_local.errors import ReplyError
from pathway_local.ratings.hosted_reply import read_strictly
from pathway_local.rubrics.output_format import OutputFormat
from pathway_local.sheets.row import Row
from pathway_local.verdict import NO_TOKENS, Failure, Number, Tokens, Verdict


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


UNFINISHED = ("length", "max_tokens", "model_context_window_exceeded")
NAME_LIMIT = 200
REFUSED = ("content_filter", "refusal")


@dataclass(frozen=True, slots=True)
class HostedResult:
    """A service's result for one request: the reply's text, perhaps with its tokens as `said`, or a failure."""

    custom_id: str
    service: str
    model: str
    text: str = ""
    unfinished: bool = False
    failure: Failure | None = None
    tokens: Tokens = NO_TOKENS
    said: tuple[Token, ...] = ()


def is_result_file(columns: Collection[str]) -> bool:
    """Whether a JSONL file with these keys is a batch service's output."""
    return "custom_id" in columns and ("response" in columns or "result" in columns)


def read_result(row: Row) -> HostedResult:
    """Return the result on one line. Raises ValueError, with a reason that quotes nothing, if it is not a result."""
    custom_id = row.cells.get("custom_id", "")
    if not custom_id:
        raise ValueError("it has no custom_id")
    if row.cells.get("result"):
        return _anthropic(custom_id, _loaded(row, "result"))
    return _openai(row, custom_id, _loaded(row, "response"))


def _openai(row: Row, custom_id: str, response: dict[str, Any]) -> HostedResult:
    body = _object(response, "body")
    choices = _list(body.get("choices"))
    service = "azure" if any("content_filter_results" in each for each in choices) else "openai"
    service = "vllm" if row.cells.get("id", "").startswith("vllm-") else service
    model = _model(body)
    status = response.get("status_code")
    error = _loaded(row, "error") or _object(body, "error")
    if error or status not in (200, None) or not body:
        details = _object(error, "error") or error
        code = _word(details, "code") or _word(details, "type") or "no reply"
        reason = f"status {status}: {code}" if isinstance(status, int) else code
        return HostedResult(custom_id, service, model, failure=Failure("hosted-error", reason))
    if len(choices) != 1:
        raise ValueError("it does not hold exactly one reply")
    message, ending = _object(choices[0], "message"), _text(choices[0], "finish_reason")
    if message.get("refusal") or ending in REFUSED:
        return HostedResult(custom_id, service, model, failure=Failure("refused", "the hosted judge refused"))
    content = message.get("content")
    text = content if isinstance(content, str) else _joined(content)
    usage = _object(body, "usage")
    cached = _count(_object(usage, "prompt_tokens_details"), "cached_tokens")
    tokens = Tokens(_count(usage, "prompt_tokens"), cached, _count(usage, "completion_tokens"))
    said = tokens_in(choices[0])
    return HostedResult(custom_id, service, model, text, ending in UNFINISHED, tokens=tokens, said=said)


def _anthropic(custom_id: str, result: dict[str, Any]) -> HostedResult:
    message = _object(result, "message")
    model = _model(message)
    kind = result.get("type")
    if kind != "succeeded":
        error = _object(result, "error")
        code = _word(_object(error, "error"), "type") or _word(error, "type") or _word(result, "type") or "no reply"
        return HostedResult(custom_id, "anthropic", model, failure=Failure("hosted-error", code))
    ending = _text(message, "stop_reason")
    if ending in REFUSED:
        return HostedResult(custom_id, "anthropic", model, failure=Failure("refused", "the hosted judge refused"))
    usage = _object(message, "usage")
    cached = _count(usage, "cache_read_input_tokens")
    prompt = _count(usage, "input_tokens") + cached + _count(usage, "cache_creation_input_tokens")
    tokens = Tokens(prompt, cached, _count(usage, "output_tokens"))
    text = _joined(message.get("content"))
    return HostedResult(custom_id, "anthropic", model, text, ending in UNFINISHED, tokens=tokens)


def _loaded(row: Row, key: str) -> dict[str, Any]:
    """Return the object under a key of the line; the sheet holds it as JSON text."""
    text = row.cells.get(key, "")
    value = json.loads(text) if text.startswith("{") else {}
    return value if isinstance(value, dict) else {}


def _object(value: dict[str, Any], key: str) -> dict[str, Any]:
    found = value.get(key)
    return found if isinstance(found, dict) else {}


def _list(value: object) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _text(value: dict[str, Any], key: str) -> str:
    found = value.get(key)
    return found if isinstance(found, str) else ""


def _word(value: dict[str, Any], key: str) -> str:
    """Return a code such as rate_limit_exceeded; empty for other texts, which may quote the case."""
    found = _text(value, key)
    return found if len(found) <= 60 and found.replace("_", "").replace("-", "").isalnum() else ""


def _model(value: dict[str, Any]) -> str:
    """Return the model's name, which messages show; empty for a text that is no name, since it may quote the case."""
    found = _text(value, "model")
    return found if len(found) <= NAME_LIMIT and found.isprintable() and " " not in found else ""


def _count(value: dict[str, Any], key: str) -> int:
    found = value.get(key)
    return found if isinstance(found, int) and not isinstance(found, bool) and 0 <= found < 2**53 else 0


def _joined(content: object) -> str:
    """Return the text of a reply in parts, without its thinking."""
    return "".join(_text(part, "text") for part in _list(content) if part.get("type") == "text")
