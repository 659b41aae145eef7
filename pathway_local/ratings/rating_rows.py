"""Reads the ratings in a sheet: finds its columns, and in each row a rating of a case, or why the row can't be read.

Columns are found by their names or named by the user, never guessed from their content. A sheet has one rater, or a
column of raters; of a sheet with columns of several raters, those of one are read.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from pathway_local.case import fingerprint
from pathway_local.errors import ReplyError, UnknownName, UsageError
from pathway_local.ratings.hosted_reply import read_reply
from pathway_local.ratings.score_text import NO_SCORE, is_number, read_score, scale_text
from pathway_local.rubrics.fields import ScoreField
from pathway_local.rubrics.rubric import Rubric
from pathway_local.sheets.columns import columns_present, folded, listed, names_of, no_column, same_column
from pathway_local.sheets.pseudonyms import Pseudonyms
from pathway_local.sheets.row import Row, flaw, is_cut, shown
from pathway_local.verdict import Outcome, Score, Value, Verdict
from pathway_local.words.language import in_any_language

NOTES = "notes"


def handout_ids() -> tuple[str, ...]:
    """Return the names of columns with random ids that a run made: in a workbook, a page's file, a batch file."""
    return ("rating_id", "custom_id", *in_any_language("sheet_id"))


@dataclass(frozen=True, slots=True)
class RatingsFile:
    """The user's options for a file of ratings.

    `scores` are columns, each COLUMN or SCORE=COLUMN, and `comments` columns of notes.
    With `pseudonyms`, the file's ids are the original ones, and the run knows their pseudonyms. `how` has options of
    `open_sheet`.
    """

    path: Path
    kind: Literal["human", "hosted"]
    rater: str | None = None
    rubric: str | None = None
    id_column: str | None = None
    scores: Sequence[str] = ()
    pseudonyms: Pseudonyms | None = None
    comments: Sequence[str] = ()
    how: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RatingLayout:
    """The columns of a sheet of ratings; `scores` and `notes` by the name under which the run keeps them.

    `inputs` has those of the texts that the rubric reads, as far as found.
    """

    id_column: str | None
    rater_column: str | None
    reply_column: str | None
    scores: Mapping[str, str]
    notes: Mapping[str, str]
    inputs: Mapping[str, str] = field(default_factory=dict)
    unread: tuple[str, ...] = ()

    @property
    def handed_out(self) -> bool:
        """Whether the ids are random ids that a run made."""
        return self.id_column is not None and folded(self.id_column) in map(folded, handout_ids())

    @property
    def used(self) -> set[str]:
        """All columns that are read."""
        named = (*self.scores.values(), *self.notes.values(), *self.inputs.values())
        return {*named, *filter(None, (self.id_column, self.rater_column, self.reply_column))}


def find_layout(
    columns: Sequence[str],
    rubric: Rubric,
    file: RatingsFile,
    own_id: str | None = None,
    mapping: Mapping[str, str] = {},
) -> RatingLayout:
    """Return the layout of the file's sheet, which has these columns.

    `own_id` is the id column of the run's cases file, and `mapping` has the columns that the user gave for inputs
    there. Raises UsageError if a score is missing or ambiguous.
    """
    sheet = _Columns(columns, file.path.name)
    # Random ids come first: each stands for one case with one text, whatever other ids the sheet has.
    ids = (*handout_ids(), *((own_id,) if own_id else ()), *names_of("ids"), "case")
    id_column = sheet.named(file.id_column) if file.id_column else sheet.first(ids)
    reply_column = sheet.first(names_of("replies")) if file.kind == "hosted" and not file.scores else None
    scores = {} if reply_column else _scores(sheet, rubric, file)
    rater_column = sheet.first(names_of("raters"))
    rater_column = None if rater_column in scores.values() else rater_column
    found = RatingLayout(id_column, rater_column, reply_column, scores, _notes(sheet, rubric, file, scores))
    free = [name for name in columns if name not in found.used]
    # A sheet that was handed out names its texts as the rubric does, whatever the cases file calls them.
    inputs = columns_present(list(rubric.inputs), free, {} if found.handed_out else mapping)
    asked = {*inputs.values(), *(rubric.inputs if found.handed_out else ())}
    return replace(found, inputs=inputs, unread=tuple(name for name in free if name not in asked))


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


