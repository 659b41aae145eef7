"""Decides which waiting passes start: in waves, and as many as there are seats and cache for."""

from collections import Counter, deque

from pathway_local.passes import Pass

SPARE = 0.05
"""Share of the cache that stays free. vLLM reuses free blocks oldest first: without a spare, new passes overwrite the
blocks of passes that have just finished."""

PORTION = 0.75
"""Share of its expected reply that a pass reserves. Running passes are half written on average, so 1 would leave room
unused; too small a share lets replies outgrow the cache, and vLLM preempts passes: it computes them anew later."""

LINGER = 0.02
"""Seconds for which a finished pass keeps its room. Without it a new pass overwrites the prompt before the pass that
continues the finished one (a score's probabilities) arrives from the parent, and that prompt is computed twice."""

WAVE = 1 / 8
"""Share of the seats that makes a wave: when so many are free, or so many passes wait to continue, they start."""

EVERY = 16
"""Steps after which a smaller wave starts, so that the last verdicts of a job need not wait for others."""


class Admission:
    """Decides which passes start with each step of the engine.

    A step that reads a prompt runs outside of the CUDA graphs for decoding. If passes started one by one as others
    finish, nearly every step would. So they start together, in waves, and at once if none is running.

    A pass that begins a request waits until it has one of the `seats`, and until its prompt and expected reply fit
    into the cache. vLLM alone starts whatever fits at the moment: as replies grow it preempts passes, and it gives a
    finished pass's blocks away before the pass that continues it arrives. That one waits for nothing but its wave.

    `capacity` is the cache's size in tokens, which are kept or dropped `block` by block. No pass waits more than
    `every` steps for its wave; 1 means no waves. Times are in seconds, of any clock that never goes back.
    """

    def __init__(self, capacity: int, block: int, seats: int, every: int = EVERY) -> None:
        self._capacity, self._block, self._seats, self._every = int(capacity * (1 - SPARE)), block, seats, every
        self._beginning, self._continuing = deque[Pass](), deque[Pass]()
        self._running: dict[str, Pass] = {}
        self._ended: deque[tuple[float, Pass]] = deque()
        self._since = 0  # steps since the last wave
        self._full = False  # whether the cache was, at the last wave
        self._finished: Counter[int] = Counter()  # passes and tokens written, by `max_tokens`: what is alike in that
        self._written: Counter[int] = Counter()  # is mostly of one rubric, and its replies are about equally long

    @property
    def waiting(self) -> int:
        """Return the number of waiting passes."""
        return len(self._beginning) + len(self._continuing)

    def add(self, item: Pass) -> None:
        """Enqueue a pass."""
        (self._continuing if item.continues else self._beginning).append(item)

    def begin(self, now: float) -> list[Pass]:
        """Return the passes that start with the engine's next step, those first that continue a request.

        None start only if none waits, or if some are running or finished less than LINGER ago.
        """
        self._since += 1
        free, wave = self._seats - len(self._running), WAVE * self._seats
        enough = len(self._continuing) >= wave or (self._beginning and free >= wave and not self._full)
        if self._running and self._since < self._every and not enough:
            return []
        started = list(self._continuing)
        self._continuing.clear()
        # One token takes a seat for a single step: those that begin then wait that step in vLLM.
        free -= sum(item.max_tokens > 1 for item in started)
        if self._beginning and free > 0:
            started += self._fitting(free, started, now)
        self._running.update((item.id, item) for item in started)
        self._since = 0 if started or self._full else self._since
        return started

    def end(self, item: Pass, now: float, written: int | None) -> None:
        """Note that a running pass finished with this many tokens, or failed (None), which says nothing of others."""
        if written is not None:
            self._finished[item.max_tokens] += 1
            self._written[item.max_tokens] += written
        self._ended.append((now, self._running.pop(item.id)))

    def _fitting(self, seats: int, started: list[Pass], now: float) -> list[Pass]:
        """Take passes that begin a request, as many as fit into seats and cache beside those that run or start."""
        while self._ended and self._ended[0][0] + LINGER <= now:
            self._ended.popleft()
        held = [*self._running.values(), *started, *(item for _, item in self._ended)]
        parts = {part for item in held for part in (item.shared, item.own)}  # what prompts share is there once
        room, taken = self._capacity - sum(map(len, parts)) - sum(map(self._expected_reply, held)), list[Pass]()
        self._full = False
        while self._beginning and len(taken) < seats and not self._full:
            item = self._beginning[0]
            new = {item.shared, item.own} - parts
            room -= sum(map(len, new)) + self._expected_reply(item)
            self._full = room < 0 and bool(held or taken)  # a pass larger than the cache goes alone
            if not self._full:
                parts |= new
                taken.append(self._beginning.popleft())
        return taken

    def _expected_reply(self, item: Pass) -> int:
        """Return the tokens to reserve beside the prompt: a part of the mean reply, and a last, partly filled block.

        The mean counts one more reply, which takes its whole budget: otherwise the first to finish would decide alone.
        """
        most = item.max_tokens
        mean = (self._written[most] + most) / (self._finished[most] + 1)
        return int(mean * PORTION) + self._block
