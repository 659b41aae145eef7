"""Reads results of batch services and decision models; the keys of an answer say which API gave it.

The types below are the parts of these APIs that we read. An answer that fits none of them is refused, never a failure.
"""

import json
import math
from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from pathway_local.errors import ReplyError
from pathway_local.ratings.hosted_reply import UNREADABLE, read_reply
from pathway_local.ratings.rating_rows import Rating
from pathway_local.ratings.score_text import read_score
from pathway_local.rubrics.output_format import OutputFormat
from pathway_local.sheets.row import Row
from pathway_local.verdict import Failure, Outcome, Score, Verdict

Probability = Annotated[float, Meta(ge=0, le=1)]

NO_SERVICE = "it is no result of a service that is known"


class _Part(Struct):
    type: str = "text"
    text: str = ""
    thought: bool = False


class _Message(Struct):
    content: str | list[_Part] | None = None
    refusal: str | None = None


class Answer(Struct):
    """An answer of a service: a text, or `scores`; `ending` says why it ended."""

    service: str
    model: str
    text: str
    ending: str | None
    scores: Mapping[str, "_Decision"] = {}


class _Choice(Struct):
    message: _Message
    finish_reason: str | None = None
    content_filter_results: Any = None


class _Chat(Struct):
    """A chat completion of OpenAI's API, which Azure, Mistral and vLLM offer, too."""

    choices: list[_Choice]
    model: str = ""

    def answer(self) -> Answer:
        choice = _only(self.choices)
        service = "azure" if choice.content_filter_results else "openai"
        ending = "refusal" if choice.message.refusal else choice.finish_reason
        return Answer(service, self.model, _text(choice.message.content), ending)


class _Item(Struct):
    type: str
    content: list[_Part] | None = None


class _Why(Struct):
    reason: str = ""


class _Response(Struct):
    """OpenAI's Responses API."""

    output: list[_Item]
    status: str = "completed"
    incomplete_details: _Why | None = None
    model: str = ""

    def answer(self) -> Answer:
        parts = [part for item in self.output if item.type == "message" for part in item.content or ()]
        ending = self.incomplete_details.reason if self.incomplete_details else self.status
        ending = "refusal" if any(part.type == "refusal" for part in parts) else ending
        return Answer("openai", self.model, _text(parts), ending)


class _AnthropicMessage(Struct):
    content: list[_Part]
    stop_reason: str | None
    model: str = ""

    def answer(self) -> Answer:
        return Answer("anthropic", self.model, _text(self.content), self.stop_reason)


class _GeminiContent(Struct):
    parts: list[_Part] = []


class _Candidate(Struct, rename="camel"):
    content: _GeminiContent = msgspec.field(default_factory=_GeminiContent)
    finish_reason: str | None = None


class _Gemini(Struct, rename="camel"):
    """Gemini's API, also on Vertex AI."""

    candidates: list[_Candidate] = []
    prompt_feedback: Any = None
    model_version: str = ""

    def answer(self) -> Answer:
        blocked = [_Candidate(finish_reason="SAFETY")] if self.prompt_feedback else []
        found = _only(self.candidates or blocked)
        return Answer("gemini", self.model_version, _text(found.content.parts), found.finish_reason)


class _Decision(Struct):
    """The probability of each option; those of a `legend` are named there."""

    probabilities: dict[str, Probability]
    legend: dict[str, str] = {}
    mass: float | None = None


class _Diagnosis(Struct):
    label_mass: Probability | None = None


class _Decisions(Struct):
    """Decisions without text: an answer to each question, which has the name of a score."""

    answers: dict[str, _Decision]
    diagnostics: dict[str, _Diagnosis] = {}
    model: str = ""

    def answer(self) -> Answer:
        masses = {name: each.label_mass for name, each in self.diagnostics.items()}
        scores = {name: replace(each, mass=masses.get(name)) for name, each in self.answers.items()}
        return Answer("decisions", self.model, "", "stop", scores)


_BY_KEY: Mapping[str, Any] = {
    "choices": _Chat,
    "output": _Response,
    "stop_reason": _AnthropicMessage,
    "candidates": _Gemini,
    "promptFeedback": _Gemini,
    "answers": _Decisions,
}
"""The type of an answer by a key that no other has."""


def _only(found: list[Any]) -> Any:
    if len(found) != 1:
        raise ValueError("it does not hold exactly one reply: ask for one (n = 1)")
    return found[0]


def _text(content: str | Sequence[_Part] | None) -> str:
    """Return the text of a reply, which may stand in parts, without its thinking."""
    if isinstance(content, str):
        return content
    return "".join(each.text for each in content or () if each.type in ("text", "output_text") and not each.thought)


FINISHED = (None, "stop", "end_turn", "stop_sequence", "STOP", "completed")
UNFINISHED = ("length", "max_tokens", "model_context_window_exceeded", "max_output_tokens", "MAX_TOKENS")
REFUSED = ("content_filter", "refusal", "SAFETY", "PROHIBITED_CONTENT", "BLOCKLIST", "RECITATION", "SPII")
IDS = ("custom_id", "key")
HOSTED_ERROR = "hosted-error"
"""The kind of failure of a request that the service did not answer."""

