"""Judges cases in a loop: skip judged ones, render, generate, read, store."""

import gc
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import product

from msgspec import Struct
from msgspec.structs import replace

from pathway_local.case import BadRow, Case, CaseRef, fingerprint
from pathway_local.errors import CaseError, RunFileError, Stopped
from pathway_local.judging.pool import Completion, Pool, Request
from pathway_local.judging.reply_reading import filler_marks, verdict_of
from pathway_local.passes import GREEDY, Sampling
from pathway_local.rendering.prompt import Prompt, PromptWriter
from pathway_local.rubrics.consistency import broken_rules
from pathway_local.rubrics.pair import FIELDS, Order, Orders, orders_of, verdict_of_orders
from pathway_local.runs.record import CaseOutcome
from pathway_local.runs.run_cases import rows_are_ids
from pathway_local.runs.run_file import RunFile
from pathway_local.verdict import NO_TOKENS, Failure, Tokens, Verdict

ALLOCATIONS = 50_000
"""New objects between two searches for circular garbage; a batch of cases makes more than Python's default of 700."""

BATCH = 128
"""Cases that are read, looked up and rendered together, at most."""

BATCH_CHARACTERS = 8 * 2**20
"""A batch ends once its texts have so many characters: a small Parquet file can repeat a text of 15 MB in each row."""

Texts = Mapping[str, str]
"""A case's texts by input."""

ORDER = -1
"""Stands for a sample's number in the seed that draws the order of a case."""


@dataclass(slots=True)
class Tally:
    """Counts what a job has done. Cases are counted once per rubric; tokens are those of this job."""

    judged: int = 0
    skipped: int = 0
    rejudged: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    tokens: Tokens = NO_TOKENS

    @property
    def done(self) -> int:
        """Return the number of cases with an outcome, those of earlier jobs included."""
        return self.judged + self.skipped + self.failures.total()

    def count(self, stored: CaseOutcome) -> None:
        """Add an outcome that was stored."""
        self.tokens += stored.tokens
        if isinstance(stored.outcome, Failure):
            self.failures[stored.outcome.kind] += 1
        else:
            self.judged += 1


@dataclass(slots=True)
class LocalRater:
    """A judge under one rubric, with its id in the run once it was added; `samples` replies are drawn for each case.

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


@dataclass(slots=True)
class JudgingLoop:
    """Judges cases into a run, all but those that a rater has judged with the same texts.

    `source` is the name of the cases file, `keep` names the metadata columns that the run keeps, None all of them.
    Without `texts` a verdict is stored as its scores and marks alone. If the cases are not the `whole` file, failures
    on bad rows that are not among them stay. `window` bounds the requests in flight. `watch` gets the tally whenever
    outcomes were stored. `stopped` is asked between outcomes whether to end early; a later job draws those in flight
    again.
    """

    run: RunFile
    source: str
    raters: Sequence[LocalRater]
    pool: Pool
    keep: Collection[str] | None = ()
    texts: bool = True
    whole: bool = True
    window: int = 256
    watch: Callable[[Tally], None] = lambda tally: None
    stopped: Callable[[], bool] = lambda: False
    tally: Tally = field(default_factory=Tally)
    _waiting: dict[str, _Waiting] = field(default_factory=dict)
    _bad_rows: set[str] = field(default_factory=set)
    _requests: int = 0

    def judge(self, cases: Iterable[Case | BadRow]) -> Tally:
        """Judge those of the cases that have no verdict yet."""
        with _collecting_rarely(), suppress(Stopped):
            for batch in batches(cases):
                for rater in self.raters:
                    unjudged = self._unjudged(rater, batch)
                    if unjudged:
                        self.pool.load()  # before a prompt is written: it says how long one may be
                        rater.writer.context = min(rater.writer.context, self.pool.context)
                    for (case, _), prompts in zip(unjudged, rater.prompts(unjudged), strict=True):
                        self._submit(rater, case, prompts)
                        self._store_finished(self.window)
                if self.stopped():
                    return self.tally
            self._store_finished(0)
            for rater in self.raters if self.whole and not self.stopped() else ():
                self.run.forget_bad_rows(rater.id, self.source, self._bad_rows)
        return self.tally

    def _unjudged(self, rater: LocalRater, batch: Sequence[Case | BadRow]) -> list[tuple[CaseRef, Texts]]:
        """Return the cases of a batch that the rater has not judged, with the texts that its rubric reads."""
        known = self.run.judged(rater.id, [row.id for row in batch])
        unjudged: list[tuple[CaseRef, Texts]] = []
        skipped: list[CaseRef] = []
        bad = [row for row in batch if isinstance(row, BadRow)]
        for row in batch:
            if isinstance(row, BadRow):
                continue
            texts = rater.writer.rubric.texts_of(row)
            case = row.ref(fingerprint(self.run.key, texts))
            if known.get(case.id) == case.hash:
                skipped.append(case)
                continue
            if case.id in known:
                if rows_are_ids(self.run):
                    said = f"row {case.row} of the cases file has other texts than when it was judged"
                    hint = "Rows that move need ids: name their column with --id, and start another run file."
                    raise RunFileError(said, hint)
                self.tally.rejudged += 1
            unjudged.append((case, texts))
        self.run.keep_metadata(skipped, self.keep)
        self.tally.skipped += len(skipped)
        self._bad_rows.update(row.id for row in bad)
        self._store(rater.id, [CaseOutcome(row.ref, row.failure) for row in bad])
        return unjudged

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
        """Store a rater's outcomes and count them."""
        if not self.texts:
            outcomes = [_without_texts(each) for each in outcomes]
        if outcomes:
            self.run.put_all(rater_id, outcomes, keep=self.keep)
            for each in outcomes:
                self.tally.count(each)
            self.watch(self.tally)


def _without_texts(found: CaseOutcome) -> CaseOutcome:
    """Keep of a verdict's fields what a comparison of two responses chose in each order, which is no text."""
    if not isinstance(found.outcome, Verdict):
        return found
    kept = {k: value for k, value in found.outcome.fields.items() if k in FIELDS and not isinstance(value, str)}
    return replace(found, outcome=replace(found.outcome, fields=kept))


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
