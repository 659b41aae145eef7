"""Imports ratings of people or of a hosted judge into a run: the whole file or nothing."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from shlex import quote

import msgspec

from pathway_local import __version__
from pathway_local.case import CaseRef
from pathway_local.errors import RatingsError, UsageError
from pathway_local.rater import Rater
from pathway_local.ratings.cases_given import CasesGiven, Given
from pathway_local.ratings.hosted_results import HOSTED_ERROR
from pathway_local.ratings.known_cases import LOST_ZEROS, Key, KnownCases, Matched, matched_ratings
from pathway_local.ratings.rating_rows import Problem, Rating, RatingsFile
from pathway_local.ratings.ratings_file import RatingsReading
from pathway_local.ratings.samples import handed_out_with
from pathway_local.rubrics.consistency import broken_rules
from pathway_local.rubrics.rubric import Rubric
from pathway_local.runs.audit import file_facts
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.run_rubrics import store_rubric
from pathway_local.verdict import Failure, Outcome, Value, Verdict

NO_RESULT = Failure("no-result", "no file that was imported has a result of this request")
MANY = 5


@dataclass(slots=True)
class ImportedRater:
    """Counts of one rater's ratings, failures by their kinds; `unchanged` were in the run already."""

    name: str
    verdicts: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    unchanged: int = 0


@dataclass(frozen=True, slots=True)
class Imported:
    """Result of an import, by rater. `blanks` counts cells left empty, `notices` holds remarks for the user."""

    rubric: str
    raters: tuple[ImportedRater, ...]
    blanks: int
    notices: tuple[str, ...]

    @property
    def complete(self) -> bool:
        """Whether no rating is a failure."""
        return not any(each.failures for each in self.raters)


def import_ratings(
    run: RunFile, file: RatingsFile, command: Sequence[str], cases: CasesGiven | None = None
) -> Imported:
    """Match the file's ratings with the run's cases, and with `cases` that nobody judged yet, and store them.

    Nothing is stored if an error is raised. RatingsError names each line with an unknown case, a score off the
    scale, or a rater's second rating of a case. UsageError: columns or raters are ambiguous; CasesError: the file can't
    be read.
    """
    reading = RatingsReading(run, file, cases.file if cases else None)
    known = KnownCases(run, reading.rubric, file.pseudonyms)
    if cases:
        known.add(cases.file, run.key)
        reading.notices += cases.file.notes
    ratings = reading.ratings()
    if not known and not reading.handouts:
        raise UsageError(f"{run.path.name} has no cases yet", "Name the cases file with --cases, or judge them first.")
    matched, invalid = matched_ratings(ratings, known, reading.handouts)
    raters = _raters(ratings, file, reading.rubric)
    stored = _stored(run, raters)
    if file.kind == "hosted":
        _mark_broken_rules(matched, known, reading, cases)
        _add_missing(run, raters, reading, matched, stored)
    # The job that handed out the sheet or page of each rating; ratings from another file have none.
    handed = reading.handouts if file.kind == "human" else {}
    sheets = {key: handed[rating.id].job for key, (rating, _) in matched.items() if rating.id in handed}
    new, changed = _new_ones(matched, stored, sheets)
    _refuse(run, file, [*reading.problems, *invalid], changed)
    if not matched:
        raise UsageError(f"{file.path.name} holds no rating: {reading.blanks} cells are empty", "Fill them first.")
    counts = {rater.name: ImportedRater(rater.name) for rater in raters}
    for key, (rating, case) in matched.items():
        own, outcome = counts[rating.rater], rating.outcome
        own.verdicts += isinstance(outcome, Verdict)
        own.failures.update([outcome.kind] if isinstance(outcome, Failure) else [])
        own.unchanged += stored.get(key) == (case.hash, outcome)
    with run.together():
        facts: dict[str, Value] = {"kind": file.kind, "raters": [rater.name for rater in raters]}
        facts = {"pathway_local": __version__, "import": {**file_facts(file.path, run.key), **facts}}
        job = run.jobs.begin(command, facts | (cases.facts(run) if cases else {}))
        if cases:
            cases.remember(run)
        ids = {rater.name: run.add_rater(rater) for rater in raters}
        for key in new:
            rating, case = matched[key]
            run.put(ids[rating.rater], case, rating.outcome, sheet=sheets.get(key))
        unchanged = sum(each.unchanged for each in counts.values())
        run.jobs.end(job, "done", {"imported": len(matched) - unchanged, "unchanged": unchanged})
    return Imported(reading.rubric.name, tuple(counts.values()), reading.blanks, tuple(dict.fromkeys(reading.notices)))


