"""Which passes an engine begins: as many as its cache has room for until they end."""

from collections import Counter, deque
from collections.abc import Iterator

from pathway_local.engines.passes import Pass

SPARE = 0.05
"""Share of the cache that stays free: what is written in it is overwritten last."""

PORTION = 0.75
"""Share of a reply that room is kept for: passes under way stand at different places, half written on average."""

LINGER = 4
"""Steps for which the room of a pass that ended stays its own, until one that continues it has come."""

ALLOWED, WRITTEN = 10_000, 2_500
"""Tokens that passes might have written and did, before any has ended: a quarter, as of an analysis and a score."""


class Admission:
    """Holds passes back that the cache has no room for beside those under way; those that continue one never wait.

    vLLM by itself begins whatever fits at that moment. Once replies grow, it drops passes half done, to compute
    their tokens anew, and gives to others what ended passes leave in the cache, before what continues these has come.
    `capacity` is the cache's, in tokens. How long replies get is learned from those that have ended.
    """

    def __init__(self, capacity: int) -> None:
        self._room = int(capacity * (1 - SPARE))
        self._waiting: deque[Pass] = deque()
        self._begun: dict[str, tuple[Pass, int]] = {}
        self._shared: Counter[tuple[int, ...]] = Counter()
        self._ended: deque[tuple[int, Pass, int]] = deque()
        self._allowed, self._written = ALLOWED, WRITTEN
        self._steps = 0

    @property
    def waiting(self) -> int:
        """How many passes have not begun."""
        return len(self._waiting)

    def add(self, item: Pass) -> None:
        """Queue a pass."""
        if item.continues:
            self._waiting.appendleft(item)
        else:
            self._waiting.append(item)

    def begin(self) -> Iterator[Pass]:
        """The passes that are to begin with the engine's next step; one at least where none is under way."""
        self._steps += 1
        while self._ended and (self._ended[0][0] < self._steps or not self._begun):
            self._leave(*self._ended.popleft()[1:])
        while self._waiting and self._fits(self._waiting[0]):
            item = self._waiting.popleft()
            self._begun[item.id] = item, self._take(item)
            yield item

    def end(self, item: Pass, written: int) -> None:
        """A pass that began has ended, with so many tokens."""
        self._allowed += item.max_tokens
        self._written += written
        self._ended.append((self._steps + LINGER, *self._begun.pop(item.id)))

    def _fits(self, item: Pass) -> bool:
        shared = 0 if item.shared in self._shared else len(item.shared)
        return item.continues or not self._begun or shared + self._needs(item) <= self._room

    def _needs(self, item: Pass) -> int:
        return len(item.own) + int(item.max_tokens * self._written / self._allowed * PORTION)

    def _take(self, item: Pass) -> int:
        taken = self._needs(item)
        if item.shared not in self._shared:
            self._room -= len(item.shared)
        self._shared[item.shared] += 1
        self._room -= taken
        return taken

    def _leave(self, item: Pass, taken: int) -> None:
        self._room += taken
        self._shared[item.shared] -= 1
        if not self._shared[item.shared]:
            del self._shared[item.shared]
            self._room += len(item.shared)
