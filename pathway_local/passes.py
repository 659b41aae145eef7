"""What an engine is asked and what it answers: one pass of generation over token ids."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from msgspec import Struct

from pathway_local.errors import RequestRefused


@dataclass(frozen=True, slots=True)
class Sampling:
    """How tokens are drawn; temperature 0 takes the likeliest."""

    temperature: float = 0.0
    top_p: float = 1.0
    top_k: int = 0
    seed: int = 0

    def seeded(self, seed: int) -> "Sampling":
        """The same with another seed; at temperature 0 no seed and no bound to what is drawn matters."""
        return replace(self, seed=seed) if self.temperature > 0 else GREEDY


GREEDY = Sampling()


class Pass(Struct, frozen=True):
    """One generation. Its prompt is `ids`: `shared`, then `own`, with the start of the reply where it is pre-filled.

    `shared` is one tuple for many passes, such as a rubric's text: an engine's process is told it where it changes.
    `grammar` is an llguidance Lark grammar for what is generated; None leaves it free. `stop_ids` end the
    generation beside the tokenizer's own end token. With `logprob_ids`, the result holds the natural-log
    probabilities of these ids at each generated token, after the grammar's mask, before temperature.

    A pass that `continues` an earlier one of its request goes on from what is still in the prefix cache, and soon would
    not be: vLLM takes it before those that begin one.
    """

    id: str
    own: tuple[int, ...]
    grammar: str | None
    max_tokens: int
    sampling: Sampling = GREEDY
    stop_ids: tuple[int, ...] = ()
    logprob_ids: tuple[int, ...] = ()
    shared: tuple[int, ...] = ()
    continues: bool = False

    @property
    def ids(self) -> tuple[int, ...]:
        """The whole prompt, joined anew each time."""
        return self.shared + self.own

    def excess(self, context: int) -> str:
        """Why the prompt does not fit into a context of so many tokens; empty where it does."""
        length = len(self.shared) + len(self.own)
        return f"the prompt has {length} tokens, and the judge's context holds {context}" if length >= context else ""


def enqueue(waiting: deque[Pass], item: Pass) -> None:
    """Add a pass to the queue: at the front if it continues another, else at the end."""
    if item.continues:
        waiting.appendleft(item)
    else:
        waiting.append(item)


class PassResult(Struct, frozen=True):
    """What came back for the pass of that id: the generated ids without the end token.

    `finish` is "stop" (ended by itself), "length" (by `max_tokens` or the context) or "error" (refused or
    failed alone; `error` says why, without case text). `logprobs` has one mapping for each generated token, the
    end token included, where the pass asked for any. `cached_tokens` counts the prompt tokens that the prefix
    cache saved.
    """

    id: str
    ids: tuple[int, ...] = ()
    finish: str = "stop"
    logprobs: tuple[Mapping[int, float], ...] = ()
    cached_tokens: int = 0
    error: str = ""

    def check(self) -> None:
        """Raise RequestRefused where the engine refused the pass or failed on it."""
        if self.finish == "error":
            raise RequestRefused(self.error or "the engine refused the request")


@dataclass(frozen=True, slots=True)
class EngineConfig:
    """What to load: a folder with config, tokenizer and safetensors, and the engine's own settings by name."""

    model: str
    dtype: str = "auto"
    max_model_len: int | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EngineFacts:
    """What was loaded, for the manifest.

    `seal` names how the engine's process is cut off from networks, `seal_limit` says why not better, where it was not
    the kernel that set the limit.
    """

    engine: str
    version: str
    max_model_len: int
    dtype: str
    device: str
    seal: str = "none"
    seal_limit: str = ""


class Engine(Protocol):
    """Takes passes by `submit` and gives results by `results`, in the order they finish."""

    facts: EngineFacts

    def submit(self, item: Pass) -> None:
        """Queue a pass; returns at once. Work on it may begin only when `results` is called."""

    def results(self) -> list[PassResult]:
        """Wait for at least one result of what was submitted; empty only if nothing is in flight."""

    def close(self) -> None:
        """Free the model's memory and end the engine's process."""