def import_with_cases(given: Given, file: RatingsFile, command: Sequence[str]) -> Imported:
    """Import ratings of a file's cases, judged or not, into a run that may be new; see `import_ratings`."""
    with CasesGiven.open(given) as cases:
        is_new = not given.run.exists()
        run = cases.run()
        whole = replace(file, rubric=cases.rubric.name, pseudonyms=cases.file.pseudonyms)
        try:
            with run.together():
                store_rubric(run, cases.rubric)
                return import_ratings(run, whole, command, cases)
        except BaseException:
            if is_new:  # a command that is refused changes nothing
                run.close()
                given.run.unlink(missing_ok=True)
            raise


def _raters(ratings: Iterable[Rating], file: RatingsFile, rubric: Rubric) -> list[Rater]:
    """Return the file's raters. Raises UsageError for a file of failed requests alone, which names no model."""
    judges: dict[str, set[tuple[str, str]]] = {}
    answered: set[str] = set()
    for rating in ratings:
        own = judges.setdefault(rating.rater, set())
        own |= {rating.judge} if rating.judge[1] else set()
        failed = isinstance(rating.outcome, Failure) and rating.outcome.kind == HOSTED_ERROR
        answered |= set() if failed else {rating.rater}
    found = []
    for name, models in judges.items():
        if len(models) > 1:
            several = ", ".join(sorted(f"{model} ({service})" for service, model in models))
            raise UsageError(f"{file.path.name} holds replies of several models: {several}", "Split the file by model.")
        if not models and name not in answered:
            hint = "Append its lines to the file of results, and import that."
            raise UsageError(f"{file.path.name} holds failed requests alone, which name no model", hint)
        service, model = next(iter(models), ("", ""))
        hosted: dict[str, Value] = {"service": service, "model": model} if file.kind == "hosted" else {}
        found.append(Rater(name, file.kind, rubric.name, {"rubric": rubric.sha256, **hosted}))
    return found


def _stored(run: RunFile, raters: Sequence[Rater]) -> dict[Key, tuple[str, Outcome]]:
    """Text hash and outcome that the run already holds, by rater and case."""
    present = {(rater.name, rater.rubric) for _, rater in run.raters()}
    known = [rater for rater in raters if (rater.name, rater.rubric) in present]
    every = ((rater, record) for rater in known for record in run.records(rater.name, rater.rubric))
    return {(rater.name, record.case_id): (record.case_hash, record.outcome) for rater, record in every}


def _mark_broken_rules(matched: Matched, known: KnownCases, reading: RatingsReading, cases: CasesGiven | None) -> None:
    """Give each verdict a mark for each rule of the rubric that it breaks."""
    unchecked = [rule.name for rule in reading.rubric.rules if any(part.inputs for part in (*rule.when, *rule.unless))]
    if unchecked and not cases:
        reading.notices.append(f"rules about a case's texts are not checked without --cases: {', '.join(unchecked)}")
    for key, (rating, case) in matched.items():
        if isinstance(outcome := rating.outcome, Verdict):
            marks = (*outcome.marks, *broken_rules(known.rules(case.id), outcome))
            matched[key] = replace(rating, outcome=msgspec.structs.replace(outcome, marks=marks)), case


