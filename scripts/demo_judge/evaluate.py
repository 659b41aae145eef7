"""Evaluates the demo judge on new made-up cases by greedy replies, read by the rubric's own format."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from transformers import Qwen3ForCausalLM

from demo_judge.cases import MAKERS, make_cases
from demo_judge.lessons import Teacher
from demo_judge.made_case import MadeCase
from demo_judge.network import write_greedily
from demo_judge.world import Split
from pathway_local.errors import ReplyError
from pathway_local.rubrics.form import Reading

BATCH = 64
LIMIT = 400


@dataclass(frozen=True, slots=True)
class Result:
    """One score of a case: the right value and the judge's, None if the reply could not be read.

    `named` says whether the reply holds the deciding words.
    """

    rubric: str
    score: str
    right: int
    given: int | None
    named: bool


def results(
    network: Qwen3ForCausalLM, teacher: Teacher, rubric: str, split: Split, count: int, seed: int
) -> Iterator[Result]:
    """Yield a result for each score of `count` cases."""
    cases = list(make_cases(rubric, split, count, seed))
    for at in range(0, count, BATCH):
        batch = cases[at : at + BATCH]
        for case, reading, text in zip(batch, *_read(network, teacher, rubric, batch), strict=True):
            for name, right in case.scores.items():
                given = reading.values[name] if reading else None
                named = case.decisive in text
                yield Result(rubric, name, right, given if isinstance(given, int) else None, named)


def _read(
    network: Qwen3ForCausalLM, teacher: Teacher, rubric: str, cases: Sequence[MadeCase]
) -> tuple[list[Reading | None], list[str]]:
    lessons = teacher.lessons(rubric, cases)
    prefix = teacher.prefix(rubric)
    rests = [lesson.ids[len(prefix) : lesson.reply] for lesson in lessons]
    written = write_greedily(network, prefix, rests, LIMIT)
    texts = [teacher.tokenizer.text(ids) for ids in written]
    output_format = teacher.writers[rubric].rubric.format
    readings: list[Reading | None] = []
    for case, text in zip(cases, texts, strict=True):
        try:
            readings.append(output_format.reply(case.inputs).form.read(text))
        except ReplyError:
            readings.append(None)
    return readings, texts


def exact(found: Sequence[Result]) -> float:
    """Return the share of right scores; an unreadable reply counts as wrong."""
    return sum(result.given == result.right for result in found) / len(found)


def quick(network: Qwen3ForCausalLM, teacher: Teacher, count: int, seed: int) -> str:
    """Return one line with exact agreement and named facts per rubric, on a few held-out cases."""
    said = []
    for rubric in MAKERS:
        found = list(results(network, teacher, rubric, Split.VALUES, count, seed))
        named = sum(result.named for result in found) / len(found)
        said.append(f"{rubric} {exact(found):.2f} (named {named:.2f})")
    return ", ".join(said)
