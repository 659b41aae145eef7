"""Finds the column of a cases file that holds each input, by its name alone."""

import re
import shlex
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from operator import eq
from pathlib import Path
from typing import Any

from pathway_local.errors import ColumnsError, UnknownName
from pathway_local.sheets.row import is_like_a_name, shown
from pathway_local.system.safe_yaml import load_ours

NAMES_FILE = Path(__file__).with_name("column_names.yaml")
_COMBINING = re.compile("[\u0300-\u036f]")

SHOWN_COLUMNS = 40


def match_columns(
    needed: Mapping[str, Sequence[str]],
    found: Sequence[str],
    mapping: Mapping[str, str],
    source: str,
    nested: Sequence[str] = (),
) -> dict[str, str]:
    """Find a column among those `found` for each input that the rubrics need (`needed`: inputs by rubric).

    `mapping` gives columns that the user chose. Any other input takes the column with its name; else one whose name
    differs only in case, spaces, dashes and underscores; else one whose name means the same; else one of the
    `nested` keys (`score_rubric.criteria`) that ends in its name. An input has the same column in all rubrics,
    and no two inputs of one rubric share a column. Raises UnknownName if `mapping` names an input or a column that
    does not exist; ColumnsError, with `source` as the file's name, if an input has no column or several fit.
    """
    mapping = {name: same_column(column, (*found, *nested)) or column for name, column in mapping.items()}
    matching = _Matching(needed, (*found, *nested), dict(mapping))
    for name, column in mapping.items():
        if name not in matching.inputs:
            raise UnknownName("input", name, matching.inputs)
        if column not in matching.found:
            # Keys inside cells can be students' words, so the message lists only keys that nearly match the user's.
            near = get_close_matches(column, nested, n=3)
            raise no_column(column, [*found, *near], source)
    matching.claim_by_name()
    matching.claim(lambda name, column: column in nested and folded(column.rpartition(".")[2]) == folded(name))
    needs = "; ".join(f"{rubric} needs {', '.join(names)}" for rubric, names in needed.items())
    there = f"{needs}; the file has {', '.join(listed(found))}."
    matching.check(source, there, found)
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
            choices = [column for column in self.found if column not in taken and fits(name, column)]
            if len(choices) == 1:
                claims[name] = choices[0]
            elif choices:
                self.choices[name] = choices
        self.columns.update(claims)

    def check(self, source: str, there: str, found: Sequence[str]) -> None:
        """Raise ColumnsError, which says what is `there`, unless each input has a column that no rival shares."""
        for name in self.inputs:
            for rival in self._rivals(name):
                if name in self.columns and self.columns[name] == self.columns.get(rival):
                    said = f"{name} and {rival} would both be read from the column {shown(self.columns[name])}"
                    hint = f"Give each its column: --map {name}=COLUMN --map {rival}=COLUMN. {there}"
                    raise ColumnsError(f"{source}: {said}", hint)
        missing = [name for name in self.inputs if name not in self.columns]
        if missing:
            free = [column for column in found if column not in self.columns.values()]
            may_be = {name: self.choices.get(name, free) for name in missing}
            lacks, maps = "; ".join(map(self._lack, missing)), self._map_options(missing)
            raise ColumnsError(f"{source}: {lacks}", f"For example: {maps}. {there}", may_be)

    def _rivals(self, name: str) -> list[str]:
        """Return the other inputs of the rubrics that need this one."""
        return [other for names in self.needed.values() if name in names for other in names if other != name]

    def _lack(self, name: str) -> str:
        if name in self.choices:
            return f"{name} could be in {' or '.join(map(shown, self.choices[name]))}"
        return f"no column for {name}"

    def _map_options(self, missing: Sequence[str]) -> str:
        """Return an option for each missing input, with a column that may be its own; none is proposed twice."""
        proposed: set[str] = set()
        options = []
        for name in missing:
            may_be = (each for each in self.choices.get(name, ()) if each not in proposed and shown(each) == each)
            choice = next(may_be, "COLUMN")
            proposed.add(choice)
            options.append(f"--map {shlex.quote(f'{name}={choice}')}")
        return " ".join(options)


def no_column(name: str, columns: Sequence[str], source: str) -> UnknownName:
    """Return the error for a column that the file `source` lacks; its hint lists the columns, nearest names first."""
    return UnknownName("column", name, listed(columns, near=name), f"These are the columns of {source}")


def listed(columns: Sequence[str], *, near: str = "") -> list[str]:
    """Return the columns' names for a message, nearest to `near` first; names that look like texts are hidden."""
    if is_row_of_texts(columns):
        return [f"({len(columns):,} columns that look like texts: is the header missing?)"]
    first = get_close_matches(near, columns, n=SHOWN_COLUMNS, cutoff=0.5)
    ordered = [*first, *(name for name in columns if name not in first)]
    more = [f"and {len(ordered) - SHOWN_COLUMNS:,} more columns"] if len(ordered) > SHOWN_COLUMNS else []
    return [*map(shown, ordered[:SHOWN_COLUMNS]), *more]


def is_row_of_texts(columns: Sequence[str]) -> bool:
    """Whether a header may be a row of cells: none of its names is known, and some look like texts."""
    return not any(map(is_known, columns)) and not all(map(is_like_a_name, columns))


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
    """Whether the table of names has it, for an input or any other kind of column but chatbots."""
    return folded(name) in _names()["known"]


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
    kinds = {kind: flat(languages) for kind, languages in read.items()}
    others = (names for kind, names in kinds.items() if kind != "chatbots")
    return {"inputs": inputs, "known": frozenset().union(*inputs.values(), *others)} | kinds


def _is_spelled_alike(name: str, column: str) -> bool:
    return folded(column) == folded(name)


def means_the_same(name: str, column: str) -> bool:
    """Whether a column's name means the same as an input's."""
    return folded(column) == folded(name) or input_of(column) == input_of(name)


def folded(name: str) -> str:
    """Return the name without case, accents, blanks, dashes and underscores: names that differ only there are alike."""
    bare = _COMBINING.sub("", unicodedata.normalize("NFKD", name.casefold()))
    return "".join(bare.split()).replace("-", "").replace("_", "")
