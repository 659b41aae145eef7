"""A file of ratings: the user's options for it, its sheets and rubric, and its ratings row by row."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from pathway_local.case import text_hash
from pathway_local.errors import UsageError
from pathway_local.rater import GROUP
from pathway_local.ratings.hosted_results import is_result_file
from pathway_local.ratings.known_cases import KnownCases
from pathway_local.ratings.rating_layout import (
    HANDOUT_IDS,
    INSTRUCTIONS,
    SCALE,
    RatingLayout,
    RatingsFile,
    SavedPage,
    find_layout,
)
from pathway_local.ratings.rating_rows import Problem, Rating, RatingRows, result_rating
from pathway_local.ratings.samples import Handout, find_handouts
from pathway_local.rubrics.pair import BOTH, Order, verdict_of_orders
from pathway_local.rubrics.rubric import Rubric
from pathway_local.runs.run_cases import remembered_columns
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.run_rubrics import rubric_of
from pathway_local.sheets.cases_file import CasesFile
from pathway_local.sheets.kinds import Sheet, open_sheet
from pathway_local.sheets.row import shown
from pathway_local.verdict import Failure, Outcome, Tokens, Verdict

LEAST_TEXT = 12
"""Characters of a text that shows what a column holds: shorter ones, such as "yes", stand in other columns, too."""


class RatingsReading:
    """Reads a file's ratings. `problems` lists its errors by line, `notices` holds remarks for the user.

    Ids and texts have the columns of `cases`; without it, those that the run remembers.
    `handouts` holds the cases behind the random ids in the file; `blanks` counts cells left empty. `page` is the page
    that saved the file, if one did.
    """

    def __init__(self, run: RunFile, file: RatingsFile, cases: CasesFile | None = None) -> None:
        self.run, self.file = run, file
        self._mapping, self._own_id = remembered_columns(run)
        if cases:
            given = {name: column for name, column in cases.inputs.items() if name not in (column, *cases.aliases_used)}
            self._mapping, self._own_id = {**self._mapping, **given}, cases.id_column or self._own_id
        self.problems: list[Problem] = []
        self.blanks = 0
        self.page: SavedPage | None = None
        self._sheet = open_sheet(file.path, file.encoding, file.header_row, file.sheet)
        told = _is_handed_out(self._sheet) and {INSTRUCTIONS, SCALE}.issuperset(self._sheet.others)
        self.notices = [] if told else list(self._sheet.notes)
        self._samples = {job.id: job.fact("sample") for job in run.jobs.all()}
        self._results = is_result_file(self._sheet.columns)
        if self._results and file.kind != "hosted":
            raise UsageError(f"{file.path.name} holds a batch service's results", "Import it with --kind hosted.")
        self.handouts = self._find_handouts()
        self.rubric = self._rubric()

    def ratings(self, known: KnownCases) -> list[Rating]:
        """Return every rating of the file with its rater's name in the run; unreadable rows become problems.

        A column without a known name holds an input if most of its cells are texts of the `known` cases.
        """
        found = list(self._items(known))
        self.problems += [item for item in found if isinstance(item, Problem)]
        ratings = [replace(item, rater=self._rater_of(item)) for item in found if isinstance(item, Rating)]
        return list(combined(ratings, self.handouts, self.rubric))

    def _rater_of(self, rating: Rating) -> str:
        own = rating.rater
        if not own and self.file.kind == "human" and rating.id in self.handouts:
            own = self.handouts[rating.id].recipient
        if own and self.file.rater:
            return f"{self.file.rater}{GROUP}{own}"
        name = own or self.file.rater or rating.judge[1]
        if not name:
            raise UsageError(f"{self.file.path.name} does not say who rated", "Give --rater NAME.")
        return name

    def _items(self, known: KnownCases) -> Iterator[Rating | Problem]:
        filled = ((row, self._sheet.place(row)) for row in self._sheet.rows() if not row.blank)
        if self._results:
            yield from (result_rating(row, self.rubric, place) for row, place in filled)
            return
        rows = RatingRows(self._with_texts(self._layout(), known), self.rubric, self.run.key)
        for row, place in filled:
            yield from map(self._checked, rows.read(row, place))
        self.blanks = rows.blanks

    def _checked(self, item: Rating | Problem) -> Rating | Problem:
        """Return a problem instead of a rating from a page if the row says what is not true of its case."""
        if isinstance(item, Problem) or item.page is None:
            return item
        handout = self.handouts.get(item.id)
        seed = self._samples.get(handout.job, {}).get("seed") if handout else None
        if reason := item.page.untrue(item.rater, handout, seed):
            return Problem(item.where, reason)
        page = SavedPage(handout.job if handout else 0, item.rater, item.page.saved)
        self.page = self.page or page
        return item if page == self.page else Problem(item.where, "another page saved it, or at another time")

    def _layout(self) -> RatingLayout:
        layout = find_layout(self._sheet.columns, self.rubric, self.file, self._own_id, self._mapping)
        missing = set(self.rubric.format.scores) - {name for each in layout.evaluators for name in each.scores}
        if missing and not layout.reply_column:
            self.notices.append(f"no column holds the score {', '.join(sorted(missing))}")
        return layout

    def _with_texts(self, layout: RatingLayout, known: KnownCases) -> RatingLayout:
        """Return the layout with the columns that hold texts of the run's cases under names of their own."""
        renamed: dict[str, str] = {}
        for column, name in text_columns(self._sheet, layout.unread, self.run.key, known):
            if name not in (*layout.inputs, *renamed):
                renamed[name] = column
                self.notices.append(
                    f"the column {shown(column)} holds texts of the input {name}, and is compared with it"
                )
        unread = [column for column in layout.unread if column not in renamed.values()]
        if unread:
            self.notices.append(f"columns ignored: {', '.join(map(shown, unread[:20]))}")
        layout = replace(layout, inputs={**layout.inputs, **renamed}, unread=tuple(unread))
        absent = [
            name for name, wanted in self.rubric.inputs.items() if name not in layout.inputs and wanted.default is None
        ]
        if not layout.handed_out and absent:
            compared = (
                f"only {', '.join(layout.inputs)} is compared with the run's texts"
                if layout.inputs
                else "cases are matched by their ids alone"
            )
            self.notices.append(f"found no column with the texts of {', '.join(absent)}, so {compared}")
        return layout

    def _find_handouts(self) -> dict[str, Handout]:
        """Return the handouts behind the random ids in the file."""
        columns = [name for name in self._sheet.columns if name in HANDOUT_IDS]
        rows = self._sheet.rows() if columns else ()
        return find_handouts(self.run, [row.cells[name] for row in rows for name in columns if row.cells.get(name)])

    def _rubric(self) -> Rubric:
        handed = {handout.rubric for handout in self.handouts.values()}
        if len(handed) > 1 or (self.file.rubric and handed - {self.file.rubric}):
            raise UsageError(
                f"{self.file.path.name} holds ratings under {', '.join(sorted(handed))}",
                "Split the file by rubric, and correct or omit --rubric.",
            )
        rubric = rubric_of(self.run, next(iter(handed), self.file.rubric))
        if any(handout.rubric_sha256 != rubric.sha256 for handout in self.handouts.values()):
            raise UsageError(f"the rubric {rubric.name!r} has changed since these cases were handed out")
        return rubric


