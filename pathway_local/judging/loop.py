"""Judges cases in a loop: skip judged ones, render, generate, read, store."""

import gc
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import product

from msgspec import Struct
from msgspec.structs import replace

from pathway_local.case import BadRow, Case, CaseRef
from pathway_local.errors import CaseError, Stopped
from pathway_local.judging.pool import Completion, Pool, Request
from pathway_local.judging.recorder import Recorder, Tally, Texts
from pathway_local.judging.reply_reading import filler_marks, verdict_of
from pathway_local.passes import GREEDY, Sampling
from pathway_local.rendering.prompt import Prompt, PromptWriter
from pathway_local.rubrics.consistency import broken_rules
from pathway_local.rubrics.pair import Order, Orders, orders_of, verdict_of_orders
from pathway_local.runs.record import CaseOutcome
from pathway_local.verdict import Failure, Verdict

ALLOCATIONS = 50_000
"""New objects between two searches for circular garbage; a batch of cases makes more than Python's default of 700."""

BATCH = 128
"""Cases that are read, looked up and rendered together, at most."""

BATCH_CHARACTERS = 8 * 2**20
"""A batch ends once its texts have so many characters: a small Parquet file can repeat a text of 15 MB in each row."""

ORDER = -1
"""Stands for a sample's number in the seed that draws the order of a case."""


@dataclass(frozen=True, slots=True)
class LocalRater:
    """A judge under one rubric, with its id in the run; `samples` replies are drawn for each case.

    A comparison of two responses is judged in its `orders`, with so many replies in each.
    """

    id: int
    writer: PromptWriter
    sampling: Sampling = GREEDY
    samples: int = 1
    orders: Orders = "both"

    def prompts(self, cases: Sequence[tuple[Case | CaseRef, Texts]]) -> Iterator[dict[Order, Prompt | CaseError]]:
        """Yield each case's prompt in each order in which the judge reads it, or why it has none."""
        orders = [self._orders_of(case.id) for case, _ in cases]
        read = [(texts, order) for (_, texts), each in zip(cases, orders, strict=True) for order in each]
        prompts = iter(self.writer.write([texts for texts, _ in read], [order for _, order in read]))
        for each in orders:
            yield {order: next(prompts) for order in each}

    def _orders_of(self, case_id: str) -> tuple[Order, ...]:
        pair = self.writer.rubric.pair
        return orders_of(self.orders, own_seed(self.sampling.seed, case_id, ORDER)) if pair else ("ab",)


class _Waiting(Struct):
    """A case that waits for its replies, with its prompt in each order."""

    rater: LocalRater
    case: CaseRef
    prompts: Mapping[Order, Prompt]
    completions: list[Completion] = []


