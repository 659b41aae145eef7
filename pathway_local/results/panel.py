"""A panel combines several raters into one, by the mean, median or majority of their scores, with the spread."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, median_low

from pathway_local import __version__
from pathway_local.case import CaseRef
from pathway_local.errors import UnknownName, UsageError
from pathway_local.rater import REPEATS, PanelRule, Rater, refuse_adjudicators_name
from pathway_local.ratings.known_cases import hash_by_case
from pathway_local.rubrics.fields import ScoreField
from pathway_local.rubrics.rubric import Rubric
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.run_rubrics import rubrics_of
from pathway_local.verdict import MEAN, SPREAD, Failure, Number, Outcome, Score, Value, Verdict

LEAST = 2
"""The fewest members that must have scored a case."""


@dataclass(slots=True)
class PanelResult:
    """A panel's verdicts and failures under one rubric. `partial` verdicts lack one member or more."""

    rubric: str
    verdicts: int = 0
    partial: int = 0
    failures: Counter[str] = field(default_factory=Counter)


@dataclass(slots=True)
class _Votes:
    """One case and the members' verdicts on its present texts."""

    case: CaseRef
    verdicts: list[Verdict] = field(default_factory=list)


def make_panel(
    run: RunFile, name: str, members: Sequence[str], rule: PanelRule, command: Sequence[str]
) -> list[PanelResult]:
    """Store the panel's verdict of every case, under each rubric that all members rated.

    A median (the lower of two middle ones) and a majority (more than half) are levels of the scale, so they are stored
    as scores. A mean is not a level: it is stored as the field SCORE_mean instead of a score. The field SCORE_spread
    holds the spread. Means, medians and spreads leave special levels out; if more than half of the members gave one
    special level, it is the panel's score. Marks count members and special votes that are left out (`members:2/3`,
    `special:1/3`). A case is a failure if fewer than two members scored it or no level has a majority. Making a panel
    again brings it up to date.
    Raises UsageError, UnknownName, and RaterChanged where another rater has that name.
    """
    rubrics = _rubrics(run, name, members, rule)
    votes = {rubric.name: _votes(run, rubric, members) for rubric in rubrics}
    with run.together():
        facts: dict[str, Value] = {"name": name, "of": list(members), "rule": rule}
        job = run.jobs.begin(command, {"pathway_local": __version__, "panel": facts})
        made = [_store(run, name, members, rule, rubric, votes[rubric.name]) for rubric in rubrics]
        run.jobs.end(job, "done", {"judged": sum(each.verdicts for each in made)})
    return made


def _rubrics(run: RunFile, name: str, members: Sequence[str], rule: PanelRule) -> list[Rubric]:
    """The rubrics under which all members are raters. Raises UsageError."""
    refuse_adjudicators_name(name)
    raters = [rater for _, rater in run.raters()]
    known = dict.fromkeys(rater.name for rater in raters)
    for member in members:
        if member not in known:
            raise UnknownName("rater", member, known)
    if len(set(members)) != len(members) or len(members) < LEAST:
        raise UsageError("a panel needs two raters or more, each named once", "Such as ann,bob,cara.")
    if name in members or any(rater.kind in REPEATS and rater.name in members for rater in raters):
        raise UsageError("a panel can't have panels as members, nor adjudicated scores", "Name the raters behind them.")
    of = {member: {rater.rubric for rater in raters if rater.name == member} for member in members}
    shared = [rubric for rubric in rubrics_of(run).values() if all(rubric.name in rated for rated in of.values())]
    if not shared:
        raise UsageError(f"{', '.join(members)} have no rubric in common", "A panel needs raters of one rubric.")
    for rubric in shared:
        nominal = [score for score, declared in rubric.format.scores.items() if declared.scale == "nominal"]
        if nominal and rule != "majority":
            raise UsageError(
                f"{rubric.name}'s {nominal[0]} is nominal, so it has no {rule}", "The rule majority suits any score."
            )
    return shared


def _votes(run: RunFile, rubric: Rubric, members: Sequence[str]) -> list[_Votes]:
    """Every case that a member rated, in the order of the cases file, with the verdicts on its present texts."""
    current = hash_by_case(run, rubric.name)
    found: dict[str, _Votes] = {}
    for record in run.records(rubric=rubric.name):
        if record.rater in members:
            case = CaseRef(record.case_id, record.row, hash=current.get(record.case_id, ""))
            votes = found.setdefault(record.case_id, _Votes(case))
            if isinstance(record.outcome, Verdict) and record.case_hash == votes.case.hash:
                votes.verdicts.append(record.outcome)
    return list(found.values())


def _store(
    run: RunFile, name: str, members: Sequence[str], rule: PanelRule, rubric: Rubric, votes: Sequence[_Votes]
) -> PanelResult:
    spec: dict[str, Value] = {"rubric": rubric.sha256, "of": list(members), "rule": rule}
    rater = run.add_rater(Rater(name, "panel", rubric.name, spec))
    made = PanelResult(rubric.name)
    for each in votes:
        outcome = _verdict(each.verdicts, rubric.format.scores, rule, len(members))
        run.put(rater, each.case, outcome)
        if isinstance(outcome, Failure):
            made.failures[outcome.kind] += 1
        else:
            made.verdicts += 1
            made.partial += bool(outcome.marks)
    return made


def _verdict(verdicts: Sequence[Verdict], declared: Mapping[str, ScoreField], rule: PanelRule, size: int) -> Outcome:
    scores: dict[str, Score] = {}
    fields: dict[str, Value] = {}
    marks: dict[str, None] = {}
    problem = Failure("panel-incomplete", f"fewer than {LEAST} members have scored the case")
    for name, scale in declared.items():
        values = [verdict.scores[name].value for verdict in verdicts if name in verdict.scores]
        if len(values) < size:
            marks[f"members:{len(values)}/{size}"] = None
        if len(values) < LEAST:
            continue
        on_scale = [value for value in values if value not in scale.special]
        agreed = _majority(values)
        if len(on_scale) < len(values) and agreed not in scale.special and rule != "majority":
            marks[f"special:{len(values) - len(on_scale)}/{size}"] = None
        if agreed in scale.special or rule == "majority":
            if agreed is None:
                marks[f"no-majority:{name}"] = None
                problem = Failure("no-majority", "no level has more than half of the members' votes")
            else:
                scores[name] = Score(agreed)
        elif on_scale and rule == "median":
            scores[name] = Score(median_low(on_scale))
        elif on_scale:
            fields[f"{name}{MEAN}"] = fmean(on_scale)
        if on_scale and scale.scale == "ordinal":
            fields[f"{name}{SPREAD}"] = max(on_scale) - min(on_scale)
    found = scores or any(key.endswith(MEAN) for key in fields)
    return Verdict(scores, fields, tuple(marks)) if found else problem


def _majority(values: Sequence[Number]) -> Number | None:
    """The value that more than half of the votes name; None without such a value."""
    value, count = Counter(values).most_common(1)[0]
    return value if 2 * count > len(values) else None
