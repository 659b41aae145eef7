"""A run in which people and a judge scored the same answers under a plain rubric and one with examples."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from rated_run import add, store_draw

from pathway_local.case import Case
from pathway_local.rubrics.examples import is_set_aside
from pathway_local.rubrics.rubric import Rubric
from pathway_local.rubrics.rubric_file import parse_rubric
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.run_rubrics import store_rubric
from pathway_local.verdict import Outcome, Score, Verdict

PLAIN = """---
name: %s
inputs: {question: {type: string}, answer: {type: string}}
outputs: {layout: "Score: {score}", fields: {score: {type: score, min: 1, max: 5%s}}}
%s---
system:
Judge.
user:
{{ question }}
{{ answer }}
"""


def rubric(name: str = "plain", more: str = "", scale: str = "") -> Rubric:
    return parse_rubric(PLAIN % (name, scale, more), name)


def taught(cases: Sequence[str], name: str = "taught", *, rated_as: str = "plain") -> Rubric:
    """The rubric with these cases as examples."""
    examples = [f"- {{case: {case}, inputs: {{question: Q, answer: A}}, scores: {{score: 3}}}}\n" for case in cases]
    return rubric(
        name, f"rated_as: {rated_as}\nexamples:\n{''.join(examples)}" if examples else f"rated_as: {rated_as}\n"
    )


def rows(count: int) -> list[Case]:
    """Two answers to each question; a student asked three questions."""
    return [
        Case(
            f"c-{at:03}",
            {"question": f"question {at // 2}", "answer": f"answer {at}"},
            {"student": f"s{at // 6}", "bot": "xy"[at % 2]},
            at + 1,
        )
        for at in range(count)
    ]


def kept_apart(count: int) -> list[str]:
    return [case.id for case in rows(count) if is_set_aside(case.id)]


def scored(given: np.ndarray, words: Mapping[str, str] = {}) -> dict[str, Outcome]:
    """Verdicts by case id; NaN is none."""
    told: dict[str, Outcome] = {}
    for at, value in enumerate(given):
        if np.isfinite(value):
            told[f"c-{at:03}"] = Verdict({"score": Score(int(value))}, dict(words))
    return told


def taught_run(
    path: Path,
    people: Mapping[str, np.ndarray],
    judges: Sequence[tuple[Rubric, np.ndarray]],
    *,
    drawn: Sequence[int] = (),
    of: Rubric | None = None,
) -> Path:
    """The run: people's scores under the plain rubric, and those of the judge `demo` under each of these."""
    plain = of or rubric()
    cases = rows(max(len(given) for _, given in judges))
    with RunFile.create(path) as run:
        run.set_setting("columns", {"mapping": {}, "id": "id"})
        store_rubric(run, plain)
        if drawn:
            store_draw(run, cases, set(drawn), plain)
        for own, given in judges:
            add(run, "demo", scored(given), own, "judge", cases)
        for name, given in people.items():
            add(run, name, scored(given, {"notes": f"{name} says so"}), plain, "human", cases, sheet=bool(drawn))
    return path
