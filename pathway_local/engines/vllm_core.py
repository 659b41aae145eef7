"""Passes the settings of a pass to vLLM, and corrects vLLM's core. Imports vLLM.

A step's grammars cost one call, not one each; requests start in waves; and a core that was killed is noticed.
"""

import threading
from collections.abc import Sequence
from concurrent.futures import Executor, Future
from copy import copy
from dataclasses import replace
from functools import lru_cache
from multiprocessing.connection import wait
from typing import Any

from llguidance import LLExecutor
from llguidance.torch import consume_token_par, fill_next_token_bitmask_par
from outlines.models.vllm_offline import VLLMOfflineTypeAdapter
from outlines.types import CFG
from vllm import SamplingParams
from vllm.sampling_params import RequestOutputKind, StructuredOutputsParams

from pathway_local.passes import Pass

ALL_ROWS = 1 << 30

GRAMMARS = 256
"""Grammars to keep. A grammar that quotes a case's texts serves that case alone, so their number has to be bounded."""


WAVE = 1 / 8
"""Share of the batch that makes a wave: once so many seats are free, or so many requests wait to continue."""

EVERY = 16
"""Steps after which a smaller wave starts, so that the last verdicts of a job need not wait for others."""

FULL = 0.9
"""Share of the cache in use from which only these smaller waves start: otherwise each block that gets free would let
one request in."""


class CoreKilled(Exception):
    """The process of vLLM's core has ended."""


def correct(client: Any) -> None:
    """Correct vLLM's core through its client: its work with grammars if it runs in this process, else how it ends.

    Only a version that we tested surely has what we replace.
    """
    core = getattr(client, "engine_core", None)
    if core is None:
        ends = client.resources.engine_manager.sentinels()
        threading.Thread(target=_wake, args=(ends, client.outputs_queue), daemon=True).start()
        return
    for correction in (compute_masks_together, share_matchers, consume_together, start_in_waves):
        correction(core)


def _wake(ends: Sequence[Any], results: Any) -> None:
    """Wait until the core's process ends, and then wake the thread that waits for its results.

    If the core is killed, vLLM closes its sockets but leaves that thread waiting for ever.
    """
    wait(ends)
    results.put_nowait(CoreKilled())


def compute_masks_together(core: Any) -> None:
    """Make vLLM compute all masks of a step in one call of llguidance, which has its own threads.

    vLLM calls llguidance for each request; for more than 128 requests it does so from a pool of Python threads, which
    then wait for each other at the interpreter's lock. On an H100 with 500 requests in flight this took 18 of the 67 ms
    of a step.
    """
    manager = core.structured_output_manager
    # With these settings it hands all rows of a step to its executor at once.
    manager.fill_bitmask_parallel_threshold = 0
    manager.fill_bitmask_parallel_batch_size = ALL_ROWS
    manager.executor_for_fillmask = _Masks(manager)


def share_matchers(core: Any) -> None:
    """Make vLLM compile each grammar once, and copy its matcher for each further request.

    vLLM compiles one for each request, in threads: 2 ms, most of which the interpreter waits for, and requests join a
    batch one by one as their grammars get ready. A copy takes 0.01 ms.
    """
    manager, kept = core.structured_output_manager, dict[Any, Any]()
    manager._use_async_grammar_compilation = False  # a thread would now cost more than it saves
    compile_for = manager.grammar_init

    def grammar_init(request: Any) -> None:
        constraint = request.structured_output_request
        if constraint is None:
            return
        key = constraint.structured_output_key, frozenset(request.sampling_params.all_stop_token_ids)
        grammar = kept.pop(key, None)
        if grammar is None:
            compile_for(request)
            if isinstance(constraint.grammar, Exception):
                return  # the scheduler fails this request
            grammar = constraint.grammar
        kept[key] = grammar
        constraint.grammar = replace(grammar, ll_matcher=grammar.ll_matcher.deep_copy())
        if len(kept) > GRAMMARS:
            del kept[next(iter(kept))]  # the one that was not asked for the longest

    manager.grammar_init = grammar_init


def consume_together(core: Any) -> None:
    """Make vLLM give all tokens of a step to their grammars in one call: 500 tokens take 0.4 instead of 8.8 ms.

    A rejected token fails its request as before. vLLM speculates and reads reasoning in its own way.
    """
    scheduler, manager = core.scheduler, core.structured_output_manager
    if manager.vllm_config.num_speculative_tokens or manager.reasoner_cls is not None:
        return
    together, accepted = LLExecutor(), dict[str, bool]()
    update, accept_one = scheduler.update_from_output, manager.accept_tokens

    def update_from_output(scheduled: Any, output: Any) -> Any:
        rows = _to_consume(scheduler.requests, output)
        if rows:
            told = consume_token_par(together, [(grammar.ll_matcher, token) for _, grammar, token in rows])
            accepted.update((name, good) for (name, _, _), good in zip(rows, told, strict=True))
        return update(scheduled, output)

    def accept_tokens(request: Any, ids: list[int]) -> bool:
        known = accepted.pop(request.request_id, None)
        if known is None:
            return bool(accept_one(request, ids))
        if not known:
            request.structured_output_request.grammar.check_error()
        return known

    scheduler.update_from_output, manager.accept_tokens = update_from_output, accept_tokens


