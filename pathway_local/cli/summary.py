"""`pathway-local summary`: what a run found."""

from collections.abc import Iterable, Iterator
from typing import Annotated

import typer

from pathway_local.cli.figures import tell_empty
from pathway_local.cli.options import AsJson, MinGroup, Run
from pathway_local.cli.terminal import MIN_GROUP, data, hidden_groups, notice, print_json, table, talk
from pathway_local.results.summary import Group, ScoreSummary, Summary, summarize
from pathway_local.runs.run_file import RunFile
from pathway_local.statistics.figure import Interval

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def summary(
    run: Run,
    by: Annotated[str, typer.Option(help="A metadata column that the run keeps: one row for each of its values.")] = "",
    min_group: MinGroup = MIN_GROUP,
    as_json: AsJson = False,
) -> None:
    """Show scores, confidence and failures of a run."""
    with RunFile.read(run) as read:
        tell_empty(read, by)
        found = summarize(read, by, min_group)
    if found.hidden:
        notice(hidden_groups(found.hidden, by, min_group))
    if as_json:
        print_json(found.as_json())
    else:
        show(found)


def show(found: Summary) -> None:
    """Print a table of the scores, the levels' names, and what there is to be careful about."""
    if not found.groups:
        if not found.hidden:
            talk.print("the run holds no outcome yet")
        return
    values = sorted({value for group in found.groups for score in group.scores.values() for value in score.counts})
    raters = {group.rater for group in found.groups}
    named = ["rubric", *(["rater"] if len(raters) > 1 else []), *([found.by] if found.by else [])]
    some_failed = any(group.failures for group in found.groups)
    width = max(
        (len(cell) for _, score in _scores(found) for cell in [*map(str, values), *_counts(score, values)]), default=0
    )
    columns = [*named, "n", "mean", "95% interval", _row(map(str, values), width), "conf."]
    rows = [
        [*_names(group, score, named), *_figures(score, _row(_counts(score, values), width))]
        for group, score in _scores(found)
    ]
    if some_failed:
        columns.append("failed")
        for row, (group, _) in zip(rows, _scores(found), strict=True):
            row.append(str(group.failures.total() or ""))
    title = f"rater: {next(iter(raters))}" if len(raters) == 1 else ""
    data.print(table(title, columns, rows, left=len(named)))
    for line in dict.fromkeys(_remarks(found)):
        data.print(line, soft_wrap=True)


def _scores(found: Summary) -> Iterator[tuple[Group, ScoreSummary]]:
    for group in found.groups:
        for score in group.scores.values():
            yield group, score


def _names(group: Group, score: ScoreSummary, named: list[str]) -> list[str]:
    rubric = group.rubric if list(group.scores) == ["score"] else f"{group.rubric} {score.name.removesuffix('_score')}"
    known = {"rubric": rubric, "rater": group.rater}
    return [known.get(name, group.group or "(empty)") for name in named]


def _figures(score: ScoreSummary, counts: str) -> list[str]:
    mean, interval = score.mean.value, score.mean.interval
    return [
        str(score.n),
        f"{mean:.2f}" if isinstance(mean, float) else "–",
        f"{interval.low:.2f}–{interval.high:.2f}" if isinstance(interval, Interval) else "–",
        counts,
        f"{score.confidence:.2f}" if score.confidence is not None else "–",
    ]


def _counts(score: ScoreSummary, values: list[int]) -> list[str]:
    """How many verdicts have each value; a star marks values off the scale."""
    counts = [str(score.counts[value]) if value in score.counts else "" for value in values]
    return [f"{count}*" if value in score.special else count for value, count in zip(values, counts, strict=True)]


def _row(cells: Iterable[str], width: int) -> str:
    """Cells side by side in one column: columns of their own would not fit into 80 characters."""
    return " ".join(cell.rjust(width) for cell in cells)


def _remarks(found: Summary) -> list[str]:
    remarks = []
    for group in found.groups:
        for score in group.scores.values():
            for value in score.special:
                label = score.levels.get(value, "special")
                remarks.append(
                    f"* {group.rubric} {score.name} {value} ({label}) is off the scale: the mean leaves it out."
                )
    for group in found.groups:
        name = f"{group.rubric} by {group.rater}" + (f", {found.by} {group.group}" if found.by else "")
        remarks += [f"{name}: {count} failed ({kind})" for kind, count in sorted(group.failures.items())]
        remarks += [f"{name}: {count} marked {mark}" for mark, count in sorted(group.marks.items())]
    return remarks + [f"{rater}: {label}" for rater, label in found.labels.items()]