def _scores(sheet: _Columns, rubric: Rubric, file: RatingsFile) -> dict[str, str]:
    """Return the column of each score that the sheet has. Raises UsageError."""
    known = list(rubric.format.given)
    named = [_named_score(item, sheet, known) for item in file.scores]
    if len(dict(named)) < len(named):
        said = f"several columns are named for the score {named[0][0]}"
        raise UsageError(said, "Import one person's columns at a time: --rater NAME, and one --score for each score.")
    found = dict(named) or {score: column for score in known if (column := sheet.first((score,)))}
    if not found and len(known) == 1 and (column := sheet.first(names_of("scores"))):
        found = {known[0]: column}
    if not found and file.kind == "hosted" and not {"response", "result"}.isdisjoint(sheet.columns):
        raise UsageError(
            f"{sheet.source} holds a batch service's results without custom_id, which tells whose they are",
            "Import the file as the service wrote it.",
        )
    if not found:
        replies = ", and no column of raw replies called reply" if file.kind == "hosted" else ""
        raise UsageError(
            f"{sheet.source} has no column called {' or '.join(known)}{replies}",
            f"Name the rater's column with --score. The columns are {', '.join(listed(sheet.columns))}.",
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


def _notes(sheet: _Columns, rubric: Rubric, file: RatingsFile, scores: Mapping[str, str]) -> dict[str, str]:
    """Return the columns of notes: those that the user named, and others called like notes or a field of the rubric."""
    known = (sheet.first((name,)) for name in (*rubric.format.fields, *names_of("notes")))
    notes: dict[str, str] = {}
    for column in dict.fromkeys([*map(sheet.named, file.comments), *known]):
        if column and column not in scores.values():
            own = next((name for name in rubric.format.fields if folded(name) == folded(column)), NOTES)
            notes[column if own in notes else own] = column
    return notes


NAME_LIMIT = 100

UNSCORED = "no-score"
"""Mark of notes without a score."""

CANT_SAY = "can't say"
"""Written in place of a score that a person could not decide, in any language; CANT_SAY_MARK marks each such score."""

CANT_SAY_MARK = "cant-say:"


@dataclass(frozen=True, slots=True)
class Rating:
    """An outcome from a file, and everything in the file that identifies its case.

    `where` is the place in the file, `id` and `number` name the case, `text_hash` is the fingerprint of those of its
    texts that the file holds (empty if none), `rater` who rated (empty if the file says nothing), `judge` the service
    and the model that replied.
    """

    where: str
    id: str
    number: str
    text_hash: str
    rater: str
    outcome: Outcome
    judge: tuple[str, str] = ("", "")


@dataclass(frozen=True, slots=True)
class Problem:
    """A place in the file and the error there; never quotes a case's text.

    `texts` says whether a text of the row is another case's than its id ("moved"), or no case's ("changed").
    """

    where: str
    reason: str
    texts: Literal["", "moved", "changed"] = ""

    def __str__(self) -> str:
        return f"{self.where}: {self.reason}"

    @property
    def place(self) -> int:
        """Sort key, the order of the file: the last number of a place such as "item 3" or "row 6 (line 7)"."""
        return int(re.findall(r"\d+", self.where)[-1])


def has_cant_say(score: ScoreField) -> bool:
    """Whether a level of the rubric is called that, so that it is a score as any other."""
    return any(map(_says_cant_say, (*score.values_by_text(False), *score.levels.values())))


def _says_cant_say(text: str) -> bool:
    # Office programs put a curly apostrophe and a capital.
    said = text.replace("’", "'").lower()
    return said == CANT_SAY or said in map(str.lower, in_any_language("cant_say"))


def is_name(rater: str) -> bool:
    """Whether a text can be a rater's name."""
    return bool(rater) and len(rater) <= NAME_LIMIT and rater.isprintable() and rater == rater.strip()


@dataclass(frozen=True, slots=True)
class RatingRows:
    """Reads the rows of one sheet under a rubric; `key` is the run's."""

    layout: RatingLayout
    rubric: Rubric
    key: bytes

    def read(self, row: Row) -> Rating | Problem | None:
        """Return a row's rating, or its problem; None if the row has no rating."""
        try:
            if row.problem:
                raise ReplyError(row.problem)
            for column in self.layout.used:
                if found := flaw(row.cells.get(column, "")) or row.bad_cells.get(column):
                    raise ReplyError(f"its {shown(column)} holds {found}")
            return self._rating(row)
        except ReplyError as error:
            return Problem(row.place, str(error))

    def _rating(self, row: Row) -> Rating | None:
        cells, layout = row.cells, self.layout
        if layout.reply_column:
            reply = cells.get(layout.reply_column, "")
            outcome = read_reply(reply, self.rubric.format) if reply.strip() else None
        else:
            outcome = self._scored(row)
        if outcome is None:
            return None
        rater = cells.get(layout.rater_column, "").strip() if layout.rater_column else ""
        if layout.rater_column and not rater:
            raise ReplyError("its rater is missing")
        if rater and not is_name(rater):
            raise ReplyError("its rater's name is too long or has unprintable characters")
        case_id = cells.get(layout.id_column, "") if layout.id_column else ""
        if layout.id_column and not case_id.strip():
            raise ReplyError("it has no id")
        return Rating(row.place, case_id, str(row.number), self._text_hash(row), rater, outcome)

    def _scored(self, row: Row) -> Verdict | None:
        scores: dict[str, Score] = {}
        undecided: list[str] = []
        for name, column in self.layout.scores.items():
            text = row.cells.get(column, "").strip()
            if _says_cant_say(text) and not has_cant_say(self.rubric.format.given[name]):
                undecided.append(CANT_SAY_MARK + name)
            elif text:
                scores[name] = self._score(name, text)
        notes: dict[str, Value] = {
            name: text for name, column in self.layout.notes.items() if (text := row.cells.get(column, "").strip())
        }
        if not scores and not undecided and not notes:
            return None
        whole = self.rubric.format.with_totals(scores)
        return Verdict(whole, notes, (*(() if scores else (UNSCORED,)), *undecided))

    def _score(self, name: str, text: str) -> Score:
        field = self.rubric.format.given[name]
        try:
            value = read_score(text, field)
            if self.rubric.pair and value in field.levels and is_number(text):
                # Others write 0 for the first response and 1 for the second, or 1 and 2.
                names = ", ".join(field.written.get(each, name) for each, name in field.levels.items())
                raise ReplyError(f"a number does not tell which response is better: write one of {names}")
            return Score(value)
        except ReplyError as error:
            said = str(error)
            if said == NO_SCORE:
                said += f" from {scale_text(field)}"
                said += "" if has_cant_say(field) else f"; write {CANT_SAY} if it could not be judged"
            raise ReplyError(f"{name}: {said}") from None

    def _text_hash(self, row: Row) -> str:
        # A cell that a spreadsheet has cut, or that is empty like those of a merged area, says nothing of the case.
        texts = {name: row.cells.get(column, "") for name, column in self.layout.inputs.items()}
        texts = {name: text for name, text in texts.items() if text.strip() and not is_cut(text)}
        return fingerprint(self.key, texts) if texts else ""