def _is_handed_out(sheet: Sheet) -> bool:
    return bool(set(sheet.columns) & set(HANDOUT_IDS))


def text_columns(sheet: Sheet, columns: Sequence[str], key: bytes, known: KnownCases) -> Iterator[tuple[str, str]]:
    """Yield those of the columns in which most long cells are texts of one input of the run's cases, and the input."""
    filled: Counter[str] = Counter()
    fitting: Counter[tuple[str, str]] = Counter()
    for row in sheet.rows() if columns else ():
        for column in columns:
            text = row.cells.get(column, "")
            if len(text) >= LEAST_TEXT:
                filled[column] += 1
                fitting.update((column, name) for name in known.inputs_with(text_hash(key, text)))
    for (column, name), count in fitting.most_common():
        if 2 * count > filled[column]:
            yield column, name


ONE_ORDER = "one-order"
"""The kind of failure of a case with a reply on one of its two orders alone."""


def combined(ratings: Sequence[Rating], handouts: Mapping[str, Handout], rubric: Rubric) -> Iterator[Rating]:
    """Yield one rating for each rater and case that was handed out in both orders, and all other ratings as they are.

    Of several replies on one order, all but the first stay ratings, which the import then reports.
    """
    found: dict[tuple[str, str], dict[Order, Rating]] = {}
    for rating in ratings:
        handout = handouts.get(rating.id)
        order = handout.order if handout else None
        own = found.setdefault((rating.rater, handout.case_id), {}) if handout and order else None
        if order is None or own is None or order in own:
            yield rating
        else:
            own[order] = rating
    for own in found.values():
        yield _rating(own, rubric)


def _rating(own: Mapping[Order, Rating], rubric: Rubric) -> Rating:
    found = {order: own[order] for order in BOTH if order in own}
    verdicts = {order: each.outcome for order, each in found.items() if isinstance(each.outcome, Verdict)}
    if len(verdicts) == len(BOTH) and rubric.pair:
        outcome: Outcome = verdict_of_orders(verdicts, rubric.pair, rubric.format)
    else:
        missing = next((order for order in BOTH if order not in own), "")
        one = Failure(ONE_ORDER, f"the file has no reply on the order {missing}")
        outcome = next((each.outcome for each in found.values() if isinstance(each.outcome, Failure)), one)
    first, *_ = found.values()
    return replace(first, outcome=outcome, tokens=sum((each.tokens for each in found.values()), Tokens()))
