"""The study plans of a run: how many units a figure was planned with, and every look at it since.

A plan can't be changed once somebody has looked: the looks that it allows for would no longer be those that were taken.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Literal

from pathway_local.errors import RunFileError, UsageError
from pathway_local.rater import PEOPLE, raters_named
from pathway_local.runs.audit import now
from pathway_local.runs.content import LOOKED, PLANNED, recorded_change
from pathway_local.runs.file_errors import decoding
from pathway_local.runs.row_sum import sum_of
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.stored_outcome import to_json

Counted = Literal["labels", "questions"]

CLUSTER = "cluster"
"""The name of a target's column of clusters."""

_PLANS = "SELECT id, rubric, score, rater, target, facts, looks FROM plans ORDER BY id"
_SCORES = """
    SELECT raters.name, case_id, scores
    FROM outcomes JOIN cases ON key = case_key
    JOIN raters ON raters.id = rater_id JOIN rubrics ON rubrics.id = rubric_id
    WHERE superseded = 0 AND scores IS NOT NULL AND rubrics.name = ? AND raters.name IN (SELECT value FROM json_each(?))
"""
_ADD = "INSERT INTO plans (rubric, score, rater, target, facts, looks) VALUES (?, ?, ?, ?, ?, ?)"


@dataclass(frozen=True, slots=True)
class Look:
    """A look at `count` units: when, in UTC, at which level its interval was, and a hash of the scores that it showed.

    An earlier release stored no hash.
    """

    at: str
    count: int
    level: float
    data: str = ""

    def same_as(self, other: "Look") -> bool:
        """Whether both looks are known to have shown the same scores; then they count as one."""
        return self == other or (bool(self.data) and (self.count, self.data) == (other.count, other.data))


@dataclass(frozen=True, slots=True)
class StudyPlan:
    """The figure of a `rater` on one score that `target` names, planned with so many units (`counted`).

    `target` has the columns and values of a comparison, or who labels for a corrected mean. `aim`, `points`, `alpha`
    and `looks` are those of a `Goal`. `began` is the number of units that were there when the plan was made: they may
    have been looked at, so they count as the first look. `taken` are the looks since.
    """

    rubric: str
    score: str
    rater: str
    target: Mapping[str, str]
    counted: Counted
    aim: str
    points: float
    alpha: float
    planned: int
    looks: int
    began: int
    made: str
    taken: tuple[Look, ...] = ()
    id: int = field(default=0, compare=False)

    @property
    def key(self) -> tuple[str, ...]:
        """The fields that identify the planned figure; the column of clusters is not among them."""
        return self.rubric, self.score, self.rater, to_json(about(self.target)), self.counted

    @property
    def seen(self) -> tuple[int, ...]:
        """The numbers of units at which somebody looked, or may have looked before the plan."""
        return tuple(sorted({*([self.began] if self.began else ()), *(look.count for look in self.taken)}))

    def row(self) -> tuple[str, ...]:
        """Return the columns of the table, without the number."""
        facts = {name: getattr(self, name) for name in _FACTS}
        told = (to_json(dict(self.target)), to_json(facts), to_json([asdict(look) for look in self.taken]))
        return self.rubric, self.score, self.rater, *told


_FACTS = ("counted", "aim", "points", "alpha", "planned", "looks", "began", "made")


def about(target: Mapping[str, str]) -> dict[str, str]:
    """Return a target without its clusters, in a fixed order."""
    return {name: target[name] for name in sorted(target) if name != CLUSTER}


def study_plans(run: RunFile) -> list[StudyPlan]:
    """Return the plans of a run, in the order in which they were made."""
    found = []
    for id, rubric, score, rater, target, facts, looks in run.database.rows(_PLANS):
        with decoding(run.path):
            taken = tuple(Look(**look) for look in json.loads(looks))
            found.append(StudyPlan(rubric, score, rater, json.loads(target), **json.loads(facts), taken=taken, id=id))
    return found


def add_plans(run: RunFile, plans: Sequence[StudyPlan]) -> None:
    """Store plans inside `Database.writing`; each replaces the one of the same figure."""
    known = {plan.key: plan.id for plan in study_plans(run)}
    for plan in plans:
        run.database.execute("DELETE FROM plans WHERE id = ?", (known.get(plan.key),))
        run.database.execute(_ADD, plan.row())


