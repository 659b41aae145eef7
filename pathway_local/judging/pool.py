"""A pool of requests to an engine: each may take several passes, and returns as one completion."""

from collections import deque
from collections.abc import Callable, Generator, Mapping

from msgspec import Struct

from pathway_local.errors import CaseError, ReplyUnfinished
from pathway_local.judging.probe import Probe
from pathway_local.judging.replay import Replay
from pathway_local.passes import GREEDY, Engine, Pass, PassResult, Sampling
from pathway_local.rendering.chat import Thinking
from pathway_local.rendering.prompt import Prompt
from pathway_local.rendering.tokenizer import JudgeTokenizer
from pathway_local.rubrics.fields import ScoreField
from pathway_local.rubrics.output_format import Form, Reading
from pathway_local.verdict import NO_TOKENS, Number, Tokens


class Request(Struct, frozen=True):
    """One reply to draw: its prompt, its sampling, and the thinking before it, if any."""

    id: str
    prompt: Prompt
    sampling: Sampling = GREEDY
    thinking: Thinking | None = None


class Completion(Struct, frozen=True):
    """The reply to the request of that id, or the reason for a missing reply.

    Either `reading` holds the values, `probabilities` those of each score's values, and `cut` the fields that
    reached their budget; or `problem` is a failure's kind and message. `thinking` is the judge's thinking before the
    reply, and `thinking_cut` says whether it reached its budget.
    """

    id: str
    reading: Reading | None = None
    thinking: str = ""
    probabilities: Mapping[str, Mapping[Number, float]] = {}
    cut: tuple[str, ...] = ()
    problem: tuple[str, str] = ("", "")
    tokens: Tokens = NO_TOKENS
    thinking_cut: bool = False


PassGenerator = Generator[Pass, PassResult, Completion]
"""Yields the passes of one request one after the other, takes the result of each, and returns the completion."""


class Pool:
    """Takes requests with `submit`; `completions` returns their completions in the order they finish.

    `start` loads the engine when the first request comes, so that a job with nothing to judge needs no engine.
    `context` is the judge's limit in tokens for prompt and reply together.
    """

    def __init__(self, start: Callable[[], Engine], tokenizer: JudgeTokenizer, context: int) -> None:
        self.tokenizer, self.context = tokenizer, context
        self.in_flight = 0
        self._start = start
        self._engine: Engine | None = None
        self._probe = Probe(tokenizer)
        self._by_pass: dict[str, PassGenerator] = {}
        self._ready: deque[Completion] = deque()
        self._passes = 0

    def submit(self, request: Request) -> None:
        """Begin a request; returns at once."""
        self.in_flight += 1
        passes = self._passes_of(request)
        self._enqueue(passes, next(passes))

    def completions(self) -> list[Completion]:
        """Wait for at least one completion; empty only if nothing is in flight."""
        while self.in_flight and not self._ready:
            for result in self._loaded().results():
                passes = self._by_pass.pop(result.id)
                try:
                    self._enqueue(passes, passes.send(result))
                except StopIteration as stop:
                    self._ready.append(stop.value)
        done = list(self._ready)
        self._ready.clear()
        self.in_flight -= len(done)
        return done

    def _loaded(self) -> Engine:
        self._engine = self._engine or self._start()
        return self._engine

    def _enqueue(self, passes: PassGenerator, item: Pass) -> None:
        self._by_pass[item.id] = passes
        self._loaded().submit(item)

    def _next_id(self) -> str:
        self._passes += 1
        return str(self._passes)

    def _passes_of(self, request: Request) -> PassGenerator:
        """Yield the passes of a request: thinking, the reply, and any that the scores' probabilities still need."""
        prompt, reply, thinking = request.prompt, request.prompt.reply, request.thinking
        thoughts, tokens, too_long = "", NO_TOKENS, False
        shared, own, before = prompt.shared, prompt.own + prompt.start, ""
        try:
            if thinking:
                result = yield self._thinking_pass(prompt, thinking)
                result.check()
                thoughts, too_long = Replay(self.tokenizer, result.ids).text, result.finish == "length"
                tokens = Tokens(len(shared) + len(prompt.own), result.cached_tokens, len(result.ids))
                own = prompt.own + result.ids + thinking.closing + prompt.start
                before = result.id
            item = self._reply_pass(request, own, before)
            result = yield item
            tokens += Tokens(len(shared) + len(own), result.cached_tokens, len(result.ids))
            result.check()
            if result.finish != "stop":
                raise ReplyUnfinished("the reply reached the end of the judge's context")
            replay = Replay(self.tokenizer, result.ids)
            reading = reply.form.read(replay.text)
            probabilities = yield from self._probabilities(item, result, replay, reading, reply.form)
        except CaseError as error:
            return Completion(request.id, problem=(error.kind, str(error)), tokens=tokens)
        cut = replay.cut_fields(reply, reading, item.grammar or "")
        return Completion(request.id, reading, thoughts, probabilities, cut, tokens=tokens, thinking_cut=too_long)

    def _thinking_pass(self, prompt: Prompt, thinking: Thinking) -> Pass:
        stops = (thinking.end_id, *self.tokenizer.end_ids)
        own, shared = prompt.own, prompt.shared
        return Pass(self._next_id(), own, None, thinking.budget, thinking.sampling, stops, shared=shared)

    def _reply_pass(self, request: Request, own: tuple[int, ...], after: str) -> Pass:
        reply, stops, shared = request.prompt.reply, self.tokenizer.end_ids, request.prompt.shared
        room = max(1, min(reply.form.limit, self.context - len(shared) - len(own)))
        watched = self._probe.watched(reply.form)
        grammar = reply.form.grammar(stops)
        return Pass(self._next_id(), own, grammar, room, request.sampling, stops, watched, shared, after)

    def _probabilities(
        self, item: Pass, result: PassResult, replay: Replay, reading: Reading, form: Form
    ) -> Generator[Pass, PassResult, dict[str, Mapping[Number, float]]]:
        """Return the probabilities of each score's values, by the score's name. Raises RequestRefused."""
        noted = tuple(zip((*result.ids, self.tokenizer.eos_id), result.logprobs, strict=False))
        found: dict[str, Mapping[Number, float]] = {}
        for slot in form.slots:
            if isinstance(slot.field, ScoreField):
                at, gap = replay.before(reading.spans[slot.name][0])
                texts, own = form.score_texts(slot, gap), item.own + result.ids[:at]
                found[slot.name] = yield from self._probe.passes(
                    item.shared, own, texts, self._next_id, item.id, noted[at:]
                )
        return found
