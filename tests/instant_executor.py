"""An executor for vLLM that computes nothing: it draws tokens at once, so that only vLLM's core takes time.

Imports vLLM. It reads from each step what a GPU's worker reads, and nothing else.
"""

import zlib
from concurrent.futures import Future
from typing import Any

import numpy as np
from gpu_loop import prompt_hash
from vllm.v1.executor.abstract import Executor
from vllm.v1.kv_cache_interface import FullAttentionSpec
from vllm.v1.outputs import EMPTY_MODEL_RUNNER_OUTPUT, LogprobsLists, ModelRunnerOutput

BLOCKS = 30_000
"""Blocks of the cache, as an 8B model has on a card of 80 GB, unless `kv_cache_memory_bytes` says otherwise."""

STOPS = 16
"""A reply without a grammar ends by one of its stop ids about once in so many tokens."""


class InstantExecutor(Executor):  # type: ignore[misc]
    """Draws each token from those that the mask allows, by the request's prompt and the token's position alone.

    So a request gets the same tokens in any batch. `steps` counts steps that had work, and `mixed` those in which a
    request read its prompt beside one that was writing: they run outside of the CUDA graphs for decoding.
    """

    supports_pp = False

    def _init_executor(self) -> None:
        self.steps, self.mixed = 0, 0
        self._known: dict[str, tuple[Any, int]] = {}  # each request's data and the hash of its prompt
        self._scheduled: Any = None

    @classmethod
    def supports_async_scheduling(cls) -> bool:
        """As the executors for GPUs."""
        return True

    @property
    def supported_tasks(self) -> tuple[str, ...]:
        """As a model that writes."""
        return ("generate",)

    def collective_rpc(self, method: Any, *_: Any, **__: Any) -> list[Any]:
        """Answer what the core asks its workers for while it starts."""
        if method == "get_kv_cache_spec":
            return [self._layers()]
        if method == "determine_available_memory":
            pages = sum(layer.page_size_bytes for layer in self._layers().values())
            return [self.cache_config.kv_cache_memory_bytes or BLOCKS * pages]
        known = {"get_supported_kv_cache_layouts": [["NHD", "HND"]], "compile_or_warm_up_model": []}
        return known.get(method, [None])

    def check_health(self) -> None:
        """Nothing here can fail."""

    def shutdown(self) -> None:
        """Nothing to free."""

    def execute_model(self, scheduled: Any, non_block: bool = False) -> Any:
        """Remember what the step computes; `sample_tokens` follows, unless it computes nothing."""
        self._scheduled = scheduled
        for name in scheduled.finished_req_ids:
            self._known.pop(name, None)
        for new in scheduled.scheduled_new_reqs:
            self._known[new.req_id] = new, prompt_hash(new.prompt_token_ids)
        counts = scheduled.num_scheduled_tokens.values()
        self.steps += bool(counts)
        self.mixed += bool(counts) and max(counts) > min(counts) == 1
        return _done(None if counts else EMPTY_MODEL_RUNNER_OUTPUT, non_block)

    def sample_tokens(self, masks: Any, non_block: bool = False) -> Any:
        """Draw a token for each request that has read all of its prompt."""
        named = {} if masks is None else zip(masks.structured_output_request_ids, masks.grammar_bitmask, strict=False)
        rows, positions = dict(named), self._positions()
        names = list(self._scheduled.num_scheduled_tokens)
        tokens = [self._drawn(name, positions[name], rows.get(name)) for name in names]
        output = ModelRunnerOutput(
            req_ids=names,
            req_id_to_index={name: at for at, name in enumerate(names)},
            sampled_token_ids=tokens,
            logprobs=self._logprobs(names, tokens, positions, rows),
        )
        return _done(output, non_block)

    def draw(self, prompt: int, position: int, row: Any, stops: list[int]) -> int:
        """Return the token at a position of the reply to the prompt with that hash; `row` is its mask or None."""
        drawn = zlib.crc32(b"%d" % position, prompt)
        if row is None:
            if stops and drawn % STOPS == 0:
                return stops[drawn // STOPS % len(stops)]
            return drawn % int(self.model_config.get_vocab_size())
        words = np.flatnonzero(row)
        word = int(words[np.searchsorted(words, drawn % len(row)) % len(words)])
        bits = [bit for bit in range(32) if int(row[word]) >> bit & 1]
        return 32 * word + bits[drawn % len(bits)]

    def _drawn(self, name: str, position: int, row: Any) -> list[int]:
        if position < 0:
            return []
        request, prompt = self._known[name]
        return [self.draw(prompt, position, row, sorted(request.sampling_params.stop_token_ids or ()))]

    def _positions(self) -> dict[str, int]:
        """Return the place of each request's token in its reply; -1 if the step leaves some of its prompt unread."""
        scheduled, cached = self._scheduled, self._scheduled.scheduled_cached_reqs
        before = {new.req_id: (new.num_computed_tokens, 0) for new in scheduled.scheduled_new_reqs}
        before |= zip(
            cached.req_ids, zip(cached.num_computed_tokens, cached.num_output_tokens, strict=True), strict=True
        )
        places = {}
        for name, count in scheduled.num_scheduled_tokens.items():
            computed, written = before[name]
            place = computed + count - len(self._known[name][0].prompt_token_ids)
            places[name] = place if place >= written else -1
        return places

    def _logprobs(self, names: list[str], tokens: list[list[int]], positions: dict[str, int], rows: Any) -> Any:
        """Return log-probabilities as vLLM's sampler does, for each request its token's first."""
        asked = {at: self._known[name][0].sampling_params.logprob_token_ids for at, name in enumerate(names)}
        most = max((len(ids) for ids in asked.values() if ids), default=0)
        if not most:
            return None
        named = np.zeros((len(names), most + 1), np.int32)
        values = np.full(named.shape, -np.inf, np.float32)
        for at, name in enumerate(names):
            if (ids := asked[at]) and tokens[at]:
                named[at, : len(ids) + 1] = [*tokens[at], *ids]
                values[at, 1 : len(ids) + 1] = self._values(name, positions[name], np.array(ids), rows.get(name))
        return LogprobsLists(named, values, np.ones(len(names), np.int32), None)

    def _values(self, name: str, position: int, ids: Any, row: Any) -> Any:
        drawn = zlib.crc32(b"%d" % position, self._known[name][1])
        values = -((ids * 2654435761 + drawn) % 997) / 100
        allowed = np.full(len(ids), True) if row is None else row[ids // 32] >> (ids % 32) & 1 == 1
        mass = np.log(np.exp(values[allowed]).sum()) if allowed.any() else 0.0
        return np.where(allowed, values - mass, -np.inf)

    def _layers(self) -> dict[str, FullAttentionSpec]:
        config, parallel = self.model_config, self.parallel_config
        layer = FullAttentionSpec(
            block_size=self.cache_config.block_size,
            num_kv_heads=config.get_num_kv_heads(parallel),
            head_size=config.get_head_size(),
            dtype=config.dtype,
        )
        return {f"model.layers.{at}.self_attn.attn": layer for at in range(config.get_num_layers(parallel))}


def _done(value: Any, non_block: bool) -> Any:
    future: Future[Any] = Future()
    future.set_result(value)
    return future if non_block else value
