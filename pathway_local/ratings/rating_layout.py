"""Finds the columns of a sheet of ratings: ids, raters, scores, notes, texts and raw replies.

Long sheets have a row for each rating, wide ones a column for each evaluator. Columns are found by their names
or named by the user, never guessed from their content. A file that a rating page saved has further columns, which are
checked.
"""

import re
import shlex
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

from pathway_local.errors import UnknownName, UsageError
from pathway_local.ratings.samples import Handout
from pathway_local.rubrics.rubric import Rubric
from pathway_local.sheets.columns import (
    columns_present,
    folded,
    listed,
    names_of,
    no_column,
    same_column,
)
from pathway_local.sheets.pseudonyms import Pseudonyms
from pathway_local.sheets.row import shown
from pathway_local.verdict import Value

HANDOUT_IDS = ("rating_id", "custom_id")
INSTRUCTIONS, SCALE = "instructions", "scale"
"""Titles of the sheets of a rating workbook that hold no ratings."""
LONGEST_HEADER = 300
"""A longer header names nobody, and the search for a name in it would take time by the square of its length."""

_SEPARATOR = r"[\s._:/\-]+"


@dataclass(frozen=True, slots=True)
class RatingsFile:
    """The user's options for a file of ratings. `scores` are columns, each COLUMN or SCORE=COLUMN, `comments` of notes.

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

    @property
    def columns(self) -> list[str]:
        """All of the evaluator's columns."""
        return [*self.scores.values(), *self.notes.values()]


@dataclass(frozen=True, slots=True)
class RatingLayout:
    """The columns of a sheet of ratings. `inputs` has those of the texts that the rubric reads, as far as found."""

    id_column: str | None
    rater_column: str | None
    reply_column: str | None
    evaluators: tuple[Evaluator, ...]
    inputs: Mapping[str, str]
    unread: tuple[str, ...]
    from_page: bool = False
    """Whether a rating page saved the sheet."""

    @property
    def handed_out(self) -> bool:
        """Whether the ids are random ids that a run made."""
        return self.id_column is not None and _is_handout(self.id_column)


def find_layout(
    columns: Sequence[str],
    rubric: Rubric,
    file: RatingsFile,
    own_id: str | None = None,
    mapping: Mapping[str, str] = {},
) -> RatingLayout:
    """Return the layout of the file's sheet, which has these columns.

    `own_id` is the id column of the run's cases file, and `mapping` has the columns that the user gave for inputs
    there. If the user names the rater, a single column of scores is that rater's.
    Raises UsageError if a score is missing or its evaluator is ambiguous.
    """
    source, scores, hosted = file.path.name, file.scores, file.kind == "hosted"
    for name in (*([] if file.id_column is None else [file.id_column]), *file.comments):
        if same_column(name, columns) is None:
            raise no_column(name, columns, source)
    # Random ids come first: each stands for one case with one text, whatever other ids the sheet has.
    ids = (
        (file.id_column,)
        if file.id_column
        else (*HANDOUT_IDS, *((own_id,) if own_id else ()), *names_of("ids"), "case")
    )
    id_column = _first(ids, columns)
    names_raters = any(folded(name) in names_of("raters") for name in scores)
    rater_column = None if names_raters else _first(names_of("raters"), columns)
    reply_column = _first(names_of("replies"), columns) if hosted and not scores else None
    header = _Header(columns, rubric, source, [same_column(name, columns) for name in file.comments])
    if reply_column:
        scored = {"": dict[str, str]()}
    else:
        scored = header.scores_by_evaluator(scores) if scores else {"": header.own_scores(hosted=hosted)}
    if len(scored) == 1 and file.rater is not None:
        scored = {"": next(iter(scored.values()))}
    elif len(scored) > 1 and rater_column:
        said = f"{source} has a column of raters and columns of several evaluators"
        raise UsageError(said, "Name one column with --score.")
    evaluators = header.evaluators(scored)
    used = {id_column, rater_column, reply_column, *(column for each in evaluators for column in each.columns)}
    handed_out = id_column is not None and _is_handout(id_column)
    free = [name for name in columns if name not in used]
    # A sheet that was handed out names its texts as the rubric does, whatever the cases file calls them.
    inputs = columns_present(list(rubric.inputs), free, {} if handed_out else mapping)
    asked = set(inputs.values()) | ({*rubric.inputs, *PAGE_COLUMNS} if handed_out else set())
    unread = tuple(name for name in columns if name not in used and name not in asked)
    # One column is enough, or a file without the others would pass unchecked. No page saves raw replies.
    from_page = handed_out and reply_column is None and not set(PAGE_COLUMNS).isdisjoint(columns)
    return RatingLayout(id_column, rater_column, reply_column, evaluators, inputs, unread, from_page)


