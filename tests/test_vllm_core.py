"""Masks that are computed together are those that vLLM computes one by one; a core that was killed is noticed.

vLLM is imported by the tests that need it: at the top, each worker of pytest would import it.
"""

import os
import queue
import subprocess
from dataclasses import dataclass
from types import SimpleNamespace

import llguidance
import pytest
from walks import Walker, legal_ids

GRAMMAR = 'start: "score: " /[1-5]/ "\\n" /[a-z ]+/'
ROWS = 40


@dataclass
class Grammar:
    """What vLLM keeps of a request's grammar."""

    ll_matcher: llguidance.LLMatcher
    ended: bool = False
    checked: bool = False

    def is_terminated(self) -> bool:
        return self.ended

    def check_error(self) -> None:
        self.checked = True


def test_masks_computed_together_are_those_computed_one_by_one(walker: Walker) -> None:
    import torch
    from llguidance.torch import allocate_token_bitmask, fill_next_token_bitmask

    from pathway_local.engines.vllm_core import compute_masks_together

    grammars = [Grammar(_advanced(walker, row), ended=row % 7 == 3) for row in range(ROWS)]
    rows = [(grammar, row, row % 5 != 4) for row, grammar in enumerate(grammars)]
    mask = allocate_token_bitmask(ROWS + 1, walker.tokenizer.vocab_size)
    mask.fill_(12345)  # every row must be written
    manager = SimpleNamespace(_grammar_bitmask=mask)
    compute_masks_together(SimpleNamespace(structured_output_manager=manager))
    assert manager.fill_bitmask_parallel_threshold == 0 and manager.fill_bitmask_parallel_batch_size > ROWS
    manager.executor_for_fillmask.submit(None, rows).result(timeout=0)
    manager.executor_for_fillmask.shutdown(wait=True, cancel_futures=True)  # as vLLM does in the end

    for grammar, row, applies in rows:
        alone = allocate_token_bitmask(1, walker.tokenizer.vocab_size)
        if applies and not grammar.ended:
            fill_next_token_bitmask(grammar.ll_matcher, alone)
        assert torch.equal(mask[row], alone[0]), row
        assert grammar.checked
    assert len({tuple(row.tolist()) for row in mask[:ROWS]}) > 3
    assert set(mask[ROWS].tolist()) == {12345}


def test_a_core_that_ends_wakes_who_waits_for_its_results() -> None:
    from pathway_local.engines.vllm_core import CoreKilled, correct

    with subprocess.Popen(["sleep", "60"]) as core:
        sentinel = os.pidfd_open(core.pid)
        results: queue.Queue[object] = queue.Queue()
        manager = SimpleNamespace(sentinels=lambda: [sentinel])
        correct(SimpleNamespace(resources=SimpleNamespace(engine_manager=manager), outputs_queue=results))
        assert results.empty()
        core.kill()
        assert isinstance(results.get(timeout=10), CoreKilled)


def _advanced(walker: Walker, seed: int) -> llguidance.LLMatcher:
    matcher = llguidance.LLMatcher(walker.tokenizer, llguidance.grammar_from("lark", GRAMMAR))
    for _ in range(seed % 12):
        legal = [token for token in legal_ids(matcher, walker.tokenizer) if token != walker.tokenizer.eos_token]
        assert matcher.consume_token(int(legal[seed % len(legal)]))
    return matcher


@pytest.mark.parametrize(("drafted", "reasoner"), [(2, None), (0, object), (0, None)])
def test_vllm_accepts_tokens_by_itself_where_it_speculates_or_reads_reasoning(drafted: int, reasoner: object) -> None:
    from pathway_local.engines.vllm_core import consume_together

    config = SimpleNamespace(num_speculative_tokens=drafted)
    manager = SimpleNamespace(vllm_config=config, reasoner_cls=reasoner, accept_tokens=None)
    scheduler = SimpleNamespace(update_from_output=None, requests={})
    consume_together(SimpleNamespace(scheduler=scheduler, structured_output_manager=manager))
    ours = (manager.accept_tokens, scheduler.update_from_output) != (None, None)
    assert ours == (not drafted and reasoner is None)
