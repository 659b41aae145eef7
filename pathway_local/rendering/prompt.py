"""A case under a rubric as token ids for one judge.

We trust the rubric's text: it is rendered and encoded once. A case's text may be hostile: it is encoded by itself,
without special tokens, and put between the rubric's ids, so that it can change neither roles nor turns.
"""

import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import repeat

from msgspec import Struct

from pathway_local.errors import CaseError, PromptTooLong
from pathway_local.judges.judge_spec import Chat, JudgeSpec, thinking_sampling
from pathway_local.passes import GREEDY, Sampling
from pathway_local.rendering.tokenizer import JudgeTokenizer
from pathway_local.rubrics.consistency import CaseRule
from pathway_local.rubrics.examples import examples_text, turns_with
from pathway_local.rubrics.form import Reply
from pathway_local.rubrics.output_format import Detail
from pathway_local.rubrics.pair import Order
from pathway_local.rubrics.rubric import Rubric


class Prompt(Struct, frozen=True):
    """A judge's input: ids that all prompts of a rubric share, the case's own ids, and the start of the reply.

    `marks` are the verdict's marks so far, and `rules` are the rubric's rules about the case.
    """

    shared: tuple[int, ...]
    own: tuple[int, ...]
    start: tuple[int, ...]
    reply: Reply
    marks: tuple[str, ...] = ()
    rules: tuple[CaseRule, ...] = ()

    @property
    def ids(self) -> tuple[int, ...]:
        """All ids in their order, for a judge that does not think."""
        return self.shared + self.own + self.start


@dataclass(frozen=True, slots=True)
class Thinking:
    """Free thinking before the reply: the token `end_id` or the budget ends it, then the ids of `closing` follow."""

    budget: int
    end_id: int
    closing: tuple[int, ...]
    sampling: Sampling = GREEDY

    @property
    def most(self) -> int:
        """The most tokens that it can take."""
        return self.budget + len(self.closing)

    def seeded(self, seed: int) -> "Thinking":
        """Return the same with another seed."""
        return replace(self, sampling=self.sampling.seeded(seed))


def thinking_of(judge: JudgeSpec, budget: int, tokenizer: JudgeTokenizer, reply: Sampling) -> Thinking | None:
    """Return how the judge thinks before a reply that is drawn with `reply`; None if it does not think."""
    how = judge.thinking
    if how is None or not budget:
        return None
    sampling = thinking_sampling(judge, reply)
    return Thinking(budget, tokenizer.id_of(how.end), tokenizer.encode(how.closing), sampling)


Piece = tuple[int, ...] | str
"""Ids of the rubric's text, or the name of the input that belongs there."""

TOO_LONG_HINT = (
    "Name an input to cut with --truncate, or take a judge with a longer context or a machine with more memory."
)


