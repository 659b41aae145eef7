"""Stores one combined score for each case: a person's where there is one, and the judge's where it keeps the case."""

from collections.abc import Sequence

import numpy as np

from pathway_local import __version__
from pathway_local.case import CaseRef
from pathway_local.rater import HANDOVER, Rater
from pathway_local.results.consensus import people_say
from pathway_local.results.handover import Decision
from pathway_local.runs.run_file import RunFile
from pathway_local.scores.scores import Scores
from pathway_local.verdict import Failure, Number, Outcome, Score, Value, Verdict, plain

KEPT, RATED, HANDED_OVER = "kept", "rated", "handed-over"
"""Marks of a combined verdict, which say whose score it is; the last is the failure of a case that waits for people."""


def store_combined(run: RunFile, data: Scores, name: str, decision: Decision, command: Sequence[str]) -> None:
    """Store the combined scores as a rater of that name; the same command brings them up to date.

    Raises RaterChanged if the promise, its order or its threshold is another than the stored one's.
    """
    matrix, options, chosen = decision.matrix, decision.options, decision.found.chosen
    spec: dict[str, Value] = {
        "of": [decision.name, *decision.members],
        "rule": HANDOVER,
        "options": {
            **options.model_dump(exclude_defaults=True, exclude={"rubric"}),
            "score": matrix.score,
            "judge": decision.name,
        },
        "sure": chosen.sure if chosen else None,
    }
    rows, own = dict[str, int](), dict[str, Score]()
    for record in data.outcomes(matrix.rubric):
        rows[record.case_id] = record.row
        said = record.outcome.scores if isinstance(record.outcome, Verdict) else {}
        if record.rater == decision.name and matrix.score in said:
            own[record.case_id] = said[matrix.score]
    places = {case: at for at, case in enumerate(matrix.case_ids)}
    given = matrix.given[:, matrix.columns(decision.options.against)]
    with run.together():
        job = run.jobs.begin(command, {"pathway_local": __version__, HANDOVER: {"name": name, **spec}})
        rater = run.add_rater(Rater(name, "combined", matrix.rubric, spec))
        for case, row in rows.items():
            at = places[case]
            labels = given[at][np.isfinite(given[at])].tolist()
            people = plain(people_say(matrix, labels)[0]) if labels else None
            outcome = _outcome(matrix.score, people, own[case] if decision.kept[at] else None)
            run.put(rater, CaseRef(case, row, hash=matrix.hashes[at]), outcome)
        run.jobs.end(job, "done", {"kept": int(decision.kept.sum()), "handed_over": int(decision.to_rate.sum())})


def _outcome(score: str, people: Number | None, own: Score | None) -> Outcome:
    if people is not None:
        return Verdict({score: Score(people)}, {}, (RATED,))
    if own:
        return Verdict({score: own}, {}, (KEPT,))
    return Failure(HANDED_OVER, "the judge hands it over, and nobody has rated it yet")
