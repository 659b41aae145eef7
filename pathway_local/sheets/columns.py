"""Finds the column of a cases file that holds each input: by its name, or proposed by what its cells look like."""

import re
import shlex
import unicodedata
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from itertools import islice
from operator import eq
from pathlib import Path
from statistics import median
from typing import Any

from pathway_local.errors import ColumnsError, UnknownName
from pathway_local.sheets.kinds import Sheet
from pathway_local.sheets.row import is_like_a_name, shown
from pathway_local.system.safe_yaml import load_ours

NAMES_FILE = Path(__file__).with_name("column_names.yaml")
_COMBINING = re.compile("[\u0300-\u036f]")

SHOWN_COLUMNS = 40

Likely = Callable[[Sequence[str], Sequence[str]], Mapping[str, str]]
"""Proposes columns among those that are free for inputs without one."""


def match_columns(
    needed: Mapping[str, Sequence[str]],
    found: Sequence[str],
    mapping: Mapping[str, str],
    source: str,
    nested: Sequence[str] = (),
    likely: Likely | None = None,
    guessed: bool = False,
) -> dict[str, str]:
    """Find a column among those `found` for each input that the rubrics need (`needed`: inputs by rubric).

    `mapping` gives columns that the user chose. Any other input takes the column with its name; else one whose name
    differs only in case, spaces, dashes and underscores; else one whose name means the same; else one of the
    `nested` keys (`score_rubric.criteria`) that ends in its name. An input has the same column in all rubrics,
    and no two inputs of one rubric share a column. For inputs without one, `likely` proposes columns to the user by
    their cells. With a `guessed` header, messages list only known columns.
    Raises UnknownName if `mapping` names an input or a column that
    does not exist; ColumnsError, with `source` as the file's name, if an input has no column or several fit.
    """
    mapping = {name: same_column(column, (*found, *nested)) or column for name, column in mapping.items()}
    matching = _Matching(needed, found, nested, guessed, dict(mapping))
    for name, column in mapping.items():
        if name not in matching.inputs:
            raise UnknownName("input", name, matching.inputs)
        if column not in found and column not in nested:
            # Keys inside cells can be students' words, so the message lists only keys that nearly match the user's.
            near = get_close_matches(column, nested, n=3)
            raise no_column(column, [*found, *near], source, guessed)
    matching.claim_by_name()
    matching.claim(lambda name, column: column in nested and folded(column.rpartition(".")[2]) == folded(name))
    matching.check(source, likely)
    return {name: matching.columns[name] for name in matching.inputs}


def columns_present(inputs: Sequence[str], found: Sequence[str], mapping: Mapping[str, str]) -> dict[str, str]:
    """Return the column of each input that has one among those `found`; leave out inputs that would share one.

    An input in `mapping` has its column there or none: another column of its name is another text.
    """
    matching = _Matching({"": [name for name in inputs if name not in mapping]}, found)
    matching.claim_by_name()
    chosen = {name: same_column(mapping[name], found) for name in inputs if name in mapping}
    matched = {name: column for name, column in {**matching.columns, **chosen}.items() if column}
    columns = list(matched.values())
    return {name: column for name, column in matched.items() if columns.count(column) == 1}


@dataclass
class _Matching:
    """Lets inputs claim columns in rounds, from exact names to loose ones.

    In a round each input looks at the columns that its rivals, the other inputs of its rubrics, had before that
    round: so the result does not depend on the order of the inputs. An input that finds several columns in one round
    takes no part in later ones, whose looser rules could only guess.
    """

    needed: Mapping[str, Sequence[str]]
    found: Sequence[str]
    nested: Sequence[str] = ()
    guessed: bool = False
    columns: dict[str, str] = field(default_factory=dict)
    choices: dict[str, list[str]] = field(default_factory=dict)

    @property
    def inputs(self) -> list[str]:
        """All inputs, each once."""
        return list(dict.fromkeys(name for names in self.needed.values() for name in names))

    def claim_by_name(self) -> None:
        """Let inputs claim columns of their own names, of names spelled alike, then of names that mean the same."""
        for fits in (eq, _is_spelled_alike, means_the_same):
            self.claim(fits)

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

    def check(self, source: str, likely: Likely | None) -> None:
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
            free = [column for column in self.found if column not in self.columns.values()]
            looks = likely(missing, free) if likely else {}
            lacks, maps = "; ".join(map(self._lack, missing)), self._map_options(missing, looks)
            may_be = {name: self.choices.get(name, free) for name in missing}
            begin = "Judging by the cells" if any(f"={column}" in maps for column in looks.values()) else "For example"
            raise ColumnsError(f"{source}: {lacks}", f"{begin}: {maps}. {self._both_sides()}", may_be, looks)

    def _rivals(self, name: str) -> list[str]:
        """Return the other inputs of the rubrics that need this one."""
        return [other for names in self.needed.values() if name in names for other in names if other != name]

    def _lack(self, name: str) -> str:
        if name in self.choices:
            return f"{name} could be in {' or '.join(map(shown, self.choices[name]))}"
        return f"no column for {name}"

    def _map_options(self, missing: Sequence[str], looks: Mapping[str, str]) -> str:
        """Return an option for each missing input, with a column that may be its own; none is proposed twice."""
        # A choice may also be a key inside a column.
        free = {*names_among(self.found, guessed=self.guessed)}.union(*self.choices.values())
        options = []
        for name in missing:
            may_be = [looks[name]] if name in looks else self.choices.get(name, ())
            choice = next((column for column in may_be if column in free and shown(column) == column), "COLUMN")
            free.discard(choice)
            options.append(f"--map {shlex.quote(f'{name}={choice}')}")
        return " ".join(options)

    def _both_sides(self) -> str:
        needs = "; ".join(f"{rubric} needs {', '.join(names)}" for rubric, names in self.needed.items())
        return f"{needs}; the file has {', '.join(listed(self.found, known=self.inputs, guessed=self.guessed))}."


