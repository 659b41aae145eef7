"""Finds the columns of a sheet of ratings: ids, raters, scores, notes, texts and raw replies.

Long sheets have a row for each rating, wide ones a column for each evaluator. Columns are found by their names
or named by the user, never guessed from their content.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pathway_local.errors import UnknownName, UsageError
from pathway_local.rubrics.rubric import Rubric
from pathway_local.sheets.columns import columns_present, folded, listed, names_of, no_column, same_column
from pathway_local.sheets.pseudonyms import Pseudonyms
from pathway_local.sheets.row import shown

HANDOUT_IDS = ("rating_id", "custom_id")
INSTRUCTIONS, SCALE = "instructions", "scale"
"""Titles of the sheets of a rating workbook that hold no ratings."""

NOTES = "notes"


@dataclass(frozen=True, slots=True)
class RatingsFile:
    """The user's options for a file of ratings.

    `scores` are columns, each COLUMN or SCORE=COLUMN, and `comments` those of notes, each COLUMN or EVALUATOR=COLUMN.
    With `pseudonyms`, the file's ids are the original ones, and the run knows their pseudonyms. `sample` is the seed of
    the sample that chose the cases, though the file is none of its sheets.
    """

    path: Path
    kind: Literal["human", "hosted"]
    rater: str | None = None
    rubric: str | None = None
    id_column: str | None = None
    scores: Sequence[str] = ()
    pseudonyms: Pseudonyms | None = None
    encoding: str = ""
    header_row: int | None = None
    sheet: str = ""
    comments: Sequence[str] = ()
    sample: int | None = None


@dataclass(frozen=True, slots=True)
class Evaluator:
    """One evaluator's columns: scores and notes, by the name under which the run keeps them.

    `name` is empty if the sheet has a column of raters or belongs to a single rater.
    """

    name: str
    scores: Mapping[str, str]
    notes: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class RatingLayout:
    """The columns of a sheet of ratings. `inputs` has those of the texts that the rubric reads, as far as found."""

    id_column: str | None
    rater_column: str | None
    reply_column: str | None
    evaluators: tuple[Evaluator, ...]
    inputs: Mapping[str, str]
    unread: tuple[str, ...]

    @property
    def handed_out(self) -> bool:
        """Whether the ids are random ids that a run made."""
        return self.id_column is not None and folded(self.id_column) in map(folded, HANDOUT_IDS)

    @property
    def used(self) -> set[str]:
        """All columns that are read."""
        own = (column for each in self.evaluators for column in (*each.scores.values(), *each.notes.values()))
        return {*own, *self.inputs.values(), *filter(None, (self.id_column, self.rater_column, self.reply_column))}


def find_layout(
    columns: Sequence[str],
    rubric: Rubric,
    file: RatingsFile,
    own_id: str | None = None,
    mapping: Mapping[str, str] = {},
) -> RatingLayout:
    """Return the layout of the file's sheet, which has these columns.

    `own_id` is the id column of the run's cases file, and `mapping` has the columns that the user gave for inputs
    there. Raises UsageError if a score is missing or its evaluator is ambiguous.
    """
    sheet = _Columns(columns, file.path.name)
    # Random ids come first: each stands for one case with one text, whatever other ids the sheet has.
    ids = (*HANDOUT_IDS, *((own_id,) if own_id else ()), *names_of("ids"), "case")
    id_column = sheet.named(file.id_column) if file.id_column else sheet.first(ids)
    reply_column = sheet.first(names_of("replies")) if file.kind == "hosted" and not file.scores else None
    scored = [] if reply_column else _scores(sheet, rubric, file)
    rater_column = sheet.first(names_of("raters"))
    rater_column = None if rater_column in [column for _, column in scored] else rater_column
    evaluators = _evaluators(sheet, rubric, file, scored)
    if len(evaluators) > 1 and rater_column:
        said = f"{sheet.source} has a column of raters and columns of several evaluators"
        raise UsageError(said, "Name one column with --score.")
    found = RatingLayout(id_column, rater_column, reply_column, evaluators, {}, ())
    free = [name for name in columns if name not in found.used]
    # A sheet that was handed out names its texts as the rubric does, whatever the cases file calls them.
    inputs = columns_present(list(rubric.inputs), free, {} if found.handed_out else mapping)
    asked = {*inputs.values(), *(rubric.inputs if found.handed_out else ())}
    unread = tuple(name for name in free if name not in asked)
    return RatingLayout(id_column, rater_column, reply_column, evaluators, inputs, unread)


@dataclass(frozen=True, slots=True)
class _Columns:
    """The columns of a sheet, by their names in any spelling."""

    columns: Sequence[str]
    source: str

    def first(self, names: Iterable[str]) -> str | None:
        """Return the column with the first of these names that the sheet has."""
        return next((column for name in names if (column := same_column(name, self.columns))), None)

    def named(self, name: str) -> str:
        """Return the column that the user named. Raises UnknownName."""
        column = same_column(name, self.columns)
        if column is None:
            raise no_column(name, self.columns, self.source)
        return column


def _scores(sheet: _Columns, rubric: Rubric, file: RatingsFile) -> list[tuple[str, str]]:
    """Return each score with its column. Raises UsageError."""
    known = list(rubric.format.scores)
    if file.scores:
        return [_named_score(item, sheet, known) for item in file.scores]
    found = [(score, column) for score in known if (column := sheet.first((score,)))]
    if not found and len(known) == 1 and (column := sheet.first(names_of("scores"))):
        found = [(known[0], column)]
    if not found:
        replies = ", and no column of raw replies called reply" if file.kind == "hosted" else ""
        raise UsageError(
            f"{sheet.source} has no column called {' or '.join(known)}{replies}",
            f"Name each evaluator's column with --score. The columns are {', '.join(listed(sheet.columns))}.",
        )
    return found


def _named_score(item: str, sheet: _Columns, known: Sequence[str]) -> tuple[str, str]:
    """Return the score and the column of one --score. Raises UsageError."""
    score, sign, column = item.partition("=")
    if same_column(item, sheet.columns) or not sign:
        column = sheet.named(item)
        fits = [name for name in known if folded(name) == folded(column)] or known
        if len(fits) == 1:
            return fits[0], column
        said = f"it is unclear which score the column {shown(column)} holds"
        raise UsageError(said, f"Give --score SCORE=COLUMN, where SCORE is one of {', '.join(known)}.")
    if score not in known:
        raise UnknownName("score", score, known)
    return score, sheet.named(column)


def _evaluators(
    sheet: _Columns, rubric: Rubric, file: RatingsFile, scored: Sequence[tuple[str, str]]
) -> tuple[Evaluator, ...]:
    """Return the file's one rater, or evaluators who are called as their columns of one score. Raises UsageError."""
    times = Counter(score for score, _ in scored)
    if max(times.values(), default=1) == 1:
        columns = [sheet.named(name) for name in file.comments] + [
            column for name in (*rubric.format.fields, *names_of("notes")) if (column := sheet.first((name,)))
        ]
        notes: dict[str, str] = {}
        for column in dict.fromkeys(columns):
            own = next((name for name in rubric.format.fields if folded(name) == folded(column)), NOTES)
            if column not in dict(scored).values():
                notes[column if own in notes else own] = column
        return (Evaluator("", dict(scored), notes),)
    if len(times) > 1 or len(set(scored)) < len(scored):
        said = "several evaluators have columns of several scores"
        raise UsageError(said, "Import each evaluator alone: --rater NAME, and a --score SCORE=COLUMN for each score.")
    comments = dict(_comment_of(item, sheet, [column for _, column in scored]) for item in file.comments)
    return tuple(
        Evaluator(column.strip(), {score: column}, {NOTES: comments[column]} if column in comments else {})
        for score, column in scored
    )


def _comment_of(item: str, sheet: _Columns, evaluators: Sequence[str]) -> tuple[str, str]:
    owner, sign, column = item.partition("=")
    if not sign or same_column(owner, evaluators) is None:
        said = f"it is unclear whose comments {item!r} are"
        raise UsageError(said, f"Give --comment EVALUATOR=COLUMN, where EVALUATOR is {' or '.join(evaluators)}.")
    return sheet.named(owner), sheet.named(column)