@dataclass(frozen=True, slots=True)
class _Header:
    """The column names of a sheet, and the rubric that its scores and notes belong to."""

    columns: Sequence[str]
    rubric: Rubric
    source: str
    comments: Sequence[str | None] = ()

    def own_scores(self, *, hosted: bool) -> dict[str, str]:
        """Return the columns that have the scores' own names. Raises UsageError if no column has one."""
        known = self.rubric.format.scores
        found = {score: column for score in known if (column := _first((score,), self.columns))}
        if not found and len(known) == 1 and (column := _first(names_of("scores"), self.columns)):
            found = dict.fromkeys(known, column)
        if not found:
            replies = ", and no column of raw replies called reply" if hosted else ""
            raise UsageError(
                f"{self.source} has no column called {' or '.join(known)}{replies}",
                f"Name each evaluator's column with --score. The columns are {', '.join(listed(self.columns))}.",
            )
        return found

    def scores_by_evaluator(self, scores: Sequence[str]) -> dict[str, dict[str, str]]:
        """Return each evaluator's columns of scores, as the user named them. Raises UsageError if one is ambiguous."""
        named = [self._named(item) for item in scores]
        only = len({score for score, _, _ in named}) == 1
        found: dict[str, dict[str, str]] = {}
        for score, column, explicit in named:
            # If SCORE=COLUMN is given once for a score, the column is the rater's own, whatever its header looks like.
            alone = sum(other == score for other, _, _ in named) == 1
            own = found.setdefault("" if explicit and alone else self._evaluator(column, score, only), {})
            if score in own:
                raise UsageError(
                    f"it is unclear whose scores the columns {shown(own[score])} and {shown(column)} hold",
                    f'Rename each to evaluator and score, for example "Ann {score}".',
                )
            own[score] = column
        return found

    def _named(self, item: str) -> tuple[str, str, bool]:
        """Score and column of one --score, and whether the user named the score."""
        known = list(self.rubric.format.scores)
        score, sign, column = item.partition("=")
        item, column = same_column(item, self.columns) or item, same_column(column, self.columns) or column
        if item in self.columns:
            fits = [name for name in known if folded(name) == folded(item) or _owner(item, name)]
            if len(fits) == 1 or len(known) == 1:
                return (fits or known)[0], item, False
            raise UsageError(
                f"it is unclear which score the column {shown(item)} holds",
                f"Give --score SCORE={shlex.quote(item)}, where SCORE is one of {', '.join(known)}.",
            )
        if sign and column in self.columns:
            if score not in known:
                raise UnknownName("score", score, known)
            return score, column, True
        raise no_column(column if sign else item, self.columns, self.source)

    def _evaluator(self, column: str, score: str, only: bool) -> str:
        """Return the column's evaluator: its header without the score; of the `only` score, it may be just a name."""
        if folded(column) == folded(score):
            return ""
        owners = (_owner(column, word) for word in ((score, *names_of("scores")) if only else (score,)))
        owner = next(filter(None, owners), column.strip() if only else "")
        if not owner:
            raise UsageError(
                f"it is unclear whose score the column {shown(column)} holds",
                f'Rename it to evaluator and score, for example "Ann {score}".',
            )
        return owner

    def evaluators(self, scored: Mapping[str, Mapping[str, str]]) -> tuple[Evaluator, ...]:
        """Return the evaluators with these columns of scores, and with their notes and those that name no evaluator."""
        taken = {column for own in scored.values() for column in own.values()}
        found = []
        for name, own in scored.items():
            notes: dict[str, str] = {}
            for column in self.columns:
                others = [other for other in scored if other != name]
                if column not in taken and (kept := self._note(column, name, others)):
                    notes[column if kept in notes else kept] = column
            found.append(Evaluator(name, own, notes))
        return tuple(found)

    def _note(self, column: str, owner: str, others: Sequence[str]) -> str:
        """Return the name under which an evaluator's verdicts keep this column; empty if it is not a note of theirs."""
        if column in self.comments:
            if any(folded(other) in folded(column) for other in others if other):
                return ""
            return "notes" if not owner or folded(owner) in folded(column) else "shared_notes"
        if owner and any(folded(_owner(column, word)) == folded(owner) for word in names_of("notes")):
            return "notes"
        own = next((name for name in self.rubric.format.fields if folded(name) == folded(column)), "")
        if own or folded(column) not in names_of("notes"):
            return own
        return "shared_notes" if owner else "notes"


