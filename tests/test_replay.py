"""Which fields a budget closed, told from ids alone, beside what the masks themselves said while these were drawn."""

from itertools import accumulate
from pathlib import Path

import llguidance
import pytest
from walks import Walker, is_legal

from pathway_local.judging.pool import Replay
from pathway_local.rendering.tokenizer import JudgeTokenizer
from pathway_local.rubrics.fields import TextField
from pathway_local.rubrics.rubric_file import load_rubric


@pytest.mark.parametrize("name", ["pathway-answer", "groundedness"])
def test_cut_fields_are_those_where_the_mask_let_no_letter_through(walker: Walker, tiny_judge: Path, name: str) -> None:
    tokenizer, rubric = JudgeTokenizer(tiny_judge), load_rubric(name)
    reply = rubric.format.reply(dict.fromkeys(rubric.inputs, "x"))
    texts = [slot.name for slot in reply.form.slots if isinstance(slot.field, TextField)]
    seen = []
    for seed in range(24):
        _, ids, _ = walker.walk(reply.form.grammar(), seed, awkward=seed % 2 == 0, limit=3000)
        replay = Replay(tokenizer, ids)
        reading = reply.form.read(replay.text)
        letters = _letters(walker, reply.form.grammar(), ids, tokenizer.letter_id)
        ends = list(accumulate(len(piece) for piece in tokenizer.pieces(ids)))
        closed = {}
        for slot in texts:
            end = len(replay.text[: reading.spans[slot][1]].encode("utf-8", "surrogateescape"))
            closed[slot] = end in ends and not letters[ends.index(end) + 1]
        assert replay.cut_fields(reply, reading, reply.form.grammar()) == tuple(slot for slot in texts if closed[slot])
        seen += closed.values()
    assert True in seen
    short = {slot.name: "It is so." if slot.name in texts else 3 for slot in reply.form.slots}
    replay = Replay(tokenizer, tokenizer.encode(reply.form.write(short)))
    assert replay.cut_fields(reply, reply.form.read(replay.text), reply.form.grammar()) == ()


def _letters(walker: Walker, grammar: str, ids: list[int], letter: int) -> list[bool]:
    """Whether the letter may come before each of the ids, and behind the last."""
    matcher = llguidance.LLMatcher(walker.tokenizer, llguidance.grammar_from("lark", grammar))
    found = []
    for token in ids:
        found.append(is_legal(letter, matcher, walker.tokenizer))
        matcher.consume_token(token)
    return [*found, is_legal(letter, matcher, walker.tokenizer)]
