"""Imports ratings of people or of a hosted judge into a run: the whole file or nothing."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from shlex import quote
from typing import assert_never

from pathway_local import __version__
from pathway_local.errors import RatingsError, UnknownName, UsageError
from pathway_local.rater import ASKED, Rater, refuse_adjudicators_name
from pathway_local.ratings.cases_given import CasesGiven, Given
from pathway_local.ratings.hosted_reply import BREAK
from pathway_local.ratings.import_notes import between_levels, imported_before, left_out, replaced
from pathway_local.ratings.known_cases import LOST_ZEROS, KnownCases, Matched, matched_ratings
from pathway_local.ratings.rating_layout import RatingsFile, SavedPage
from pathway_local.ratings.rating_rows import Problem, Rating
from pathway_local.ratings.ratings_file import RatingsReading
from pathway_local.ratings.samples import Handout, Sample, inclusions, samples
from pathway_local.rubrics.rubric import Rubric
from pathway_local.runs.audit import file_facts
from pathway_local.runs.purge import standing_jobs
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.run_rubrics import store_rubric
from pathway_local.verdict import Failure, Outcome, Value, Verdict

Ask = Callable[[str], bool]
"""Asks the user a question; without a person to ask, it returns False."""

_SHEETS = """
    SELECT case_id, job_id, sheet_job FROM current WHERE sheet_job IS NOT NULL AND rater = ? AND rubric = ?
"""
"""The jobs that imported a rater's ratings, and those that handed out the sheets or pages with them."""


@dataclass(slots=True)
class ImportedRater:
    """Counts of one rater's ratings; `unchanged` were in the run already.

    `broken` of the raw `replies` break the format, including unreadable ones; `breaks` counts how.
    """

    name: str
    verdicts: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    unchanged: int = 0
    replies: int = 0
    broken: int = 0
    breaks: Counter[str] = field(default_factory=Counter)

    def add(self, rating: Rating) -> None:
        """Count one rating, and how well its reply keeps to the format if it was read from one."""
        match rating.outcome:
            case Failure(kind=kind):
                self.failures[kind] += 1
                breaks = ["unreadable"]
            case Verdict(marks=marks):
                self.verdicts += 1
                breaks = [mark.removeprefix(BREAK) for mark in marks if mark.startswith(BREAK)]
            case unknown:
                assert_never(unknown)
        if rating.replied:
            self.replies += 1
            self.broken += bool(breaks)
            self.breaks.update(breaks)


@dataclass(frozen=True, slots=True)
class Imported:
    """Result of an import, by rater. `blanks` counts cells left empty, `notices` holds remarks for the user.

    `complete` is False if rows were left out.
    """

    rubric: str
    raters: tuple[ImportedRater, ...]
    blanks: int
    notices: tuple[str, ...]
    complete: bool


def import_ratings(
    run: RunFile,
    file: RatingsFile,
    command: Sequence[str],
    cases: CasesGiven | None = None,
    ask: Ask = lambda _: False,
) -> Imported:
    """Match the file's ratings with the run's cases, and with `cases` that nobody judged yet, and store them.

    `ask` asks whether ratings that came on no sheet or page are labels of a sample.
    Nothing is stored if an error is raised. RatingsError names each line with an unknown case, a score off the
    scale, or a rater's second rating of a case; of a hosted judge's file, such lines are left out if others are valid.
    UsageError: columns or raters are ambiguous; CasesError: the file can't be read.
    """
    reading = RatingsReading(run, file, cases.file if cases else None)
    known = KnownCases(run, reading.rubric, file.pseudonyms)
    if cases:
        known.add(cases.file, run.key)
        reading.notices += cases.file.notes
    ratings = reading.ratings(known)
    if not known and not reading.handouts:
        raise UsageError(f"{run.path.name} has no cases yet", "Name the cases file with --cases, or judge them first.")
    matched, left = matched_ratings(ratings, known, reading.handouts, reading.problems)
    asked = _asked(reading)
    raters = _raters(run, ratings, file, reading.rubric, asked)
    stored, page = _stored(run, raters), reading.page
    saved = _saved_before(run, raters[0]) if page else {}
    sheets, from_sheet = _sheets(run, raters, reading, matched, ask)
    new, changed = _new_ones(matched, stored, saved, from_sheet)
    moved = any(problem.texts == "moved" for problem in reading.problems)
    if file.kind == "hosted" and len(matched) > len(changed) and not moved:
        # A service's bad line costs its own case; a person's sheet with one has probably moved rows.
        left += [*reading.problems, *changed]
    else:
        _refuse(run, file.path, [*reading.problems, *([] if matched else left)], changed)
    reading.notices += [*left_out(left), *between_levels(matched, reading.rubric)]
    reading.notices += [*imported_before(run, file, raters), *replaced(new, stored)]
    if any(ASKED in rater.spec for rater in raters):
        alone = f"no request of {file.path.name} succeeded: they are failures of {asked}, which was asked"
        reading.notices.append(alone)
    counts = _count(raters, matched, new)
    with run.together():
        job = run.jobs.begin(command, _facts(file, raters, run.key, page) | (cases.facts(run) if cases else {}))
        if cases:
            cases.remember(run)
        _put(run, job, {rater.name: run.add_rater(rater, asked) for rater in raters}, new, sheets)
        run.jobs.end(job, "done", {"imported": len(new), "unchanged": len(matched) - len(new)})
    notices = tuple(dict.fromkeys(reading.notices))
    return Imported(reading.rubric.name, tuple(counts.values()), reading.blanks, notices, not left)


