"""Several engines with the same judge, used as one: each in a sealed process, and each takes work when it has room."""

import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from queue import Empty, SimpleQueue
from threading import Condition, Thread

from pathway_local.engines.host import Host
from pathway_local.engines.process import LOOK
from pathway_local.errors import EngineError, PathwayError, Stopped
from pathway_local.passes import EngineFacts, Pass, PassResult, enqueue

MOMENT = 0.005
"""Seconds that an engine with room waits for results before it looks for new passes. A pass that arrives meanwhile
waits that long at most. It must be less than `admission.LINGER`, or its prompt would be dropped from the cache."""

AHEAD = 8
"""An engine takes new passes only while it has at most so many more than any other that looks for them, too. Without
this the first engine that wakes up would take all cases of a short file."""

LOOKING = 0.2
"""Seconds after a look in which an engine counts as looking; one that is restarted does not look."""

REMEMBERED = 10_000
"""Finished passes whose engine we remember, to send the pass that continues one to the same prefix cache."""

Notify = Callable[[str], None]
StartHost = Callable[[Notify, Callable[[], bool]], Host]
"""Loads one engine, given `notify` and `stopped` for it."""


class Replicas:
    """Loads all engines at the same time, each in a thread, and deals passes out to them.

    A pass waits here until an engine has fewer than `window` passes, so a slow engine slows nobody; a pass that
    continues another goes to the engine that has its prompt in the prefix cache. If an engine dies, the others take its
    passes while it restarts; only those that were in flight at two deaths stay with it, to run alone (see `Host`). It
    never gets the others again while another engine is left: a broken engine would count as proof against them. An
    engine that can't be restarted or is given up leaves, and the others go on. Making Replicas raises the first error
    of any engine; `results` raises that of the last one to leave.
    """

    def __init__(self, starts: Sequence[StartHost], window: int, notify: Notify, stopped: Callable[[], bool]) -> None:
        self.notify, self.stopped, self.window = notify, stopped, window
        self.closing = False
        self.facts: EngineFacts
        self.strikes: Counter[str] = Counter()
        self._changed = Condition()
        self._waiting: deque[Pass] = deque()
        self._engine_of: dict[str, _Replica] = {}
        self._died_with: dict[str, _Replica] = {}
        self._in_flight = 0
        self._error: BaseException | None = None
        self._arrived: SimpleQueue[tuple[_Replica, list[PassResult] | EngineFacts | BaseException]] = SimpleQueue()
        self._replicas = [_Replica(self, number, start) for number, start in enumerate(starts, 1)]
        try:
            for each in self._replicas:
                each.start()
            facts = [self._next_arrival()[1] for _ in starts]
        except BaseException as error:
            self._error = error
            self.close()
            raise
        loaded = [each for each in facts if isinstance(each, EngineFacts)]
        weakest = next((each for each in loaded if each.seal_limit), loaded[0])
        notes = "; ".join(dict.fromkeys(each.note for each in loaded if each.note))
        self.facts = replace(weakest, device=f"{len(starts)} x {weakest.device}", note=notes)

    def submit(self, item: Pass) -> None:
        """Enqueue a pass and return at once."""
        with self._changed:
            self._in_flight += 1
            own = self._engine_of.get(item.after)
            enqueue(own.waiting if own and own.loaded else self._waiting, item)
            self._changed.notify_all()

    def results(self) -> list[PassResult]:
        """Wait for at least one result and return what arrived; empty only if nothing is in flight.

        Raises EngineError if the last engine is given up, Stopped if `stopped` says so; results that came before are
        returned first.
        """
        found: list[PassResult] = []
        while self._in_flight and not (found and (self._error or self._arrived.empty())):
            if self._error:
                raise self._error
            try:
                replica, arrived = self._next_arrival()
            except (PathwayError, OSError) as error:
                self._error = error
                continue
            assert isinstance(arrived, list)
            found += arrived
            self._in_flight -= len(arrived)
            self._engine_of.update((result.id, replica) for result in arrived)
        while len(self._engine_of) > REMEMBERED:
            del self._engine_of[next(iter(self._engine_of))]  # the oldest
        return found

    def close(self) -> None:
        """End all engines and free their memory. Raises EngineError if one does not end."""
        with self._changed:
            self.closing = True
            self._changed.notify_all()
        for each in self._replicas:
            if each.ident:
                each.join()
        while not self._arrived.empty():
            _, arrived = self._arrived.get()
            if isinstance(arrived, EngineError) and not self._error:
                raise arrived

    def take(self, replica: "_Replica") -> list[Pass] | None:
        """Return passes for an engine with room; if it has none in flight, wait for one. None: no more will come."""
        with self._changed:
            while not self.closing:
                now = replica.looked = time.monotonic()
                others = [each.in_flight for each in self._replicas if each is not replica and each.looks(now)]
                most = min(self.window, min(others, default=self.window) + AHEAD)
                taken = _taken(replica.waiting, self.window - replica.in_flight)
                taken += self._taken_by(replica, most - replica.in_flight - len(taken))
                replica.in_flight += len(taken)
                if replica.in_flight:
                    return taken
                replica.idle = True
                self._changed.wait()
                replica.idle = False
        return None

    def give_back(self, replica: "_Replica", items: Sequence[Pass]) -> None:
        """Let any engine take the passes of one that died, before others that wait: its prefix cache is gone."""
        with self._changed:
            replica.loaded = False
            replica.in_flight -= len(items)
            self._waiting.extendleft(reversed([*replica.waiting, *items]))
            self._died_with.update((item.id, replica) for item in items if self.strikes[item.id])
            replica.waiting.clear()
            self._changed.notify_all()

    def leave(self, replica: "_Replica", error: EngineError) -> None:
        """Go on without an engine that ended with this error. Raises it if no other engine is left."""
        with self._changed:
            replica.given_up = True
            left = self._left()
            self._changed.notify_all()
        if not left:
            raise error
        self.notify(f"{replica.name} is given up: {error}; engines left: {left}")

    def arrive(self, replica: "_Replica", what: list[PassResult] | EngineFacts | BaseException) -> None:
        """Hand over what an engine's thread has: its facts once it is loaded, then results, or why it ended."""
        if isinstance(what, list):
            with self._changed:
                replica.in_flight -= len(what)
                for result in what if self._died_with else ():
                    self._died_with.pop(result.id, None)
        self._arrived.put((replica, what))

    def _left(self) -> int:
        return sum(not each.given_up for each in self._replicas)

    def _taken_by(self, replica: "_Replica", room: int) -> list[Pass]:
        if not self._died_with or self._left() == 1:
            return _taken(self._waiting, room)
        own = [item for item in self._waiting if self._died_with.get(item.id) is not replica][: max(0, room)]
        for item in own:
            self._waiting.remove(item)
        return own

    def _next_arrival(self) -> "tuple[_Replica, list[PassResult] | EngineFacts]":
        while True:
            if self.stopped():
                raise Stopped("stopped while waiting for an engine")
            try:
                replica, arrived = self._arrived.get(timeout=LOOK)
            except Empty:
                continue
            if isinstance(arrived, BaseException):
                raise arrived
            return replica, arrived


