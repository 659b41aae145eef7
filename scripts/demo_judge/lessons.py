"""Turns cases into token ids to learn from: a judge's prompt, then the reply that it should write."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from os.path import commonprefix
from random import Random

from demo_judge.cases import MAKERS, make_case
from demo_judge.made_case import MadeCase
from demo_judge.varied import VariedWorld
from demo_judge.world import Split, World
from pathway_local.errors import CaseError
from pathway_local.judges.judge_spec import Chat
from pathway_local.rendering.prompt import Prompt, PromptWriter
from pathway_local.rendering.tokenizer import JudgeTokenizer
from pathway_local.rubrics.rubric import Rubric
from pathway_local.rubrics.rubric_file import load_rubric
from pathway_local.rubrics.turn import Turn

CONTEXT = 8192


@dataclass(frozen=True, slots=True)
class Lesson:
    """`ids` ends with the end token; the judge's own part begins at `reply`, and its scores are at `scores`."""

    ids: tuple[int, ...]
    reply: int
    scores: tuple[int, ...]


class Teacher:
    """Makes lessons of made-up cases, with the rubrics' whole text or only their names."""

    def __init__(self, tokenizer: JudgeTokenizer, *, whole: bool) -> None:
        self.tokenizer = tokenizer
        rubrics = {name: load_rubric(name) for name in MAKERS}
        self.writers = {
            name: PromptWriter(rubric if whole else _named(rubric), tokenizer, Chat(), context=CONTEXT)
            for name, rubric in rubrics.items()
        }

    def prefix(self, rubric: str) -> tuple[int, ...]:
        """Return the ids that all lessons under this rubric begin with."""
        writer = self.writers[rubric]
        both = writer.write([dict.fromkeys(writer.rubric.inputs, text) for text in ("a", "b")])
        return tuple(commonprefix([prompt.ids for prompt in both if isinstance(prompt, Prompt)]))  # noqa: RUF071 (no paths)

    def lessons(self, rubric: str, cases: Sequence[MadeCase]) -> list[Lesson]:
        """Return the lessons of these cases, in their order."""
        prompts = self.writers[rubric].write([case.inputs for case in cases])
        made = []
        for prompt, case in zip(prompts, cases, strict=True):
            if isinstance(prompt, CaseError):
                raise prompt
            text = prompt.reply.form.write(case.values)
            spans = prompt.reply.form.read(text).spans
            # A digit is always its own token, so the length of the text before it is its position.
            before = [len(self.tokenizer.encode(text[: spans[name][0]])) for name in case.scores]
            ids = (*prompt.ids, *self.tokenizer.encode(text), self.tokenizer.eos_id)
            made.append(Lesson(ids, len(prompt.ids), tuple(len(prompt.ids) + at for at in before)))
        return made

    def draw(self, rubric: str, count: int, rng: Random, parts: tuple[float, ...]) -> list[Lesson]:
        """Draw `count` new lessons of the training split, worded in many ways."""
        return self.lessons(rubric, [make_case(rubric, VariedWorld(rng), parts) for _ in range(count)])


def _named(rubric: Rubric) -> Rubric:
    """Return the rubric with its name instead of its instructions."""
    return replace(rubric, turns=(Turn("system", rubric.name), rubric.turns[-1]))


def corpus(count: int, seed: int) -> list[str]:
    """Return texts of training cases, inputs and replies, to learn a vocabulary from."""
    world = World(Random(seed), Split.TRAIN)
    texts = []
    for name in MAKERS:
        output_format = load_rubric(name).format
        for _ in range(count):
            case = make_case(name, world)
            reply = output_format.reply(case.inputs)
            texts += [*case.inputs.values(), "".join(t for t, _ in reply.start) + reply.form.write(case.values)]
    return texts
