"""The loop: render, skip what is done, generate, read, store."""

import gc
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice

from msgspec import Struct
from msgspec.structs import replace

from pathway_local.case import BadRow, Case, fingerprint
from pathway_local.errors import CaseError, RunFileError, Stopped
from pathway_local.judging.pool import Completion, Pool, Request
from pathway_local.judging.reply_reading import verdict_of
from pathway_local.passes import GREEDY, Sampling
from pathway_local.rendering.prompt import Prompt, PromptWriter
from pathway_local.rubrics.consistency import broken_rules
from pathway_local.runs.record import CaseOutcome
from pathway_local.runs.run_file import RunFile
from pathway_local.verdict import NO_TOKENS, Failure, Tokens, Verdict

ALLOCATIONS = 50_000
"""New objects between two looks for garbage in circles; Python's own 700 are less than a batch of cases makes."""

BATCH = 128
"""Cases that are read, rendered and looked up together."""


@dataclass(frozen=True, slots=True)
class LocalRater:
    """A judge under one rubric, as it is known to the run; `samples` replies are drawn for each case."""

    id: int
    writer: PromptWriter
    sampling: Sampling = GREEDY
    samples: int = 1


@dataclass(slots=True)
class Tally:
    """How far a job has come. Cases are counted once per rubric; tokens are those of this job."""

    judged: int = 0
    skipped: int = 0
    rejudged: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    tokens: Tokens = NO_TOKENS

    @property
    def done(self) -> int:
        """Cases with an outcome, earlier ones among them."""
        return self.judged + self.skipped + self.failures.total()

    def count(self, stored: CaseOutcome) -> None:
        """Add an outcome that was stored."""
        self.tokens += stored.tokens
        if isinstance(stored.outcome, Failure):
            self.failures[stored.outcome.kind] += 1
        else:
            self.judged += 1


class _Drawing(Struct):
    """A case whose replies are being drawn."""

    rater: LocalRater
    case: Case
    case_hash: str
    prompt: Prompt
    completions: list[Completion] = []