def _taken(waiting: deque[Pass], room: int) -> list[Pass]:
    return [waiting.popleft() for _ in range(min(room, len(waiting)))]


class _Replica(Thread):
    """One engine and the thread that waits for it. `waiting` are passes that must go to it.

    The group changes `in_flight`, `looked` (when the thread last asked for passes), `idle` (it waits for some),
    `loaded` (its engine has the prefix cache of what it answered) and `given_up`.
    """

    def __init__(self, group: Replicas, number: int, start: StartHost) -> None:
        super().__init__(name=f"engine {number}", daemon=True)
        self.waiting: deque[Pass] = deque()
        self.in_flight, self.looked = 0, 0.0
        self.idle = self.loaded = self.given_up = False
        self._group, self._load = group, start
        self._taken: deque[Pass] = deque()

    def looks(self, now: float) -> bool:
        """Whether the engine would take passes now."""
        return self.idle or now - self.looked < LOOKING

    def run(self) -> None:
        """Load the engine and serve passes until the group closes; hand over the error that ends it before."""
        try:
            host = self._load(self._notify, self._stopped)
            try:
                self._group.arrive(self, host.facts)
                host.share(self._group.strikes, partial(self._group.give_back, self))
                self._serve(host)
            except EngineError as error:
                self._leave(host, error)
            finally:
                host.close()
        except BaseException as error:  # noqa: BLE001  raised again in the thread that waits for results
            self._group.arrive(self, error)

    def _leave(self, host: Host, error: EngineError) -> None:
        results, left = host.leave()
        if results:
            self._group.arrive(self, results)
        self._group.give_back(self, [*left, *self._taken])  # it may have ended at the first of those it took
        self._group.leave(self, error)

    def _serve(self, host: Host) -> None:
        while not self._group.closing:
            host.restart()  # it may have died just now, and given its passes back
            self.loaded = True
            items = self._group.take(self)
            if items is None:
                return
            self._taken.extend(items)
            while self._taken:
                host.submit(self._taken.popleft())
            if results := host.results(MOMENT if self.in_flight < self._group.window else LOOK):
                self._group.arrive(self, results)

    def _notify(self, message: str) -> None:
        self._group.notify(f"{self.name}: {message}")

    def _stopped(self) -> bool:
        return self._group.closing or self._group.stopped()