def no_column(name: str, columns: Sequence[str], source: str, guessed: bool = False) -> UnknownName:
    """Return the error for a column that the file `source` lacks; its hint lists the columns, nearest names first."""
    return UnknownName(
        "column", name, listed(columns, near=name, guessed=guessed), f"These are the columns of {source}"
    )


def listed(columns: Sequence[str], *, near: str = "", known: Sequence[str] = (), guessed: bool = False) -> list[str]:
    """Return the columns' names for a message, nearest to `near` first; names that look like texts are only counted."""
    names = names_among(columns, known, guessed)
    first = get_close_matches(near, names, n=SHOWN_COLUMNS, cutoff=0.5)
    ordered = [*first, *(name for name in names if name not in first)]
    listing = list(map(shown, ordered[:SHOWN_COLUMNS]))
    if len(ordered) > SHOWN_COLUMNS:
        listing.append(f"and {len(ordered) - SHOWN_COLUMNS:,} more columns")
    if hidden := len(columns) - len(names):
        looks = "column that looks like a text" if hidden == 1 else "columns that look like texts"
        listing.append(f"({hidden:,} {looks}: is the header missing?)")
    return listing


def names_among(columns: Sequence[str], known: Sequence[str] = (), guessed: bool = False) -> list[str]:
    """Return the names that a message may show: those that don't look like a case's text.

    If some do and no name is a known one, the header is probably missing and all names are a case's texts: then none.
    If the header was `guessed` below other rows, these are the known ones.
    """
    groups = (names_of("ids"), *_names()["inputs"].values())
    ours = set(map(folded, known)).union(*groups)
    recognized = [name for name in columns if folded(name) in ours]
    if guessed:
        return recognized
    alike = [name for name in columns if folded(name) in ours or is_like_a_name(name)]
    return alike if recognized or len(alike) == len(columns) else []


def has_column(name: str, columns: Sequence[str]) -> bool:
    """Whether one of the columns has that name, in any spelling."""
    return any(_is_spelled_alike(name, column) for column in columns)


def same_column(name: str, columns: Sequence[str]) -> str | None:
    """Return the column of that name, else the only one in another spelling (`Chatbot` for `chatbot`), else None."""
    alike = [name] if name in columns else [column for column in columns if _is_spelled_alike(name, column)]
    return alike[0] if len(alike) == 1 else None


def input_of(name: str) -> str:
    """Return the first name of the inputs that mean the same as this one; the name itself if the table lacks it."""
    inputs: dict[str, tuple[str, ...]] = _names()["inputs"]
    return next((first for first, group in inputs.items() if folded(name) in group), name)


def is_known(name: str) -> bool:
    """Whether the table of names has it, for an input or any other kind of column."""
    return folded(name) in _all_names()


@cache
def _all_names() -> frozenset[str]:
    kinds = _names()
    groups = (
        *kinds["inputs"].values(),
        *(names for kind, names in kinds.items() if kind not in ("inputs", "chatbots")),
    )
    return frozenset(name for names in groups for name in names)


def names_of(kind: str) -> tuple[str, ...]:
    """Return the folded names of a kind of column: ids, number, raters, scores, replies, notes or chatbots."""
    names: tuple[str, ...] = _names()[kind]
    return names


@cache
def _names() -> dict[str, Any]:
    """Return the folded names of column_names.yaml: a tuple for each kind, and under `inputs` one for each input."""
    read = load_ours(NAMES_FILE)

    def flat(languages: Sequence[Sequence[str]]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(folded(name) for names in languages for name in names))

    inputs = {name: flat(languages) for name, languages in read.pop("inputs").items()}
    for name, end in (("response_a", "a"), ("response_b", "b")):  # as in KI-Antwort_a
        inputs[name] = tuple(dict.fromkeys((*inputs[name], *(f"{alias}{end}" for alias in inputs["answer"]))))
    return {"inputs": inputs} | {kind: flat(languages) for kind, languages in read.items()}


