"""A run in which a local judge, a hosted judge and a committee of three have scored two chatbots' answers."""

from pathlib import Path

import numpy as np

from pathway_local.case import Case, fingerprint
from pathway_local.rater import Rater
from pathway_local.ratings.samples import Inclusion, Sample, draw, store_sample
from pathway_local.rubrics.rubric import parse_rubric
from pathway_local.runs.run_file import RunFile
from pathway_local.verdict import Failure, Score, Verdict

HELPFUL = parse_rubric(
    """---
name: helpful
inputs: {question: {type: string}, answer: {type: string}}
outputs:
  layout: "{score}"
  fields:
    score: {type: score, levels: {1: Bad, 2: Poor, 3: Fair, 4: Good, 5: Best}}
---
user:
Judge {{ answer }} to {{ question }}.
""",
    "helpful",
)
QUESTIONS, STUDENTS, DRAWN = 160, 50, 120


def answered(seed: int = 11) -> tuple[list[Case], np.ndarray, np.ndarray]:
    """Two answers to each question, what they are worth, and whose question it was."""
    rng = np.random.default_rng(seed)
    student = rng.integers(0, STUDENTS, QUESTIONS)
    worth = np.repeat(rng.normal(3.2, 0.9, QUESTIONS) + rng.normal(0, 0.4, STUDENTS)[student], 2)
    worth = worth + np.tile([0.0, 0.4], QUESTIONS)
    cases = []
    for place in range(2 * QUESTIONS):
        question, bot = divmod(place, 2)
        metadata = {
            "chatbot": ("v1", "v2")[bot],
            "question_id": f"q{question}",
            "student": f"st{student[question]}",
            "audience": "guest" if question < 3 else ("enrolled", "staff")[question % 2],
        }
        inputs = {"question": f"question {question}", "answer": f"answer {place}"}
        cases.append(Case(f"a-{place:03}", inputs, metadata, place + 1))
    return cases, worth, np.repeat(student, 2)


def answers_run(path: Path, *, sampled: bool = True) -> RunFile:
    """The run, with a sample of 120 cases that the committee has labelled."""
    cases, worth, _ = answered()
    rng = np.random.default_rng(5)
    drawn, chances = draw([case.id for case in cases], [""] * len(cases), DRAWN, 7)
    run = RunFile.create(path)
    run.add_rubric(HELPFUL.name, HELPFUL.text)
    noises = {"demo": 0.6, "gpt": 0.5, "committee/ann": 0.6, "committee/bob": 0.6, "committee/cy": 0.9}
    kinds = {"demo": "judge", "gpt": "hosted"}
    for name, noise in noises.items():
        kind = kinds.get(name, "human")
        rater = run.add_rater(Rater(name, kind, HELPFUL.name, {}))  # type: ignore[arg-type]
        for place, case in enumerate(cases):
            if kind == "human" and not drawn[place]:
                continue
            value = int(np.clip(np.round(worth[place] + rng.normal(0, noise) + (0.3 if name == "demo" else 0)), 1, 5))
            share = np.exp(-0.5 * ((np.arange(1, 6) - value) / 0.6) ** 2)
            share = share / share.sum()
            given = dict(zip(range(1, 6), map(float, share), strict=True)) if kind == "judge" else {}
            outcome = Verdict({"score": Score(value, given)}, {"reason": f"the words of {name}"})
            failed = kind == "judge" and place % 40 == 3
            stored = Failure("prompt-too-long", "too long") if failed else outcome
            run.put(rater, case, fingerprint(run.key, HELPFUL.texts_of(case)), stored, keep=None)
    if sampled:
        every = [
            Inclusion(case.id, fingerprint(run.key, HELPFUL.texts_of(case)), case.row, False, "", chance, is_drawn)
            for case, chance, is_drawn in zip(cases, chances, drawn, strict=True)
        ]
        store_sample(run, run.begin_job(["sample"], {}), Sample(0, "helpful", 7, "", len(cases), DRAWN), every)
    return run
