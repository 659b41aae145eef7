"""What vLLM is told of one pass: how to draw, the grammar, and what to give back. Imports vLLM."""

from copy import copy
from functools import lru_cache
from typing import Any

from outlines.models.vllm_offline import VLLMOfflineTypeAdapter
from outlines.types import CFG
from vllm import SamplingParams
from vllm.sampling_params import RequestOutputKind, StructuredOutputsParams

from pathway_local.passes import Pass

GRAMMARS = 256
"""Grammars that are kept; one that holds a case's own texts is that case's alone."""


class TrustingParams(SamplingParams):  # type: ignore[misc]
    """A request's settings, whose grammar is looked at only if no request before had it, and which are copied flat.

    vLLM looks at each request's grammar anew and copies its settings in depth: half of the time of handing it over.
    Where a version of vLLM has other names for this, it looks. Workers get these settings pickled.
    """

    def _validate_structured_outputs(self, *given: Any, **named: Any) -> None:
        constraint = self.structured_outputs
        if constraint is None or (getattr(constraint, "_backend", None) and constraint.grammar in _known):
            return
        super()._validate_structured_outputs(*given, **named)
        if len(_known) >= GRAMMARS:
            _known.clear()  # those of single cases, which do not come again
        _known.add(constraint.grammar)

    def clone(self) -> "TrustingParams":
        """A copy that shares the grammar."""
        return copy(self)


_known: set[str | None] = set()


def sampling_params(item: Pass, kind: type[SamplingParams] = TrustingParams) -> SamplingParams:
    """A pass's settings for vLLM, of that kind."""
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
