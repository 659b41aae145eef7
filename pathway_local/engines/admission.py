"""Decides which waiting passes start: about as many as the prefix cache has room for until they end."""

from collections import Counter, deque
from collections.abc import Iterator

from pathway_local.passes import Pass, enqueue

SPARE = 0.05
"""Share of the cache that stays free. vLLM reuses free blocks oldest first: without a spare, new passes overwrite the
blocks of passes that have just finished."""

PORTION = 0.75
"""Share of its expected reply that a pass reserves. Running passes are half written on average, so 1 would leave room
unused; too small a share lets replies outgrow the cache, and vLLM preempts passes: it computes them anew later."""

LINGER = 0.02
"""Seconds for which a finished pass keeps its room. Without it a new pass overwrites the prompt before the pass that
continues the finished one (a score's probabilities) arrives from the parent, and that prompt is computed twice."""

SHARE, PRIOR = 0.25, 8
"""The first guess of a reply's length, as a share of its budget (an analysis and a score); it counts as much as PRIOR
finished passes. Without it nothing would be known for the first passes, and the first to finish would decide alone."""


class Admission:
    """Decides which passes run, so that their prompts and replies fit into the cache together.

    vLLM alone starts whatever fits at the moment. As replies grow it preempts passes, and it gives a finished pass's
    blocks away before the pass that continues it arrives. Here a pass waits until its prompt and expected reply fit;
    one that continues another never waits. `capacity` is the cache's size in tokens, which are kept or dropped `block`
    by block. Times are in seconds, of any clock that never goes back.
    """

    def __init__(self, capacity: int, block: int) -> None:
        self._free, self._block = int(capacity * (1 - SPARE)), block
        self._waiting: deque[Pass] = deque()
        self._running: dict[str, tuple[Pass, int]] = {}  # each with the tokens that it reserves beside its prompt
        self._lingering: deque[tuple[float, Pass, int]] = deque()
        self._prompts: Counter[tuple[int, ...]] = Counter()  # passes that use each part of a prompt
        self._finished: Counter[int] = Counter()  # passes and tokens written, by `max_tokens`: what is alike in that
        self._written: Counter[int] = Counter()  # is mostly of one rubric, and its replies are about equally long

    @property
    def waiting(self) -> int:
        """Return the number of waiting passes."""
        return len(self._waiting)

    def add(self, item: Pass) -> None:
        """Enqueue a pass."""
        enqueue(self._waiting, item)

    def begin(self, now: float) -> Iterator[Pass]:
        """Yield the passes that start with the engine's next step.

        Yields none only if none waits, or if some are running or finished less than LINGER ago.
        """
        while self._lingering and self._lingering[0][0] + LINGER <= now:
            self._release(*self._lingering.popleft()[1:])
        while self._waiting and self._fits(self._waiting[0]):
            item = self._waiting.popleft()
            reserved = self._expected_reply(item)
            self._free -= self._new_tokens(item) + reserved
            self._prompts.update((item.shared, item.own))
            self._running[item.id] = item, reserved
            yield item

    def end(self, item: Pass, now: float, written: int | None) -> None:
        """Note that a running pass finished with this many tokens, or failed (None), which says nothing of others."""
        if written is not None:
            self._finished[item.max_tokens] += 1
            self._written[item.max_tokens] += written
        self._lingering.append((now, *self._running.pop(item.id)))

    def _fits(self, item: Pass) -> bool:
        alone = not self._running and not self._lingering  # a pass larger than the cache would wait for ever
        return item.continues or alone or self._new_tokens(item) + self._expected_reply(item) <= self._free

    def _new_tokens(self, item: Pass) -> int:
        """Prompt tokens that no other pass has in the cache; samples of a case share their whole prompt."""
        return sum(len(part) for part in {item.shared, item.own} if part not in self._prompts)

    def _expected_reply(self, item: Pass) -> int:
        """Return the tokens to reserve beside the prompt: a part of the mean reply, and a last, partly filled block."""
        most = item.max_tokens
        mean = (self._written[most] + PRIOR * SHARE * most) / (self._finished[most] + PRIOR)
        return int(mean * PORTION) + self._block

    def _release(self, item: Pass, reserved: int) -> None:
        self._free += reserved
        for part in (item.shared, item.own):
            self._prompts[part] -= 1
            if not self._prompts[part]:
                del self._prompts[part]
                self._free += len(part)