def _is_spelled_alike(name: str, column: str) -> bool:
    return folded(column) == folded(name)


def means_the_same(name: str, column: str) -> bool:
    """Whether a column's name means the same as an input's."""
    return folded(column) in (folded(name), *_aliases(name))


def _aliases(name: str) -> tuple[str, ...]:
    groups: Iterator[tuple[str, ...]] = iter(_names()["inputs"].values())
    return next((group for group in groups if folded(name) in group), ())


def folded(name: str) -> str:
    """Return the name without case, accents, blanks, dashes and underscores: names that differ only there are alike."""
    bare = _COMBINING.sub("", unicodedata.normalize("NFKD", name.casefold()))
    return "".join(bare.split()).replace("-", "").replace("_", "")


SAMPLE_ROWS = 200

LEAST_WORDS = 3
"""Words of the middle cell of a column of texts: names, labels and numbers have fewer."""

ASKING = 0.5
"""The least share of question marks in a column of questions."""

APART = 1.5
"""How much longer passages must be than other texts, or how much oftener a text must come again, to tell them apart."""

FEWEST_VALUES = 5
"""A column of fewer values holds groups to compare, such as chatbots or languages."""

LABEL = 40
"""Characters of the longest label or id."""

_NUMBER = re.compile(r"[-+]?\d+([.,]\d+)?")


@dataclass(frozen=True, slots=True)
class _Look:
    """A column of texts: the share of cells that ask, the middle number of words, cells for each different one."""

    name: str
    asks: float
    words: float
    repeats: float


def likely_columns(sheet: Sheet, inputs: Collection[str], free: Sequence[str]) -> Mapping[str, str]:
    """Return a column among those that are `free` for each input whose texts they seem to hold; leave out the others.

    A question asks, retrieved content is the longest, and an ideal answer comes again where several chatbots answer.
    """
    texts = _texts(sheet, free)
    wanted = {input_of(name): name for name in inputs}
    found: dict[str, str] = {}

    def take(kind: str, column: _Look | None) -> None:
        if column and kind in wanted:
            found[wanted[kind]] = column.name
            texts.remove(column)

    take("question", _outstanding(texts, lambda look: look.asks, ASKING))
    texts = [look for look in texts if look.asks < ASKING]
    if len(texts) > 1 or {"answer", "ideal_answer"}.isdisjoint(wanted):
        take("retrieved_content", _outstanding(texts, lambda look: look.words))
    if len(texts) > 1 or "answer" not in wanted:
        take("ideal_answer", _outstanding(texts, lambda look: look.repeats))
    take("answer", texts[0] if len(texts) == 1 else None)
    return found


def labels_and_ids(sheet: Sheet, columns: Sequence[str]) -> tuple[list[str], list[str], list[str]]:
    """Return the columns whose cells seem to repeat labels, those of them to compare by, and those that tell all apart.

    To compare by are columns called like chatbots, then those of few values: many may be the students who asked.
    """
    labels, ids, few, chatbots = [], [], [], names_of("chatbots")
    rows, filled = _filled(sheet, columns)
    for column, cells in filled.items():
        if not cells or max(map(len, cells)) > LABEL:
            continue
        different = set(cells)
        if len(different) == rows > 1:
            ids.append(column)
        elif 1 < len(different) <= len(cells) / 2 and not all(_NUMBER.fullmatch(text) for text in different):
            labels.append(column)
            few += [column] if len(different) < FEWEST_VALUES or folded(column) in chatbots else []
    return labels, sorted(few, key=lambda column: folded(column) not in chatbots), ids


def _outstanding(texts: Sequence[_Look], measure: Callable[[_Look], float], least: float = 0) -> _Look | None:
    """Return the column that has clearly more of the measure than every other, and at least so much."""
    ordered = sorted(texts, key=measure, reverse=True)
    if not ordered or measure(ordered[0]) < least:
        return None
    return ordered[0] if len(ordered) == 1 or measure(ordered[0]) >= APART * measure(ordered[1]) else None


def _filled(sheet: Sheet, columns: Sequence[str]) -> tuple[int, dict[str, list[str]]]:
    """Return how many of the first rows there are, and the cells of each column that hold something there."""
    rows = [row.cells for row in islice((row for row in sheet.rows() if row.cells), SAMPLE_ROWS)]
    return len(rows), {
        column: [text for cells in rows if (text := cells.get(column, "").strip())] for column in columns
    }


def _texts(sheet: Sheet, columns: Sequence[str]) -> list[_Look]:
    """Return how those of the columns look that hold texts in most of the first rows."""
    rows, filled = _filled(sheet, columns)
    looks = []
    for column, cells in filled.items():
        words = median(len(text.split()) for text in cells) if 2 * len(cells) > rows else 0
        if words >= LEAST_WORDS:
            asks = sum(text.endswith(("?", "？", "؟")) for text in cells) / len(cells)
            looks.append(_Look(column, asks, words, len(cells) / len(set(cells))))
    return looks