def _put(
    run: RunFile, job: int, ids: Mapping[str, int], new: Iterable[Matched], sheets: Mapping[tuple[str, str], int]
) -> None:
    """Store new ratings of these raters, each with the job that handed out its sheet or page."""
    for item in new:
        rating, place = item.rating, item.place
        run.put(ids[rating.rater], place, rating.outcome, tokens=rating.tokens, job=job, sheet=sheets.get(item.key))


def import_with_cases(given: Given, file: RatingsFile, command: Sequence[str], ask: Ask = lambda _: False) -> Imported:
    """Import ratings of a file's cases, judged or not, into a run that may be new; see `import_ratings`."""
    with CasesGiven.open(given) as cases:
        is_new = not given.run.exists()
        run = cases.run()
        whole = replace(file, rubric=cases.rubric.name, pseudonyms=cases.file.pseudonyms)
        try:
            with run.together():
                store_rubric(run, cases.rubric)
                return import_ratings(run, whole, command, cases, ask)
        except BaseException:
            if is_new:  # a command that is refused changes nothing
                run.close()
                given.run.unlink(missing_ok=True)
            raise


def _asked(reading: RatingsReading) -> str:
    """Return the service and the model that `hosted export` asked for what is in the file; empty if not just one."""
    recipients = {handout.recipient for handout in reading.handouts.values()}
    return recipients.pop() if reading.file.kind == "hosted" and len(recipients) == 1 else ""


def _raters(run: RunFile, ratings: Iterable[Rating], file: RatingsFile, rubric: Rubric, asked: str) -> list[Rater]:
    """Return the file's raters.

    A file of failed requests names no model: its rater is one that the run knows, or else the model that was `asked`.
    """
    judges: dict[str, set[tuple[str, str]]] = {}
    answered: set[str] = set()
    for rating in ratings:
        own = judges.setdefault(rating.rater, set())
        own |= {rating.judge} if rating.judge[1] else set()
        answered |= {rating.rater} if rating.replied or isinstance(rating.outcome, Verdict) else set()
    known = {rater.name: rater for _, rater in run.raters() if (rater.kind, rater.rubric) == ("hosted", rubric.name)}
    found = []
    for name, models in judges.items():
        refuse_adjudicators_name(name)
        if len(models) > 1:
            several = ", ".join(sorted(f"{model} ({service})" for service, model in models))
            raise UsageError(f"{file.path.name} holds replies of several models: {several}", "Split the file by model.")
        if models or name in answered:
            service, model = next(iter(models), ("", ""))
            hosted: dict[str, Value] = {"service": service, "model": model} if file.kind == "hosted" else {}
        elif name in known and known[name].spec.get(ASKED, asked) == asked:
            found.append(known[name])
            continue
        elif asked:
            service, _, model = asked.partition(" ")
            hosted = {"service": service, "model": model, ASKED: asked}
        else:
            said = f"{file.path.name} holds failed requests alone, and none of them names the model"
            raise UsageError(said, f"Import the results of {name} first, and then this file.")
        found.append(Rater(name, file.kind, rubric.name, {"rubric": rubric.sha256, **hosted}))
    return found


