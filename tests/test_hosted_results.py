"""Results of batch services and decision models are read by their shape; any other file is refused as that."""

import json
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from pathway_local.ratings.hosted_results import NO_SERVICE, read_result
from pathway_local.ratings.rating_rows import Rating
from pathway_local.rubrics.output_format import OutputFormat
from pathway_local.rubrics.rubric_file import declare_rubric
from pathway_local.sheets.row import Row
from pathway_local.verdict import Failure, Outcome, Score, Verdict

SCALE = "score: 1 Strongly disagree < 2 Disagree < 3 Neutral < 4 Agree < 5 Strongly agree"
AGREE = declare_rubric("r", "Judge {{answer}}.", f"why: text; {SCALE}").format
YES = declare_rubric("y", "Judge {{answer}}.", "score: no < yes").format
REPLY = '{"why": "x", "score": 4}'
FOUR = Verdict({"score": Score(4)}, {"why": "x"})


def read(line: Mapping[str, Any], output_format: OutputFormat = AGREE) -> Rating:
    cells = {
        name: each if isinstance(each, str) else json.dumps(each) for name, each in line.items() if each is not None
    }
    return read_result(Row(1, "line 1", cells), output_format)


def http(body: Any, **more: Any) -> dict[str, Any]:
    return {"id": "b", "custom_id": "a", "response": {"status_code": 200, "request_id": "r", "body": body}, **more}


def chat(content: Any, finish: str | None = "stop", **choice: Any) -> dict[str, Any]:
    choices = [{"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": finish, **choice}]
    usage = {"prompt_tokens": 90, "completion_tokens": 9, "prompt_tokens_details": {"cached_tokens": 64}}
    return {"object": "chat.completion", "model": "m-1", "choices": choices, "usage": usage}


RESPONSES = {
    "object": "response", "status": "completed", "model": "m-1", "error": None, "incomplete_details": None,
    "output": [
        {"type": "reasoning", "summary": []},
        {"type": "message", "content": [{"type": "output_text", "text": REPLY, "annotations": []}]},
    ],
    "usage": {"input_tokens": 90, "input_tokens_details": {"cached_tokens": 64}, "output_tokens": 9},
}  # fmt: skip
ANTHROPIC = {
    "model": "m-1", "stop_reason": "end_turn", "role": "assistant", "type": "message",
    "content": [{"type": "thinking", "thinking": "Score 1?", "signature": "s"}, {"type": "text", "text": REPLY}],
    "usage": {"input_tokens": 26, "cache_read_input_tokens": 64, "cache_creation_input_tokens": 0, "output_tokens": 9},
}  # fmt: skip
GEMINI = {
    "candidates": [{"content": {"parts": [{"text": "1?", "thought": True}, {"text": REPLY}], "role": "model"},
                    "finishReason": "STOP", "avgLogprobs": -0.1}],
    "usageMetadata": {"promptTokenCount": 90, "cachedContentTokenCount": 64, "candidatesTokenCount": 9},
    "modelVersion": "m-1",
}  # fmt: skip
MISTRAL = [{"type": "thinking", "thinking": [{"type": "text", "text": "1?"}]}, {"type": "text", "text": REPLY}]
VERTEX = {"custom_id": "a", "status": "", "processed_time": "t", "request": {"contents": []}, "response": GEMINI}

SERVICES = {
    "OpenAI chat": (http(chat(REPLY), error=None), "openai"),
    "OpenAI responses": (http(RESPONSES, error=None), "openai"),
    "Azure": (http(chat(REPLY, content_filter_results={"hate": {"filtered": False}}), error=None), "azure"),
    "Mistral": (http(chat(MISTRAL), error=None), "openai"),
    "vLLM": ({**http(chat(REPLY), error=None), "id": "vllm-1"}, "vllm"),
    "Anthropic": ({"custom_id": "a", "result": {"type": "succeeded", "message": ANTHROPIC}}, "anthropic"),
    "Vertex": (VERTEX, "gemini"),
    "Gemini": ({"key": "a", "response": GEMINI}, "gemini"),
}


@pytest.mark.parametrize("name", SERVICES)
def test_each_service_by_its_shape(name: str) -> None:
    line, service = SERVICES[name]
    assert read(line) == Rating("line 1", "a", "", "", "", FOUR, (service, "m-1"))


