"""Scripts an engine that gives the same reply to every case at once, so that only our own work takes time."""

import json
import math
import os
from functools import lru_cache
from pathlib import Path

from pathway_local.passes import Pass, PassResult

REPLY = "PATHWAY_LOCAL_BENCH_REPLY"
"""Environment variable: a JSON file with the ids of the reply."""


@lru_cache(1)
def _reply() -> tuple[int, ...]:
    return tuple(json.loads(Path(os.environ[REPLY]).read_text()))


@lru_cache(16)
def _even(ids: tuple[int, ...]) -> dict[int, float]:
    return dict.fromkeys(ids, -math.log(len(ids)))


def answer(item: Pass) -> PassResult:
    """Return the reply, or nothing to a pass of one token; all ids of `logprob_ids` are equally likely."""
    reply = _reply() if item.max_tokens > 1 else ()
    shares = (_even(item.logprob_ids),) * (len(reply) + 1) if item.logprob_ids else ()
    return PassResult(item.id, reply, logprobs=shares)