def _stored(run: RunFile, raters: Sequence[Rater]) -> dict[tuple[str, str], tuple[str, Outcome]]:
    """Text hash and outcome that the run already holds, by rater and case."""
    known = {(rater.name, rater.rubric) for _, rater in run.raters()}
    found: dict[tuple[str, str], tuple[str, Outcome]] = {}
    for rater in raters:
        if (rater.name, rater.rubric) in known:
            for record in run.records(rater.name, rater.rubric):
                found[rater.name, record.case_id] = record.case_hash, record.outcome
    return found


def _sheets(
    run: RunFile, raters: Sequence[Rater], reading: RatingsReading, matched: Sequence[Matched], ask: Ask
) -> tuple[dict[tuple[str, str], int], set[tuple[str, str]]]:
    """Return what `sheet_jobs` finds for people's ratings, and which of them are new on a sheet or page.

    Its notes go to the reading's notices. Raises as it does.
    """
    if reading.file.kind != "human":
        return {}, set()
    before = _on_sheets(run, raters)
    seed = reading.file.sample
    sheets, said = sheet_jobs(run, reading.rubric.name, matched, reading.handouts, seed, before, ask)
    reading.notices += said
    return sheets, sheets.keys() - before


def _on_sheets(run: RunFile, raters: Sequence[Rater]) -> set[tuple[str, str]]:
    """Return rater and case of each stored rating that came on a sheet or page."""
    every = ((rater, run.database.rows(_SHEETS, rater.name, rater.rubric)) for rater in raters)
    return {(rater.name, case_id) for rater, rows in every for case_id, *_ in rows}


def _saved_before(run: RunFile, rater: Rater) -> dict[str, str]:
    """Return by case when a page with that case last saved a file that was imported for this rater.

    Leaves out cases whose present rating came from no page.
    """
    latest: dict[object, str] = {}
    imports: set[int] = set()
    for job in standing_jobs(run):
        facts = job.fact("import")
        if job.status and "saved" in facts and facts.get("raters") == [rater.name]:
            latest[facts.get("page")] = max(latest.get(facts.get("page"), ""), str(facts["saved"]))
            imports.add(job.id)
    found: dict[str, str] = {}
    for case_id, job, page in run.database.rows(_SHEETS, rater.name, rater.rubric):
        if job in imports and page in latest:
            found[case_id] = max(found.get(case_id, ""), latest[page])
    return found


def _new_ones(
    matched: Iterable[Matched],
    stored: Mapping[tuple[str, str], tuple[str, Outcome]],
    saved: Mapping[str, str],
    from_sheet: Collection[tuple[str, str]],
) -> tuple[list[Matched], list[Problem]]:
    """Return the ratings to store, and a problem for each that contradicts the rater's verdict in the run.

    `saved` tells when a page saved the ratings of a case that the run holds; a page's later ones replace them. The same
    rating is stored anew if it came on no sheet before and is now `from_sheet`.
    """
    new: list[Matched] = []
    changed: list[Problem] = []
    for item in matched:
        rating = item.rating
        case_hash, before = stored.get(item.key, ("", None))
        # Failures are retried, and changed texts make it another question: both take the new rating.
        settled = before is not None and case_hash == item.place.hash and not isinstance(before, Failure)
        is_later = rating.page is not None and rating.page.saved > saved.get(item.place.id, rating.page.saved)
        same = rating.outcome == before
        if not settled or (is_later and not same) or (same and item.key in from_sheet):
            new.append(item)
        elif isinstance(rating.outcome, Verdict) and not same:
            source = ", in a file no older than this one" if rating.page and item.place.id in saved else ""
            reason = f"{rating.rater} gave this case another rating in the run{source}"
            changed.append(Problem(rating.where, reason))
    return new, changed