UNKNOWN: dict[str, Mapping[str, Any]] = {
    "a text for a body": http(json.dumps(chat(REPLY))),
    "a text for a response": {"custom_id": "a", "response": "Score: 4"},
    "another API": http({"generations": [{"text": REPLY}], "model": "m"}),
    "a message of another kind": http({**chat(REPLY), "choices": [{"message": "4"}]}),
    "a list": {"custom_id": "a", "response": [chat(REPLY)]},
    "two APIs at once": http({**chat(REPLY), **ANTHROPIC}),
    "nested without end": {"custom_id": "a", "response": "[" * 100_000},
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_another_shape_is_refused_and_no_failure(name: str) -> None:
    with pytest.raises(ValueError, match=NO_SERVICE):
        read(UNKNOWN[name])


def test_several_replies_to_one_request_are_refused() -> None:
    body = chat(REPLY)
    for several in ({**body, "choices": body["choices"] * 2}, {**GEMINI, "candidates": GEMINI["candidates"] * 2}):
        with pytest.raises(ValueError, match=r"\(n = 1\)"):
            read(http(several))
    with pytest.raises(ValueError, match="no custom_id"):
        read({**http(body), "custom_id": ""})


def ended(body: Any, ending: str) -> dict[str, Any]:
    return json.loads(json.dumps(body).replace('"stop"', f'"{ending}"'))


FAILURES: dict[str, tuple[Mapping[str, Any], str, str]] = {
    "no answer": (http(None, error={"code": "batch_expired", "message": "late"}), "hosted-error", "batch_expired"),
    "no response": ({"custom_id": "a", "response": None, "error": None}, "hosted-error", "no reply"),
    "too many": (
        {**http(None), "response": {"status_code": 429, "body": {"error": {"code": "rate_limit_exceeded"}}}},
        "hosted-error", "status 429: rate_limit_exceeded",
    ),
    "vLLM's": (
        {"id": "vllm-3", "custom_id": "s-3", "response": {"status_code": 400, "body": None},
         "error": {"error": {"message": "too long: my text", "type": "BadRequestError", "code": 400}}},
        "hosted-error", "status 400: BadRequestError",
    ),
    "an error in words": ({"custom_id": "a", "error": "my text"}, "hosted-error", "no reply"),
    "Anthropic's": (
        {"custom_id": "a", "result": {"type": "errored", "error": {"error": {"type": "overloaded_error"}}}},
        "hosted-error", "overloaded_error",
    ),
    "Anthropic's end": ({"custom_id": "a", "result": {"type": "expired"}}, "hosted-error", "expired"),
    "Gemini's": ({"key": "a", "error": {"code": 3, "status": "INVALID_ARGUMENT"}}, "hosted-error", "INVALID_ARGUMENT"),
    "Vertex's": ({"custom_id": "a", "status": "Bad Request: my text", "response": {}}, "hosted-error", "no reply"),
    "a refusal": (http(ended(chat(REPLY), "content_filter")), "refused", "refused"),
    "a blocked prompt": ({"key": "a", "response": {"promptFeedback": {"blockReason": "SAFETY"}}}, "refused", "refused"),
    "a refusal in parts": (
        http({**RESPONSES, "output": [{"type": "message", "content": [{"type": "refusal", "refusal": "my text"}]}]}),
        "refused", "refused",
    ),
    "a length": (http(ended(chat('{"why": "x", "score": 4'), "length")), "unfinished-reply", "not JSON"),
    "an incomplete response": (
        http({**RESPONSES, "output": [], "incomplete_details": {"reason": "max_output_tokens"}}),
        "unfinished-reply", "not JSON",
    ),
    "a tool": (http(chat(None, "tool_calls")), "hosted-error", "tool_calls"),
}  # fmt: skip


@pytest.mark.parametrize("name", FAILURES)
def test_what_was_not_answered_is_a_failure_that_quotes_nothing(name: str) -> None:
    line, kind, said = FAILURES[name]
    outcome = read(line).outcome
    assert isinstance(outcome, Failure) and outcome.kind == kind
    assert said in outcome.message and "my text" not in outcome.message


def test_a_whole_reply_that_was_cut_off_is_marked() -> None:
    outcome = read(http(chat(REPLY, "length"))).outcome
    assert outcome == msgspec.structs.replace(FOUR, marks=("format:incomplete",))


def decision(answers: Mapping[str, Any], mass: float | None = 0.8, **more: Any) -> dict[str, Any]:
    told = {name: {"label_mass": mass, "argmax_is_label": True} for name in answers} if mass else {}
    usage = {"input_tokens": 12, "output_tokens": 1}
    return http(
        {"object": "structured_decision", "model": "m-1", "answers": answers, "diagnostics": told, "usage": usage}
    )


NAMES = ("Strongly disagree", "Disagree", "Neutral", "Agree", "Strongly agree")
SHARES = dict(zip(NAMES, (0.1, 0.1, 0.1, 0.5, 0.2), strict=True))
DECIDED = Score(4, dict(zip((1, 2, 3, 4, 5), SHARES.values(), strict=True)), 0.8)


@pytest.mark.parametrize(
    "answer",
    [
        {"type": "choice", "choice": "Agree", "probabilities": SHARES, "confidence": 0.4},
        {"type": "choice", "choice": "4", "probabilities": {str(n): p for n, p in DECIDED.probabilities.items()}},
        {
            "type": "score", "score": 2.6, "legend": {str(at): name for at, name in enumerate(NAMES)},
            "probabilities": {str(at): share for at, share in enumerate(SHARES.values())},
        },
    ],
)  # fmt: skip
def test_a_decision_is_a_verdict_with_the_probability_of_each_level(answer: Mapping[str, Any]) -> None:
    found = read(decision({"score": answer}))
    assert (found.judge[1], found.outcome) == ("m-1", Verdict({"score": DECIDED}))


def outcome_of(answers: Mapping[str, Any], output_format: OutputFormat = AGREE) -> Outcome:
    return read(decision(answers), output_format).outcome


def test_a_yes_or_no_is_a_decision() -> None:
    found = outcome_of({"score": {"type": "noul", "noul": 0.7, "probabilities": {"yes": 0.7, "no": 0.3}}}, YES)
    assert found == Verdict({"score": Score(1, {0: 0.3, 1: 0.7}, 0.8)})


@pytest.mark.parametrize(
    "answers",
    [
        {"other": {"probabilities": SHARES}},
        {"score": {"probabilities": {"Agree": 0.5, "Maybe": 0.5}}},
        {"score": {"probabilities": {"Agree": 0.5, "4": 0.5}}},
        {"score": {"probabilities": {"Agree": 0.5, "Disagree": 0.1}}},
        {"score": {"probabilities": {"3.5": 1.0}}},
    ],
)
def test_a_decision_about_something_else_is_unreadable(answers: Mapping[str, Any]) -> None:
    outcome = outcome_of(answers)
    assert isinstance(outcome, Failure) and outcome.kind == "unreadable-reply"
