"""Replays generated ids as text: where each token ends, and which fields reached their budget."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate

from pathway_local.rendering.tokenizer import JudgeTokenizer
from pathway_local.rubrics.form import Form, Reading, Reply, Slot

EDGES = 2
"""Tokens at the two edges of a field that may belong to the literals around it as well."""


class Replay:
    """The ids of a reply as text. Bytes that are not UTF-8 become surrogates, so that offsets into it stay right."""

    def __init__(self, tokenizer: JudgeTokenizer, ids: Sequence[int]) -> None:
        self.tokenizer, self.ids = tokenizer, ids
        self._pieces = tokenizer.pieces(ids)
        self.text = b"".join(self._pieces).decode("utf-8", "surrogateescape")

    @cached_property
    def ends(self) -> list[int]:
        """Return the offset in bytes at which each token ends."""
        return list(accumulate(map(len, self._pieces)))

    def before(self, offset: int) -> tuple[int, str]:
        """Return the number of tokens that end before the blanks in front of `offset`, and the text from there to it.

        The pass for a score's probabilities continues from these tokens. The blanks are left out, since a token may
        join a blank with the score.
        """
        blank = len(self.text[:offset].rstrip())
        tokens = bisect_right(self.ends, self._bytes(blank))
        start = self.ends[tokens - 1] if tokens else 0
        return tokens, self.text[:offset].encode("utf-8", "surrogateescape")[start:].decode()

    def cut_fields(self, reply: Reply, reading: Reading, grammar: str) -> tuple[str, ...]:
        """Return the fields that ended because they reached their budget, and lists of verdicts that are full."""
        form = reply.form
        return tuple(
            slot.name
            for slot in form.slots
            if slot.field.is_full(reading.values[slot.name]) or self._cut(slot, form, reading.spans[slot.name], grammar)
        )

    def _cut(self, slot: Slot, form: Form, span: tuple[int, int], grammar: str) -> bool:
        shortest = slot.field.shortest_cut(form.in_json)
        if shortest is None:
            return False
        # llguidance counts a budget from where it was sure that the field would begin, which can be as many tokens
        # earlier as the literal before the field has bytes. In JSON a text has half of its budget between two escapes.
        # A field with fewer tokens than that can't have reached its budget: most replies need no matcher.
        early = len(form.before(slot.name).encode()) + EDGES
        least = shortest - early
        if len(self.ids) < least:
            return False
        first, last = (bisect_left(self.ends, self._bytes(offset)) for offset in span)
        if last - first < least:
            return False
        # A list of texts in JSON has a budget for each string, so each closing quote may be a forced one.
        if form.in_json:
            closings = [self._bytes(span[0] + end) for end in slot.field.ends_of_texts(self.text[span[0] : span[1]])]
        else:
            closings = [self._boundary(self._bytes(form.ending(slot.name).decided(self.text, span[1])))]
        return any(self._forced(offset, grammar) for offset in closings)

    def _boundary(self, offset: int) -> int:
        """Return where the last token ends that ends at `offset` or before it."""
        tokens = bisect_right(self.ends, offset)
        return self.ends[tokens - 1] if tokens else 0

    def _forced(self, offset: int, grammar: str) -> bool:
        """Whether the grammar forbade a letter where the text ended: if it allowed one, the judge ended by itself."""
        tokens = bisect_right(self.ends, offset)
        if offset != self._boundary(offset):
            return False
        matcher = self.tokenizer.matcher(grammar)
        for token in self.ids[:tokens]:
            # The engine computes a mask at each token, which looks ahead, and budgets count from what it saw. Without
            # the same look ahead here, budgets would end elsewhere. This call is only the part of a mask that looks
            # ahead: it takes the same time for any vocabulary.
            matcher.compute_ff_bytes()
            matcher.consume_token(token)
        return not self.tokenizer.lets_through(matcher, self.tokenizer.letter_id)

    def _bytes(self, offset: int) -> int:
        if self.text.isascii():
            return offset
        return len(self.text[:offset].encode("utf-8", "surrogateescape"))
