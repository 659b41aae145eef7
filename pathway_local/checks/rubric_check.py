"""Looks a rubric over before anything is judged: its format, its length, and what its prompts have in common."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

import llguidance

from pathway_local.case import Case
from pathway_local.chat import Chat
from pathway_local.errors import CaseError, FormatError, RubricError
from pathway_local.prompt import PromptWriter
from pathway_local.rubrics.output_format import Detail, OutputFormat
from pathway_local.rubrics.rubric import Rubric
from pathway_local.tokenizer import JudgeTokenizer

DETAILS: tuple[Detail, ...] = ("full", "through-score", "score")
ROOM = 256
"""Tokens for a case below which hardly any case fits."""

LATE = 64
"""Tokens of the rubric's own behind a case's text that are worth moving: a few blocks of a prefix cache."""


@dataclass(frozen=True, slots=True)
class JudgeUse:
    """What a judge does with a prompt: its tokenizer, how it takes turns, and its context in tokens."""

    name: str
    tokenizer: JudgeTokenizer
    chat: Chat
    context: int


@dataclass(frozen=True, slots=True)
class Lengths:
    """Tokens of a prompt: the rubric's own, and how many of them all prompts begin with."""

    own: int
    shared: int
    context: int


@dataclass(frozen=True, slots=True)
class Inspection:
    """What there is to say of a rubric. `lengths` is None without a judge; `advice` holds what could be better."""

    rubric: Rubric
    plan: int
    limit: int
    example: str
    start: str
    lengths: Lengths | None
    advice: tuple[str, ...]


def inspect(rubric: Rubric, judge: JudgeUse | None = None) -> Inspection:
    """Look a rubric over, for a judge's tokenizer and context or without. Raises RubricError for what can't work."""
    inputs = example_inputs(rubric)
    check_grammars(rubric.format, inputs, judge)
    reply = rubric.format.reply(inputs)
    start = "".join(text for text, _ in reply.start)
    if judge is None:
        turns = "\n\n".join(f"{turn.role}:\n{turn.render(inputs, inputs)}" for turn in rubric.turns)
        advice = tuple(_advice_by_characters(rubric))
        return Inspection(rubric, reply.plan, reply.limit, f"{turns}\n\nassistant:\n{start}", start, None, advice)
    writer = PromptWriter(rubric, judge.tokenizer, judge.chat, context=10**9)
    lengths, ids = _lengths(rubric, writer, judge, inputs)
    room = judge.context - lengths.own - reply.plan
    if room <= 0:
        said = f"{rubric.name}: the prompt takes {lengths.own} tokens of its own and the reply up to {reply.plan}"
        raise RubricError(f"{said}; {judge.name} takes {judge.context} together", "Shorten it, or take another judge.")
    advice = tuple(_advice_by_tokens(lengths, room, judge))
    text = judge.tokenizer.grammar_tokenizer.decode_bytes(list(ids)).decode("utf-8", "replace")
    return Inspection(rubric, reply.plan, reply.limit, text, start, lengths, advice)


def example_inputs(rubric: Rubric) -> dict[str, str]:
    """A text for each input: the file's own sample, or the input's name in brackets."""
    sample = rubric.sample or {}
    return {name: sample.get(name, f"[{name}]") for name in rubric.inputs}


def check_grammars(output_format: OutputFormat, inputs: Mapping[str, str], judge: JudgeUse | None) -> None:
    """Compile the format at every detail, over the judge's vocabulary or over single bytes. Raises FormatError."""
    tokenizer = judge.tokenizer.grammar_tokenizer if judge else llguidance.LLTokenizer("byte")
    end_ids = judge.tokenizer.end_ids if judge else ()
    for detail in DETAILS:
        grammar = output_format.reply(inputs, detail).grammar(end_ids)
        error = llguidance.LLMatcher(tokenizer, llguidance.grammar_from("lark", grammar)).get_error()
        if error:
            hint = "Simplify the field that it names."
            raise FormatError(f"the format can't be compiled ({detail}): {str(error).splitlines()[0]}", hint)


def budgets(output_format: OutputFormat) -> list[tuple[str, str, int]]:
    """Each generated field with its type and the tokens that are kept free for it."""
    fields = {**output_format.scores, **output_format.fields}
    order = [name for name in output_format.outputs.fields if name in fields]
    return [(name, fields[name].type, fields[name].plan(output_format.quoted)) for name in order]


def _lengths(
    rubric: Rubric, writer: PromptWriter, judge: JudgeUse, inputs: Mapping[str, str]
) -> tuple[Lengths, tuple[int, ...]]:
    """The lengths, and the ids of the example's prompt."""
    blank = [name for name, wanted in rubric.inputs.items() if wanted.empty == "judge"]
    others = [dict.fromkeys(inputs, "7 & 8"), *({**inputs, name: ""} for name in blank)]
    prompts = [_ids(writer, case) for case in (inputs, *others)]
    shared = _common(prompts)
    case_texts = [inputs[name] for name in inputs]
    case_tokens = sum(len(ids) for ids in judge.tokenizer.encode_cases(case_texts))
    echoes = [text for text, theirs in rubric.format.reply(inputs).start if theirs]
    case_tokens += sum(len(ids) for ids in judge.tokenizer.encode_cases(echoes))
    return Lengths(len(prompts[0]) - case_tokens, shared, judge.context), prompts[0]


def _ids(writer: PromptWriter, inputs: Mapping[str, str]) -> tuple[int, ...]:
    [prompt] = writer.write([Case("example", inputs)])
    if isinstance(prompt, CaseError):
        raise RubricError(f"the example can't be judged: {prompt}", "Correct the sample in the front matter.")
    return prompt.ids


def _common(prompts: Sequence[Sequence[int]]) -> int:
    return sum(1 for _ in takewhile(lambda ids: len(set(ids)) == 1, zip(*prompts, strict=False)))


def _advice_by_tokens(lengths: Lengths, room: int, judge: JudgeUse) -> Iterator[str]:
    if room < ROOM:
        yield f"only {room} of {judge.context} tokens are left for the case"
    late = lengths.own - lengths.shared
    if late >= LATE and late > lengths.own // 5:
        said = f"the case's text starts at token {lengths.shared:,} of {lengths.own:,}: move it behind the rubric"
        yield f"{said}, or the judge reads {late:,} tokens again for every case"


def _advice_by_characters(rubric: Rubric) -> Iterator[str]:
    """The same without a tokenizer: where the first case text stands among the prompt's characters."""
    filled = dict.fromkeys(rubric.inputs, "\x00")
    text = "\n".join(turn.render(filled, filled) for turn in rubric.turns)
    first, own = text.find("\x00"), len(text.replace("\x00", ""))
    if first >= 0 and own - first >= 4 * LATE and own - first > own // 5:
        yield f"the case's text starts at character {first:,} of {own:,}: move it behind the rubric"
