"""Matches the ratings of a file with the cases of a run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pathway_local.case import CaseRef
from pathway_local.ratings.handouts import Handout
from pathway_local.ratings.known_cases import NO_SUCH_TEXTS, KnownCases, Unmatched
from pathway_local.ratings.rating_rows import NO_ID, Problem, Rating


@dataclass(frozen=True, slots=True)
class Matched:
    """A rating and the case that it belongs to."""

    rating: Rating
    place: CaseRef

    @property
    def key(self) -> tuple[str, str]:
        """Rater and case: a rater rates each case once."""
        return self.rating.rater, self.place.id


def matched_ratings(
    ratings: Sequence[Rating], known: KnownCases, handouts: Mapping[str, Handout], problems: list[Problem]
) -> tuple[list[Matched], list[Problem]]:
    """Return each rating with its case, and as problems those of rows that are bad in the cases file, to be left out.

    An unknown case or a rater's second rating of a case is added to `problems`.
    """
    matched: list[Matched] = []
    left: list[Problem] = []
    first: dict[tuple[str, str], str] = {}
    places = [_case_of(rating, known, handouts) for rating in ratings]
    unasked = [pair for pair in zip(ratings, places, strict=True) if pair[0].id not in handouts]
    excused_rows = _of_bad_rows(unasked, known, problems)
    left += [problem for problem in problems if problem.reason == NO_ID and problem.where in excused_rows]
    problems[:] = [problem for problem in problems if problem not in left]
    for rating, found in zip(ratings, places, strict=True):
        # A sheet made from the cases file has its bad rows, too: they must not cost the ratings of all others.
        again = known.has_duplicates and (rating.rater, rating.id) in first
        if isinstance(found, Unmatched):
            excused = again or rating.id in known.bad_rows or rating.where in excused_rows
            (left if excused else problems).append(Problem(rating.where, found.reason, found.texts))
            continue
        item = Matched(rating, found)
        before = first.setdefault(item.key, rating.where)
        if before != rating.where:
            problem = Problem(rating.where, f"{rating.rater} rated the same case in {before}")
            (left if again else problems).append(problem)
        else:
            matched.append(item)
    return matched, left


def _of_bad_rows(
    ratings: Sequence[tuple[Rating, CaseRef | Unmatched]], known: KnownCases, problems: Sequence[Problem]
) -> set[str]:
    """Return where ratings stand that no case has, if they are no more than the bad rows that they may be of.

    Nothing tells to which bad row of the cases file a rating belongs, if cases are known by their texts or a bad row
    has no id.
    """
    found: dict[str, set[str]] = {}
    for rating, place in ratings:
        unknown = rating.id and not known.numbered and known.is_unknown(rating.id) and rating.id not in known.bad_rows
        if isinstance(place, Unmatched) and (unknown or place.reason == NO_SUCH_TEXTS):
            found.setdefault(rating.rater, set()).add(rating.where)
    nameless = {problem.where for problem in problems if problem.reason == NO_ID}
    allowed = len(known.bad_rows) if known.numbered else known.without_id
    if max(map(len, found.values()), default=0) + len(nameless) > allowed:
        return set()
    return nameless.union(*found.values())


def _case_of(rating: Rating, known: KnownCases, handouts: Mapping[str, Handout]) -> CaseRef | Unmatched:
    if handout := handouts.get(rating.id):
        return known.by_handout(handout, rating.text_hash)
    # A row number says only where a case stood in one file. Rows may have moved since, so texts must confirm it.
    if known.numbered or not rating.id:
        if not rating.text_hash:
            kind = "its case has a row number instead of an id" if known.numbered else "it has no id"
            return Unmatched(f"{kind}, and no text of the cases was found in its row")
        return known.by_texts(rating.text_hash, rating.id or rating.number)
    return known.by_id(rating.id, rating.text_hash)
