"""Finds the column of a cases file that holds each input of the rubrics."""

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from operator import eq

from pathway_local.errors import ColumnsError, UnknownName
from pathway_local.sheets.row import is_like_a_name, shown

ALIASES = (
    ("question", "query", "user_question", "prompt", "user_input"),
    ("answer", "response", "ai_answer", "model_answer", "generated_answer", "bot_answer", "chatbot_answer", "output"),
    ("ideal_answer", "gold_answer", "reference", "reference_answer", "expected_answer", "ground_truth"),
    ("retrieved_content", "context", "contexts", "retrieved_context", "documents", "content"),
    ("follow_up_question", "followup", "follow_up"),
    ("fq_id", "follow_up_id"),
)
"""Names that mean the same input."""

ID_COLUMNS = ("id", "case_id")
SHOWN_COLUMNS = 40


@dataclass(frozen=True, slots=True)
class ColumnMatch:
    """The column of each input. `aliases_used` has the inputs that were found under another name than their own."""

    columns: Mapping[str, str]
    aliases_used: Mapping[str, str]


def match_columns(
    needed: Mapping[str, Sequence[str]],
    found: Sequence[str],
    mapping: Mapping[str, str],
    source: str,
    nested: Sequence[str] = (),
) -> ColumnMatch:
    """Find a column among those `found` for each input that the rubrics need (`needed`: inputs by rubric).

    `mapping` gives columns that the user chose. Any other input takes the column with its name; else one whose name
    differs only in case, spaces, dashes and underscores; else one whose name means the same; else one of the
    `nested` keys (`score_rubric.criteria`) that ends in its name. An input has the same column in all rubrics,
    and no two inputs of one rubric share a column. Raises UnknownName if `mapping` names an input or a column that
    does not exist; ColumnsError, with `source` as the file's name, if an input has no column or several fit.
    """
    matching = _Matching(needed, found, dict(mapping), nested)
    for name, column in mapping.items():
        if name not in matching.inputs:
            raise UnknownName("input", name, matching.inputs)
        if column not in found and column not in nested:
            # Keys inside cells can be students' words, so the message lists only keys that nearly match the user's.
            near = get_close_matches(column, nested, n=3)
            raise no_column(column, [*found, *near], source)
    for fits in (eq, _is_spelled_alike, _means_the_same):
        matching.claim(fits)
    matching.claim(lambda name, column: column in nested and folded(column.rpartition(".")[2]) == folded(name))
    matching.check(source)
    columns = {name: matching.columns[name] for name in matching.inputs}
    renamed = {name: column for name, column in columns.items() if name not in mapping and column != name}
    return ColumnMatch(columns, renamed)


