"""Ratings from outside, people's or a hosted judge's, joined with a run's cases: all of a file or none of it."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pathway_local import __version__
from pathway_local.case import CaseRef
from pathway_local.errors import CasesError, RatingsError, UsageError
from pathway_local.rater import GROUP, Rater
from pathway_local.ratings.handouts import Handout, find_handouts
from pathway_local.ratings.hosted_reply import BREAK, SPACING
from pathway_local.ratings.hosted_results import is_result_file
from pathway_local.ratings.known_cases import KnownCases
from pathway_local.ratings.rating_layout import HANDOUT_IDS, RatingLayout, find_layout
from pathway_local.ratings.rating_rows import Problem, Rating, RatingRows, result_rating
from pathway_local.rubrics.rubric import Rubric
from pathway_local.runs.audit import file_facts
from pathway_local.runs.run_cases import remembered_columns
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.run_rubrics import rubric_of
from pathway_local.sheets import Sheet, open_sheet
from pathway_local.sheets.pseudonyms import Pseudonyms
from pathway_local.sheets.row import shown
from pathway_local.sheets.workbook import WorkbookSheet
from pathway_local.verdict import Failure, Outcome, Value, Verdict

SHOWN_PROBLEMS = 5


@dataclass(frozen=True, slots=True)
class RatingsFile:
    """What a user says of a file of ratings. `scores` are columns, each COLUMN or SCORE=COLUMN.

    With `pseudonyms`, its ids are those that the run's pseudonyms stand for.
    """

    path: Path
    kind: Literal["human", "hosted"]
    rater: str | None = None
    rubric: str | None = None
    id_column: str | None = None
    scores: Sequence[str] = ()
    pseudonyms: Pseudonyms | None = None


@dataclass(slots=True)
class ImportedRater:
    """What came of one rater's ratings.

    `unchanged` were in the run already. Of the raw `replies`, `exact` have the format to the letter, and
    `spaced` depart from it in spacing alone; `breaks` counts the others' departures by kind.
    """

    name: str
    verdicts: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    unchanged: int = 0
    replies: int = 0
    exact: int = 0
    spaced: int = 0
    breaks: Counter[str] = field(default_factory=Counter)

    @property
    def broken(self) -> int:
        """Replies that break the format in more than spacing, unreadable ones among them."""
        return self.replies - self.exact - self.spaced


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import stored, by rater; `blanks` counts places without a rating, `notices` are for people."""

    rubric: str
    raters: tuple[ImportedRater, ...]
    blanks: int
    notices: tuple[str, ...]


def import_ratings(run: RunFile, file: RatingsFile, command: Sequence[str]) -> Imported:
    """Join the file's ratings with the run's cases and store them.

    RatingsError, naming each line, where a rating belongs to no case, is off the scale, or is a rater's second
    of a case; UsageError where columns or raters can't be told; CasesError where the file can't be read. Then
    nothing is stored.
    """
    reading = _Reading(run, file)
    ratings = reading.ratings()
    named = [(reading.rater_of(rating), rating) for rating in ratings]
    known = KnownCases(run, reading.rubric.name, file.pseudonyms)
    if not known and not reading.handouts:
        raise UsageError(f"{run.path.name} has no cases yet", "Judge them, or draw a sample of them, first.")
    joined = _joined(known, reading, named)
    raters = _raters(file, reading, named)
    return _Storing(run, file, reading, raters).store(joined, command)


