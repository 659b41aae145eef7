"""The output of a command as plain values: tables of words and numbers, and remarks below them."""

from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class TableView:
    """A table of finished cells, of one or more lines: the first `words` columns hold words, the others numbers.

    Texts from outside are made `visible` before they become part of a cell: their line breaks are not ours.
    """

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: int = 1


@dataclass(frozen=True, slots=True)
class Remarks:
    """Sentences say what came out, notes what to know about it, warnings what may be wrong with it.

    `answer` is what a reader should see first, before the tables. `readings` says how to read each coefficient, by its
    name.
    """

    sentences: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    readings: dict[str, str] = field(default_factory=dict)
    answer: tuple[str, ...] = ()

    def as_json(self) -> dict[str, object]:
        """All by name; answer and readings only where there are some."""
        said = {"sentences": list(self.sentences), "notes": list(self.notes), "warnings": list(self.warnings)}
        further: dict[str, object] = {"answer": list(self.answer), "readings": self.readings}
        return said | {name: value for name, value in further.items() if value}

    def lines(self) -> Iterator[str]:
        """The lines to show below the tables."""
        yield from self.sentences
        yield from (f"Note: {note}" for note in self.notes)
        yield from (f"Warning: {warning}" for warning in self.warnings)


@dataclass(frozen=True, slots=True)
class View:
    """Tables, the numbered footnotes that their cells refer to, and remarks; `title` goes before an answer."""

    tables: tuple[TableView, ...]
    remarks: Remarks
    footnotes: tuple[str, ...] = ()
    title: str = ""


def several_looks(count: int) -> list[str]:
    """Says that intervals allow for several looks; nothing for one."""
    if count < 2:
        return []
    return [
        f"The intervals allow for {count} looks (--looks): each has 1/{count} of the error of 5% (Bonferroni), so all "
        f"{count} together err in at most 5% of the files."
    ]


def hidden_groups(count: int, column: str, smallest: int) -> str:
    """Says that small groups are left out, without their names, which could tell who is in them."""
    values = f"one value of {column} has" if count == 1 else f"{count} values of {column} have"
    return (
        f"{values} under {smallest} scored cases of a rater and {'is' if count == 1 else 'are'} left out (--min-group)"
    )
