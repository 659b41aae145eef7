"""`pathway-local calibrate`: a judge's mean, corrected by people's labels."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Annotated

import typer

from pathway_local.cli.command_help import CASES, RATERS, Command, option
from pathway_local.cli.estimates import Notes, interval, number
from pathway_local.cli.figures import give, rubrics_with, tell_empty
from pathway_local.cli.options import AsJson, Cluster, Figures, Force, MinGroup, Run
from pathway_local.cli.terminal import MIN_GROUP, check_new, data, hidden_groups, table
from pathway_local.results.calibration import Calibration, CalibrationPlan, PeopleMap
from pathway_local.results.calibration import calibrate as correct
from pathway_local.runs.run_file import RunFile
from pathway_local.statistics.figure import Estimate, Undefined
from pathway_local.statistics.prediction_powered import Correction, Target

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)

EXAMPLES = """\
pathway-local calibrate my.run --against author --assume-random
pathway-local calibrate my.run --against author --assume-random --by chatbot"""


@app.command(cls=Command, epilog=EXAMPLES)
def calibrate(
    run: Run,
    against: Annotated[str, option("NAME", "The rater or group of people whose labels count.", RATERS)],
    judge: Annotated[
        list[str], option("NAME", "Judge to correct; repeat for more (default: all local judges).", RATERS)
    ] = [],  # noqa: B006
    rubric: Annotated[
        str | None, option("RUBRIC", "Only this rubric; default: all that they labelled.", RATERS)
    ] = None,
    target: Annotated[
        Target,
        option(
            "TARGET",
            "file: estimate the mean of the run's own cases. population: of all cases that they are a random "
            "sample of.",
            CASES,
        ),
    ] = "file",
    assume_random: Annotated[
        bool, option("", "The labels are a random sample, although `sample` did not draw it.", CASES, "--assume-random")
    ] = False,
    cluster: Cluster = "",
    by: Annotated[str, option("COLUMN", "Also correct for each value of this column.", CASES)] = "",
    min_group: MinGroup = MIN_GROUP,
    as_json: AsJson = False,
    out: Figures = None,
    force: Force = False,
) -> None:
    """Estimate the mean score that people would give, from a judge's scores of all cases and people's labels of some.

    The labels must be a random sample, as `pathway-local sample` draws it. Cases picked for another reason, such as
    those that `divergence` lists, can't represent the rest.
    """
    check_new(out, force=force)
    plan = CalibrationPlan(against, judge, target, assume_random, cluster, by, min_group)
    with RunFile.read(run) as read:
        rubrics = rubrics_with(read, rubric, [against, *judge])
        tell_empty(read, cluster, by)
        found = [each for one in rubrics for each in correct(read, one, plan)]
    give(run, found, partial(show, smallest=min_group), out, force=force, as_json=as_json)


def show(found: Sequence[Calibration], smallest: int) -> None:
    """Print the means of each judge on each score, its map, and what there is to be careful about."""
    for each in found:
        _show(each, smallest)


def _show(found: Calibration, smallest: int) -> None:
    notes = Notes()
    rows = [_row(part.name or "all cases", part.cases, part.mean, notes) for part in found.parts]
    for part in found.parts:
        if part.special is not None:
            rows.append(_row(f"{part.name or 'all cases'}: special", part.cases, part.special, notes))
    heads = [found.by or "", "cases", "labelled", "judge's mean", "labels only", "corrected", "labels to halve it"]
    data.print(table(f"{found.rubric} {found.score}: {found.judge} corrected by {found.against}", heads, rows))
    for line in (*notes.lines(found.cluster), *_remarks(found), *_map_lines(found)):
        data.print(line, soft_wrap=True)
    if found.hidden:
        data.print(hidden_groups(found.hidden, found.by, smallest), soft_wrap=True)
    data.print()


def _row(name: str, cases: int, found: Correction | Undefined, notes: Notes) -> list[str]:
    if isinstance(found, Undefined):
        missing = notes.cell(Estimate(found, found))
        return [name, f"{cases:,}", "", "", "", missing, ""]
    more = found.more_labels
    return [
        name,
        f"{cases:,}",
        f"{found.labelled:,}",
        number(found.judge_mean),
        notes.cell(found.labels_only),
        notes.cell(found.corrected),
        notes.mark(f"no number of labels to halve it, because {more.reason}")
        if isinstance(more, Undefined)
        else f"{more:,} more",
    ]


def _remarks(found: Calibration) -> Iterator[str]:
    whole = "these cases" if found.target == "file" else "the population that these cases are a random sample of"
    yield f"Corrected: the mean that {found.against} would give to {whole}. A worse judge makes it wider, not wrong."
    for part in found.parts:
        if isinstance(part.mean, Correction):
            where = f"{part.name}: " if part.name else ""
            if part.mean.without_verdict:
                yield f"Note: {where}{part.mean.without_verdict:,} cases without a score by {found.judge} stay in."
            yield from (f"Warning: {where}{warning}." for warning in part.mean.warnings)
    yield from (f"Note: {notice}." for notice in found.notices)


def _map_lines(found: Calibration) -> Iterator[str]:
    if not isinstance(found.map, PeopleMap):
        return
    steps = ", ".join(f"{level} → {number(value)}" for level, value in found.map.levels.items())
    yield f"Where {found.judge} expects, {found.against} gave on average: {steps} (the nearest map that never falls)."
    check = found.map.check
    if isinstance(check, Undefined):
        yield f"How good that map is on new cases is not known, because {check.reason}."
        return
    errors, ends = check.absolute, interval(check.absolute.gain.interval)
    yield (
        f"On cases that it did not see, the map moves the mean absolute error from {number(errors.unmapped.value)} to "
        f"{number(errors.mapped.value)}: a gain of {number(errors.gain.value)}{f' ({ends})' if ends else ''}, in "
        f"{check.folds} folds of {check.cases} labels."
    )
