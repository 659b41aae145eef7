"""vLLM's settings for one pass: sampling, grammar, and what to return. Imports vLLM."""

from copy import copy
from functools import lru_cache
from typing import Any

from outlines.models.vllm_offline import VLLMOfflineTypeAdapter
from outlines.types import CFG
from vllm import SamplingParams
from vllm.sampling_params import RequestOutputKind, StructuredOutputsParams

from pathway_local.engines.vllm_core import GRAMMARS
from pathway_local.passes import Pass


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
