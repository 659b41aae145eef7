"""Requests over an engine: each may take several passes, and comes back as one completion."""

from collections import deque
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field

from pathway_local.engines.passes import GREEDY, Engine, Pass, PassResult, Sampling
from pathway_local.engines.probe import Probe
from pathway_local.engines.replay import Replay
from pathway_local.errors import CaseError, ReplyUnfinished, RequestRefused
from pathway_local.fields import Score
from pathway_local.output_format import Reading, Reply, Slot
from pathway_local.tokenizer import JudgeTokenizer


@dataclass(frozen=True, slots=True)
class Request:
    """One reply to draw: prompt ids, the reply asked for, and how to draw it."""

    id: str
    ids: tuple[int, ...]
    reply: Reply
    sampling: Sampling = GREEDY


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens of a request's prompt, how many of them the prefix cache saved, and tokens of its reply."""

    prompt: int = 0
    cached: int = 0
    generated: int = 0

    def __add__(self, other: "Tokens") -> "Tokens":
        return Tokens(self.prompt + other.prompt, self.cached + other.cached, self.generated + other.generated)


NO_TOKENS = Tokens()


@dataclass(frozen=True, slots=True)
class Completion:
    """What came back for the request of that id.

    Either `reading` holds the values, `probabilities` those of each score's values, and `cut` the fields that
    their budget closed; or `problem` is a failure's kind and message.
    """

    id: str
    reading: Reading | None = None
    probabilities: Mapping[str, Mapping[int, float]] = field(default_factory=dict)
    cut: tuple[str, ...] = ()
    problem: tuple[str, str] = ("", "")
    tokens: Tokens = NO_TOKENS


Course = Generator[list[Pass], list[PassResult], Completion]


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
                    self._queue(course, course.send([result]))
                except StopIteration as stop:
                    self._ready.append(stop.value)
        done = list(self._ready)
        self._ready.clear()
        self.in_flight -= len(done)
        return done

    def close(self) -> None:
        """Free the engine, if there is one."""
        if self._engine:
            self._engine.close()
            self._engine = None

    def _loaded(self) -> Engine:
        self._engine = self._engine or self._start()
        return self._engine

    def _queue(self, course: Course, passes: list[Pass]) -> None:
        [item] = passes
        self._courses[item.id] = course
        self._loaded().submit(item)

    def _next_id(self) -> str:
        self._passes += 1
        return str(self._passes)

    def _course(self, request: Request) -> Course:
        """The passes of a request: the reply, then one token more for each score's probabilities."""
        reply, stops = request.reply, self.tokenizer.end_ids
        grammar = reply.grammar(stops)
        room = max(1, min(reply.limit, self.context - len(request.ids)))
        [result] = yield [Pass(self._next_id(), request.ids, grammar, room, request.sampling, stops)]
        tokens = Tokens(len(request.ids), result.cached_tokens, len(result.ids))
        replay = Replay(self.tokenizer, result.ids)
        try:
            _check(result)
            reading = reply.read(replay.text)
        except CaseError as error:
            return Completion(request.id, problem=(error.kind, str(error)), tokens=tokens)
        probabilities = {}
        for slot in reply.slots:
            if isinstance(slot.field, Score):
                at, gap = replay.before(reading.spans[slot.name][0])
                texts = _texts(slot, slot.field, reply, gap)
                prefix = request.ids + result.ids[:at]
                probabilities[slot.name] = yield from self._probe.passes(prefix, texts, self._next_id)
        cut = replay.cut_fields(reply, reading, grammar)
        return Completion(request.id, reading, probabilities, cut, tokens=tokens)


def _texts(slot: Slot, score: Score, reply: Reply, gap: str) -> dict[int, str]:
    """For each value, the text from the end of the last fixed token to the end of the literal behind the score."""
    return {
        value: f"{gap}{written}{reply.after(slot.name)}"
        for written, value in score.values_by_text(reply.quoted).items()
    }


def _check(result: PassResult) -> None:
    if result.finish == "error":
        raise RequestRefused(result.error or "the engine refused the request")
    if result.finish != "stop":
        raise ReplyUnfinished("the reply reached the end of the judge's context")
