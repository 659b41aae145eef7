"""Findings in a prompt, and the lines that they stand on."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from pathway_local.adopt.languages import in_english, language_of


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a prompt says. `line` is 0 if no line says it; `doubt` says why it is not certain."""

    what: str
    value: str
    line: int = 0
    doubt: str = ""


@dataclass(frozen=True)
class Source:
    """A prompt's text; its first line has the number `first_line` in the file."""

    text: str
    first_line: int = 1

    @cached_property
    def lines(self) -> list[str]:
        """The lines of the text without line ends."""
        return self.text.split("\n")

    @cached_property
    def _starts(self) -> list[int]:
        starts = [0]
        for line in self.lines:
            starts.append(starts[-1] + len(line) + 1)
        return starts

    @cached_property
    def language(self) -> str:
        """The language of the text: en, de, fr or es; empty for any other."""
        return language_of(self.text)

    @cached_property
    def english(self) -> "Source":
        """The same lines with English words where a sentence tells the judge what to write."""
        return Source(in_english(self.text, self.language), self.first_line)

    def english_name(self, name: str) -> str:
        """Return a field's name or label in English words: "gesamt score" for gesamt_note."""
        return in_english(name.replace("_", " "), self.language)

    def row(self, offset: int) -> int:
        """Return the index in `lines` of the line at this offset."""
        return bisect_right(self._starts, offset) - 1

    def start(self, row: int) -> int:
        """Return the offset at which this line begins."""
        return self._starts[row]

    def line(self, row: int) -> int:
        """Return the number in the file of the line with this index; 0 for -1, which stands for no line."""
        return row + self.first_line if row >= 0 else 0

    def around(self, broken: Sequence[int], end: int) -> tuple[str, ...]:
        """Return a doubt if one of these objects, which could not be read, is still open at `end`: a part was read."""
        still = [at for at in broken if self.text.count("{", at, end) > self.text.count("}", at, end)]
        return tuple(
            f"line {self.line(self.row(at))} begins an object around it that can't be read" for at in still[:1]
        )


@dataclass(frozen=True, slots=True)
class Place:
    """A value that a format asks for: its name, what the prompt says of it (`said`), and its line.

    `kind` comes from the syntax of the format: text, number, boolean, list, objects or null; empty if that shows none.
    `inner` holds the members of the objects in a list.
    """

    name: str
    said: str
    row: int
    kind: str = ""
    inner: tuple["Place", ...] = ()
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Candidate:
    """A format that the prompt may ask for: `layout` as in an `outputs:` block, and the values in it.

    `closing` tells the judge of words in the layout that the prompt does not ask for.
    """

    kind: str
    layout: str
    places: tuple[Place, ...]
    row: int
    doubts: tuple[str, ...] = field(default=())
    note: str = ""
    closing: str = ""


def in_layout(text: str) -> str:
    """Return the text as a layout writes it, where single braces hold the name of a field."""
    return text.replace("{", "{{").replace("}", "}}")