def start_in_waves(core: Any) -> None:
    """Make vLLM start requests in waves while others run, where it schedules ahead as on a GPU.

    A step that reads a prompt runs outside of the CUDA graphs for decoding. If requests started one by one as others
    finish, nearly every step would. vLLM can hold prompts back for some steps, and asks its core whether to.
    """
    scheduler, since = core.scheduler, 0
    seats = scheduler.max_num_running_reqs
    if not core.async_scheduling:
        return  # a processor has no CUDA graphs

    def should_throttle_prefills() -> bool:
        nonlocal since
        since += 1
        scheduler.prefill_capacity_bound = False  # otherwise it holds nothing back as long as some wait for a seat
        running, waiting = scheduler.get_request_counts()
        continuing = sum(request.priority == 0 for request in scheduler.requests.values()) if waiting else 0
        begins = waiting > continuing and seats - running >= WAVE * seats and scheduler.kv_cache_manager.usage < FULL
        if since < EVERY and not begins and continuing < WAVE * seats:
            return True
        since = 0
        return False

    core._should_throttle_prefills = should_throttle_prefills


def _to_consume(requests: Any, output: Any) -> list[tuple[str, Any, int]]:
    """Return requests whose grammar has a token to consume, without those for which vLLM does something else.

    Those are: a token of a request that was preempted meanwhile, the end token, and one after a grammar's end.
    """
    found = []
    for name, tokens in zip(output.req_ids, output.sampled_token_ids, strict=False):
        request = requests.get(name)
        if len(tokens) != 1 or request is None or not request.use_structured_output:
            continue
        if request.is_finished() or request.num_stale_output_tokens:
            continue
        grammar = request.structured_output_request.grammar
        if tokens[0] != grammar.ll_tokenizer.eos_token and not grammar.ll_matcher.is_stopped():
            found.append((name, grammar, tokens[0]))
    return found


class _Masks(Executor):
    """Takes the place of vLLM's pool of threads."""

    def __init__(self, manager: Any) -> None:
        self._manager, self._together = manager, LLExecutor()

    def submit(self, _fill: Any, /, rows: Sequence[tuple[Any, int, bool]]) -> "Future[None]":  # type: ignore[override]
        """Fill a step's rows, each a grammar, its row in the mask, and whether it applies; return a finished future."""
        mask = self._manager._grammar_bitmask
        matchers = []
        for grammar, row, applies in rows:
            if applies and not grammar.is_terminated():
                matchers.append((grammar.ll_matcher, row))
            else:
                mask[row] = -1  # allows every token
        if matchers:  # llguidance raises on an empty list, which would end the engine
            fill_next_token_bitmask_par(self._together, matchers, mask)
        for grammar, _, _ in rows:
            grammar.check_error()
        done: Future[None] = Future()
        done.set_result(None)
        return done


class TrustingParams(SamplingParams):  # type: ignore[misc]
    """A request's settings that validate each grammar once and copy themselves without a deep copy.

    vLLM validates the grammar of every request and deep-copies its settings, which takes half of the time to submit it.
    If a version of vLLM has other names for these methods, it validates as usual. Workers get these settings pickled.
    """

    def _validate_structured_outputs(self, *given: Any, **named: Any) -> None:
        constraint = self.structured_outputs
        if constraint is None or (getattr(constraint, "_backend", None) and constraint.grammar in _known):
            return
        super()._validate_structured_outputs(*given, **named)
        if len(_known) >= GRAMMARS:
            _known.clear()  # those of single cases do not come again
        _known.add(constraint.grammar)

    def clone(self) -> "TrustingParams":
        """Return a copy that shares the grammar."""
        return copy(self)


_known: set[str | None] = set()


def sampling_params(item: Pass, kind: type[SamplingParams] = TrustingParams) -> SamplingParams:
    """Return a pass's settings for vLLM, of that class."""
    how = item.sampling
    return kind(
        temperature=how.temperature,
        top_p=how.top_p,
        top_k=how.top_k,
        seed=how.seed if how.temperature > 0 else None,
        max_tokens=item.max_tokens,
        stop_token_ids=list(item.stop_ids),
        structured_outputs=_constraint(item.grammar) if item.grammar is not None else None,
        logprob_token_ids=list(item.logprob_ids) or None,
        output_kind=RequestOutputKind.FINAL_ONLY,
        detokenize=False,
    )


@lru_cache(GRAMMARS)
def _constraint(grammar: str) -> StructuredOutputsParams:
    return StructuredOutputsParams(**VLLMOfflineTypeAdapter().format_output_type(CFG(grammar)))
