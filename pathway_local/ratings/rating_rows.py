"""Reads the ratings in a sheet row by row: a rating of a case, or why the row can't be read."""

import re
from dataclasses import dataclass
from typing import Literal

from pathway_local.case import fingerprint
from pathway_local.errors import ReplyError
from pathway_local.ratings.hosted_reply import read_reply
from pathway_local.ratings.rating_layout import RatingLayout
from pathway_local.ratings.score_text import NO_SCORE, is_number, read_score, scale_text
from pathway_local.rubrics.fields import ScoreField
from pathway_local.rubrics.rubric import Rubric
from pathway_local.sheets.row import Row, flaw, is_cut, shown
from pathway_local.verdict import Outcome, Score, Value, Verdict
from pathway_local.words.language import in_any_language

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
