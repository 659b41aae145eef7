"""A pool of requests to an engine: each may take several passes, and returns as one completion."""

from collections import deque
from collections.abc import Callable, Generator, Mapping

from msgspec import Struct

from pathway_local.errors import CaseError, ReplyUnfinished
from pathway_local.judging.pool import Replay
from pathway_local.judging.value_probabilities import Distribution, Place, ValueProbabilities
from pathway_local.passes import GREEDY, Engine, Pass, PassResult, Sampling, new_pass_id
from pathway_local.rendering.prompt import Prompt, Thinking
from pathway_local.rendering.tokenizer import JudgeTokenizer
from pathway_local.rubrics.fields import ScoreField
from pathway_local.rubrics.form import Form, Reading
from pathway_local.verdict import NO_TOKENS, Number, Tokens


class Request(Struct, frozen=True):
    """One reply to draw: its prompt, its sampling, and the thinking before it, if any."""

    id: str
    prompt: Prompt
    sampling: Sampling = GREEDY
    thinking: Thinking | None = None


class Completion(Struct, frozen=True):
    """The reply to the request of that id, or the reason for a missing reply.

    Either `reading` holds the values, `probabilities` those of each score's values, `masses` what the judge gave to all
    of these together without the format, by the score's name where it is known, and `cut` the fields that reached
    their budget; or `problem` is a failure's kind and message. `thinking` is the judge's thinking before the
    reply, and `thinking_cut` says whether it reached its budget.
    """

    id: str
    reading: Reading | None = None
    thinking: str = ""
    probabilities: Mapping[str, Mapping[Number, float]] = {}
    masses: Mapping[str, float] = {}
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
        self._values = ValueProbabilities(tokenizer)
        self._by_pass: dict[str, PassGenerator] = {}
        self._ready: deque[Completion] = deque()

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
            found = yield from self._found(item, result, replay, reading, reply.form)
        except CaseError as error:
            return Completion(request.id, problem=(error.kind, str(error)), tokens=tokens)
        cut = replay.cut_fields(reply, reading, item.grammar or "")
        probabilities = {name: each.probabilities for name, each in found.items()}
        masses = {name: each.mass for name, each in found.items() if each.mass is not None}
        return Completion(
            request.id, reading, thoughts, probabilities, masses, cut, tokens=tokens, thinking_cut=too_long
        )

    def _thinking_pass(self, prompt: Prompt, thinking: Thinking) -> Pass:
        stops = (thinking.end_id, *self.tokenizer.end_ids)
        own, shared = prompt.own, prompt.shared
        return Pass(new_pass_id(), own, None, thinking.budget, thinking.sampling, stops, shared=shared)

    def _reply_pass(self, request: Request, own: tuple[int, ...], after: str) -> Pass:
        reply, stops, shared = request.prompt.reply, self.tokenizer.end_ids, request.prompt.shared
        room = max(1, min(reply.form.limit, self.context - len(shared) - len(own)))
        watched = self._values.watched(reply.form)
        grammar = reply.form.grammar(stops)
        return Pass(new_pass_id(), own, grammar, room, request.sampling, stops, watched, shared, after)

    def _found(
        self, item: Pass, result: PassResult, replay: Replay, reading: Reading, form: Form
    ) -> Generator[Pass, PassResult, dict[str, Distribution]]:
        """Return the probabilities of each score's values, by the score's name. Raises RequestRefused."""
        noted = tuple(zip((*result.ids, self.tokenizer.eos_id), result.logprobs, strict=False))
        found: dict[str, Distribution] = {}
        for slot in form.slots:
            if isinstance(slot.field, ScoreField):
                at, gap = replay.before(reading.spans[slot.name][0])
                texts, own = form.score_texts(slot, gap), item.own + result.ids[:at]
                place = Place(texts, len(gap.encode()), len(form.ending(slot.name).literal.encode()))
                found[slot.name] = yield from self._values.passes(item.shared, own, place, item.id, noted[at:])
        return found