def store_plans(run: RunFile, plans: Sequence[StudyPlan], command: Sequence[str]) -> None:
    """Store plans, and record them in the audit trail without the values of columns, which a purge removes.

    Raises UsageError if somebody looked at one of the figures under the plan before, with as many units as now, too:
    whoever may choose after a look between that plan and a shorter one errs in more than 5% of the files.
    """
    figures = {plan.key for plan in plans}
    for plan in study_plans(run):
        if plan.taken and plan.key in figures:
            raise UsageError(
                f"{plan.score} of {plan.rater} is planned with {plan.planned} {plan.counted}, and a look was taken at "
                f"{plan.taken[0].count}",
                "Follow that plan to its end: one that is made after a look does not hold its error of 5%.",
            )
    with run.database.writing(commit=True), recorded_change(run.database, PLANNED, command) as facts:
        add_plans(run, plans)
        facts["plans"] = [f"{plan.planned} {plan.counted} for {plan.score} by {plan.rater}" for plan in plans]


def store_looks(run: RunFile, looks: Mapping[int, tuple[int, float]], command: Sequence[str]) -> None:
    """Store looks, the number of units and the level by the plan's id, and record them in the audit trail."""
    with run.database.writing(commit=True), recorded_change(run.database, LOOKED, command) as facts:
        for plan in study_plans(run):
            if plan.id in looks:
                look = Look(now(), *looks[plan.id], _scores_hash(run, plan))
                taken = to_json([asdict(look) for look in (*plan.taken, look)])
                run.database.execute("UPDATE plans SET looks = ? WHERE id = ?", (taken, plan.id))
        facts["looks"] = [count for count, _ in looks.values()]


def _scores_hash(run: RunFile, plan: StudyPlan) -> str:
    """Return a hash of the scores that a planned figure is made of: its rater's, and its labels if it has any."""
    raters = [rater for _, rater in run.raters() if rater.rubric == plan.rubric]
    names = [plan.rater]
    if plan.counted != "questions" and (against := plan.target.get("against")):
        names += raters_named(against, (rater.name for rater in raters))
    elif plan.counted != "questions":
        names += [rater.name for rater in raters if rater.kind in PEOPLE]
    return sum_of("scores", run.database.stream(_SCORES, plan.rubric, to_json(names)))


def merge_plans(run: RunFile, part: RunFile) -> None:
    """Add the plans of a part to a merged run, inside `Database.writing`; of copies, with the looks of both.

    Of two plans of a figure, the one with looks counts, or the later one if nobody looked at either. Raises
    RunFileError if somebody looked at both, or in two copies at equally many units with different scores: the plan
    allows for one look there.
    """
    known = {plan.key: plan for plan in study_plans(run)}
    merged = []
    for plan in study_plans(part):
        if same := known.get(plan.key):
            if replace(same, taken=()) == replace(plan, taken=()):
                plan = replace(same, taken=_looks_of_both(same, plan, part.path.name))
            elif same.taken and plan.taken:
                said = f"{part.path.name} and an earlier run planned {plan.score} of {plan.rater} differently"
                raise RunFileError(
                    said, "Leave one of them out: somebody looked at both, so no plan holds the error of 5%."
                )
            else:
                plan = max(plan, same, key=lambda each: (bool(each.taken), each.made))
        merged.append(plan)
    add_plans(run, merged)


def _looks_of_both(known: StudyPlan, plan: StudyPlan, file: str) -> tuple[Look, ...]:
    looks = {look.count: look for look in known.taken}
    for look in plan.taken:
        if not looks.setdefault(look.count, look).same_as(look):
            raise RunFileError(
                f"somebody looked at {plan.score} of {plan.rater} with {look.count:,} {plan.counted} in {file}, and "
                "with as many others in an earlier run",
                "Leave one of them out: the plan allows for one look there, so it would not hold the error of 5%.",
            )
    return tuple(looks[count] for count in sorted(looks))


def forget_plans(run: RunFile, gone: Collection[str]) -> None:
    """Remove the plans that are about raters who have gone, or about labels of theirs alone."""
    left = [rater.name for _, rater in run.raters()]
    for plan in study_plans(run):
        against = plan.target.get("against", "")
        if plan.rater in gone or (raters_named(against, list(gone)) and not raters_named(against, left)):
            run.database.change("DELETE FROM plans WHERE id = ?", (plan.id,))
