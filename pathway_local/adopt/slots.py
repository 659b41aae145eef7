"""The values that recognisers share: a prompt's text by lines, the slots found in it, and the reply that they make."""

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property

from pathway_local.adopt.words import table


@dataclass(frozen=True)
class Source:
    """A prompt's text as the judge reads it; its first line has the number `first_line` in the file."""

    text: str
    first_line: int = 1

    @cached_property
    def lines(self) -> list[str]:
        """The beginnings of the text's lines, without line ends."""
        return [line[:2000] for line in self.text.split("\n")]

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *(found.end() for found in re.finditer("\n", self.text))]

    def row(self, offset: int) -> int:
        """Return the index in `lines` of the line at this offset."""
        return bisect_right(self._starts, offset) - 1

    def line(self, row: int) -> int:
        """Return the number in the file of the line with this index."""
        return row + self.first_line


@dataclass(frozen=True, slots=True)
class Slot:
    """A value that a reply holds: its name, what the prompt says of it, and the row that says so.

    `kind` comes from the syntax: text, number, boolean, list, objects, or empty if that shows none. `words` are the
    values that it may have, `members` those of the objects in a list, and a `sample` is a value in an example.
    """

    name: str
    said: str
    row: int
    kind: str = ""
    words: tuple[str, ...] = ()
    members: tuple["Slot", ...] = ()
    sample: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """A reply's format as one recogniser sees it; `closing` tells the judge of words that it lacks."""

    recogniser: str
    layout: str
    slots: tuple[Slot, ...]
    closing: str = ""
    question: str = ""


def in_layout(text: str) -> str:
    """Return the text as a layout writes it, where single braces hold the name of a field."""
    return text.replace("{", "{{").replace("}", "}}")


def as_name(label: str) -> str:
    """Return a label as a field's name: final_score for "Final score"."""
    name = "_".join("".join(letter if letter.isalnum() else " " for letter in label).lower().split())
    return name if name and not name[0].isdigit() else f"field_{name}".rstrip("_")


def places_of(name: str, text: str) -> list[int]:
    """Return where an input's marks begin."""
    return [mark.start() for mark in re.finditer(rf"[{{$<]\s*{name.replace('_', '[_.]')}\b", text)]


def kind_of(said: str) -> str:
    """Return which of a case's texts a noun means; a reference answer is a reference, and no answer."""
    plain = re.sub(r"[_-]|(?<=[a-z])(?=[A-Z])", " ", said)
    return next((kind for kind, stems in table()["kinds"].items() if re.search(rf"(?i)\b(?:{stems})", plain)), "")


def is_text_of_case(mark: str) -> bool:
    """Return whether a name in a mark is that of a text of the case, such as answer or user_question."""
    return mark.islower() and mark.isidentifier() and kind_of(mark) != ""