def _add_missing(
    run: RunFile,
    raters: Sequence[Rater],
    reading: RatingsReading,
    matched: Matched,
    stored: Mapping[Key, tuple[str, Outcome]],
) -> None:
    """Add a failure for each request that was exported together with the file's, and that has no result.

    Of several models nobody knows which one gave none, so they are only told.
    """
    asked = handed_out_with(run, reading.handouts)
    has = {case_id for _, case_id in matched}
    has |= {case_id for (_, case_id), (_, outcome) in stored.items() if outcome != NO_RESULT}
    missing = [handout for case_id, handout in asked.items() if case_id not in has]
    if missing:
        alone = "they are failures until one is imported"
        said = alone if len(raters) == 1 else "the file holds several models, so they count for none of them"
        reading.notices.append(f"{len(missing):,} of {len(asked):,} requests have no result: {said}")
    for each in missing if len(raters) == 1 else ():
        case, rater = CaseRef(each.case_id, each.row, hash=each.case_hash), raters[0].name
        matched[rater, each.case_id] = Rating("", each.custom_id, "", "", rater, NO_RESULT), case


def _new_ones(
    matched: Matched, stored: Mapping[Key, tuple[str, Outcome]], sheets: Collection[Key]
) -> tuple[list[Key], list[Problem]]:
    """Return the ratings to store, and a problem for each that contradicts the rater's verdict in the run.

    The same rating is stored anew if it is on one of the `sheets` that the run handed out, or has further marks.
    """
    new: list[Key] = []
    changed: list[Problem] = []
    for key, (rating, case) in matched.items():
        outcome = rating.outcome
        case_hash, before = stored.get(key, ("", None))
        # Failures are retried, notes may get a score, and changed texts make it another question: all take the new one.
        if not isinstance(before, Verdict) or case_hash != case.hash or not (before.scores or before == outcome):
            new.append(key)
        elif not isinstance(outcome, Verdict):
            continue
        elif (outcome.scores, outcome.fields) != (before.scores, before.fields):
            changed.append(Problem(rating.where, f"{rating.rater} gave this case another rating in the run"))
        elif key in sheets or set(outcome.marks) > set(before.marks):
            new.append(key)
    return new, changed


def _refuse(run: RunFile, file: RatingsFile, invalid: Sequence[Problem], changed: Sequence[Problem]) -> None:
    """Raise RatingsError for invalid ratings and for changed ones, which contradict ratings in the run."""
    if not invalid and not changed:
        return
    hint = "Fix these lines and import the file again."
    texts = {problem.texts for problem in invalid}
    if "moved" in texts:
        hint = "Was a column sorted or moved without the others? Put each id beside its own texts and scores again."
    elif "changed" in texts:
        hint = "If only the file's texts were edited, remove their columns: the ids alone then name the cases."
    elif any(problem.reason == LOST_ZEROS for problem in invalid):
        hint = "A spreadsheet drops them when it opens a text file: import the file there with ids as text."
        if file.path.suffix.lower() == ".xlsx":
            hint = "Format the id column as text in the spreadsheet, and enter its ids again."
    elif not invalid:
        hint = f"To correct them, first: `pathway-local runs remove-rater {quote(str(run.path))} NAME`."
    problems = [*invalid, *changed]
    count = f"{len(problems)} of its ratings are" if len(problems) > 1 else "one of its ratings is"
    raise RatingsError(f"{file.path.name}: nothing was imported, {count} invalid", hint, told(problems))


def told(problems: Iterable[Problem]) -> list[str]:
    """Return a line for each problem, in the order of the file; one line for many rows with the same reason."""
    places: dict[str, dict[str, None]] = {}
    ordered = sorted(problems, key=lambda problem: problem.place)
    for problem in ordered:
        places.setdefault(problem.reason, {})[problem.where] = None
    return list(dict.fromkeys(_line(problem, list(places[problem.reason])) for problem in ordered))


def _line(problem: Problem, places: Sequence[str]) -> str:
    many = len(places) > MANY
    return f"{', '.join(places[:3])} and {len(places) - 3:,} more: {problem.reason}" if many else str(problem)
