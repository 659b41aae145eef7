"""A judge's tokenizer: chat template, end-of-turn ids, and two ways to encode: our text, and texts of cases."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path

import llguidance
import llguidance.numpy
import numpy as np
from numpy.typing import NDArray

from pathway_local.errors import EngineError
from pathway_local.judges.chat_template import ChatFrame, Turn, chat_frame, ends, special_tokens
from pathway_local.judges.tokenizer_file import described, of_pieces, panics_told
from pathway_local.judges.weights import chat_template, declared_ends

ENCODED_AT_ONCE = 50_000
"""Characters in each piece of a long text, when its tokens are counted piece by piece."""

NO_TEMPLATE = "Put its maker's own into its folder, as chat_template.jinja: a wrong one spoils every score unseen."

_FAILS = "the judge's tokenizer fails on a text"
LONG_TOKEN = 8
"""Characters per token; few texts average more."""


class JudgeTokenizer:
    """The tokenizer in a judge's folder. `end_of_turn` names tokens that end a reply, besides its own end token."""

    def __init__(self, folder: Path, end_of_turn: Sequence[str] = ()) -> None:
        told = described(folder)
        # Neither of them puts a blank before a text: our text and texts of cases are encoded apart, piece by piece.
        self.tokenizer = of_pieces(told)
        self._theirs = of_pieces(told | {"added_tokens": []})
        self.special = special_tokens(folder)
        end = self.tokenizer.token_to_id(self.special.get("eos_token", ""))
        if end is None:
            said = f"the tokenizer in {folder} names no end token"
            raise EngineError(said, "Set eos_token in tokenizer_config.json.")
        self.eos_id: int = end
        self.template = chat_template(folder)
        self._frames: dict[tuple[tuple[Turn, ...], str, bool], ChatFrame] = {}
        ends = {self.id_of(token) for token in end_of_turn}
        self.end_ids = tuple(sorted({*ends, *declared_ends(folder)} - {self.eos_id}))

    def chat(self, turns: Sequence[tuple[str, str]], switches: Mapping[str, object], *, reply: bool = True) -> str:
        """Return the text of turns (role, words); with `reply`, also the opening of a reply. Raises EngineError."""
        if not self.template:
            raise EngineError("the judge's tokenizer has no chat template", NO_TEMPLATE)
        outer = tuple((role, ends(words)) for role, words in turns)
        key = (outer, repr(switches), reply)
        if key not in self._frames:
            variables = {**self.special, **switches, "add_generation_prompt": reply}
            self._frames[key] = chat_frame(self.template, outer, variables)
        return self._frames[key].filled([words for _, words in turns])

    def id_of(self, token: str) -> int:
        """Return the id of a special or added token. Raises EngineError."""
        found = self.tokenizer.token_to_id(token)
        if found is None:
            said = f"the judge's tokenizer has no token {token!r}"
            raise EngineError(said, "Correct the judge's entry in the registry: end_of_turn, or thinking.")
        return int(found)

    def encode(self, text: str) -> tuple[int, ...]:
        """Return the ids of our own text, in which special tokens count."""
        with panics_told(_FAILS):
            return tuple(self.tokenizer.encode(text, add_special_tokens=False).ids)

    def encode_cases(self, texts: Sequence[str]) -> list[tuple[int, ...]]:
        """Return the ids of texts of cases: nothing in them becomes a special or added token."""
        # Tokenizers refuse lone surrogates. All texts go in one batch, which the library spreads over the cores.
        clean = [text.encode("utf-8", "replace").decode() for text in texts]
        with panics_told(_FAILS):
            return [tuple(encoded.ids) for encoded in self._theirs.encode_batch_fast(clean, add_special_tokens=False)]

    def beginning(self, text: str, tokens: int) -> str:
        """Return a beginning of a case's text with more than this many tokens; the whole text if it may have fewer.

        Encoding ten million characters would take a gigabyte, and no judge has the context for them. So the tokens of a
        text that can hardly fit are counted piece by piece. Cutting a text can add a few tokens, so it counts as too
        long only at twice as many.
        """
        if len(text) <= max(ENCODED_AT_ONCE, LONG_TOKEN * tokens):
            return text
        found = 0
        for end in range(ENCODED_AT_ONCE, len(text) + ENCODED_AT_ONCE, ENCODED_AT_ONCE):
            [ids] = self.encode_cases([text[end - ENCODED_AT_ONCE : end]])
            found += len(ids)
            if found > 2 * tokens:
                return text[:end]
        return text

    @cached_property
    def grammar_tokenizer(self) -> llguidance.LLTokenizer:
        """llguidance's view of the vocabulary: the bytes of each id, and masks of grammars. Raises EngineError."""
        with panics_told("the judge's tokenizer can't be used for grammars"):
            return llguidance.LLTokenizer(self.tokenizer.to_str(), eos_token=self.eos_id)

    @cached_property
    def bytes_of(self) -> Callable[[int], bytes]:
        """Gives the bytes of a token; each is decoded once."""
        return cache(lambda token: bytes(self.grammar_tokenizer.decode_bytes([token])))

    def pieces(self, ids: Sequence[int]) -> list[bytes]:
        """Return the bytes of each of these tokens."""
        return list(map(self.bytes_of, ids))

    def text(self, ids: Sequence[int]) -> str:
        """Return the text of these tokens, special ones included."""
        return b"".join(self.pieces(ids)).decode("utf-8", "replace")

    def matcher(self, grammar: str) -> llguidance.LLMatcher:
        """Return a matcher that follows ids through a Lark grammar; if it does not compile, `get_error` says why."""
        return llguidance.LLMatcher(self.grammar_tokenizer, llguidance.grammar_from("lark", grammar))

    def legal_ids(self, matcher: llguidance.LLMatcher) -> tuple[int, ...]:
        """Return the ids that a grammar allows next."""
        bits = np.unpackbits(self._mask(matcher).view(np.uint8), bitorder="little")
        return tuple(np.flatnonzero(bits[: self.grammar_tokenizer.vocab_size]).tolist())

    def lets_through(self, matcher: llguidance.LLMatcher, token: int) -> bool:
        """Return whether a grammar allows this id next."""
        return bool(self._mask(matcher).view(np.uint8)[0, token // 8] >> token % 8 & 1)

    def _mask(self, matcher: llguidance.LLMatcher) -> NDArray[np.int32]:
        mask: NDArray[np.int32] = llguidance.numpy.allocate_token_bitmask(1, self.grammar_tokenizer.vocab_size)
        llguidance.numpy.fill_next_token_bitmask(matcher, mask, 0)
        return mask

    @cached_property
    def letter_id(self) -> int:
        """The id of the plain letter "a": if a grammar allows it, free text may continue."""
        return next(i for i in range(self.grammar_tokenizer.vocab_size) if self.bytes_of(i) == b"a")

    def ids_of(self, text: bytes) -> tuple[int, ...]:
        """Return the ids that stand for exactly these bytes."""
        return self._by_bytes.get(text, ())

    @cached_property
    def _by_bytes(self) -> dict[bytes, tuple[int, ...]]:
        found: dict[bytes, tuple[int, ...]] = {}
        for token in range(self.grammar_tokenizer.vocab_size):
            text = self.bytes_of(token)
            found[text] = (*found.get(text, ()), token)
        return found
