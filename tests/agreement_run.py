"""A run in which a local judge, a hosted judge and a committee of three have scored two chatbots' answers."""

import csv
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import openpyxl
from rated_run import scored

from pathway_local.case import Case, fingerprint
from pathway_local.rater import Rater, RaterKind
from pathway_local.ratings.samples import Inclusion, draw, store_sample
from pathway_local.runs.record import CaseOutcome
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.run_rubrics import store_rubric
from pathway_local.verdict import Failure, Outcome, Score, Verdict

HELPFUL = scored("helpful", "levels: {1: Bad, 2: Poor, 3: Fair, 4: Good, 5: Best}", "question", "answer")
QUESTIONS, STUDENTS, DRAWN = 160, 50, 120
COMMITTEE = ("Ann", "Bob", "Cy")
NOISE = {"demo": 0.6, "gpt": 0.5, "Ann": 0.6, "Bob": 0.6, "Cy": 0.9}


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


def scores_of(rater: str, worth: np.ndarray) -> np.ndarray:
    """What a rater gives to answers of that worth: everyone errs in a way of their own, and demo is generous."""
    rng = np.random.default_rng(list(rater.encode()))
    kind = 0.3 if rater == "demo" else 0.0
    return np.clip(np.round(worth + rng.normal(0, NOISE[rater], len(worth)) + kind), 1, 5).astype(np.int64)


def answers_run(path: Path, *, people: bool = True) -> None:
    """The run; with `people`, a sample of 120 cases that the committee has labelled is in it as well."""
    path.touch(mode=0o600)
    path.write_bytes(_answers(people))


@cache
def _answers(people: bool) -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder, "answers.run")
        with RunFile.create(path) as run:
            _fill(run, people)
        return path.read_bytes()


def _fill(run: RunFile, people: bool) -> None:
    cases, worth, _ = answered()
    ids = [case.id for case in cases]
    drawn, chances = draw(ids, [""] * len(cases), DRAWN, 7)
    store_rubric(run, HELPFUL)
    run.set_setting("columns", {"mapping": {}, "id": "id"})
    hashes = [fingerprint(run.key, HELPFUL.texts_of(case)) for case in cases]
    job = run.jobs.begin(["sample"], {}) if people else 0
    if people:
        every = [
            Inclusion(case.id, text, case.row, 0, chance, is_drawn)
            for case, text, chance, is_drawn in zip(cases, hashes, chances, drawn, strict=True)
        ]
        store_sample(run, job, HELPFUL.name, 7, "", every)
    for name in ("demo", "gpt", *(COMMITTEE if people else ())):
        kind: RaterKind = "judge" if name == "demo" else "hosted" if name == "gpt" else "human"
        given = scores_of(name, worth)
        rater = run.add_rater(Rater(f"committee/{name}" if kind == "human" else name, kind, HELPFUL.name, {}))
        told = []
        for place, case in enumerate(cases):
            if kind == "human" and not drawn[place]:
                continue
            outcome: Outcome = Verdict({"score": _score(int(given[place]), kind)}, {"reason": f"the words of {name}"})
            if kind == "judge" and place % 40 == 3:
                outcome = Failure("prompt-too-long", "too long")
            told.append(CaseOutcome(case.ref(hashes[place]), outcome))
        run.put_all(rater, told, keep=None, sheet=job if kind == "human" else None)


def _score(value: int, kind: RaterKind) -> Score:
    if kind != "judge":
        return Score(value)
    share = np.exp(-0.5 * ((np.arange(1, 6) - value) / 0.6) ** 2)
    return Score(value, dict(zip(range(1, 6), map(float, share / share.sum()), strict=True)))


def write_cases(path: Path) -> None:
    """The cases file that the run came from."""
    cases, _, _ = answered()
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", *cases[0].inputs, *cases[0].metadata])
        writer.writerows([case.id, *case.inputs.values(), *case.metadata.values()] for case in cases)


def fill_in(path: Path) -> None:
    """Let the committee score a rating sheet, a copy each."""
    _, worth, _ = answered()
    for rater in COMMITTEE:
        copy = path.with_stem(f"{path.stem}-{rater}")
        book = openpyxl.load_workbook(copy)
        page = book.worksheets[0]
        header = [cell.value for cell in page[1]]
        given = scores_of(rater, worth)
        for row in page.iter_rows(min_row=2):
            place = int(str(row[header.index("answer")].value).removeprefix("answer "))
            row[header.index("score")].value = int(given[place])
            row[header.index("notes")].value = f"{rater}'s reason"
        book.save(copy)
