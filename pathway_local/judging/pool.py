"""Requests over an engine: each may take several passes, and comes back as one completion."""

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
from pathway_local.rubrics.output_format import Reading
from pathway_local.verdict import NO_TOKENS, Tokens


class Request(Struct, frozen=True):
    """One reply to draw: the prompt, how to draw, and how to think before, if at all."""

    id: str
    prompt: Prompt
    sampling: Sampling = GREEDY
    thinking: Thinking | None = None


class Completion(Struct, frozen=True):
    """What came back for the request of that id.

    Either `reading` holds the values, `probabilities` those of each score's values, and `cut` the fields that
    their budget closed; or `problem` is a failure's kind and message. `thinking` is what came before the reply,
    `thinking_cut` whether its budget closed that.
    """

    id: str
    reading: Reading | None = None
    thinking: str = ""
    probabilities: Mapping[str, Mapping[int, float]] = {}
    cut: tuple[str, ...] = ()
    problem: tuple[str, str] = ("", "")
    tokens: Tokens = NO_TOKENS
    thinking_cut: bool = False


Course = Generator[Pass, PassResult, Completion]


class Pool:
    """Takes requests by `submit` and gives completions by `completions`, in the order they finish.

    `start` loads the engine; it is called when the first request comes, so that a job with nothing to judge
    needs none. `context` is the judge's limit in tokens for prompt and reply together.
    """

    def __init__(self, start: Callable[[], Engine], tokenizer: JudgeTokenizer, context: int) -> None:
        self.tokenizer, self.context = tokenizer, context
        self.in_flight = 0
        self._start = start
        self._engine: Engine | None = None
        self._probe = Probe(tokenizer)
        self._courses: dict[str, Course] = {}
        self._ready: deque[Completion] = deque()
        self._passes = 0

    def submit(self, request: Request) -> None:
        """Begin a request; returns at once."""
        self.in_flight += 1
        course = self._course(request)
        self._queue(course, next(course))

    def completions(self) -> list[Completion]:
        """Wait for at least one completion; empty only if nothing is in flight."""
        while self.in_flight and not self._ready:
            for result in self._loaded().results():
                course = self._courses.pop(result.id)
                try:
                    self._queue(course, course.send(result))
                except StopIteration as stop:
                    self._ready.append(stop.value)
        done = list(self._ready)
        self._ready.clear()
        self.in_flight -= len(done)
        return done

    def _loaded(self) -> Engine:
        self._engine = self._engine or self._start()
        return self._engine

    def _queue(self, course: Course, item: Pass) -> None:
        self._courses[item.id] = course
        self._loaded().submit(item)

    def _next_id(self) -> str:
        self._passes += 1
        return str(self._passes)

    def _course(self, request: Request) -> Course:
        """The passes of a request: thinking, the reply, and what its scores' probabilities still need."""
        reply, stops = request.prompt.reply, self.tokenizer.end_ids
        prompt, thought, tokens = request.prompt, "", NO_TOKENS
        shared, own = prompt.shared, prompt.own + prompt.start
        too_long = False
        try:
            if request.thinking:
                result = yield self._thinking_pass(prompt, request.thinking)
                _check(result, may_be_long=True)
                thought = Replay(self.tokenizer, result.ids).text
                too_long = result.finish == "length"
                tokens = Tokens(len(shared) + len(prompt.own), result.cached_tokens, len(result.ids))
                own = prompt.own + result.ids + request.thinking.closing + prompt.start
            grammar = reply.grammar(stops)
            length = len(shared) + len(own)
            room = max(1, min(reply.limit, self.context - length))
            watched = self._probe.watched(reply.form)
            result = yield Pass(
                self._next_id(),
                own,
                grammar,
                room,
                request.sampling,
                stops,
                watched,
                shared,
                continues=request.thinking is not None,
            )
            tokens += Tokens(length, result.cached_tokens, len(result.ids))
            _check(result)
            replay = Replay(self.tokenizer, result.ids)
            reading = reply.read(replay.text)
            probabilities = {}
            said = tuple(zip((*result.ids, self.tokenizer.eos_id), result.logprobs, strict=False))
            for slot in reply.form.slots:
                if isinstance(slot.field, ScoreField):
                    at, gap = replay.before(reading.spans[slot.name][0])
                    texts = reply.form.score_texts(slot, gap)
                    before = own + result.ids[:at]
                    probing = self._probe.passes(shared, before, texts, self._next_id, said[at:])
                    probabilities[slot.name] = yield from probing
        except CaseError as error:
            return Completion(request.id, problem=(error.kind, str(error)), tokens=tokens)
        cut = replay.cut_fields(reply, reading, grammar)
        return Completion(request.id, reading, thought, probabilities, cut, tokens=tokens, thinking_cut=too_long)

    def _thinking_pass(self, prompt: Prompt, thinking: Thinking) -> Pass:
        stops = (thinking.end_id, *self.tokenizer.end_ids)
        own, shared = prompt.own, prompt.shared
        return Pass(self._next_id(), own, None, thinking.budget, thinking.sampling, stops, shared=shared)


def _check(result: PassResult, *, may_be_long: bool = False) -> None:
    result.check()
    if result.finish != "stop" and not may_be_long:
        raise ReplyUnfinished("the reply reached the end of the judge's context")
