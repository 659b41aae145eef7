"""A rubric's levels change places, and nothing else does."""

import re

import pytest
from faulty_judges import RUBRIC

from pathway_local.judging.level_order import reordered
from pathway_local.rubrics.rubric import Rubric
from pathway_local.rubrics.rubric_file import load_rubric, parse_rubric

FACTS = parse_rubric(RUBRIC, "facts")


def prompt_of(rubric: Rubric) -> str:
    """The words of all turns, with each input's name in its place."""
    names = {name: name for name in rubric.inputs}
    return "\n".join(turn.render(names) for turn in rubric.turns)


def test_levels_change_places_and_nothing_else_does() -> None:
    for name in ("pathway-answer", "groundedness"):
        rubric = load_rubric(name)
        changed = reordered(rubric)
        assert changed and changed.name != rubric.name and changed.sha256 != rubric.sha256
        before, after = prompt_of(rubric).split("\n"), prompt_of(changed).split("\n")
        assert sorted(before) == sorted(after)
        moved = [at for at, (one, other) in enumerate(zip(before, after, strict=True)) if one != other]
        assert len(moved) >= 4
        again = reordered(changed)
        assert again and again.turns == rubric.turns
    assert reordered(load_rubric("pair-answer")) is None


@pytest.mark.parametrize(
    ("name", "moved"),
    [
        ("pathway-answer", [f"{at} = " for at in range(1, 6)]),
        ("gold-answer", [f"{at} = " for at in (*range(1, 6), *range(1, 6))]),
        ("groundedness", [f"{at} = " for at in range(5, 0, -1)]),
        ("contextual-relevance", [f"{at} = " for at in range(1, 6)]),
        ("criteria", [f"{at} = " for at in range(5, 0, -1)]),
    ],
)
def test_the_levels_of_every_score_turn_and_nothing_else(name: str, moved: list[str]) -> None:
    rubric = load_rubric(name)
    changed = reordered(rubric)
    assert changed
    before, after = prompt_of(rubric).split("\n"), prompt_of(changed).split("\n")
    assert [line[:4] for line in after if re.match(r"\d = ", line)] == moved
    assert len(before) == len(after)
    for mark in ("<", "#", "1. ", "2. ", "5. ", "1:", "Example query"):
        lines = [[at for at, line in enumerate(text) if line.startswith(mark)] for text in (before, after)]
        assert lines[0] == lines[1]


def with_levels(prompt: str, outputs: str = "{score: {type: score, min: 1, max: 3}}") -> Rubric:
    layout = " ".join(f"{{{name}}}" for name in re.findall(r"(\w+): \{type", outputs))
    return parse_rubric(
        f"---\nname: r\ninputs: {{answer: {{type: string}}}}\n"
        f"outputs:\n  layout: '{layout}'\n  fields: {outputs}\n---\n"
        f"user:\n{prompt}\n{{{{answer}}}}\n",
        "r",
    )


TWO = "{a: {type: score, min: 1, max: 3}, b: {type: score, min: 1, max: 3}}"


@pytest.mark.parametrize(
    ("prompt", "outputs", "turned"),
    [
        ("1. Read.\n2. Think.\n3. Choose.", "", None),
        ("Score 1. bad\nScore 2. fair\nScore 3. good\n", "", "Score 3. good\nScore 2. fair\nScore 1. bad\n"),
        ("1: bad\n2: fair\n3: good\n\n1: x\n2: y\n3: z\n", "", "3: good\n2: fair\n1: bad\n\n1: x\n2: y\n3: z\n"),
        ("1: bad\n2: fair\n3: good\n\n1: x\n2: y\n3: z\n", TWO, "3: good\n2: fair\n1: bad\n\n3: z\n2: y\n1: x\n"),
        ("1: bad\n2: fair\n3: good\n", TWO, "3: good\n2: fair\n1: bad\n"),  # one list for both scores
        ("1: bad\n\nIt is.\n\n2: fair\n\nIt is.\n\n3: good\n\nIt is.\n", "", None),  # whose is the last line?
        ("1: bad\n2: fair\n3: good\n</scale>\n", "", "3: good\n2: fair\n1: bad\n</scale>\n"),
    ],
)
def test_lists_of_levels_and_nothing_that_looks_like_one(prompt: str, outputs: str, turned: str | None) -> None:
    rubric = with_levels(prompt, outputs) if outputs else with_levels(prompt)
    changed = reordered(rubric)
    assert (changed and prompt_of(changed)) == (turned and prompt_of(rubric).replace(prompt, turned))
