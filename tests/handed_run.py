"""A run for tests of handing over: a judge whose doubt tells where it errs, and people's labels of a random sample."""

import csv
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from rated_run import scored

from pathway_local.case import Case, fingerprint
from pathway_local.rater import Rater
from pathway_local.ratings.samples import Inclusion, draw, store_sample
from pathway_local.runs.record import CaseOutcome
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.run_rubrics import store_rubric
from pathway_local.verdict import Score, Verdict

SOUND = scored("sound", "levels: {1: Bad, 2: Poor, 3: Fair, 4: Good}")
CASES = 900


def truth(count: int = CASES, seed: int = 4, worst: float = 0.4) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What people say, what the judge says, and how sure it is: the less sure, the likelier an error."""
    rng = np.random.default_rng(seed)
    people, sure = rng.integers(1, 5, count), rng.random(count)
    wrong = rng.random(count) < 0.01 + worst * (1 - sure) ** 3
    judge = np.where(wrong, np.where(people == 4, 3, people + 1), people)
    return people, judge, sure


def handed_run(path: Path, **how: Any) -> Path:
    """A run that `made_run` makes, with its cases file beside it."""
    made, cases = _handed(tuple(sorted(how.items())))
    path.touch(mode=0o600)
    path.write_bytes(made)
    path.with_suffix(".csv").write_bytes(cases)
    return path


@cache
def _handed(how: tuple[tuple[str, Any], ...]) -> tuple[bytes, bytes]:
    with TemporaryDirectory() as folder:
        path = made_run(Path(folder, "made.run"), **dict(how))
        return path.read_bytes(), path.with_suffix(".csv").read_bytes()


def made_run(
    path: Path,
    *,
    labels: int = 300,
    worst: float = 0.4,
    group: str = "",
    least: int = 2,
    count: int = CASES,
    on_sheet: bool = True,
    later: bool = False,
) -> Path:
    """A run of a judge; the committee of one labelled so many cases, drawn within values of the column `group`.

    `later` it rated all others as well. Labels that did not come back `on_sheet` are no sample.
    """
    people, judge, sure = truth(count, worst=worst)
    cases = [Case(f"c-{at:03}", {"answer": f"answer {at}"}, {"bot": "rare" if at % 10 == 0 else "usual"}, at + 1)
             for at in range(count)]  # fmt: skip
    strata = [case.metadata[group] if group else "" for case in cases]
    drawn, chances = draw([case.id for case in cases], strata, labels, 7, least)
    with RunFile.create(path) as run:
        store_rubric(run, SOUND)
        run.set_setting("columns", {"mapping": {}, "id": "id"})
        job = run.jobs.begin(["sample"], {})
        hashes = [fingerprint(run.key, SOUND.texts_of(case)) for case in cases]
        every = [
            Inclusion(case.id, text, case.row, ("", "usual", "rare").index(stratum), chance, is_drawn)
            for case, text, stratum, chance, is_drawn in zip(cases, hashes, strata, chances, drawn, strict=True)
        ]
        store_sample(run, job, SOUND.name, 7, group, every)
        own = run.add_rater(Rater("demo", "judge", SOUND.name, {}))
        person = run.add_rater(Rater("committee/Ann", "human", SOUND.name, {"rubric": SOUND.sha256}))
        told = [CaseOutcome(case.ref(text), _doubted(int(judge[at]), float(sure[at])))
                for at, (case, text) in enumerate(zip(cases, hashes, strict=True))]  # fmt: skip
        said = [CaseOutcome(each.case, Verdict({"score": Score(int(people[at]))})) for at, each in enumerate(told)]
        run.put_all(own, told, keep=None)
        run.put_all(person, [said[at] for at in np.flatnonzero(drawn)], keep=None, sheet=job if on_sheet else None)
        if later:
            run.put_all(person, [said[at] for at in np.flatnonzero(~np.array(drawn))], keep=None)
        run.jobs.end(job, "done", {})
    with path.with_suffix(".csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "answer", "bot"])
        writer.writerows([case.id, case.inputs["answer"], case.metadata["bot"]] for case in cases)
    return path


def _doubted(level: int, sure: float) -> Verdict:
    """The judge's verdict; its probabilities tell how sure it is."""
    rest = (1 - (0.4 + 0.6 * sure)) / 3
    return Verdict({"score": Score(level, {each: rest if each != level else 1 - 3 * rest for each in (1, 2, 3, 4)})})
