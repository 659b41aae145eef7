"""Random walks under a grammar's masks: what a judge could write at worst, without running one."""

import re
from collections.abc import Sequence

import llguidance
import llguidance.numpy
import numpy as np


class Walker:
    """Walks a grammar over a tokenizer's vocabulary, drawing among the tokens that the mask lets through."""

    def __init__(self, tokenizer: llguidance.LLTokenizer) -> None:
        self.tokenizer = tokenizer
        self.texts = [tokenizer.decode_bytes([i]) for i in range(tokenizer.vocab_size)]
        awkward = re.compile(rb'["\\*<\n]|^\s+$|^\d$')
        odd = [bool(awkward.search(text) or b"\xef\xbf\xbd" in text or not _whole(text)) for text in self.texts]
        self.weights = {True: np.where(odd, 50.0, 1.0), False: np.ones(len(odd))}
        """How often each id is drawn, by whether awkward ones are preferred."""

    def walk(self, grammar: str, seed: int, *, awkward: bool, limit: int) -> tuple[bytes, list[int], bool]:
        """The bytes and ids of one walk, and whether it ended by itself within `limit` tokens."""
        matcher = llguidance.LLMatcher(self.tokenizer, llguidance.grammar_from("lark", grammar))
        assert not matcher.get_error(), matcher.get_error()
        rng, ids = np.random.default_rng(seed), []
        while len(ids) < limit:
            legal = legal_ids(matcher, self.tokenizer)
            shares = self.weights[awkward][legal].cumsum()  # `rng.choice` takes as long as the mask
            token = int(legal[shares.searchsorted(rng.random() * shares[-1], side="right")])
            if token == self.tokenizer.eos_token:
                return b"".join(self.texts[i] for i in ids), ids, True
            ids.append(token)
            assert matcher.consume_token(token), matcher.get_error()
            if matcher.is_stopped():
                return b"".join(self.texts[i] for i in ids), ids, True
        return b"".join(self.texts[i] for i in ids), ids, False

    def accepts(self, grammar: str, ids: Sequence[int]) -> bool:
        """Whether the grammar lets exactly these ids through, and may end behind them.

        The mask is asked for before each token, as an engine does: a budget is counted from where the mask
        first knew that the field would begin.
        """
        matcher = llguidance.LLMatcher(self.tokenizer, llguidance.grammar_from("lark", grammar))
        assert not matcher.get_error(), matcher.get_error()
        taken = all(is_legal(i, matcher, self.tokenizer) and matcher.consume_token(i) for i in ids)
        return taken and matcher.is_accepting()


def legal_ids(matcher: llguidance.LLMatcher, tokenizer: llguidance.LLTokenizer) -> np.ndarray:
    """The ids that a grammar lets through next."""
    bits = np.unpackbits(_mask(matcher, tokenizer), bitorder="little", count=tokenizer.vocab_size)
    return bits.view(bool).nonzero()[0]


def is_legal(token: int, matcher: llguidance.LLMatcher, tokenizer: llguidance.LLTokenizer) -> bool:
    """Whether a grammar lets this id through next."""
    return bool(_mask(matcher, tokenizer)[token // 8] >> token % 8 & 1)


def _mask(matcher: llguidance.LLMatcher, tokenizer: llguidance.LLTokenizer) -> np.ndarray:
    mask = llguidance.numpy.allocate_token_bitmask(1, tokenizer.vocab_size)
    llguidance.numpy.fill_next_token_bitmask(matcher, mask, 0)
    return mask.view(np.uint8)[0]


def _whole(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True
