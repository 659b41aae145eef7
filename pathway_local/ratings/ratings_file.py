"""A file of ratings: the user's options for it, its sheets and rubric, and its ratings row by row."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from pathway_local.errors import RatingsError, UsageError
from pathway_local.rater import GROUP
from pathway_local.ratings.hosted_results import IDS, is_result_file, read_result
from pathway_local.ratings.rating_rows import (
    Problem,
    Rating,
    RatingLayout,
    RatingRows,
    RatingsFile,
    find_layout,
    handout_ids,
)
from pathway_local.ratings.samples import Handout, find_handouts
from pathway_local.rubrics.pair import BOTH, Order, verdict_of_orders
from pathway_local.rubrics.rubric import Rubric
from pathway_local.runs.run_cases import remembered_columns
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.run_rubrics import rubric_of
from pathway_local.sheets.cases_file import CasesFile
from pathway_local.sheets.kinds import open_sheet
from pathway_local.sheets.row import Row, shown
from pathway_local.verdict import Failure, Outcome, Verdict
from pathway_local.words.language import in_any_language


class RatingsReading:
    """Reads a file's ratings. `problems` lists its errors by line, `notices` holds remarks for the user.

    Ids and texts have the columns of `cases`; without it, those that the run remembers.
    `handouts` holds the cases behind the random ids in the file; `blanks` counts cells left empty.
    """

    def __init__(self, run: RunFile, file: RatingsFile, cases: CasesFile | None = None) -> None:
        self.run, self.file = run, file
        known = remembered_columns(run)
        self._mapping, self._own_id = known.mapping, known.id
        if cases:
            given = {name: column for name, column in cases.inputs.items() if name not in (column, *cases.aliases_used)}
            self._mapping, self._own_id = {**self._mapping, **given}, cases.id_column or self._own_id
        self.problems: list[Problem] = []
        self.blanks = 0
        self._sheet = open_sheet(file.path, **file.how)
        self._results = is_result_file(self._sheet.columns)
        if self._results and file.kind != "hosted":
            raise UsageError(f"{file.path.name} holds a batch service's results", "Import it with --kind hosted.")
        ids = [name for name in self._sheet.columns if name in (IDS if self._results else handout_ids())]
        beside = {*in_any_language("sheet_instructions"), *in_any_language("sheet_scale")}
        told = ids and beside.issuperset(self._sheet.others)
        self.notices = [] if told else list(self._sheet.notes)
        rows = self._sheet.rows() if ids else ()
        self.handouts = find_handouts(run, [row.cells[name] for row in rows for name in ids if row.cells.get(name)])
        self.rubric = self._rubric()

    def ratings(self) -> list[Rating]:
        """Return every rating of the file with its rater's name in the run; unreadable rows become problems."""
        found = self._items()
        self.problems += [item for item in found if isinstance(item, Problem)]
        ratings = [(item, self._rater_in_file(item)) for item in found if isinstance(item, Rating)]
        # The one rater of a file may be named once more: Eva is not Eva/Eva.
        group = self.file.rater if {own for _, own in ratings} - {self.file.rater} else None
        named = (replace(item, rater=self._name(item, own, group)) for item, own in ratings)
        return list(combined(list(named), self.handouts, self.rubric))

    def _rater_in_file(self, rating: Rating) -> str:
        handout = self.handouts.get(rating.id) if self.file.kind == "human" else None
        return rating.rater or (handout.recipient if handout else "")

    def _name(self, rating: Rating, own: str, group: str | None) -> str:
        name = f"{group}{GROUP}{own}" if own and group else own or group or rating.judge[1]
        if not name:
            raise UsageError(f"{self.file.path.name} does not say who rated", "Give --rater NAME.")
        return name

    def _items(self) -> list[Rating | Problem | None]:
        read = self._result if self._results else RatingRows(self._layout(), self.rubric, self.run.key).read
        found = [read(row) for row in self._sheet.rows() if not row.blank]
        self.blanks = found.count(None)
        return found

    def _result(self, row: Row) -> Rating | Problem | None:
        """Return the rating in one line of a batch service's results. Raises RatingsError for an unknown service's."""
        if row.problem:
            return Problem(row.place, row.problem)
        try:
            return read_result(row, self.rubric.format)
        except ValueError as error:
            known = "OpenAI, Azure, Mistral, vLLM, Anthropic and Gemini can be read, with one reply for each request"
            raise RatingsError(f"{self.file.path.name}, {row.place}: {error}", f"Results of {known}.") from None

    def _layout(self) -> RatingLayout:
        layout = find_layout(self._sheet.columns, self.rubric, self.file, self._own_id, self._mapping)
        missing = set(self.rubric.format.given) - layout.scores.keys()
        if missing and not layout.reply_column:
            self.notices.append(f"no column holds the score {', '.join(sorted(missing))}")
        if layout.unread:
            self.notices.append(f"columns ignored: {', '.join(map(shown, layout.unread[:20]))}")
        required = [name for name, wanted in self.rubric.inputs.items() if wanted.default is None]
        absent = [name for name in required if name not in layout.inputs]
        if absent and not layout.handed_out:
            compared = f"only {', '.join(layout.inputs)} is compared with the run's texts"
            compared = compared if layout.inputs else "cases are matched by their ids alone"
            self.notices.append(f"found no column with the texts of {', '.join(absent)}, so {compared}")
        return layout

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
        own = found.setdefault((rating.rater, handout.case_id), {}) if handout and order else {}
        if order and order not in own:
            own[order] = rating
        else:
            yield rating
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
    return replace(first, outcome=outcome)
