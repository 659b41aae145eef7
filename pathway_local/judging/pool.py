"""A pool of requests to an engine: each may take several passes, is replayed as text, and returns as one completion."""

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Generator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import accumulate

from llguidance import LLMatcher
from msgspec import Struct

from pathway_local.errors import CaseError, ReplyUnfinished
from pathway_local.judging.value_probabilities import Distribution, Place, ValueProbabilities
from pathway_local.passes import GREEDY, Engine, Pass, PassResult, Sampling, new_pass_id
from pathway_local.rendering.prompt import Prompt, Thinking
from pathway_local.rendering.tokenizer import JudgeTokenizer
from pathway_local.rubrics.fields import ScoreField
from pathway_local.rubrics.form import Form, Reading, Reply, Slot
from pathway_local.verdict import NO_TOKENS, Number, Tokens

EDGES = 2
"""Tokens at the two edges of a field that may belong to the literals around it as well."""


@lru_cache(64)
def _matcher(tokenizer: JudgeTokenizer, grammar: str) -> LLMatcher:
    """Return a matcher to copy: compiling one takes milliseconds, a copy 0.01 ms."""
    return tokenizer.matcher(grammar)


class Replay:
    """The ids of a reply as text. Bytes that are not UTF-8 become surrogates, so that offsets into it stay right."""

    def __init__(self, tokenizer: JudgeTokenizer, ids: Sequence[int]) -> None:
        self.tokenizer, self.ids = tokenizer, ids
        self._pieces = tokenizer.pieces(ids)
        self.text = b"".join(self._pieces).decode("utf-8", "surrogateescape")

    @cached_property
    def ends(self) -> list[int]:
        """Return the offset in bytes at which each token ends."""
        return list(accumulate(map(len, self._pieces)))

    def before(self, offset: int) -> tuple[int, str]:
        """Return the number of tokens that end before the blanks in front of `offset`, and the text from there to it.

        The pass for a score's probabilities continues from these tokens. The blanks are left out, since a token may
        join a blank with the score.
        """
        blank = len(self.text[:offset].rstrip())
        tokens = bisect_right(self.ends, self._bytes(blank))
        start = self.ends[tokens - 1] if tokens else 0
        return tokens, self.text[:offset].encode("utf-8", "surrogateescape")[start:].decode()

    def cut_fields(self, reply: Reply, reading: Reading, grammar: str) -> tuple[str, ...]:
        """Return the fields that ended because they reached their budget, and lists of verdicts that are full."""
        form = reply.form
        return tuple(
            slot.name
            for slot in form.slots
            if slot.field.is_full(reading.values[slot.name]) or self._cut(slot, form, reading.spans[slot.name], grammar)
        )

    def _cut(self, slot: Slot, form: Form, span: tuple[int, int], grammar: str) -> bool:
        shortest = slot.field.shortest_cut(form.in_json)
        if shortest is None:
            return False
        # llguidance counts a budget from where it was sure that the field would begin, which can be as many tokens
        # earlier as the literal before the field has bytes. In JSON a text has half of its budget between two escapes.
        # A field with fewer tokens than that can't have reached its budget: most replies need no matcher.
        early = len(form.before(slot.name).encode()) + EDGES
        if len(self.ids) < shortest - early:
            return False
        first, last = (bisect_left(self.ends, self._bytes(offset)) for offset in span)
        if last - first < shortest - early:
            return False
        # A list of texts in JSON has a budget for each string, so each closing quote may be a forced one.
        if form.in_json:
            closings = [self._bytes(span[0] + end) for end in slot.field.ends_of_texts(self.text[span[0] : span[1]])]
        else:
            closings = [self._boundary(self._bytes(form.ending(slot.name).decided(self.text, span[1])))]
        return self._is_forced(sorted(closings), grammar, max(0, first - early))

    def _boundary(self, offset: int) -> int:
        """Return where the last token ends that ends at `offset` or before it."""
        tokens = bisect_right(self.ends, offset)
        return self.ends[tokens - 1] if tokens else 0

    def _is_forced(self, offsets: Sequence[int], grammar: str, since: int) -> bool:
        """Whether the grammar forbade a letter at one of these ends: where it allowed one, the judge ended by itself.

        No budget of the field can count from before the token `since`.
        """
        matcher, at = _matcher(self.tokenizer, grammar).deep_copy(), since
        matcher.consume_tokens(list(self.ids[:since]))
        for offset in offsets:
            if offset != self._boundary(offset):
                continue
            tokens = bisect_right(self.ends, offset)
            for token in self.ids[at:tokens]:
                # The engine computes a mask at each token, which looks ahead, and budgets count from what it saw.
                # Without the same look ahead here, budgets would end elsewhere. This call is only the part of a mask
                # that looks ahead: it takes the same time for any vocabulary.
                matcher.compute_ff_bytes()
                matcher.consume_token(token)
            at = max(at, tokens)
            if not self.tokenizer.lets_through(matcher, self.tokenizer.letter_id):
                return True
        return False

    def _bytes(self, offset: int) -> int:
        if self.text.isascii():
            return offset
        return len(self.text[:offset].encode("utf-8", "surrogateescape"))


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

    `start` loads the engine when it is needed, so that a job with nothing to judge needs no engine.
    `context` is the judge's limit in tokens for prompt and reply together; the loaded engine may have room for fewer.
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
            for result in self.load().results():
                passes = self._by_pass.pop(result.id)
                try:
                    self._enqueue(passes, passes.send(result))
                except StopIteration as stop:
                    self._ready.append(stop.value)
        done = list(self._ready)
        self._ready.clear()
        self.in_flight -= len(done)
        return done

    def load(self) -> Engine:
        """Return the engine; load it the first time."""
        if self._engine is None:
            self._engine = self._start()
            self.context = min(self.context, self._engine.facts.max_model_len)
        return self._engine

    def _enqueue(self, passes: PassGenerator, item: Pass) -> None:
        self._by_pass[item.id] = passes
        self.load().submit(item)

    def _passes_of(self, request: Request) -> PassGenerator:
        """Yield the passes of a request: thinking, the reply, and any that the scores' probabilities still need."""
        prompt, reply, thinking, stops = request.prompt, request.prompt.reply, request.thinking, self.tokenizer.end_ids
        thoughts, tokens, too_long = "", NO_TOKENS, False
        ids, before = prompt.ids, ""
        try:
            if thinking:
                ids, ends = prompt.shared + prompt.own, (thinking.end_id, *stops)
                result = yield Pass(new_pass_id(), ids, None, thinking.budget, thinking.sampling, ends)
                result.check()
                thoughts, too_long = Replay(self.tokenizer, result.ids).text, result.finish == "length"
                tokens = Tokens(len(ids), result.cached_tokens, len(result.ids))
                ids, before = ids + result.ids + thinking.closing + prompt.start, result.id
            room = max(1, min(reply.form.limit, self.context - len(ids)))
            watched, grammar = self._values.watched(reply.form), reply.form.grammar(stops)
            item = Pass(new_pass_id(), ids, grammar, room, request.sampling, stops, watched, before)
            result = yield item
            tokens += Tokens(len(ids), result.cached_tokens, len(result.ids))
            result.check()
            if result.finish != "stop":
                raise ReplyUnfinished("the reply reached the end of the judge's context")
            replay = Replay(self.tokenizer, result.ids)
            reading = reply.form.read(replay.text)
            found = yield from self._found(item, result, replay, reading, reply.form)
        except CaseError as error:
            return Completion(request.id, problem=(error.kind, str(error)), tokens=tokens)
        cut = replay.cut_fields(reply, reading, grammar)
        probabilities = {name: each.probabilities for name, each in found.items()}
        masses = {name: each.mass for name, each in found.items() if each.mass is not None}
        return Completion(
            request.id, reading, thoughts, probabilities, masses, cut, tokens=tokens, thinking_cut=too_long
        )

    def _found(
        self, item: Pass, result: PassResult, replay: Replay, reading: Reading, form: Form
    ) -> Generator[Pass, PassResult, dict[str, Distribution]]:
        """Return the probabilities of each score's values, by the score's name. Raises RequestRefused."""
        noted = tuple(zip((*result.ids, self.tokenizer.eos_id), result.logprobs, strict=False))
        found: dict[str, Distribution] = {}
        for slot in form.slots:
            if isinstance(slot.field, ScoreField):
                at, gap = replay.before(reading.spans[slot.name][0])
                texts, ids = form.score_texts(slot, gap), item.ids + result.ids[:at]
                place = Place(texts, len(gap.encode()), len(form.ending(slot.name).literal.encode()))
                found[slot.name] = yield from self._values.passes(ids, place, item.id, noted[at:])
        return found
