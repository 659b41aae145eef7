"""An engine without a model, for tests: it answers by a script, and shows when anyone mixes up who asked what.

`scripted_kind.py` lists it. Its process imports this file alone, since it is started some hundred times.
"""

import importlib
import random
import time
from collections.abc import Callable, Iterable, Sequence

from msgspec.structs import replace

from pathway_local.errors import EngineError
from pathway_local.passes import EngineConfig, EngineFacts, Pass, PassResult
from pathway_local.sealing.seal import Seal

Reply = PassResult | Sequence[int]
"""A result, whose id may be left empty, or just the generated ids."""

CONTEXT = 1 << 20


def echo(item: Pass) -> Reply:
    """The prompt's last ids, as many as the pass may generate: a reply that fits no other prompt."""
    return item.ids[-item.max_tokens :]


class ScriptedEngine:
    """Answers each pass with `script(pass)`, or with the script's next reply where it is a list of them.

    Results come in the order of submission, or shuffled by `shuffle` as a seed; each takes `delay` seconds.
    Raises EngineError when the script has no reply left, or one that belongs to another pass.
    """

    seal = Seal()

    def __init__(
        self,
        script: Callable[[Pass], Reply] | Iterable[Reply] = echo,
        *,
        shuffle: int | None = None,
        delay: float = 0.0,
        context: int = CONTEXT,
    ) -> None:
        self.facts = EngineFacts("scripted", "1", context, "none", "none")
        self._script = script if callable(script) else _in_turn(script)
        self._order = random.Random(shuffle) if shuffle is not None else None
        self._delay = delay
        self._held: list[Pass] = []

    def submit(self, item: Pass) -> None:
        """Queue a pass."""
        self._held.append(item)

    def step(self) -> list[PassResult]:
        """The next result; all of them at once where nothing asks for a delay or another order."""
        held = self._held
        if self._delay:
            time.sleep(self._delay)
        if held and (self._delay or self._order):
            some = [held.pop(self._order.randrange(len(held)) if self._order else 0)]
        else:
            some, self._held = held, []
        return [self._answer(item) for item in some]

    def results(self) -> list[PassResult]:
        """Results of what was submitted; empty only if nothing is in flight."""
        return self.step()

    def close(self) -> None:
        """Forget what was submitted."""
        self._held.clear()

    def _answer(self, item: Pass) -> PassResult:
        try:
            reply = self._script(item)
        except StopIteration:
            raise EngineError(f"the script has no reply left for pass {item.id!r}") from None
        if not isinstance(reply, PassResult):
            return PassResult(item.id, tuple(reply))
        if reply.id not in ("", item.id):
            raise EngineError(f"the script answers pass {item.id!r} with a reply to {reply.id!r}")
        return reply if reply.id else replace(reply, id=item.id)


def _in_turn(replies: Iterable[Reply]) -> Callable[[Pass], Reply]:
    rest = iter(replies)
    return lambda item: next(rest)


def load(config: EngineConfig, _beat: Callable[[], None] = lambda: None) -> ScriptedEngine:
    """The engine that a configuration describes: `script` as "module:function", `shuffle` and `delay`."""
    settings = dict(config.settings)
    module, _, name = str(settings.pop("script", f"{__name__}:echo")).partition(":")
    script = getattr(importlib.import_module(module), name)
    context = config.max_model_len or CONTEXT
    return ScriptedEngine(script, context=context, **settings)