LONGEST_CODE, LONGEST_NAME = 60, 200


def is_result_file(columns: Collection[str]) -> bool:
    """Whether a JSONL file with these keys is a batch service's output."""
    return any(name in columns for name in IDS) and not {"response", "result", "error"}.isdisjoint(columns)


def read_result(row: Row, output_format: OutputFormat) -> Rating:
    """Return the result on one line, with no name of a service or model if no answer names them.

    Raises ValueError, with a reason that quotes nothing, if it is of no known API.
    """
    custom_id = next((found for name in IDS if (found := row.cells.get(name, ""))), "")
    if not custom_id:
        raise ValueError("it has no custom_id or key")
    whole = _loaded(row, "response") or _loaded(row, "result")
    body = next((whole[key] for key in ("body", "message") if key in whole), whole)
    if failed := _error(row, whole, body):
        return Rating(row.place, custom_id, "", "", "", failed)
    kinds = {kind for key, kind in _BY_KEY.items() if isinstance(body, dict) and key in body}
    if len(kinds) != 1:
        raise ValueError(NO_SERVICE)
    try:
        answer: Answer = msgspec.convert(body, kinds.pop()).answer()
    except msgspec.ValidationError:
        raise ValueError(NO_SERVICE) from None
    # Messages show the model's name, so it may be no text of a case.
    is_name = len(answer.model) <= LONGEST_NAME and answer.model.isprintable() and " " not in answer.model
    service = "vllm" if row.cells.get("id", "").startswith("vllm-") else answer.service
    judge = service, answer.model if is_name else ""
    return Rating(row.place, custom_id, "", "", "", _outcome(answer, output_format), judge)


def _error(row: Row, whole: dict[str, Any], body: Any) -> Failure | None:
    """Return the failure of a request that the service did not answer; None if it did."""
    status, kind = whole.get("status_code", 200), whole.get("type")
    inner = (each.get("error") for each in (whole, body) if isinstance(each, dict))
    text = row.cells.get("error", "")
    error: Any = (_loaded(row, "error") if text.startswith("{") else text) or next(filter(None, inner), {})
    if whole and not error and status == 200 and kind not in ("errored", "canceled", "expired"):
        return None
    error = error.get("error", error) if isinstance(error, dict) else {}
    codes = [error.get(key) for key in ("code", "type", "status")] if isinstance(error, dict) else []
    code = next(filter(None, map(_word, (*codes, kind))), "no reply")
    return Failure(HOSTED_ERROR, f"status {status}: {code}" if status != 200 and isinstance(status, int) else code)


def _outcome(answer: Answer, output_format: OutputFormat) -> Outcome:
    if answer.ending in REFUSED:
        return Failure("refused", "the hosted judge refused")
    if answer.ending not in (*FINISHED, *UNFINISHED):
        return Failure(HOSTED_ERROR, f"it ended with {_word(answer.ending) or 'an unknown reason'}")
    if answer.scores:
        return _decided(answer.scores, output_format)
    return read_reply(answer.text, output_format, unfinished=answer.ending in UNFINISHED)


def _decided(decisions: Mapping[str, _Decision], output_format: OutputFormat) -> Outcome:
    """Return the verdict of a decision model: the likeliest level of each score, with the probability of each."""
    scores: dict[str, Score] = {}
    try:
        for name, field in output_format.given.items():
            if name not in decisions:
                raise ReplyError(f"it answers no question called {name}")
            found, decision = dict.fromkeys(field.values, 0.0), decisions[name]
            levels = [read_score(decision.legend.get(option, option), field) for option in decision.probabilities]
            if len(set(levels)) < len(levels) or not found.keys() >= set(levels):
                raise ReplyError(f"{name}: its options are not levels, each once")
            found |= zip(levels, decision.probabilities.values(), strict=True)
            if not math.isclose(sum(found.values()), 1, abs_tol=0.01):
                raise ReplyError(f"{name}: its probabilities do not sum to 1")
            scores[name] = Score(max(found, key=lambda value: (found[value], -value)), found, decision.mass)
    except ReplyError as error:
        return Failure(UNREADABLE, str(error))
    return Verdict(output_format.with_totals(scores))


def _loaded(row: Row, key: str) -> dict[str, Any]:
    """Return the object under a key of the line, which the sheet holds as JSON text; empty if none is there."""
    text = row.cells.get(key, "")
    try:
        value = json.loads(text) if text else {}
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise ValueError(NO_SERVICE)
    return value


def _word(value: object) -> str:
    """Return a code such as rate_limit_exceeded; empty for other texts, which may quote the case."""
    found = value if isinstance(value, str) else ""
    return found if len(found) <= LONGEST_CODE and found.replace("_", "").replace("-", "").isalnum() else ""
