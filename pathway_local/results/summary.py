"""A run's summary: distribution, mean and confidence for each score; failures; and all of it in short."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated

import numpy as np

from pathway_local.note import Note
from pathway_local.results import MIN_GROUP
from pathway_local.results.analysis import Against, Analysis, Bad, By, Cluster, MinGroup
from pathway_local.results.bad import bad_answers, bad_table, check_bad
from pathway_local.results.mistakes import mistakes_in
from pathway_local.results.table import Cell, Column, Level, Table
from pathway_local.results.tally import LOW_MASS, SHOWN_FAILURES, Group, ScoreSummary, tally
from pathway_local.scores.matrix import Trouble
from pathway_local.scores.scores import Scores
from pathway_local.statistics.figure import Estimate, Interval
from pathway_local.system.options import Options, Says

OFTEN_CUT = 0.05
"""The share of verdicts cut in a field from which we say what to raise."""

OFTEN_RELUCTANT = 0.05
"""The share of verdicts with a low mass from which we warn."""

SECTION, FAILURES = "scores", "failures"


class SummaryOptions(Options):
    """How to group a summary."""

    by: By = ""
    min_group: MinGroup = MIN_GROUP
    cluster: Cluster = ""
    bad: Bad = ""
    against: Against = ""
    weight: Annotated[str, Says("COLUMN", "Column that says how much each case counts in the means.")] = ""


def summary(data: Scores, options: SummaryOptions) -> Iterator[Table]:
    """Show the scores, confidence and failures of a run."""
    by, cluster, weight = (data.column(each) for each in (options.by, options.cluster, options.weight))
    options = options.model_copy(update={"by": by, "cluster": cluster})
    whole = tally(data, cluster=cluster, weight=weight)
    groups = tally(data, by, cluster, weight) if by else whole
    matrices = [*data.matrices([*data.rubrics.values()])]
    check_bad(matrices, options.bad)
    found = [each for matrix in matrices if (each := bad_answers(data, matrix, options))]
    warnings = mistakes_in(data, cluster)
    yield from bad_table(found, by)
    shared = {"by": by, "cluster": cluster, "weight": weight}
    for table in summary_tables(data, groups, shared, options.min_group, whole):
        yield replace(table, notes=[*table.notes, *warnings]) if warnings else table
        warnings = []


def summary_tables(
    data: Scores, groups: Sequence[Group], columns: Mapping[str, str], smallest: int = 1, whole: Sequence[Group] = ()
) -> Iterator[Table]:
    """The tables of these groups, with notes on the `whole`; groups with under `smallest` verdicts are left out.

    `columns` are those "by" which cases are grouped, of their "cluster" and of their "weight", as far as there are any.
    A mean of few can reveal what one of them got. Failures reveal nothing of a score, so none is left out.
    """
    about = {name: column for name, column in columns.items() if column}
    by, cluster, weight = (about.get(name, "") for name in ("by", "cluster", "weight"))
    shown = [group for group in groups if not by or not 0 < group.verdicts < smallest]
    scored = [group for group in shown if not group.choices]
    notes = [*_hidden(groups, by, smallest), *_without(data, groups)]
    if groups:
        notes.append(Note("together", {"column": cluster}) if cluster else Note("cases_alone"))
        notes += [Note("weighted", {"column": weight})] if weight else []
    notes += [note for group in whole for note in _on_rater(data, group)]
    notes += _totals(data, whole)
    # People may have given another score of the rubric alone.
    each = [(group, score) for group in scored for score in group.scores.values() if group.failures or score.n]
    kinds = dict.fromkeys((group.rubric, score.name) for group, score in each) if by else [("", "")]
    for rubric, score in kinds if each else ():
        own = [(g, s) for g, s in each if not by or (g.rubric, s.name) == (rubric, score)]
        yield _scores(own, about, rubric, score, notes)
        notes = []
    if chosen := [group for group in shown if group.choices]:
        yield _choices(chosen, about, notes)
    elif not each:
        yield _scores([], about, "", "", notes)
    yield from _failures(groups, shown, by, data.path.name)


def _about(group: Group, by: str) -> dict[str, Cell]:
    return {**({"group": group.group} if by else {}), "rubric": group.rubric, "rater": group.rater}


def _named(by: str) -> list[Column]:
    return [*([Column("group")] if by else []), Column("rubric")]


def _scores(
    each: Sequence[tuple[Group, ScoreSummary]], shared: Mapping[str, str], rubric: str, name: str, notes: Sequence[Note]
) -> Table:
    by = shared.get("by", "")
    columns = [
        *_named(by), Column("score", usual="score", below=True), Column("rater", "rater"),
        Column("n", "count"), Column("mean", "estimate"),
        Column("distribution", "counts"),
        Column("confidence", "number"), Column("failed", "count", usual="0"),
        Column("cases", "count", detail=True), Column("between", "count", detail=True),
        Column("special_share", "share", detail=True), Column("mass", "number", detail=True),
    ]  # fmt: skip
    rows: list[dict[str, Cell]] = [
        {
            **_about(group, by), "score": score.name, "n": score.n, "mean": score.mean, "distribution": _levels(score),
            "confidence": score.confidence, "failed": group.failures.total() or None, "cases": group.cases,
            "between": score.between, "special_share": score.special_share,
            "mass": float(np.median(score.masses)) if len(score.masses) else None,
        }
        for group, score in each
    ]  # fmt: skip
    if not by:
        return Table("scores", shared, columns, rows, notes, section=SECTION, chart="bars")
    declared = [score.declared for _, score in each[:1]]
    ends = [float(value) for own in declared for value in own.values if value not in own.special] or [0.0, 1.0]
    about, scale = {**shared, "rubric": rubric, "score": name}, (min(ends), max(ends))
    return Table("groups", about, columns, rows, notes, section=SECTION, chart="interval", scale=scale)


def _levels(score: ScoreSummary) -> tuple[Level, ...]:
    return tuple(
        Level(str(value), count, score.declared.levels.get(value, ""), value in score.declared.special)
        for value, count in score.counts.items()
    )


def _choices(groups: Sequence[Group], about: Mapping[str, str], notes: Sequence[Note]) -> Table:
    by = about.get("by", "")
    columns = [
        *_named(by), Column("rater", "rater"), Column("n", "count"),
        *(Column(name, "count") for name in ("wins", "ties", "losses")), Column("win_rate", "estimate"),
        *(Column(name, "count") for name in ("flips", "both_orders", "failed")),
        Column("flip_rate", "estimate", detail=True), Column("read_first", "count", detail=True),
    ]  # fmt: skip
    empty: dict[str, Cell] = dict.fromkeys(("flips", "both_orders", "read_first", "flip_rate"))
    rows = [
        {**_about(group, by), **empty, **group.choices, "failed": group.failures.total() or None} for group in groups
    ]
    return Table("choices", about, columns, rows, notes, section=SECTION)


def _failures(groups: Sequence[Group], shown: Sequence[Group], by: str, run: str) -> Iterator[Table]:
    """How many cases failed and why, the marks of the groups that are shown, and the first failures, each once."""
    columns = [*_named(by), Column("rater", "rater"), Column("kind", "key"), Column("count", "count")]
    for key, own in (("failures", groups), ("marks", shown)):
        rows: list[dict[str, Cell]] = [
            {**_about(group, by), "kind": kind, "count": count}
            for group in own
            for kind, count in sorted(getattr(group, key).items())
        ]
        if rows:
            yield Table(key, {"by": by} if by else {}, columns, rows, section=FAILURES)
    failed = [(case, _failed(trouble)) for group in groups for case, trouble in group.failed]
    listed = {(case, row["place"], row["reason"]): row for case, row in failed}
    if listed:
        more = len(listed) > SHOWN_FAILURES or max(group.failures.total() for group in groups) > SHOWN_FAILURES
        words = [Column("kind", "key"), Column("place", english=True), Column("reason", english=True)]
        notes = [Note("all_failures", {"run": run}, "note")] if more else []
        rows = sorted(listed.values(), key=lambda row: int(str(row["row"])))[:SHOWN_FAILURES]
        yield Table("failed", {}, [*words, Column("row", "count")], rows, notes, section=FAILURES)


def _failed(trouble: Trouble) -> dict[str, Cell]:
    """A case without a verdict: its row, the failure's kind, where it is and why."""
    failure = trouble.failure
    assert failure, "an outcome with marks is no failure"
    place, sign, _ = failure.message.rpartition(f": {failure.reason}") if failure.reason else ("", "", "")
    told: dict[str, Cell] = {"row": failure.row or trouble.row, "kind": failure.kind}
    return told | {"place": place if sign else None, "reason": failure.reason or failure.message}


