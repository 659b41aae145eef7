"""A small run for tests of comparisons: a judge's choices on twelve pairs in both orders, and people's preferences."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from rated_run import add

from pathway_local.case import Case
from pathway_local.rubrics.pair import Order, verdict_of_orders
from pathway_local.rubrics.rubric_file import load_rubric
from pathway_local.runs.run_file import RunFile
from pathway_local.verdict import Number, Score, Verdict

PAIR = load_rubric("pair-answer")
BOTS = (("alpha", "beta"), ("beta", "gamma"), ("gamma", "alpha"))
CHOICES: list[tuple[Number, Number]] = [
    *((1, -1), (1, -1), (1, -1), (1, -1), (1, -1)),  # A, also when it stands second
    *((-1, 1), (-1, 1), (-1, 1)),  # B
    (0, 0),
    *((1, 1), (1, 1)),  # whichever stands first
    (-1, -1),  # whichever stands second
]
"""What the judge wrote of each case in its own order and in the other one: 1 is the response that stands first."""


def compared_cases(bots: Sequence[tuple[str, str]] = BOTS, count: int = len(CHOICES)) -> list[Case]:
    texts = {"question": "Where?", "ideal_answer": "", "response_a": "Here.", "response_b": "There."}
    named = (dict(zip(("bot_a", "bot_b"), bots[row % len(bots)], strict=True)) for row in range(1, count + 1))
    return [Case(f"p-{row}", texts, kept, row) for row, kept in enumerate(named, 1)]


def sure(value: Number) -> Score:
    return Score(value, {each: 0.8 if each == value else 0.1 for each in (-1, 0, 1)})


def compared_run(
    path: Path,
    people: Iterable[Number] = (),
    choices: Sequence[tuple[Number, Number]] = CHOICES,
    bots: Sequence[tuple[str, str]] = BOTS,
    times: int = 1,
) -> RunFile:
    """A run with the judge's verdicts, and with those of the person "ann" if some are given."""
    run, rows = RunFile.create(path), compared_cases(bots, len(choices) * times)
    assert PAIR.pair
    verdicts = {}
    for case, (first, second) in zip(rows, [*choices] * times, strict=True):
        found: dict[Order, Verdict] = {
            "ab": Verdict({"preference": sure(first)}, {"comparison": "A or B."}),
            "ba": Verdict({"preference": sure(second)}, {"comparison": "B or A."}),
        }
        verdicts[case.id] = verdict_of_orders(found, PAIR.pair, PAIR.format)
    add(run, "judge", verdicts, PAIR, rows=rows)
    preferred = {case.id: Verdict({"preference": Score(value)}) for case, value in zip(rows, people, strict=False)}
    if preferred:
        add(run, "ann", preferred, PAIR, "human", rows)
    return run
