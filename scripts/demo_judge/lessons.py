"""Cases as token ids to learn from: the prompt that a judge gets, then the reply that it should write."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from random import Random

from demo_judge.cases import MAKERS, make_case
from demo_judge.made_case import MadeCase
from demo_judge.world import Split
from pathway_local.errors import CaseError
from pathway_local.prompty.turn import Turn
from pathway_local.rendering.chat import Chat
from pathway_local.rendering.prompt import PromptWriter
from pathway_local.rendering.tokenizer import JudgeTokenizer
from pathway_local.rubrics.rubric import Rubric, load_rubric

CONTEXT = 8192


@dataclass(frozen=True, slots=True)
class Lesson:
    """`ids` with the end token; from `reply` on they are what the judge writes itself, at `scores` the scores."""

    ids: tuple[int, ...]
    reply: int
    scores: tuple[int, ...]


class Teacher:
    """Makes lessons of made-up cases, with the rubrics' whole text or with their names in its place."""

    def __init__(self, tokenizer: JudgeTokenizer, *, whole: bool) -> None:
        self.tokenizer = tokenizer
        rubrics = {name: load_rubric(name) for name in MAKERS}
        self.writers = {
            name: PromptWriter(rubric if whole else _named(rubric), tokenizer, Chat(), context=CONTEXT)
            for name, rubric in rubrics.items()
        }

    def prefix(self, rubric: str) -> tuple[int, ...]:
        """The ids that all lessons under this rubric begin with."""
        return self.writers[rubric].shared_prefix()

    def lessons(self, rubric: str, cases: Sequence[MadeCase]) -> list[Lesson]:
        """The lessons of these cases, in their order."""
        prompts = self.writers[rubric].write([case.inputs for case in cases])
        made = []
        for prompt, case in zip(prompts, cases, strict=True):
            if isinstance(prompt, CaseError):
                raise prompt
            text = prompt.reply.write(case.values)
            spans = prompt.reply.read(text).spans
            # A digit is a token of its own, whatever stands before it.
            before = [len(self.tokenizer.encode(text[: spans[name][0]])) for name in case.scores]
            ids = (*prompt.ids, *self.tokenizer.encode(text), self.tokenizer.eos_id)
            made.append(Lesson(ids, len(prompt.ids), tuple(len(prompt.ids) + at for at in before)))
        return made

    def draw(self, rubric: str, count: int, rng: Random, parts: tuple[float, ...]) -> list[Lesson]:
        """So many new lessons of the training split."""
        return self.lessons(rubric, [make_case(rubric, Split.TRAIN, rng, parts) for _ in range(count)])


def _named(rubric: Rubric) -> Rubric:
    """The rubric with its name in place of its instructions."""
    return replace(rubric, turns=(Turn("system", rubric.name), rubric.turns[-1]))


def corpus(count: int, seed: int) -> list[str]:
    """Texts of training cases, inputs and replies, to learn a vocabulary from."""
    rng = Random(seed)
    texts = []
    for name in MAKERS:
        output_format = load_rubric(name).format
        for _ in range(count):
            case = make_case(name, Split.TRAIN, rng)
            reply = output_format.reply(case.inputs)
            texts += [*case.inputs.values(), "".join(t for t, _ in reply.start) + reply.write(case.values)]
    return texts


def rubric_texts() -> list[str]:
    """The four rubrics' turns."""
    return list(chain.from_iterable([turn.template for turn in load_rubric(name).turns] for name in MAKERS))
