"""Any table in the words of a language: a title, heads, cells as text, footnotes, and sentences."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pathway_local.note import NoteKind
from pathway_local.results.table import Cell, Column, Level, Table
from pathway_local.statistics.figure import Estimate, Interval, Undefined, with_names
from pathway_local.statistics.intervals import LEVEL
from pathway_local.system.visible import visible
from pathway_local.words.language import ENGLISH, Language

MOST_LEVELS = 21
"""Levels whose counts stand in a line: more would fit on none, and a page draws them in groups."""

WORDS = ("word", "levels", "key", "rater", "raters", "case")


@dataclass(frozen=True, slots=True)
class Worded:
    """A table of finished cells, of one or more lines: the first `words` columns hold words, the others numbers."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: int = 1


class Wording:
    """Words the tables that are shown together, and remembers what must be said below them."""

    def __init__(self, say: Language, *, full: bool = True) -> None:
        self.say, self._full = say, full
        self._reasons: dict[str, int] = {}
        self._methods: dict[str, None] = {}
        self._levels: set[float] = set()
        self._without: dict[tuple[str, str], None] = {}

    def table(self, table: Table) -> Worded:
        """The table as text. A column of words that says the same in every row stands in the title instead."""
        shown = [
            column
            for column in table.columns
            if (self._full or not column.detail)
            and (self.say.name == ENGLISH or not column.english)
            and any(_is_shown(row, column) for row in table.rows)
        ]
        if not self._full:
            shown = [column for column in shown if not self._leaves_out(table, column, shown)]
        constant = dict(self._constant(table, shown))
        told = [f"{self.head(table, each)}: {cell}" for each, cell in constant.items() if each.name not in table.about]
        title = ", ".join(filter(None, (self.title(table), *told)))
        kept = [column for column in shown if column not in constant]
        alone = sum(column.kind == "estimate" for column in kept) == 1
        merged = _stacked([part for column in kept for part in self._column(table, column, alone=alone)])
        heads = tuple("\n".join(head) for _, head, _ in merged)
        words = next((place for place, (column, _, _) in enumerate(merged) if column.kind not in WORDS), len(merged))
        return Worded(title, heads, tuple(zip(*(cells for _, _, cells in merged), strict=True)), words)

    def title(self, table: Table) -> str:
        """The table's title, which may be that of its section."""
        found = next((each for each in ("tables", "sections") if self.say.has(each, table.key)), "")
        return self.say.text(found, table.key, self._about(table)) if found else ""

    def head(self, table: Table, column: Column) -> str:
        """The label of a column: by its table and name, by its name, or its own."""
        for key in (f"{table.key}.{column.name}", column.name):
            if self.say.has("columns", key):
                return self.say.text("columns", key, self._about(table))
        return visible(column.label) or column.name.replace("_", " ")

    def _about(self, table: Table) -> Mapping[str, object]:
        """The words for the blanks of titles and heads, such as the sides of a comparison that rows name."""
        return {"first": self.say.word("first"), "second": self.say.word("second"), **table.about}

    def row_name(self, table: Table, row: Mapping[str, Cell]) -> str:
        """Name a row in one line by its own values, the rater first; values that all share stand in the title."""
        shared, apart = _words_of(table)
        columns = [column for column in apart or shared if column.kind != "key"]
        columns.sort(key=lambda column: column.kind not in ("rater", "raters"))
        return ", ".join(self._cell(column, row) for column in columns if _is_shown(row, column))

    def caption(self, table: Table) -> str:
        """The title of a chart: the table's, and what all its rows share."""
        shared, _ = _words_of(table)
        cells = [self._cell(column, table.rows[0]) for column in shared] if len(table.rows) > 1 else []
        return ", ".join(filter(None, [self.title(table), *cells]))

    def _leaves_out(self, table: Table, column: Column, shown: Sequence[Column]) -> bool:
        """Whether a column beside others has no figure at all; a sentence below the table then says why."""
        cells = [row.get(column.name) for row in table.rows]
        missing = [each.value for each in cells if isinstance(each, Estimate) and isinstance(each.value, Undefined)]
        alone = sum(each.kind in ("estimate", "count", "share") for each in shown) == 1
        if column.kind != "estimate" or alone or not missing or len(missing) < sum(each is not None for each in cells):
            return False
        self._without |= {(self.head(table, column), each.reason): None for each in missing}
        return True

    def _constant(self, table: Table, shown: Sequence[Column]) -> Iterator[tuple[Column, str]]:
        words = [column for column in shown if column.kind in WORDS]
        for column in words[1:] if len(table.rows) > 1 else []:
            cells = {self._cell(column, row) for row in table.rows}
            told = column.name in table.about or not column.below
            if len(cells) == 1 and told and column.kind != "key":  # a key judges each row
                yield column, cells.pop()

    def _column(self, table: Table, column: Column, *, alone: bool) -> Iterator[tuple[Column, str, list[str]]]:
        """Yield the parts of a column: an estimate that is alone has its interval in a column of its own."""
        head = self.head(table, column)
        if column.kind == "counts":
            counts = [row.get(column.name) for row in table.rows]
            short = [each if isinstance(each, tuple) and len(each) <= MOST_LEVELS else None for each in counts]
            yield from [(column, *_side_by_side(short, self.say))] if any(short) else []
            return
        cells = [self._cell(column, row) for row in table.rows]
        if not (column.kind == "estimate" and alone):
            yield column, head, cells
            return
        found = [row.get(column.name) for row in table.rows]
        ends = [each.interval for each in found if isinstance(each, Estimate)]
        parts = [cell.split("\n") for cell in cells]
        yield column, head, [value for value, *_ in parts]
        # A level that all intervals share stands in the head.
        levels = {self.say.level(each) for each in ends if isinstance(each, Interval)}
        texts = [" ".join(more[: 1 if len(levels) == 1 else None]) for _, *more in parts]
        if any(texts):
            yield column, self.say.interval_head(*ends), texts

    def _cell(self, column: Column, row: Mapping[str, Cell]) -> str:
        value = row.get(column.name)
        if value is None and column.name == "group":
            return self.say("every_group")
        if value is None or str(value) == column.usual != "":
            return ""
        if isinstance(value, Estimate):
            return self._estimate(value, row, percent=column.percent)
        if isinstance(value, Undefined):
            return self._mark(self.say.reason(value.reason))
        if column.kind in ("key", "levels"):
            return self.say.word(str(value)) if column.kind == "key" else self.say.levels(str(value))
        if column.kind == "share" and isinstance(value, int | float):
            return self.say.share(value)
        if isinstance(value, int) and column.kind != "word":
            return self.say.count(value)
        return self.say.number(value) if isinstance(value, float) else visible(str(value)) or self.say("empty_group")

    def _estimate(self, estimate: Estimate, row: Mapping[str, Cell], *, percent: bool) -> str:
        """The value and its interval, with its level unless it is the usual one, or a footnote's number."""
        found, names = estimate.interval, (str(row.get("first", "")), str(row.get("second", "")))
        if isinstance(estimate.value, Undefined):
            reason = self.say.reason(with_names(estimate.value.reason, *names))
            return self.say("not_defined", mark=self._mark(self.say("undefined_because", reason=reason)))
        if isinstance(found, Undefined):
            reason = self.say("no_interval", reason=self.say.reason(with_names(found.reason, *names)))
            return f"{self.say.value(estimate.value, percent=percent)}\n{self._mark(reason)}"
        self._methods[found.method] = None
        self._levels.add(found.level)
        level = self.say.level(found)
        unusual = "" if level == self.say.level(LEVEL) else f"\n({self.say('percent', number=level)})"
        ends = self.say.ends(found, percent=percent) if found.low < 0 else self.say.range(found, percent=percent)
        return f"{self.say.value(estimate.value, percent=percent)}\n{ends}{unusual}"

    def _mark(self, reason: str) -> str:
        """The number of the footnote with this reason."""
        return f"({self._reasons.setdefault(reason, len(self._reasons) + 1)})"

    def below(self) -> Iterator[str]:
        """Yield what must be said below the tables: footnotes, and how intervals were made."""
        yield from (f"({place}) {reason}" for reason, place in self._reasons.items())
        for head, reason in self._without:
            yield self.say("left_out_column", head=head, reason=self.say.reason(reason))
        if self._levels and not self._full:
            yield self.say("what_interval", level=self.say.level(min(self._levels)))
        elif self._methods:
            yield self.say("intervals", levels=self.say.level(*self._levels), methods=", ".join(self._methods))

    def notes(self, tables: Iterable[Table], *kinds: NoteKind) -> list[str]:
        """The sentences of these kinds, each once."""
        found = (note for table in tables for note in table.notes if note.kind in kinds)
        return list(dict.fromkeys(self.say.note(note) for note in found))


