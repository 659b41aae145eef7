"""Matches the ratings of a file with the cases of a run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pathway_local.case import CaseRef
from pathway_local.ratings.handouts import Handout
from pathway_local.ratings.known_cases import KnownCases, Unmatched
from pathway_local.ratings.rating_rows import Problem, Rating


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
    unreadable = {
        rating.id for rating in ratings if rating.id and rating.id not in handouts and known.is_unknown(rating.id)
    }
    if len(unreadable) > known.without_id:
        unreadable = set()
    for rating in ratings:
        found = _case_of(rating, known, handouts)
        # A sheet made from the cases file has its bad rows, too: they must not cost the ratings of all others.
        again = known.has_duplicates and (rating.rater, rating.id) in first
        if isinstance(found, Unmatched):
            excused = again or rating.id in known.bad_rows or rating.id in unreadable
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