class _Reading:
    """A file's ratings, and what is wrong with it."""

    def __init__(self, run: RunFile, file: RatingsFile) -> None:
        self.run, self.file = run, file
        self.problems: list[Problem] = []
        self.notices: list[str] = []
        self.blanks = 0
        self.sheets = _sheets(file.path, self.notices)
        self.results = is_result_file(self.sheets[0].columns)
        if self.results and file.kind != "hosted":
            raise UsageError(f"{file.path.name} holds a batch service's results", "Import it with --kind hosted.")
        self.handouts = self._handouts()
        self.rubric = self._rubric()

    def ratings(self) -> list[Rating]:
        """Every rating of the file; rows that can't be read become problems."""
        found = [item for sheet in self.sheets for item in self._items(sheet)]
        self.problems += [item for item in found if isinstance(item, Problem)]
        return [item for item in found if isinstance(item, Rating)]

    def rater_of(self, rating: Rating) -> str:
        """The name under which the run keeps who gave the rating. UsageError where there is none."""
        own = rating.rater or (self._evaluator(rating) if self.file.kind == "human" else "")
        if own and self.file.rater:
            return f"{self.file.rater}{GROUP}{own}"
        name = own or self.file.rater or rating.judge[1]
        if not name:
            raise UsageError(f"{self.file.path.name} does not say who rated", "Give --rater NAME.")
        return name

    def _evaluator(self, rating: Rating) -> str:
        handout = self.handouts.get(rating.id)
        return handout.recipient if handout else ""

    def _items(self, sheet: Sheet) -> Iterator[Rating | Problem]:
        if self.results:
            for row in sheet.rows():
                if not row.blank:
                    handout = self.handouts.get(row.cells.get("custom_id", ""))
                    yield result_rating(row, self.rubric, self.run.key, sheet.unit, handout)
            return
        layout = self._layout(sheet)
        title = f"{sheet.title}, " if isinstance(sheet, WorkbookSheet) and len(self.sheets) > 1 else ""
        rows = RatingRows(layout, self.rubric, self.run.key, sheet.unit, title)
        for row in sheet.rows():
            if not row.blank:
                yield from rows.read(row)
        self.blanks += rows.blanks

    def _layout(self, sheet: Sheet) -> RatingLayout:
        layout = find_layout(
            sheet.columns,
            self.rubric,
            self.file.path.name,
            scores=self.file.scores,
            id_column=self.file.id_column,
            own_id=remembered_columns(self.run)[1],
            hosted=self.file.kind == "hosted",
            one_rater=self.file.rater is not None,
        )
        if layout.unread:
            self.notices.append(f"not read: {', '.join(map(shown, layout.unread[:20]))}")
        missing = set(self.rubric.format.scores) - {name for each in layout.evaluators for name in each.scores}
        if missing and not layout.reply_column:
            self.notices.append(f"without a column: {', '.join(sorted(missing))}")
        if not layout.handed_out and not layout.inputs:
            self.notices.append("the texts are not in the file: its ids alone say which case is which")
        return layout

    def _handouts(self) -> dict[str, Handout]:
        """What the random ids in the file stand for."""
        found: dict[str, Handout] = {}
        for sheet in self.sheets:
            columns = [name for name in sheet.columns if name in HANDOUT_IDS]
            if columns:
                ids = [row.cells[name] for row in sheet.rows() for name in columns if row.cells.get(name)]
                found |= find_handouts(self.run, ids)
        return found

    def _rubric(self) -> Rubric:
        handed = {handout.rubric for handout in self.handouts.values()}
        if len(handed) > 1 or (self.file.rubric and handed - {self.file.rubric}):
            raise UsageError(
                f"{self.file.path.name} holds replies under {', '.join(sorted(handed))}", "Import each by itself."
            )
        rubric = rubric_of(self.run, next(iter(handed), self.file.rubric))
        if any(handout.rubric_sha256 != rubric.sha256 for handout in self.handouts.values()):
            raise UsageError(f"the rubric {rubric.name!r} has changed since these cases were given away")
        return rubric


def _sheets(path: Path, notices: list[str]) -> list[Sheet]:
    """The file as sheets: several only where it is a workbook of ours with one for each evaluator."""
    first = open_sheet(path)
    if not isinstance(first, WorkbookSheet):
        return [first]
    if not set(first.columns) & set(HANDOUT_IDS):
        notices += first.notes
        return [first]
    sheets: list[Sheet] = [first]
    for title in first.titles:
        if title != first.title:
            other = _rating_sheet(path, title)
            sheets += [other] if other else []
    return sheets


def _rating_sheet(path: Path, title: str) -> WorkbookSheet | None:
    """The sheet of that title if it holds ratings of ours."""
    try:
        sheet = WorkbookSheet(path, title)
    except CasesError:  # a sheet that someone added, without a header: no rating of ours can be in it
        return None
    return sheet if set(sheet.columns) & set(HANDOUT_IDS) else None


def _refuse(path: Path, problems: Sequence[Problem]) -> None:
    if problems:
        problems = sorted(problems, key=lambda problem: problem.place)
        # In a wide sheet one row's fault is the fault of every evaluator's rating in it.
        said = list(dict.fromkeys(map(str, problems)))
        first = "; ".join(said[:SHOWN_PROBLEMS])
        more = f"; and {len(said) - SHOWN_PROBLEMS} more" if len(said) > SHOWN_PROBLEMS else ""
        raise RatingsError(
            f"{path.name}: nothing is imported, {len(problems)} of its ratings can't be: {first}{more}",
            "Mend these lines and import the file again.",
            map(str, problems),
        )


@dataclass(frozen=True, slots=True)
class _Placed:
    rater: str
    rating: Rating
    place: CaseRef


def _joined(known: KnownCases, reading: _Reading, named: Iterable[tuple[str, Rating]]) -> list[_Placed]:
    """Each rating with its case; those without one, and a rater's second of a case, become problems."""
    placed: list[_Placed] = []
    first: dict[tuple[str, str], str] = {}
    for name, rating in named:
        found = _place(known, reading, rating)
        if isinstance(found, str):
            reading.problems.append(Problem(rating.where, found))
            continue
        before = first.setdefault((name, found.id), rating.where)
        if before != rating.where:
            reading.problems.append(Problem(rating.where, f"{name} rated the same case in {before}"))
        placed.append(_Placed(name, rating, found))
    return placed


