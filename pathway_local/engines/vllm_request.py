"""What vLLM is told of one pass: how to draw, the grammar, and what to give back."""

from copy import copy
from functools import lru_cache
from typing import Any

from pathway_local.engines.passes import Pass

GRAMMARS = 256
"""Grammars that are kept; one that holds a case's own texts is that case's alone."""


def sampling_params(item: Pass, kind: Any) -> Any:
    """A pass's settings as an instance of `kind`, which is vLLM's SamplingParams or made from it."""
    from vllm.sampling_params import RequestOutputKind

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


@lru_cache(1)
def trusting_params() -> Any:
    """vLLM's SamplingParams, but a grammar is looked at once, not for each request, and nothing is copied that is ours.

    That took half of the time of handing a request over. Where a version of vLLM looks by another name, it looks.
    """
    from vllm import SamplingParams

    known: set[str] = set()

    class TrustingParams(SamplingParams):  # type: ignore[misc]
        def _validate_structured_outputs(self, *given: Any, **named: Any) -> None:
            constraint = self.structured_outputs
            if constraint is None or (constraint._backend and constraint.grammar in known):
                return
            super()._validate_structured_outputs(*given, **named)
            if len(known) >= GRAMMARS:
                known.clear()  # those of single cases, which do not come again
            known.add(constraint.grammar)

        def clone(self) -> "TrustingParams":
            return copy(self)

    return TrustingParams


@lru_cache(GRAMMARS)
def _constraint(grammar: str) -> Any:
    from outlines.models.vllm_offline import VLLMOfflineTypeAdapter
    from outlines.types import CFG
    from vllm.sampling_params import StructuredOutputsParams

    return StructuredOutputsParams(**VLLMOfflineTypeAdapter().format_output_type(CFG(grammar)))
