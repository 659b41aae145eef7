"""Generated ids beside the text that they make: where tokens end, and which fields a budget closed."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate

from pathway_local.rendering.tokenizer import JudgeTokenizer
from pathway_local.rubrics.output_format import Form, Reading, Reply, Slot

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')

EDGES = 2
"""Tokens of a field that may not count as its own, since they begin before it or end behind it."""


class Replay:
    """The ids of a reply as text. Bytes that are no UTF-8 stay apart as surrogates, so that offsets hold."""

    def __init__(self, tokenizer: JudgeTokenizer, ids: Sequence[int]) -> None:
        self.tokenizer, self.ids = tokenizer, ids
        self._pieces = tokenizer.pieces(ids)
        self.text = b"".join(self._pieces).decode("utf-8", "surrogateescape")

    @cached_property
    def ends(self) -> list[int]:
        """Where each token ends, in bytes."""
        return list(accumulate(map(len, self._pieces)))

    def before(self, offset: int) -> tuple[int, str]:
        """How many tokens end at or before the blanks in front of `offset`, and the text from there to it."""
        blank = len(self.text[:offset].rstrip())
        tokens = bisect_right(self.ends, self._bytes(blank))
        start = self.ends[tokens - 1] if tokens else 0
        return tokens, self.text[:offset].encode("utf-8", "surrogateescape")[start:].decode()

    def cut_fields(self, reply: Reply, reading: Reading, grammar: str) -> tuple[str, ...]:
        """The fields of free text that ended because their budget was used up."""
        form = reply.form
        return tuple(slot.name for slot in form.slots if self._cut(slot, form, reading.spans[slot.name], grammar))

    def _cut(self, slot: Slot, form: Form, span: tuple[int, int], grammar: str) -> bool:
        shortest = slot.field.shortest_cut(form.in_json)
        if shortest is None:
            return False
        # A budget can close a field early, by as many tokens as the literal before it took: llguidance counts from
        # where the field was sure to begin.
        early = len(form.before(slot.name).encode()) + EDGES
        least = shortest - early
        if len(self.ids) < least:
            return False
        first, last = (bisect_left(self.ends, self._bytes(offset)) for offset in span)
        if last - first < least:
            return False
        closings = [span[1]]
        if form.in_json:
            closings = [span[0] + found.end() - 1 for found in _STRING.finditer(self.text[span[0] : span[1]])]
        return any(self._forced(self._bytes(offset), grammar) for offset in closings)

    def _forced(self, offset: int, grammar: str) -> bool:
        """Whether the grammar let no letter through where the text ended."""
        tokens = bisect_right(self.ends, offset)
        if offset != (self.ends[tokens - 1] if tokens else 0):
            return False
        matcher = self.tokenizer.matcher(grammar)
        for token in self.ids[:tokens]:
            # Budgets are counted from what the engine's masks looked ahead to: of a mask this is the part that looks
            # ahead, and takes the same time for any vocabulary.
            matcher.compute_ff_bytes()
            matcher.consume_token(token)
        return not self.tokenizer.lets_through(matcher, self.tokenizer.letter_id)

    def _bytes(self, offset: int) -> int:
        if self.text.isascii():
            return offset
        return len(self.text[:offset].encode("utf-8", "surrogateescape"))
