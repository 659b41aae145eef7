"""The engines of one judge, used as one: a pass waits here until an engine has room, and none is lost if one dies."""

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from functools import partial
from itertools import islice

from pathway_local.engines.process import LOOK, Gone, wait_for
from pathway_local.engines.supervised_engine import Notify, SupervisedEngine, Waiting
from pathway_local.errors import EngineDied, EngineError, Stopped
from pathway_local.passes import EngineFacts, Pass, PassResult

DEATHS = 12
"""Deaths in a row, without a result between them, after which we give an engine up: any case seems to kill it. Without
this limit a broken engine would be restarted for each of a million cases."""

LOADED = 0.1
"""Seconds after which we look whether an engine is loaded again, while others work."""

_LEAVE_OUT = "Verdicts so far are stored, those cases as failures: leave them out if this happens again."


class Engines:
    """An Engine that outlives the deaths of its processes; deals passes out to one engine or to several.

    Making one loads all engines at the same time. Raises the first error of any, and Stopped. `notify` gets a line
    without case text when an engine has died. While we wait, we call `stopped` about once a second and raise Stopped if
    it returns True.

    The queue is the only place on our side where a pass waits; those that continue a request come first. The engine
    that holds the fewest passes gets the next one, until it holds its `most`, so a slow engine slows nobody. A pass
    that continues a request waits for the engine that has its prompt in the prefix cache.

    If an engine dies or hangs, it is restarted, and its passes come back to the front of the queue. It can't say which
    pass killed it, so each death is a strike for every pass in flight then. A pass with one strike goes to another
    engine, if any is left: a broken engine would count as proof against it. A pass with two strikes runs alone, in the
    engine of the last. If it dies again, the pass is the culprit: it comes back with `finish` "error", and the others
    fall back to one strike and run together again. A pass that returns a result loses all its strikes.

    If memory ran out, no single pass is to blame: nobody gets a strike, and from then on half as many passes are in
    flight in that engine. Half, since the need for memory grows with their number, and halving finds a number that fits
    within a few restarts. If a single pass runs out of memory, it is struck like any other.

    An engine that can't be restarted, or dies too often, is given up, and the others go on.
    """

    def __init__(
        self,
        hosts: Sequence[SupervisedEngine],
        notify: Notify = lambda notice: None,
        stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        self.notify, self.stopped = notify, stopped
        self._names = {host: f"engine {number}" for number, host in enumerate(hosts, 1)}
        self.hosts = list(hosts)
        self._waiting: deque[Waiting] = deque()
        self._done: list[PassResult] = []
        self._in_flight = 0
        self._error: EngineError | None = None
        self._closing = False
        self._threads = ThreadPoolExecutor(len(hosts))
        self._loading: dict[Future[None], SupervisedEngine] = {}
        try:
            for host in hosts:
                self._load(host)
            while self._loading:
                self._check_stopped()
                for future in self._loaded(LOOK):
                    future.result()
        except BaseException:
            self.close()
            raise
        self.seal = max((host.seal for host in hosts), key=lambda seal: len(seal.missing))
        loaded = [host.facts for host in hosts if host.facts]
        self.facts = loaded[0] if len(loaded) == 1 else _of_all(loaded)

    def submit(self, item: Pass) -> None:
        """Enqueue a pass and return at once."""
        self._in_flight += 1
        one = Waiting(item)
        self._waiting.appendleft(one) if item.after else self._waiting.append(one)
        self._deal()

    def results(self) -> list[PassResult]:
        """Wait for at least one result and return what arrived; empty only if nothing is in flight.

        Raises EngineError if the last engine is given up, Stopped if `stopped` says so.
        """
        while self._in_flight and not self._done:
            if self._error:
                raise self._error
            self._check_stopped()
            self._deal()
            self._receive()
        found, self._done = self._done, []
        self._in_flight -= len(found)
        return found

    def close(self) -> None:
        """End all engines and free their memory. Raises EngineDied if one does not end."""
        if not self._closing:
            self._closing = True
            wait(self._loading)
            with self._threads:
                list(self._threads.map(SupervisedEngine.close, self._names))

    def _check_stopped(self) -> None:
        if self.stopped():
            raise Stopped("stopped while waiting for an engine")

    def _tell(self, host: SupervisedEngine, message: str) -> None:
        self.notify(f"{self._names[host]}: {message}" if len(self._names) > 1 else message)

    def _load(self, host: SupervisedEngine) -> None:
        tell = partial(self._tell, host)
        self._loading[self._threads.submit(host.load, tell, lambda: self._closing or self.stopped())] = host

    def _loaded(self, seconds: float) -> "set[Future[None]]":
        """Wait until an engine is loaded or can't be; return those for which this is so, and forget them."""
        done, _ = wait(self._loading, seconds, FIRST_COMPLETED)
        for future in done:
            del self._loading[future]
        return done

    def _deal(self) -> None:
        """Send waiting passes to the engines that have room for them; begin to restart those that are dead."""
        if not self._waiting:
            return
        ready = []
        for host in self.hosts[:]:
            if host.process and not host.held and host.process.has_ended():
                self._handle_exit(host, "")
            if host.process:
                ready.append(host)
            elif host not in self._loading.values():
                self._restart(host)
        while self._waiting and ready:
            host = min(ready, key=lambda each: len(each.held))
            if one := self._next_for(host):
                host.send(one)
            else:
                ready.remove(host)

    def _next_for(self, host: SupervisedEngine) -> Waiting | None:
        """Take the first pass from the queue that the engine may get now."""
        if len(host.held) >= host.most or any(each.strikes > 1 for each in islice(host.held.values(), 1)):
            return None  # a pass with two strikes is alone in its engine
        for at, one in enumerate(self._waiting):
            if self._may_get(host, one):
                if host.held and one.strikes > 1:
                    return None  # it runs alone, once the others are done
                del self._waiting[at]
                return one
        return None

    def _may_get(self, host: SupervisedEngine, one: Waiting) -> bool:
        if one.died_in in self.hosts and len(self.hosts) > 1:
            return (host is one.died_in) == (one.strikes > 1)
        return one.item.after in host.finished or not any(one.item.after in each.finished for each in self.hosts)

    def _receive(self) -> None:
        """Wait until an engine says something, for a second at most, and take what has arrived."""
        working = [host for host in self.hosts if host.held]
        if working:
            longest = LOADED if self._loading else LOOK
            seconds = min(longest, *(host.silence_left() for host in working))
            wait_for([host.process for host in working if host.process], seconds)
        for host in working:
            try:
                self._done += host.receive()
            except Gone:
                self._check_stopped()
                self._handle_exit(host, "")
            else:
                if host.held and not host.silence_left():
                    self._handle_exit(host, f"gave no sign of life for {host.hang_limit:.0f} s")
        loading = dict(self._loading)
        for future in self._loaded(0 if working else LOOK) if loading else ():
            try:
                future.result()
            except EngineError as error:
                self._give_up(loading[future], error)

    def _handle_exit(self, host: SupervisedEngine, how: str) -> None:
        """Clean up after a death, count strikes, and put the passes in flight back in front of the queue."""
        ended, ones, memory = host.end()
        if memory and len(ones) > 1:
            host.most = len(ones) // 2
            told = f"memory ran out with {len(ones)} requests in flight: continuing with {host.most} at a time"
        else:
            told = f"the engine {how or ended} with {len(ones)} requests in flight: restarting it"
            ones = self._struck(host, ones)
        self._tell(host, told)
        self._waiting.extendleft(reversed(ones))

    def _struck(self, host: SupervisedEngine, held: list[Waiting]) -> list[Waiting]:
        """Count a strike for each pass and return those to retry; a pass alone at its second strike is the culprit."""
        for one in held:
            one.strikes, one.died_in = one.strikes + 1, host
        if len(held) != 1 or held[0].strikes < 2:
            return held
        for one in self._waiting:
            one.strikes -= one.died_in is host and one.strikes > 1
        culprit = held[0].item.id
        self._done.append(PassResult(culprit, finish="error", error="the engine died twice while it held this case"))
        # Take the next pass from the end of the queue: bad rows often lie side by side, and would look like an engine
        # that any case kills.
        self._waiting.rotate(1)
        return []

    def _restart(self, host: SupervisedEngine) -> None:
        if host.deaths >= DEATHS:
            said = f"the engine died {DEATHS} times in a row without a result"
            self._give_up(host, EngineDied(said, _LEAVE_OUT))
        else:
            self._load(host)

    def _give_up(self, host: SupervisedEngine, error: EngineError) -> None:
        """Go on without an engine; without any, `results` raises the error."""
        self.hosts.remove(host)
        if self.hosts:
            self.notify(f"{self._names[host]} is given up: {error}; engines left: {len(self.hosts)}")
        else:
            self._error = error


def _of_all(facts: Sequence[EngineFacts]) -> EngineFacts:
    """Return the facts of several engines: the shortest context, and each note once."""
    notes = "; ".join(dict.fromkeys(each.note for each in facts if each.note))
    shortest = min(each.max_model_len for each in facts)
    return replace(facts[0], max_model_len=shortest, device=f"{len(facts)} x {facts[0].device}", note=notes)