def _owner(column: str, word: str) -> str:
    """Return the rest of a header beside a word: Ann for "Ann score", "Ann_score" or "score (Ann)"; "" without it."""
    if len(column) > LONGEST_HEADER:
        return ""
    w = r"[\s_\-]*".join(re.escape(part) for part in re.split(r"[\s_\-]+", word))
    column = unicodedata.normalize("NFC", column.strip())
    bare = "".join(unicodedata.normalize("NFD", letter)[0] for letter in column)  # as long as the column's own name
    found = re.fullmatch(rf"{w}\s*\((.+)\)|(.+?){_SEPARATOR}{w}|{w}{_SEPARATOR}(.+?)", bare, re.IGNORECASE)
    return column[slice(*found.span(found.lastindex or 0))].strip() if found else ""


def _first(names: Iterable[str], columns: Sequence[str]) -> str | None:
    """Return the column with the first of these names that the sheet has, in any spelling."""
    return next((column for name in names if (column := same_column(name, columns))), None)


def _is_handout(column: str) -> bool:
    return folded(column) in map(folded, HANDOUT_IDS)


PAGE_COLUMNS = ("sample_seed", "text_version", "saved_at")

_AHEAD = timedelta(days=1)
"""How far the clock of a rater's computer may be ahead of ours: a file of next year would block all later ones."""

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", re.ASCII)


@dataclass(frozen=True, slots=True)
class SavedPage:
    """The page that saved a file: the job that made it, its rater, and the time in UTC at which it saved the file."""

    job: int
    rater: str
    saved: str


@dataclass(frozen=True, slots=True)
class PageRow:
    """The seed of the sample, the hash of the case's texts and the time in UTC at which the file was saved."""

    seed: str
    text_hash: str
    saved: str

    @classmethod
    def of(cls, cells: Mapping[str, str]) -> "PageRow":
        """Return what these cells of a row say; nothing of it is checked."""
        return cls(*(cells.get(column, "").strip() for column in PAGE_COLUMNS))

    def untrue(self, rater: str, handout: Handout | None, seed: Value) -> str:
        """Return what the row says wrongly of its case, which was handed out in a sample with this seed; "" if nothing.

        So ratings that were moved to other rows, or to another rater's page, are found.
        """
        if handout is None:
            return "this run made no page with its rating_id"
        if rater != handout.recipient:
            return "its rater is not the one whose page holds this case"
        if self.seed != str(seed):
            return "its sample_seed is not that of the page's sample"
        if self.text_hash != handout.page_hash:
            return "its text_version is not that of the texts on the page"
        saved = _time(self.saved)
        if saved is None:
            return "its saved_at is not a time such as 2026-05-04T10:30:00.000Z"
        return "its saved_at is in the future" if saved > datetime.now(UTC) + _AHEAD else ""


def _time(saved: str) -> datetime | None:
    """Return the time that a page wrote, in UTC; None if it is not one."""
    try:
        return datetime.fromisoformat(saved) if _TIME.fullmatch(saved) else None
    except ValueError:
        return None