class Judging:
    """Judges cases under the given raters and stores every outcome in the run.

    `source` is the name of the cases file, `keep` names the metadata columns that the run keeps, None all of them.
    Without `texts` a verdict is stored as its scores and marks alone.
    `window` bounds the requests in flight. `watch` is told whenever outcomes were stored; `stopped` is asked between
    them whether to end early: what is stored by then stays, what is in flight is drawn again on resuming.
    """

    def __init__(
        self,
        run: RunFile,
        raters: Sequence[LocalRater],
        pool: Pool,
        *,
        source: str,
        keep: Collection[str] | None = (),
        texts: bool = True,
        window: int = 256,
        watch: Callable[[Tally], None] = lambda tally: None,
        stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        self.run, self.raters, self.pool, self.keep = run, raters, pool, keep
        self.texts = texts
        self.window, self.watch, self.stopped = window, watch, stopped
        self.source, self.tally = source, Tally()
        self._drawings: dict[str, _Drawing] = {}
        self._bad_rows: set[str] = set()
        self._requests = 0

    def judge(self, cases: Iterable[Case | BadRow]) -> Tally:
        """Judge all cases, except those that these raters have judged with the same texts."""
        with _collecting_rarely(), suppress(Stopped):
            self._judge(cases)
        return self.tally

    def _judge(self, cases: Iterable[Case | BadRow]) -> None:
        for batch in _batches(cases):
            for rater in self.raters:
                todo = self._todo(rater, batch)
                prompts = rater.writer.write([case for case, _ in todo])
                for (case, case_hash), prompt in zip(todo, prompts, strict=True):
                    self._begin(rater, case, case_hash, prompt)
                    self._store_finished(self.window)
            if self.stopped():
                return
        self._store_finished(0)
        if not self.stopped():
            for rater in self.raters:
                self.run.forget_bad_rows(rater.id, self.source, self._bad_rows)

    def _todo(self, rater: LocalRater, batch: Sequence[Case | BadRow]) -> list[tuple[Case, str]]:
        known = self.run.judged(rater.id, [row.id for row in batch])
        todo: list[tuple[Case, str]] = []
        skipped: list[Case] = []
        bad: list[CaseOutcome] = []
        for row in batch:
            if isinstance(row, BadRow):
                stand_in = Case(row.id, {}, row=row.row, numbered=row.numbered)
                self._bad_rows.add(row.id)
                bad.append(CaseOutcome(stand_in, "", Failure("bad-row", f"{row.where}: {row.reason}")))
                continue
            case_hash = fingerprint(self.run.key, rater.writer.rubric.texts_of(row))
            if known.get(row.id) == case_hash:
                skipped.append(row)
                continue
            if row.id in known:
                self._moved(row)
                self.tally.rejudged += 1
            todo.append((row, case_hash))
        self.run.keep_metadata(skipped, self.keep)
        self.tally.skipped += len(skipped)
        self._store(rater.id, bad)
        return todo

    def _moved(self, case: Case) -> None:
        if case.numbered:
            said = f"row {case.row} of the cases file has other texts than when it was judged"
            hint = "Rows that move need ids: name their column with --id, and start another run file."
            raise RunFileError(said, hint)

    def _begin(self, rater: LocalRater, case: Case, case_hash: str, prompt: Prompt | CaseError) -> None:
        if isinstance(prompt, CaseError):
            self._store(rater.id, [CaseOutcome(case, case_hash, Failure(prompt.kind, str(prompt)))])
            return
        drawing = _Drawing(rater, case, case_hash, prompt)
        for sample in range(rater.samples):
            self._requests += 1
            name = str(self._requests)
            self._drawings[name] = drawing
            seed, thinking = own_seed(rater.sampling.seed, case.id, sample), rater.writer.thinking
            own = thinking.seeded(seed) if thinking else None
            self.pool.submit(Request(name, prompt, rater.sampling.seeded(seed), own))

    def _store_finished(self, window: int) -> None:
        while self.pool.in_flight > window and not self.stopped():
            found: defaultdict[int, list[CaseOutcome]] = defaultdict(list)
            for completion in self.pool.completions():
                drawing = self._drawings.pop(completion.id)
                drawing.completions.append(completion)
                if len(drawing.completions) == drawing.rater.samples:
                    found[drawing.rater.id].append(_outcome_of(drawing))
            for rater_id, outcomes in found.items():
                self._store(rater_id, outcomes)

    def _store(self, rater_id: int, outcomes: Sequence[CaseOutcome]) -> None:
        if not outcomes:
            return
        if not self.texts:
            outcomes = [_without_texts(each) for each in outcomes]
        self.run.put_all(rater_id, outcomes, keep=self.keep)
        for each in outcomes:
            self.tally.count(each)
        self.watch(self.tally)


def _outcome_of(drawing: _Drawing) -> CaseOutcome:
    rubric = drawing.rater.writer.rubric
    # In the order they were asked for, whatever came first: the same seeds are to give the same verdict.
    completions = sorted(drawing.completions, key=lambda each: int(each.id))
    outcome = verdict_of(completions, rubric.format, drawing.prompt.marks)
    if rubric.rules and isinstance(outcome, Verdict):
        broken = broken_rules(rubric.rules, rubric.inputs_of(drawing.case), outcome)
        outcome = replace(outcome, marks=(*outcome.marks, *broken))
    tokens = sum((completion.tokens for completion in completions[1:]), completions[0].tokens)
    return CaseOutcome(drawing.case, drawing.case_hash, outcome, tokens)


def _without_texts(found: CaseOutcome) -> CaseOutcome:
    if isinstance(found.outcome, Verdict):
        return replace(found, outcome=replace(found.outcome, fields={}))
    return found


@contextmanager
def _collecting_rarely() -> Iterator[None]:
    """Look for garbage in circles less often: prompts are long tuples, and walking them took a third of the time."""
    before = gc.get_threshold()
    gc.set_threshold(ALLOCATIONS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def own_seed(seed: int, case_id: str, sample: int) -> int:
    """The seed of one sample of one case: with one for all, all would draw alike, and err together. Below 2**31."""
    return zlib.crc32(f"{seed} {sample} {case_id}".encode("utf-8", "surrogatepass")) >> 1


def _batches(cases: Iterable[Case | BadRow]) -> Iterator[list[Case | BadRow]]:
    rows = iter(cases)
    while batch := list(islice(rows, BATCH)):
        yield batch
