"""Stores the scores of a case that people agreed on, as a rater of its own kind."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from pathway_local import __version__
from pathway_local.case import CaseRef
from pathway_local.errors import RatingsError
from pathway_local.rater import ADJUDICATED, GROUP, Rater
from pathway_local.ratings.rating_rows import NAME_LIMIT, is_name
from pathway_local.rubrics.fields import ScoreField
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.run_rubrics import rubric_of
from pathway_local.verdict import Number, Score, Value, Verdict

NOTE = "notes"
"""The field with the words that explain an agreed score, as in rating sheets."""

_SHEET = """
    SELECT MAX(sheet_job) FROM current WHERE case_key = (SELECT key FROM cases WHERE case_id = ?) AND rubric = ?
"""


def adjudicator(person: str) -> str:
    """Return the name of the rater with a person's adjudicated scores. Raises RatingsError for an unusable name."""
    name = person.strip()
    if not is_name(name) or GROUP in name:
        raise RatingsError("this name can't be used", f"Give up to {NAME_LIMIT} letters, without {GROUP}.")
    return f"{ADJUDICATED}{GROUP}{name}"


def adjudicate(
    path: Path,
    rubric: str,
    case: CaseRef,
    person: str,
    given: Mapping[str, Number],
    note: str,
    command: Sequence[str],
) -> None:
    """Store a person's agreed scores of a case, by name; they replace that person's earlier ones of the case.

    Raises RatingsError for a score off the scale, and RunLocked if another process writes to the run.
    """
    name = adjudicator(person)
    with RunFile.open(path) as run:
        found = rubric_of(run, rubric)
        scale = found.format.scores
        if not given or not all(score in scale and _is_given(scale[score], value) for score, value in given.items()):
            raise RatingsError("the rubric has no such score or level", "Choose a level of at least one score.")
        fields: dict[str, Value] = {NOTE: note.strip()} if note.strip() else {}
        verdict = Verdict({score: Score(value) for score, value in given.items()}, fields)
        with run.together():
            job = run.jobs.begin(command, {"pathway_local": __version__, ADJUDICATED: name})
            rater = run.add_rater(Rater(name, ADJUDICATED, rubric, {"rubric": found.sha256}))
            # Chance chose the case if it was rated on a sheet or page of a sample.
            [(sheet,)] = run.database.rows(_SHEET, case.id, rubric)
            run.put(rater, case, verdict, sheet=sheet)
            run.jobs.end(job, "done", {"imported": 1})


def _is_given(scale: ScoreField, value: Number) -> bool:
    """Whether people may agree on a value: a level, or a number between two levels, as in an import."""
    return value in scale.values or scale.between(value)