def _hidden(groups: Sequence[Group], by: str, smallest: int) -> Iterator[Note]:
    hidden = {group.group for group in groups if by and 0 < group.verdicts < smallest}
    if hidden:
        yield Note("hidden_groups", {"count": len(hidden), "by": by, "smallest": smallest})


def _without(data: Scores, groups: Sequence[Group]) -> Iterator[Note]:
    if not groups:
        removed = data.purged
        yield Note("purged", {"at": removed}, "answer") if removed else Note("no_scores", kind="answer")


def _on_rater(data: Scores, group: Group) -> Iterator[Note]:
    """Yield notes on a rater's verdicts under a rubric, on all of them together and not anew on each group."""
    shared = {"rubric": group.rubric, "rater": group.rater}
    where = Note("where", shared)
    for score in group.scores.values():
        for value in score.declared.special:
            label = score.declared.levels.get(value, "")
            yield Note("off_scale", {"rubric": group.rubric, "score": score.name, "level": str(value), "label": label})
        if score.between:
            yield Note("between", {**shared, "score": score.name, "count": score.between})
        if 0 < score.confident < score.n:
            yield Note("confident", {**shared, "score": score.name, "count": score.confident, "n": score.n})
    if group.other_texts:
        yield Note("other_texts", {"rater": group.rater, "count": group.other_texts}, "note")
    for part in data.parts_judged.get((group.rater, group.rubric), ()):
        yield Note("judged_part", {"where": where, "part": part}, "warning")
    if pair := data.rubrics[group.rubric].pair:
        yield Note("which_is_a", {"first": [*pair.swap], "second": [*pair.swap.values()]})
        yield from _on_flips(group.choices, where)
    yield from _too_often(group, where)