def _words_of(table: Table) -> tuple[list[Column], list[Column]]:
    """The columns of words that all rows share, and those that tell rows apart."""
    words = [column for column in table.columns if column.kind in WORDS and column.name not in table.about]
    shared = [column for column in words if len({str(row.get(column.name)) for row in table.rows}) == 1]
    return shared, [column for column in words if column not in shared]


def _is_shown(row: Mapping[str, Cell], column: Column) -> bool:
    value = row.get(column.name)
    return value is not None and value != () and not (column.usual and str(value) == column.usual)


def _side_by_side(found: Sequence[Cell], say: Language) -> tuple[str, list[str]]:
    """The head and the cells of counts by level in one column: columns of their own would not fit on a terminal."""
    counts = [{level.value: level for level in each} if isinstance(each, tuple) else {} for each in found]
    levels = sorted(dict.fromkeys(level for each in counts for level in each), key=float)
    shown = [[_starred(each[level]) if level in each else "" for level in levels] for each in counts]
    named = [say.levels(level) for level in levels]
    width = max((len(text) for text in (*named, *(cell for cells in shown for cell in cells))), default=0)
    lines = [" ".join(text.rjust(width) for text in cells) for cells in (named, *shown)]
    return lines[0], lines[1:]


def _starred(level: Level) -> str:
    return f"{level.count}*" if level.off_scale else str(level.count)


def _stacked(columns: Sequence[tuple[Column, str, list[str]]]) -> list[tuple[Column, list[str], list[str]]]:
    """The columns with those that stand below another in the lines of that."""
    merged: list[tuple[Column, list[str], list[str]]] = []
    for column, head, cells in columns:
        if column.below and merged:
            _, heads, above = merged[-1]
            heads += [head] if head not in heads else []
            above[:] = ["\n".join(filter(None, pair)) for pair in zip(above, cells, strict=True)]
        else:
            merged.append((column, [head], list(cells)))
    return merged
