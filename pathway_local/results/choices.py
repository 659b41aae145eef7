"""Choices between two responses as numbers, and as scores of two answers, which are compared as any others."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from pathway_local.errors import UsageError
from pathway_local.note import Note
from pathway_local.results.comparison import CompareOptions, Comparison, ComparisonPlan, Difference
from pathway_local.results.pairing import Pairing
from pathway_local.results.table import Column
from pathway_local.rubrics.pair import Pair
from pathway_local.rubrics.rubric import Rubric
from pathway_local.scores.matrix import RatingsMatrix
from pathway_local.scores.scores import Scores
from pathway_local.sheets.row import shown
from pathway_local.statistics.figure import BoolArray, FloatArray, Undefined

FIRST = "order_chosen"
"""The note that one chatbot is preferred to each of the others."""


def choices_of(matrix: RatingsMatrix, pair: Pair) -> FloatArray:
    """Score A by each rater's choices, (cases, raters): 1, 0.5 for a tie or a flip, or 0; NaN without a choice."""
    chosen = np.where(np.isin(matrix.given, pair.special), np.nan, 0.5 + 0.5 * np.sign(matrix.given))
    return np.asarray(np.where(matrix.flipped & np.isfinite(chosen), 0.5, chosen))


def named(matrix: RatingsMatrix, columns: tuple[str, str]) -> BoolArray:
    """The cases (cases,) in which these columns name two different chatbots, A's and B's."""
    names = ([kept.get(name, "") for name in columns] for kept in matrix.metadata)
    return np.array([bool(first and second and first != second) for first, second in names], dtype=np.bool_)


def as_answers(matrix: RatingsMatrix, pair: Pair, columns: tuple[str, str]) -> RatingsMatrix:
    """The matrix with two answers in place of each case with two named chatbots: A's with what it got, and B's.

    The answer's chatbot stands in a column that is called as both `columns`, with a comma.
    """
    twice = np.repeat(np.flatnonzero(named(matrix, columns)), 2)
    own, won = np.arange(len(twice)) % 2, choices_of(matrix, pair)[twice]
    kept = [matrix.metadata[place] for place in twice.tolist()]
    arrays = {name: getattr(matrix, name)[twice] for name in ("expected", "confidence", "mass", "orders", "sheets")}
    return replace(
        matrix,
        **arrays,
        nominal=False,
        levels=(0, 1),
        special=(),
        given=np.where(own[:, None] == 0, won, 1 - won),
        case_ids=tuple(matrix.case_ids[place] for place in twice.tolist()),
        hashes=tuple(matrix.hashes[place] for place in twice.tolist()),
        metadata=tuple({**each, ",".join(columns): each[columns[at]]} for each, at in zip(kept, own, strict=True)),
        troubles=(),
        designs=(),
    )


def choices_between(
    data: Scores, rubrics: Sequence[Rubric], options: CompareOptions
) -> tuple[list[RatingsMatrix], ComparisonPlan]:
    """Return the choices between two responses as answers, and the chatbots to compare. Raises PathwayError."""
    asked = [name.strip() for name in options.pairs.split(",")]
    if len(asked) != 2 or not all(asked) or asked[0] == asked[1]:
        raise UsageError(f"--pairs {options.pairs} is not A,B", "Name two columns, such as --pairs bot_a,bot_b.")
    if options.pair_by:
        raise UsageError("--pair-by pairs scores, and with --pairs there are choices between two", "Leave it out.")
    first, second, cluster = map(data.column, (*asked, options.cluster))
    chosen = [
        (matrix, rubric.pair)
        for rubric in rubrics
        if rubric.pair
        for matrix in data.matrices([rubric])
        if matrix.score == rubric.pair.score and matrix.scoring()
    ]
    if not chosen:
        said = "the run has no verdicts that compare two responses"
        raise UsageError(said, "Such as those of the rubric pair-answer.")
    columns = (first, second)
    matrices = [as_answers(matrix, pair, columns) for matrix, pair in chosen]
    between, without = ",".join(columns), 0
    for matrix, pair in chosen:
        raters = matrix.places(options.rater) or matrix.scoring()
        without += int(np.sum(np.isfinite(choices_of(matrix, pair)[:, raters]).any(axis=1) & ~named(matrix, columns)))
    values = sorted({kept[between] for matrix in matrices for kept in matrix.metadata})
    if not values:
        said = f"no case names two different chatbots in {shown(first)} and {shown(second)}"
        raise UsageError(said, "Name the columns of A's and B's chatbot.")
    pairing = Pairing(between, {case_id: case_id for matrix in matrices for case_id in matrix.case_ids})
    plan = ComparisonPlan(between, tuple(values), pairing, options.rater, cluster, options.min_group, without, columns)
    return matrices, plan


OF_CHOICES = (
    *(Column(name, "count") for name in ("pairs", "wins", "ties", "losses", "flips")),
    Column("difference", "estimate"), Column("family", "count", detail=True),
)  # fmt: skip
"""Columns of what one chatbot won of the choices between two, what it tied and what it lost."""


def notes_on_choices(plan: ComparisonPlan) -> Iterator[Note]:
    """How ties count, and the choices that are left out."""
    yield Note("ties_count_half", kind="note")
    if plan.without:
        first, second = plan.columns
        yield Note("unnamed", {"count": plan.without, "first": first, "second": second}, "note")


def chosen(who: Note, each: Comparison, found: Difference, rater: str) -> Note:
    """Say how many choices between the two the first won, and which of the two the `rater` prefers."""
    interval, side = found.estimate.interval, found.estimate.shown
    names, counts = dict(zip(("first", "second"), each.names, strict=True)), (found.wins, found.ties, found.losses)
    told: dict[str, object] = {"who": who, **names, "count": found.pairs, "flips": found.flips}
    told |= {name: count / found.pairs for name, count in zip(("won", "tied", "lost"), counts, strict=True)}
    if isinstance(interval, Undefined):
        return Note("chosen_alone", told | {"reason": interval}, "answer")
    key = "chosen_more" if side in names else "chosen_unclear"
    shown = Note(key, {"rater": rater, "name": names.get(side or "", "")})
    return Note("chosen", told | {"interval": interval, "shown": shown}, "answer")