class JudgingLoop:
    """Judges cases under the given raters; `recorder` says which, and stores their outcomes.

    `window` bounds the requests in flight. `watch` gets the
    tally whenever outcomes were stored. `stopped` is asked between outcomes whether to end early: stored outcomes stay,
    and a later job draws those in flight again.
    """

    def __init__(
        self,
        recorder: Recorder,
        raters: Sequence[LocalRater],
        pool: Pool,
        *,
        window: int = 256,
        watch: Callable[[Tally], None] = lambda tally: None,
        stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        self.recorder, self.raters, self.pool = recorder, raters, pool
        self.window, self.watch, self.stopped = window, watch, stopped
        self._waiting: dict[str, _Waiting] = {}
        self._requests = 0

    def judge(self, cases: Iterable[Case | BadRow]) -> Tally:
        """Judge those of the cases that have no verdict yet."""
        with _collecting_rarely(), suppress(Stopped):
            for batch in batches(cases):
                for rater in self.raters:
                    unjudged = self.recorder.to_judge(rater.id, rater.writer.rubric, batch)
                    if unjudged:
                        self.pool.load()  # before a prompt is written: it says how long one may be
                        rater.writer.context = min(rater.writer.context, self.pool.context)
                    for (case, _), prompts in zip(unjudged, rater.prompts(unjudged), strict=True):
                        self._submit(rater, case, prompts)
                        self._store_finished(self.window)
                if self.stopped():
                    return self.recorder.tally
            self._store_finished(0)
            if not self.stopped():
                self.recorder.end([rater.id for rater in self.raters])
        return self.recorder.tally

    def _submit(self, rater: LocalRater, case: CaseRef, prompts: Mapping[Order, Prompt | CaseError]) -> None:
        """Enqueue a request for each order and sample; a case that lacks a prompt fails at once."""
        whole: dict[Order, Prompt] = {}
        for order, prompt in prompts.items():
            if isinstance(prompt, CaseError):
                self._store(rater.id, [CaseOutcome(case, Failure(prompt.kind, str(prompt)))])
                return
            whole[order] = prompt
        waiting = _Waiting(rater, case, whole)
        for number, (prompt, _) in enumerate(product(whole.values(), range(rater.samples))):
            self._requests += 1
            name = str(self._requests)
            self._waiting[name] = waiting
            seed, thinking = own_seed(rater.sampling.seed, case.id, number), rater.writer.thinking
            own = thinking.seeded(seed) if thinking else None
            self.pool.submit(Request(name, prompt, rater.sampling.seeded(seed), own))

    def _store_finished(self, window: int) -> None:
        """Store finished outcomes until at most `window` requests are in flight."""
        while self.pool.in_flight > window and not self.stopped():
            found: defaultdict[int, list[CaseOutcome]] = defaultdict(list)
            for completion in self.pool.completions():
                waiting = self._waiting.pop(completion.id)
                waiting.completions.append(completion)
                if len(waiting.completions) == waiting.rater.samples * len(waiting.prompts):
                    found[waiting.rater.id].append(_outcome_of(waiting))
            for rater_id, outcomes in found.items():
                self._store(rater_id, outcomes)

    def _store(self, rater_id: int, outcomes: Sequence[CaseOutcome]) -> None:
        self.recorder.store(rater_id, outcomes)
        self.watch(self.recorder.tally)


def _outcome_of(waiting: _Waiting) -> CaseOutcome:
    # In the order of the requests, not of the replies: the same seeds must give the same verdict.
    completions = sorted(waiting.completions, key=lambda each: int(each.id))
    tokens = sum((completion.tokens for completion in completions[1:]), completions[0].tokens)
    rubric, samples = waiting.rater.writer.rubric, waiting.rater.samples
    templates = tuple(turn.template for turn in rubric.turns)
    verdicts: dict[Order, Verdict] = {}
    for number, (order, prompt) in enumerate(waiting.prompts.items()):
        own = completions[number * samples : (number + 1) * samples]
        outcome = verdict_of(own, rubric.format, prompt.marks)
        if isinstance(outcome, Failure):
            return CaseOutcome(waiting.case, outcome, tokens)
        values = {**outcome.fields, **{name: score.value for name, score in outcome.scores.items()}}
        filler = filler_marks(outcome.fields, templates, prompt.reply.form.write(values))
        marks = (*outcome.marks, *filler, *broken_rules(prompt.rules, outcome))
        verdicts[order] = replace(outcome, marks=marks)
    verdict = verdict_of_orders(verdicts, rubric.pair, rubric.format) if rubric.pair else verdicts["ab"]
    return CaseOutcome(waiting.case, verdict, tokens)


@contextmanager
def _collecting_rarely() -> Iterator[None]:
    """Search for circular garbage less often: walking the long tuples of prompts took a third of the time."""
    before = gc.get_threshold()
    gc.set_threshold(ALLOCATIONS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def own_seed(seed: int, case_id: str, sample: int) -> int:
    """Return a seed for one sample of one case, below 2**31: with a shared seed all samples would err alike."""
    return zlib.crc32(f"{seed} {sample} {case_id}".encode("utf-8", "surrogatepass")) >> 1


def batches(cases: Iterable[Case | BadRow]) -> Iterator[list[Case | BadRow]]:
    """Yield the rows that are read, looked up and rendered together."""
    batch: list[Case | BadRow] = []
    characters = 0
    for row in cases:
        batch.append(row)
        characters += sum(map(len, row.metadata.values()))
        if isinstance(row, Case):
            characters += sum(map(len, row.inputs.values()))
        if len(batch) == BATCH or characters >= BATCH_CHARACTERS:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch
