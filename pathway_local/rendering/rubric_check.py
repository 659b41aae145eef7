"""Checks a rubric before judging: its format, its length, and the beginning that its prompts share."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import get_args

import llguidance

from pathway_local.errors import CaseError, EngineError, FormatError
from pathway_local.rendering.prompt import Prompt, PromptWriter
from pathway_local.rendering.tokenizer import JudgeTokenizer
from pathway_local.rubrics.examples import examples_text, turns_with
from pathway_local.rubrics.fields import ScoreField
from pathway_local.rubrics.form import Reply
from pathway_local.rubrics.grammar import alternatives
from pathway_local.rubrics.output_format import Detail, OutputFormat
from pathway_local.rubrics.rubric import Rubric

UNBOUNDED = 1 << 30
"""A context that holds any prompt."""

LONGER = "Take a judge with a longer context or a machine with more memory, or judge with --detail score."


@dataclass(frozen=True, slots=True)
class Lengths:
    """Numbers of tokens: the rubric's `own` in a prompt, those `shared` by all prompts' beginnings, and a `reply`'s."""

    rubric: str
    own: int
    shared: int
    reply: int
    context: int

    @property
    def room(self) -> int:
        """The tokens left for a case's texts."""
        return self.context - self.own - self.reply

    @property
    def lack(self) -> str:
        """Why the judge's context can't hold any case under the rubric; empty if it can."""
        said = f"the judge's context of {self.context:,} tokens is too short for the rubric {self.rubric}"
        said += f": its prompt takes {self.own:,} before a case's texts, and the reply up to {self.reply:,}"
        return "" if self.room > 0 else said


@dataclass(frozen=True, slots=True)
class Inspection:
    """The findings about a rubric: an `example` prompt and a `reply` to it, and the tokens to keep `free` for replies.

    Without a judge, `lengths` is None.
    """

    free: int
    example: str
    reply: str
    lengths: Lengths | None
    advice: tuple[str, ...]


def inspect(rubric: Rubric, writer: PromptWriter | None = None) -> Inspection:
    """Check a rubric, with the writer of its prompts for a judge or without.

    Raises FormatError if its format can't be compiled, EngineError if the judge's context is too short for it.
    """
    inputs = example_inputs(rubric)
    check_grammars(rubric.format, inputs, writer.tokenizer if writer else None)
    reply, lengths = rubric.format.reply(inputs), None
    advice = tuple(_example_scores(rubric))
    start = "".join(text for text, _ in reply.start)
    written = start + reply.form.write({slot.name: slot.field.example(slot.name) for slot in reply.form.slots})
    if writer is None:
        shown = rubric.completed(inputs)
        said = turns_with(examples_text(rubric), rubric, shown)
        turns = "\n\n".join(f"{role}:\n{words}" for role, words in said)
        example = f"{turns}\n\nassistant:\n{start}"
    else:
        lengths = check_room(writer)
        example = example_prompt(writer)
    return Inspection(reply.form.reserve, example, written, lengths, advice)


def example_inputs(rubric: Rubric) -> dict[str, str]:
    """Return a text for each input, which holds its name."""
    return {name: f"(the case's {name})" for name in rubric.inputs}


def example_prompt(writer: PromptWriter) -> str:
    """Return the prompt of the rubric's example, decoded from its ids, even if it is too long for the judge."""
    [prompt] = _prompts(writer, example_inputs(writer.rubric))
    return writer.tokenizer.text(prompt.ids)


def check_room(writer: PromptWriter) -> Lengths:
    """Return the lengths of the rubric's prompts. Raises EngineError if the judge's context can't hold any case."""
    found = lengths_of(writer)
    if found.lack:
        raise EngineError(found.lack, LONGER)
    return found


def check_grammars(output_format: OutputFormat, inputs: Mapping[str, str], tokenizer: JudgeTokenizer | None) -> None:
    """Compile the format at every detail, over the judge's vocabulary or over single bytes. Raises FormatError."""
    for detail in get_args(Detail):
        reply = output_format.reply(inputs, detail)
        if error := _flaw(reply, tokenizer):
            hint = "Simplify the field that it names, or take another judge."
            raise FormatError(f"the format can't be compiled ({detail}): {error.splitlines()[0][:200]}", hint)


def _flaw(reply: Reply, tokenizer: JudgeTokenizer | None) -> str:
    if tokenizer is None:
        grammar = llguidance.grammar_from("lark", reply.form.grammar())
        return str(llguidance.LLMatcher(llguidance.LLTokenizer("byte"), grammar).get_error() or "")
    matcher = tokenizer.matcher(reply.form.grammar(tokenizer.end_ids))
    return str(matcher.get_error() or ("" if tokenizer.legal_ids(matcher) else "no token may come first"))


def lengths_of(writer: PromptWriter) -> Lengths:
    """Return the lengths, found with short texts: a long sample shown twice would count as the rubric's own."""
    rubric, thinking = writer.rubric, writer.thinking
    inputs = example_inputs(rubric)
    short = dict.fromkeys(inputs, "7 & 8")
    prompts = _prompts(writer, short, inputs)
    reply = prompts[0].reply
    texts = [*short.values(), *(text for text, theirs in reply.start if theirs)]
    own = len(prompts[0].ids) - sum(map(len, writer.tokenizer.encode_cases(texts)))
    kept_free = reply.form.reserve + (thinking.most if thinking else 0)
    return Lengths(rubric.name, own, _common([prompt.ids for prompt in prompts]), kept_free, writer.context)


def _prompts(writer: PromptWriter, *cases: Mapping[str, str]) -> list[Prompt]:
    """Return the prompts of cases with these inputs, however long."""
    wide = PromptWriter(writer.rubric, writer.tokenizer, writer.chat, context=UNBOUNDED, detail=writer.detail)
    found: list[Prompt] = []
    for prompt in wide.write(cases):
        if isinstance(prompt, CaseError):
            raise prompt
        found.append(prompt)
    return found


def _common(prompts: Sequence[Sequence[int]]) -> int:
    return sum(1 for _ in takewhile(lambda ids: len(set(ids)) == 1, zip(*prompts, strict=False)))


def _example_scores(rubric: Rubric) -> Iterator[str]:
    """Yield a note for each score that the prompt shows in an example, as the reply would write it."""
    form, shown = rubric.format.reply(example_inputs(rubric)).form, "\n".join(turn.template for turn in rubric.turns)
    for slot in form.slots:
        label = re.search(r"[^\n,{]*\w[^\n,{]*\Z", form.before(slot.name))
        if not label or not isinstance(slot.field, ScoreField):
            continue
        begin = r"\s*".join(map(re.escape, label[0].split()))
        values = alternatives(list(slot.field.values_by_text(rubric.format.in_json)))
        if found := re.search(rf"{begin}\s*({values})(?![\w.]|\s*[-–|/<]|\s+(?:or|to)\b)", shown):
            said = f"the prompt shows an example with {slot.name} {found[1]}, which judges like to copy"
            yield f"{said}: show what may stand there instead, such as <{slot.field.values[0]}-{slot.field.values[-1]}>"