def _totals(data: Scores, whole: Sequence[Group]) -> Iterator[Note]:
    """Yield how each total is computed, and for how many verdicts of each rater it can't be."""
    for name, rubric in data.rubrics.items():
        own = [group for group in whole if group.rubric == name]
        for score, total in rubric.format.outputs.totals.items() if own else ():
            yield Note("total_is", {"rubric": name, "score": score, "formula": total.text})
            for group in own:
                if lacking := group.verdicts - group.scores[score].n:
                    told = {"score": score, "rater": group.rater, "count": lacking, "n": group.verdicts}
                    yield Note("total_missing", told, "note")


def _too_often(group: Group, where: Note) -> Iterator[Note]:
    """Warn of what is too frequent among the verdicts: a cut field, or little probability for all legal values."""
    for mark, count in sorted(group.marks.items()):
        kind, _, name = mark.partition(":")
        if kind == "cut" and count > OFTEN_CUT * group.verdicts:
            told = {"where": where, "field": name, "count": count, "share": count / group.verdicts}
            yield Note("cut", told, "warning")
    for score in group.scores.values():
        masses, reluctant = score.masses, int(np.sum(score.masses < LOW_MASS))
        if reluctant > OFTEN_RELUCTANT * len(masses):
            told = {"where": where, "score": score.name, "reluctant": reluctant, "known": len(masses)}
            yield Note("reluctant", told | {"least": LOW_MASS, "median": float(np.median(masses))}, "warning")


def _on_flips(found: Mapping[str, Cell], where: Note) -> Iterator[Note]:
    rate = found.get("flip_rate")
    if found.get("flips") and isinstance(rate, Estimate) and isinstance(rate.interval, Interval):
        told: dict[str, object] = {
            "where": where,
            "flips": found["flips"],
            "both": found["both_orders"],
            "first": found["read_first"],
        }
        told |= {"share": rate.value, "low": rate.interval.low, "high": rate.interval.high, "level": rate.interval}
        yield Note("choices_flipped", told, "warning")


ANALYSIS = Analysis(
    SummaryOptions,
    summary,
    ("pathway-local summary my.run", "pathway-local summary my.run --by chatbot --min-group 5"),
)