def _place(known: KnownCases, reading: _Reading, rating: Rating) -> CaseRef | str:
    if handout := reading.handouts.get(rating.id):
        return known.by_handout(handout)
    if known.numbered or not rating.id:
        if rating.text_hash is None:
            kind = "its case has no id but its row number" if known.numbered else "it has no id"
            return f"{kind}, and the file does not hold its texts"
        return known.by_texts(rating.text_hash, rating.id or rating.number)
    return known.by_id(rating.id, rating.text_hash)


def _raters(file: RatingsFile, reading: _Reading, named: Iterable[tuple[str, Rating]]) -> dict[str, Rater]:
    judges: dict[str, set[tuple[str, str]]] = {}
    for name, rating in named:
        if rating.judge[1] or name not in judges:
            judges.setdefault(name, set()).add(rating.judge)
    return {name: _rater(file, reading.rubric, name, seen - {("", "")}) for name, seen in judges.items()}


def _rater(file: RatingsFile, rubric: Rubric, name: str, judges: Iterable[tuple[str, str]]) -> Rater:
    models = {judge for judge in judges if judge[1]}
    if len(models) > 1:
        shown_models = ", ".join(sorted(model for _, model in models))
        raise UsageError(f"{file.path.name} holds replies of several models: {shown_models}", "Import each by itself.")
    service, model = next(iter(models), ("", ""))
    spec: dict[str, Value] = {"rubric": rubric.sha256}
    if file.kind == "hosted":
        spec |= {"service": service, "model": model}
    return Rater(name, file.kind, rubric.name, spec)


class _Storing:
    """Stores what was joined, in one piece, beside what the run holds of these raters."""

    def __init__(self, run: RunFile, file: RatingsFile, reading: _Reading, raters: Mapping[str, Rater]) -> None:
        self.run, self.file, self.reading, self.raters = run, file, reading, raters
        self.counts = {name: ImportedRater(name) for name in raters}

    def store(self, placed: Sequence[_Placed], command: Sequence[str]) -> Imported:
        """Put every rating that is new; a run that has another of the same rater and texts refuses them all."""
        before = {name: self._before(name) for name in self.raters}
        new = [item for item in placed if self._is_new(item, before[item.rater].get(item.place.id))]
        _refuse(self.file.path, self.reading.problems)
        with self.run.together():
            job = self.run.begin_job(command, self._facts())
            ids = {name: self.run.add_rater(self._named(rater)) for name, rater in self.raters.items()}
            for item in new:
                self.run.put(ids[item.rater], item.place, item.rating.outcome, tokens=item.rating.tokens)
            self.run.end_job(job, "done", {"imported": len(new), "unchanged": len(placed) - len(new)})
        raters = tuple(self.counts.values())
        return Imported(
            self.reading.rubric.name, raters, self.reading.blanks, tuple(dict.fromkeys(self.reading.notices))
        )

    def _named(self, rater: Rater) -> Rater:
        """The rater; where it failed throughout, with the model that the run knows it by."""
        if self.counts[rater.name].verdicts:
            return rater
        same = (each for _, each in self.run.raters() if (each.name, each.rubric) == (rater.name, rater.rubric))
        return rater.completed(next(same, rater))

    def _before(self, name: str) -> dict[str, tuple[str, Outcome]]:
        known = {(rater.name, rater.rubric) for _, rater in self.run.raters()}
        rubric = self.reading.rubric.name
        if (name, rubric) not in known:
            return {}
        return {record.case_id: (record.case_hash, record.outcome) for record in self.run.records(name, rubric)}

    def _is_new(self, item: _Placed, before: tuple[str, Outcome] | None) -> bool:
        outcome, counts = item.rating.outcome, self.counts[item.rater]
        _count(counts, item.rating)
        if before is None or before[0] != item.place.hash or isinstance(before[1], Failure):
            return True
        if isinstance(outcome, Verdict) and outcome != before[1]:
            reason = f"{item.rater} has rated its case otherwise in the run (a correction needs a --rater of its own)"
            self.reading.problems.append(Problem(item.rating.where, reason))
        counts.unchanged += 1
        return False

    def _facts(self) -> dict[str, Value]:
        models = sorted({str(rater.spec["model"]) for rater in self.raters.values() if rater.spec.get("model")})
        said: dict[str, Value] = {**file_facts(self.file.path), "kind": self.file.kind}
        return {"pathway_local": __version__, "import": said | {"raters": list(self.raters), "models": list(models)}}


def _count(counts: ImportedRater, rating: Rating) -> None:
    if isinstance(rating.outcome, Failure):
        counts.failures[rating.outcome.kind] += 1
    else:
        counts.verdicts += 1
    if not rating.replied:
        return
    counts.replies += 1
    if isinstance(rating.outcome, Failure):
        counts.breaks["unreadable"] += 1
        return
    marks = [mark for mark in rating.outcome.marks if mark.startswith(BREAK)]
    counts.exact += not marks
    counts.spaced += marks == [SPACING]
    if marks != [SPACING]:
        counts.breaks.update(mark.removeprefix(BREAK) for mark in marks)