class PromptWriter:
    """Writes the prompts of one rubric for one judge.

    `context` is the judge's limit in tokens for prompt and reply together. If a prompt is longer, the end of the input
    `truncate` is cut off; without it, such a case fails.
    """

    def __init__(
        self,
        rubric: Rubric,
        tokenizer: JudgeTokenizer,
        chat: Chat,
        *,
        context: int,
        detail: Detail = "full",
        truncate: str | None = None,
        thinking: Thinking | None = None,
    ) -> None:
        self.thinking = thinking
        self.rubric, self.tokenizer, self.chat = rubric, tokenizer, chat
        self.context, self.detail, self.truncate = context, detail, truncate
        self._examples = tokenizer.encode_cases([examples_text(rubric)])[0]
        self._by_filled: dict[tuple[str, ...], list[Piece]] = {}
        self._starts: dict[str, tuple[int, ...]] = {}

    def write(self, cases: Iterable[Mapping[str, str]], orders: Sequence[Order] = ()) -> list[Prompt | CaseError]:
        """Return the prompt of each case, given by its texts; an error for a case that can't have one.

        `orders` are those of comparisons, one for each case. Errors and marks name the case's own inputs in any order.
        """
        usual: Iterable[Order] = repeat("ab")
        drafts = [self._draft(texts, order) for texts, order in zip(cases, orders or usual, strict=False)]
        texts = [text for draft in drafts if isinstance(draft, _Draft) for text in draft.texts]
        encoded = iter(self.tokenizer.encode_cases(texts))
        return [self._finish(draft, encoded) if isinstance(draft, _Draft) else draft for draft in drafts]

    def _draft(self, given: Mapping[str, str], order: Order) -> "_Draft | CaseError":
        pair = self.rubric.pair
        try:
            own = self.rubric.completed(given)
            inputs = self.rubric.placed(own, order)
            pieces, reply = self._pieces(inputs), self.rubric.format.reply(inputs, self.detail)
            if pair:
                pieces = [pair.placed(piece, order) if isinstance(piece, str) else piece for piece in pieces]
            named = [self._bounded(own[name], name) for name in pieces if isinstance(name, str)]
            repeated = [self._bounded(text) for text, theirs in reply.start if theirs]
            return _Draft(pieces, reply, named + repeated, tuple(rule.about(inputs) for rule in self.rubric.rules))
        except CaseError as error:
            return error

    def _bounded(self, text: str, name: str = "") -> str:
        """Return the text, or only its beginning if it is far too long and may be cut. Raises PromptTooLong."""
        beginning = self.tokenizer.beginning(text, self.context)
        if len(beginning) < len(text) and (not name or name != self.truncate):
            said = f"the prompt has over {self.context} tokens in {name or 'the text that the reply repeats'} alone"
            raise PromptTooLong(f"{said}; the judge's context is {self.context}", TOO_LONG_HINT)
        return beginning

    def _finish(self, draft: "_Draft", encoded: Iterator[tuple[int, ...]]) -> Prompt | CaseError:
        pieces = [(piece, next(encoded)) if isinstance(piece, str) else ("", piece) for piece in draft.pieces]
        start = [next(encoded) if theirs else self._start(text) for text, theirs in draft.reply.start]
        length = sum(len(ids) for _, ids in pieces) + sum(map(len, start))
        thought = self.thinking.most if self.thinking else 0
        over = length + thought + draft.reply.form.reserve - self.context
        marks: tuple[str, ...] = ()
        if over > 0:
            if not any(name == self.truncate and len(ids) > over for name, ids in pieces):
                # A text beyond the context may have been shortened before it was encoded.
                known = f"at least {length}" if any(len(ids) > self.context for _, ids in pieces) else str(length)
                return self._too_long(known, thought, draft.reply.form.reserve)
            pieces = [(name, ids[: len(ids) - over] if name == self.truncate else ids) for name, ids in pieces]
            marks = (f"truncated:{self.truncate}",)
        shared, rest = (pieces[0][1], pieces[1:]) if not pieces[0][0] else ((), pieces)
        return Prompt(shared, _joined([ids for _, ids in rest]), _joined(start), draft.reply, marks, draft.rules)

    def _too_long(self, length: str, thought: int, reserve: int) -> PromptTooLong:
        needs = f"{thought + reserve} for its reply" if thought else f"{reserve} for the reply"
        said = f"the prompt has {length} tokens, and {needs} are needed; the judge's context is {self.context}"
        return PromptTooLong(said, TOO_LONG_HINT)

    def _pieces(self, inputs: Mapping[str, str]) -> list[Piece]:
        """Return the prompt with the names of inputs in place of the case's texts.

        It depends only on which inputs are empty.
        """
        filled = tuple(name for name in self.rubric.inputs if inputs[name])
        if filled not in self._by_filled:
            self._by_filled[filled] = self._rendered(filled)
        return self._by_filled[filled]

    def _rendered(self, filled: Sequence[str]) -> list[Piece]:
        # Markers stand for the case's texts while turns and chat template are rendered. They are random and made anew
        # each time, so that no text can contain one. Splitting at them leaves our text and the places of inputs
        # between: no case's text is encoded with ours, so no special token in it counts.
        fence = secrets.token_hex(16)
        fenced = dict.fromkeys(self.rubric.inputs, "") | {n: f"{fence}{at}{fence}" for at, n in enumerate(filled)}
        examples = f"{fence}{len(filled)}{fence}" if self._examples else ""
        turns = turns_with(examples, self.rubric, fenced)
        turns = _folded(turns) if self.chat.folds_system else turns
        text = self.tokenizer.chat(turns, dict(self.chat.switches)) + self.chat.opening
        known: list[Piece] = [*filled, self._examples]
        pieces: list[Piece] = []
        for at, part in enumerate(text.split(fence)):
            piece = known[int(part)] if at % 2 else self.tokenizer.encode(part)
            if pieces and isinstance(piece, tuple) and isinstance(pieces[-1], tuple):
                pieces[-1] += piece
            elif piece:
                pieces.append(piece)
        return pieces

    def _start(self, text: str) -> tuple[int, ...]:
        if text not in self._starts:
            self._starts[text] = self.tokenizer.encode(text)
        return self._starts[text]


def _joined(parts: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    joined: list[int] = []
    for part in parts:
        joined += part
    return tuple(joined)


class _Draft(Struct, frozen=True):
    """A case's prompt before its texts are encoded: first those in `pieces`, then those in the reply's start."""

    pieces: list[Piece]
    reply: Reply
    texts: list[str]
    rules: tuple[CaseRule, ...]


def _folded(said: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return turns for a judge without a system turn: the user turn begins with its words."""
    if len(said) > 1 and said[0][0] == "system":
        (_, system), (role, words), *rest = said
        return [(role, f"{system}\n\n{words}"), *rest]
    return said
