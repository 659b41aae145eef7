"""Which passes an engine begins: about as many as its cache has room for until they end."""

from collections import Counter, defaultdict, deque
from collections.abc import Iterator

from pathway_local.passes import Pass, enqueue

SPARE = 0.05
"""Share of the cache that stays free: what is written in it is overwritten last."""

PORTION = 0.75
"""Share of a reply that room is kept for: passes under way stand at different places, half written on average."""

LINGER = 0.02
"""Seconds for which the room of a pass that ended stays taken: by then one that continues it has come, if any does."""

SHARE, PRIOR = 0.25, 8
"""What passes are taken to write of what they may, an analysis and a score, until more than so many have ended."""

REMEMBERED = 512
"""Passes after which those before count half."""


class Admission:
    """Holds passes back that the cache has no room for beside those under way; those that continue one never wait.

    vLLM by itself begins whatever fits at that moment. Once replies grow, it drops passes half done, to compute
    their tokens anew, and gives to others what ended passes leave in the cache, before what continues these has come.
    `capacity` is the cache's, in tokens that are kept or dropped `block` by block. How long replies get is learned
    from those that have ended. Times are in seconds, by any clock that never goes back.
    """

    def __init__(self, capacity: int, block: int) -> None:
        self._room, self._block = int(capacity * (1 - SPARE)), block
        self._waiting: deque[Pass] = deque()
        self._begun: dict[str, tuple[Pass, int]] = {}
        self._prompts: Counter[tuple[int, ...]] = Counter()
        self._ended: deque[tuple[float, Pass, int]] = deque()
        self._lengths: defaultdict[int, _Length] = defaultdict(_Length)

    @property
    def waiting(self) -> int:
        """How many passes have not begun."""
        return len(self._waiting)

    def add(self, item: Pass) -> None:
        """Queue a pass."""
        enqueue(self._waiting, item)

    def begin(self, now: float) -> Iterator[Pass]:
        """The passes that are to begin with the engine's next step.

        None only where none waits, or where some are under way or ended less than LINGER ago.
        """
        while self._ended and self._ended[0][0] + LINGER <= now:
            self._leave(*self._ended.popleft()[1:])
        while self._waiting and self._fits(self._waiting[0]):
            item = self._waiting.popleft()
            self._begun[item.id] = item, self._take(item)
            yield item

    def end(self, item: Pass, now: float, written: int | None) -> None:
        """A pass that began has ended, with so many tokens; None where it failed, which tells nothing of others."""
        if written is not None:
            self._lengths[item.max_tokens].learn(written)
        self._ended.append((now, *self._begun.pop(item.id)))

    def _fits(self, item: Pass) -> bool:
        alone = not self._begun and not self._ended
        return item.continues or alone or self._new(item) + self._rest(item) <= self._room

    def _new(self, item: Pass) -> int:
        """Tokens of the prompt that no other pass has there already; samples of a case have the same prompt."""
        return sum(len(part) for part in {item.shared, item.own} if part not in self._prompts)

    def _rest(self, item: Pass) -> int:
        """Tokens that a pass takes beside its prompt: a part of its reply, and a block that is not full."""
        return int(self._lengths[item.max_tokens].expected(item.max_tokens) * PORTION) + self._block

    def _take(self, item: Pass) -> int:
        rest = self._rest(item)
        self._room -= self._new(item) + rest
        self._prompts.update((item.shared, item.own))
        return rest

    def _leave(self, item: Pass, rest: int) -> None:
        self._room += rest
        for part in (item.shared, item.own):
            self._prompts[part] -= 1
            if not self._prompts[part]:
                del self._prompts[part]
                self._room += len(part)


class _Length:
    """How many tokens passes write that may write equally many."""

    def __init__(self) -> None:
        self._passes, self._written = 0, 0

    def learn(self, written: int) -> None:
        """One has ended with so many."""
        if self._passes >= REMEMBERED:
            self._passes, self._written = self._passes // 2, self._written // 2
        self._passes += 1
        self._written += written

    def expected(self, allowed: int) -> float:
        """How many the next one will write that may write so many."""
        return (self._written + PRIOR * SHARE * allowed) / (self._passes + PRIOR)
