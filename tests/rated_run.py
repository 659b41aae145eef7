"""A small run for tests of people's and hosted judges' ratings: four cases, with one score or with two."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from random import Random
from statistics import fmean

from pathway_local.case import Case, fingerprint
from pathway_local.rater import Rater
from pathway_local.ratings.samples import Inclusion, samples, store_sample
from pathway_local.rubrics.rubric import Rubric
from pathway_local.rubrics.rubric_file import parse_rubric
from pathway_local.runs.record import CaseOutcome
from pathway_local.runs.run_cases import SETTING
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.run_rubrics import store_rubric
from pathway_local.verdict import Failure, Outcome, Score, Verdict

TINY = parse_rubric(
    """---
name: tiny
inputs: {question: {type: string}, answer: {type: string}}
outputs:
  layout: |-
    Reason: {reason}
    Score: {score}
  fields:
    reason: {type: text, tokens: 20, lines: one}
    score: {type: score, levels: {1: Bad, 2: Poor, 3: Not asked, 4: Good, 5: Best}, special: [3]}
---
system:
Judge the answer.
user:
<q>{{ question }}</q>
{{ answer }}
""",
    "tiny",
)
TWO = parse_rubric(
    """---
name: two
inputs: {answer: {type: string}, fq_id: {type: string}}
outputs:
  layout: json
  fields:
    fq_id: {type: echo, input: fq_id}
    clear: {type: score, min: 1, max: 5}
    right: {type: score, min: 1, max: 5}
    why: {type: text, tokens: 20}
---
user:
{{ fq_id }} {{ answer }}
""",
    "two",
)
IDS = ("s-1", "s-2", "s-3", "s-4")


def scored(name: str, scale: str, *inputs: str) -> Rubric:
    """A rubric with one score on this scale, such as `min: 1, max: 5`, which reads these inputs or an answer."""
    names = inputs or ("answer",)
    declared, used = ", ".join(f"{each}: {{}}" for each in names), " ".join(f"{{{{ {each} }}}}" for each in names)
    field = f"{{layout: 'Score: {{score}}', fields: {{score: {{type: score, {scale}}}}}}}"
    return parse_rubric(f"---\nname: {name}\ninputs: {{{declared}}}\noutputs: {field}\n---\nuser:\n{used}\n", name)


def cases(rubric: Rubric = TINY, ids: Iterable[str] = IDS, *, by_row: bool = False, **metadata: str) -> list[Case]:
    return [
        Case(
            str(row) if by_row else name, {wanted: f"the {wanted} of {name}" for wanted in rubric.inputs}, metadata, row
        )
        for row, name in enumerate(ids, 2 if by_row else 1)
    ]


def know_by_row(run: RunFile) -> None:
    """Let row numbers be the ids of the run's cases."""
    run.set_setting(SETTING, {"mapping": {}, "id": None})


def add(
    run: RunFile,
    name: str,
    outcomes: Mapping[str, Outcome],
    rubric: Rubric = TINY,
    kind: str = "judge",
    rows: Iterable[Case] | None = None,
    *,
    sheet: bool = False,
) -> None:
    """Store a rater's outcomes by case id; with `sheet` as on one of the last sample."""
    store_rubric(run, rubric)
    rater = run.add_rater(Rater(name, kind, rubric.name, {}))  # type: ignore[arg-type]
    drawn = max(samples(run, rubric.name)[-1].jobs) if sheet else None
    told = [
        CaseOutcome(case.ref(fingerprint(run.key, rubric.texts_of(case))), outcomes[case.id])
        for case in (cases(rubric) if rows is None else rows)
        if case.id in outcomes
    ]
    run.put_all(rater, told, keep=None, sheet=drawn)


def store_draw(
    run: RunFile,
    rows: Sequence[Case],
    drawn: Collection[int],
    rubric: Rubric = TINY,
    *,
    seed: int = 7,
    strata: Sequence[int] = (),
) -> None:
    """Store the sample of the rows at these places, of each stratum (a code for each row) by its share."""
    codes = strata or [0] * len(rows)
    chances = {
        code: fmean(place in drawn for place, own in enumerate(codes) if own == code) for code in dict.fromkeys(codes)
    }
    every = [
        Inclusion(case.id, fingerprint(run.key, rubric.texts_of(case)), case.row, code, chances[code], place in drawn)
        for place, (case, code) in enumerate(zip(rows, codes, strict=True))
    ]
    store_sample(run, run.jobs.begin(["sample"], {}), rubric.name, seed, "half" if strata else "", every)


def said(*values: int, score: str = "score", ids: Iterable[str] = IDS) -> dict[str, Outcome]:
    """A verdict with each value for the cases in their order; 0 is a failure."""
    return {
        name: Verdict({score: Score(value)}, {"reason": f"because {value}"}) if value else Failure("bad-row", "broken")
        for name, value in zip(ids, values, strict=False)
    }


def judged_run(path: Path, rubric: Rubric = TINY, rows: Iterable[Case] | None = None) -> RunFile:
    """A run in which the judge "demo" has given a verdict on each case."""
    run = RunFile.create(path)
    given = list(cases(rubric) if rows is None else rows)
    scores = {name: Score(4) for name in rubric.format.scores}
    add(run, "demo", {case.id: Verdict(scores) for case in given}, rubric, rows=given)
    return run


BOTS = {"Alfa": 0.0, "Beta": 0.2, "Gama": -1.5}
"""Three chatbots and how much better than a middle one they are."""


def several_run(path: Path, bots: Mapping[str, float] = BOTS, *, labelled: bool = False, questions: int = 30) -> None:
    """A run of several chatbots on the same questions; if `labelled`, with a person's labels of a sample."""
    draws = Random(5)
    rows = [
        Case(
            f"{bot}-{at}", {"question": f"question {at}", "answer": f"{bot} {at}"}, {"bot": bot}, at * len(bots) + place
        )
        for at in range(questions)
        for place, bot in enumerate(bots, 1)
    ]
    worth = {row.id: 3.2 + bots[row.metadata["bot"]] + draws.gauss(0, 0.8) for row in rows}

    def verdicts(which: Iterable[Case], lift: float) -> dict[str, Outcome]:
        values = {row.id: min(5, max(1, round(worth[row.id] + lift + draws.gauss(0, 0.3)))) for row in which}
        return {name: Verdict({"score": Score(2 if value == 3 else value)}) for name, value in values.items()}

    with judged_run(path, rows=rows) as made:
        drawn = [place for place in range(len(rows)) if place % 3 or place % 2]
        add(made, "demo", verdicts(rows, 0.4), rows=rows)
        if labelled:
            store_draw(made, rows, drawn)
            own = [rows[place] for place in drawn]
            add(made, "ann", verdicts(own, 0), kind="human", rows=own, sheet=True)


def scores_of(run: RunFile, rater: str, score: str = "score") -> dict[str, int | str]:
    """What a rater said by case id: the score, or the failure's kind."""
    found: dict[str, int | str] = {}
    for record in run.records(rater):
        outcome = record.outcome
        if isinstance(outcome, Failure):
            found[record.case_id] = outcome.kind
        elif score in outcome.scores:
            found[record.case_id] = outcome.scores[score].value
    return found


def write_lines(path: Path, items: Iterable[object]) -> Path:
    path.write_text("".join(json.dumps(item) + "\n" for item in items), encoding="utf-8")
    return path
