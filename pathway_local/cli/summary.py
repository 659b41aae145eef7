"""`pathway-local summary`: what a run found."""

from typing import Annotated

import typer

from pathway_local.cli.command_help import Command, option
from pathway_local.cli.figures import tell_empty
from pathway_local.cli.options import AsJson, MinGroup, Run
from pathway_local.cli.terminal import MIN_GROUP, data, hidden_groups, notice, print_json, table, talk
from pathway_local.results.summary import Group, ScoreSummary, Summary, summarize
from pathway_local.runs.run_file import RunFile
from pathway_local.statistics.figure import Interval

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)

EXAMPLES = """\
pathway-local summary my.run
pathway-local summary my.run --by chatbot --min-group 5"""


@app.command(cls=Command, epilog=EXAMPLES)
def summary(
    run: Run,
    by: Annotated[str, option("COLUMN", "One row for each value of this column of the run.")] = "",
    min_group: MinGroup = MIN_GROUP,
    as_json: AsJson = False,
) -> None:
    """Show the scores, confidence and failures of a run."""
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
    named = ["rubric", "score", *(["rater"] if len(raters) > 1 else []), *([found.by] if found.by else [])]
    columns = [*named, "n", "mean", "95% interval", *map(str, values), "conf.", "failed"]
    rows = [
        [*_names(group, score, named), *_figures(group, score, values)]
        for group in found.groups
        for score in group.scores.values()
    ]
    title = f"rater: {next(iter(raters))}" if len(raters) == 1 else ""
    data.print(table(title, columns, rows, left=len(named)))
    for line in dict.fromkeys(_remarks(found)):
        data.print(line, soft_wrap=True)


def _names(group: Group, score: ScoreSummary, named: list[str]) -> list[str]:
    known = {"rubric": group.rubric, "score": score.name, "rater": group.rater}
    return [known.get(name, group.group or "(empty)") for name in named]


def _figures(group: Group, score: ScoreSummary, values: list[int]) -> list[str]:
    mean, interval = score.mean.value, score.mean.interval
    counts = [str(score.counts[value]) if value in score.counts else "" for value in values]
    starred = [f"{count}*" if value in score.special else count for value, count in zip(values, counts, strict=True)]
    return [
        str(score.n),
        f"{mean:.2f}" if isinstance(mean, float) else "–",
        f"{interval.low:.2f}–{interval.high:.2f}" if isinstance(interval, Interval) else "–",
        *starred,
        f"{score.confidence:.2f}" if score.confidence is not None else "–",
        str(group.failures.total() or ""),
    ]


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