def _refuse(run: RunFile, path: Path, invalid: Sequence[Problem], changed: Sequence[Problem]) -> None:
    """Raise RatingsError for invalid ratings and for changed ones, which contradict ratings in the run."""
    if invalid or changed:
        hint = "Fix these lines and import the file again."
        texts = {problem.texts for problem in invalid}
        if "moved" in texts:
            hint = "Was a column sorted or moved without the others? Put each id beside its own texts and scores again."
        elif "changed" in texts:
            hint = "If only the file's texts were edited, remove their columns: the ids alone then name the cases."
        elif not invalid:
            named = quote(str(run.path))
            hint = (
                f"To correct them, first: `pathway-local runs remove-rater {named} NAME`; or, if they came with the "
                f"last import: `pathway-local runs undo {named}`."
            )
        problems = sorted([*invalid, *changed], key=lambda problem: problem.place)
        # In a wide sheet one faulty row spoils the rating of every evaluator in it: name it once.
        zeros = [problem for problem in problems if problem.reason == LOST_ZEROS]
        said = list(dict.fromkeys(str(problem) for problem in problems if problem.reason != LOST_ZEROS))
        if zeros:
            said.insert(0, f"{zeros[0].where} and {len(zeros) - 1} more: {LOST_ZEROS}" if zeros[1:] else str(zeros[0]))
            hint = (
                "Format the id column as text in the spreadsheet, and enter its ids again."
                if path.suffix.lower() == ".xlsx"
                else "A spreadsheet drops them when it opens a text file: import the file there with ids as text."
            )
        count = f"{len(problems)} of its ratings are" if len(problems) > 1 else "one of its ratings is"
        raise RatingsError(f"{path.name}: nothing was imported, {count} invalid", hint, said)


def _count(raters: Iterable[Rater], matched: Iterable[Matched], new: Iterable[Matched]) -> dict[str, ImportedRater]:
    counts = {rater.name: ImportedRater(rater.name) for rater in raters}
    for item in matched:
        counts[item.rating.rater].add(item.rating)
        counts[item.rating.rater].unchanged += 1
    for item in new:
        counts[item.rating.rater].unchanged -= 1
    return counts


def _facts(file: RatingsFile, raters: Sequence[Rater], key: bytes, page: SavedPage | None) -> dict[str, Value]:
    said: dict[str, Value] = {"raters": [rater.name for rater in raters]}
    if page:
        said |= {"page": page.job, "saved": page.saved}
    return {"pathway_local": __version__, "import": {**file_facts(file.path, key), "kind": file.kind, **said}}


def sheet_jobs(
    run: RunFile,
    rubric: str,
    matched: Sequence[Matched],
    handouts: Mapping[str, Handout],
    seed: int | None,
    known: Collection[tuple[str, str]],
    ask: Ask,
) -> tuple[dict[tuple[str, str], int], list[str]]:
    """Return by `Matched.key` the job that handed out each rating's sheet or page, and notes for the user.

    Ratings from another file have none, unless the user names the sample that chose their cases by its `seed`, or says
    so when asked; those `known` to have one, by an earlier import, keep it. Raises UnknownName for a seed without a
    sample, and UsageError if it drew none of the cases.
    """
    found = {each.key: handouts[each.rating.id].job for each in matched if each.rating.id in handouts}
    others = [each for each in matched if each.key not in found and each.key not in known]
    drawn = [(each, _drawn(run, each, others)) for each in samples(run, rubric)]
    if seed is not None:
        named = [(each, own) for each, own in drawn if each.seed == seed]
        if not named:
            raise UnknownName("sample's seed", str(seed), dict.fromkeys(str(each.seed) for each, _ in drawn))
        sample, own = max(named, key=lambda each: len(each[1]))
        if others and not own:
            raise UsageError(f"the sample with seed {seed} drew none of these cases", "Leave --sample out.")
        strata = f"by {sample.strata}" if sample.strata else "without strata"
        said = f"{len(named)} samples have the seed {seed}: the ratings count for the one drawn {strata}, which has"
        return found | _of(sample, own), [f"{said} most of their cases"] if own and len(named) > 1 else []
    notes = []
    for sample, own in reversed(drawn):
        if not own:
            continue
        what = f"{len(own):,} of {len(others):,} ratings" if len(own) < len(others) else f"all {len(own):,} ratings"
        said = (
            f"{what} are of cases that the sample with seed {sample.seed} drew, but did not come back on its sheets or "
            "pages"
        )
        if ask(f"{said}. Were they rated because the sample chose them?"):
            return found | _of(sample, own), []
        notes.append(
            f"{said}, so they don't count as its labels; if the sample chose the cases, import the file again with "
            f"--sample {sample.seed}"
        )
    return found, notes


def _drawn(run: RunFile, sample: Sample, ratings: Sequence[Matched]) -> list[Matched]:
    """Return the ratings of cases that the sample drew."""
    ids = {each.case_id for each in inclusions(run, sample.id) if each.drawn} if ratings else set()
    return [each for each in ratings if each.place.id in ids]


def _of(sample: Sample, ratings: Sequence[Matched]) -> dict[tuple[str, str], int]:
    return dict.fromkeys((each.key for each in ratings), max(sample.jobs))
