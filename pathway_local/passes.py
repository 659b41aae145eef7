"""Passes: requests to an engine and its results, as token ids."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, Protocol

from msgspec import Struct

from pathway_local.errors import RequestRefused


@dataclass(frozen=True, slots=True)
class Sampling:
    """How an engine draws tokens; temperature 0 takes the likeliest."""

    temperature: float = 0.0
    top_p: float = 1.0
    top_k: int = 0
    seed: int = 0

    def seeded(self, seed: int) -> "Sampling":
        """Return the same with another seed, or GREEDY at temperature 0: seed, top-p and top-k change nothing there."""
        return replace(self, seed=seed) if self.temperature > 0 else GREEDY


GREEDY = Sampling()


class Pass(Struct, frozen=True, tag=True):
    """One generation. Its prompt `ids` end with the pre-filled start of the reply, if any.

    `grammar` is an llguidance Lark grammar for the reply; None leaves the reply free. `stop_ids` end the
    generation, and so does the tokenizer's own end token. With `logprob_ids`, the result holds the natural-log
    probabilities of these ids at each generated token, after the grammar's mask, before temperature.

    A pass that continues a request names an earlier pass of it in `after`. The engine of that one still has its ids in
    the prefix cache, but soon drops them: so the pass goes to that engine, before passes that begin a request.
    """

    id: str
    ids: tuple[int, ...]
    grammar: str | None
    max_tokens: int
    sampling: Sampling = GREEDY
    stop_ids: tuple[int, ...] = ()
    logprob_ids: tuple[int, ...] = ()
    after: str = ""

    def excess(self, context: int) -> str:
        """Return why the prompt does not fit into a context of this many tokens; empty if it fits."""
        length = len(self.ids)
        return f"the prompt has {length} tokens, and the judge's context holds {context}" if length >= context else ""


_numbers = count(1)


def new_pass_id() -> str:
    """Return an id that no other pass of this process has.

    If each pool counted its own passes, two pools with one engine would take each other's results for their own.
    """
    return str(next(_numbers))


class PassResult(Struct, frozen=True):
    """The result of the pass with that id: `ids` are the generated ids without the end token.

    `finish` is "stop" (the reply ended), "length" (it reached `max_tokens` or the context) or "error" (the engine
    refused this pass or failed on it; `error` says why, without case text). If the pass asked for log-probabilities,
    `logprobs` has a mapping for each generated token, the end token included. `cached_tokens` counts the prompt tokens
    that the prefix cache saved.
    """

    id: str
    ids: tuple[int, ...] = ()
    finish: str = "stop"
    logprobs: tuple[Mapping[int, float], ...] = ()
    cached_tokens: int = 0
    error: str = ""

    def check(self) -> None:
        """Raise RequestRefused if the engine refused the pass or failed on it."""
        if self.finish == "error":
            raise RequestRefused(self.error or "the engine refused the request")


@dataclass(frozen=True, slots=True)
class EngineConfig:
    """The model to load, a folder with config, tokenizer and safetensors, and the engine's own settings by name.

    `gpus` are those that the engine may see, as CUDA_VISIBLE_DEVICES names them; empty: all that this process sees.
    """

    model: str
    dtype: str = "auto"
    max_model_len: int | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    gpus: str = ""


@dataclass(frozen=True, slots=True)
class EngineFacts:
    """The engine that was loaded, for the manifest; `note` says what makes it slower than usual."""

    engine: str
    version: str
    max_model_len: int
    dtype: str
    device: str
    note: str = ""


class Engine(Protocol):
    """Takes passes with `submit`; `results` returns their results in the order they finish."""

    facts: EngineFacts

    def submit(self, item: Pass) -> None:
        """Enqueue a pass and return at once. Work on it may begin only when `results` is called."""

    def results(self) -> list[PassResult]:
        """Wait for at least one result; empty only if nothing is in flight."""

    def close(self) -> None:
        """Free the model's memory and end the engine's process."""