class _Matching:
    """Lets inputs claim columns in rounds, from exact names to loose ones.

    In a round each input looks at the columns that its rivals, the other inputs of its rubrics, had before that
    round: so the result does not depend on the order of the inputs. An input that finds several columns in one round
    takes no part in later ones, whose looser rules could only guess.
    """

    def __init__(
        self, needed: Mapping[str, Sequence[str]], found: Sequence[str], columns: dict[str, str], nested: Sequence[str]
    ) -> None:
        self.needed = needed
        self.found = found
        self.nested = nested
        self.columns = columns
        self.choices: dict[str, list[str]] = {}
        self.inputs = list(dict.fromkeys(name for names in needed.values() for name in names))

    def claim(self, fits: Callable[[str, str], bool]) -> None:
        """Give each input without a column the only one that fits and that no rival has."""
        claims = {}
        for name in self.inputs:
            if name in self.columns or name in self.choices:
                continue
            taken = {self.columns.get(rival) for rival in self._rivals(name)}
            all_columns = (*self.found, *self.nested)
            choices = [column for column in all_columns if column not in taken and fits(name, column)]
            if len(choices) == 1:
                claims[name] = choices[0]
            elif choices:
                self.choices[name] = choices
        self.columns.update(claims)

    def check(self, source: str) -> None:
        """Raise ColumnsError unless every input has one column, and shares it with no rival."""
        for name in self.inputs:
            for rival in self._rivals(name):
                if name in self.columns and self.columns[name] == self.columns.get(rival):
                    raise ColumnsError(
                        f"{source}: {name} and {rival} would both be read from the column {shown(self.columns[name])}",
                        f"Give each its column: --map {name}=COLUMN --map {rival}=COLUMN. {self._both_sides()}",
                    )
        missing = [name for name in self.inputs if name not in self.columns]
        if missing:
            maps = " ".join(self._map_option(name) for name in missing)
            raise ColumnsError(
                f"{source}: {'; '.join(map(self._lack, missing))}", f"For example: {maps}. {self._both_sides()}"
            )

    def _rivals(self, name: str) -> list[str]:
        """Return the other inputs of the rubrics that need this one."""
        return [other for names in self.needed.values() if name in names for other in names if other != name]

    def _lack(self, name: str) -> str:
        if name in self.choices:
            return f"{name} could be in {' or '.join(map(shown, self.choices[name]))}"
        return f"no column for {name}"

    def _map_option(self, name: str) -> str:
        free = {folded(c): c for c in names_among(self.found) if c not in self.columns.values() and shown(c) == c}
        near = [match for alias in (name, *_aliases(name)) for match in get_close_matches(folded(alias), free, n=1)]
        choice = self.choices.get(name, [free[match] for match in near] or ["COLUMN"])[0]
        return f"--map {shlex.quote(f'{name}={choice}')}"

    def _both_sides(self) -> str:
        needs = "; ".join(f"{rubric} needs {', '.join(names)}" for rubric, names in self.needed.items())
        return f"{needs}; the file has {', '.join(listed(self.found, known=self.inputs))}."


def no_column(name: str, columns: Sequence[str], source: str) -> UnknownName:
    """Return the error for a column that the file `source` lacks; its hint lists the columns, nearest names first."""
    return UnknownName("column", name, listed(columns, near=name), f"These are the columns of {source}")


def listed(columns: Sequence[str], *, near: str = "", known: Sequence[str] = ()) -> list[str]:
    """Return the columns' names for a message, nearest to `near` first; names that look like texts are only counted."""
    names = names_among(columns, known)
    first = get_close_matches(near, names, n=SHOWN_COLUMNS, cutoff=0.5)
    ordered = [*first, *(name for name in names if name not in first)]
    listing = list(map(shown, ordered[:SHOWN_COLUMNS]))
    if len(ordered) > SHOWN_COLUMNS:
        listing.append(f"and {len(ordered) - SHOWN_COLUMNS:,} more columns")
    if hidden := len(columns) - len(names):
        looks = "column that looks like a text" if hidden == 1 else "columns that look like texts"
        listing.append(f"({hidden:,} {looks}: is the header missing?)")
    return listing


def names_among(columns: Sequence[str], known: Sequence[str] = ()) -> list[str]:
    """Return the names that a message may show: those that don't look like a case's text.

    If some do and no name is a known one, the header is probably missing and all names are a case's texts: then none.
    """
    ours = set(map(folded, (*ID_COLUMNS, *known, *(name for group in ALIASES for name in group))))
    recognized = [name for name in columns if folded(name) in ours]
    alike = [name for name in columns if folded(name) in ours or is_like_a_name(name)]
    return alike if recognized or len(alike) == len(columns) else []


def has_column(name: str, columns: Sequence[str]) -> bool:
    """Whether one of the columns has that name, in any spelling."""
    return any(_is_spelled_alike(name, column) for column in columns)


def _is_spelled_alike(name: str, column: str) -> bool:
    return folded(column) == folded(name)


def _means_the_same(name: str, column: str) -> bool:
    return folded(column) in map(folded, _aliases(name))


def _aliases(name: str) -> tuple[str, ...]:
    return next((group for group in ALIASES if folded(name) in map(folded, group)), ())


def folded(name: str) -> str:
    """Return the name without case, blanks, dashes and underscores: names that differ only in these are the same."""
    return "".join(name.casefold().split()).replace("-", "").replace("_", "")
