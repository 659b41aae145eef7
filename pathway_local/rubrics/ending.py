"""Ends a free text in a text layout: at the literal behind it, or where the judge begins a part of the layout.

A judge that wants to end a text seldom spells the literal to the last byte. So each tag of a layout, such as `</S0>`,
and each label at the start of a line, such as `Score:`, ends a text; these are the layout's cores. The grammar then
forces the rest of the literal, so that no text holds parts of the layout. A literal without a core, such as `[[` or a
label inside a line, could stand in honest text: it ends a text only as it is.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from pathway_local.rubrics.grammar import character_class, quoted

MARKS = ("***", "**", "*", "__", "_")
"""Marks of emphasis that may stand around a label, with the colon inside or outside of them."""

MOST_BREAKS = 3
"""Line breaks in a row; without a bound, a judge could write them for ever."""

_TAG = re.compile(r"</?[^\W\d_][\w.-]*>")
_LABEL = re.compile(r"\n(?:#{1,6} )?([*_]{0,3})([^\W\d_][^\n:*_#<>]{0,39})(?:\1:|:\1)")
_BREAKS = rf"\n{{1,{MOST_BREAKS}}}"
_HEADING = r"(?:\x23{1,6} )?"


def cores_of(literals: Iterable[str]) -> tuple[str, ...]:
    """Return the tags and the labels (without colon and marks) in a layout's literals, the first of which starts it."""
    texts = [text if at else f"\n{text}" for at, text in enumerate(literals)]
    labels = [found[2] for text in texts for found in _LABEL.finditer(text) if found[1] in ("", *MARKS)]
    return tuple(dict.fromkeys([*(tag for text in texts for tag in _TAG.findall(text)), *labels]))


@dataclass(frozen=True)
class Ending:
    """The literal behind a field, empty behind the last, and the layout's cores; none if only the literal ends it."""

    literal: str
    cores: tuple[str, ...] = ()

    @classmethod
    def of(cls, literal: str, cores: tuple[str, ...]) -> "Ending":
        """Return the ending with the layout's cores, or without them if none is in its own literal."""
        ending = cls(literal, cores)
        return ending if not literal or ending.decided(literal, 0) else cls(literal)

    @cached_property
    def pattern(self) -> str:
        """A regex, in Lark as in Python, for everything that may stand between the text and the next field."""
        whole = [quoted(self.literal)] if self.literal else []
        return "|".join(whole + [f"(?:{core}){quoted(rest)}" for core, rest in self._rests()])

    def _rests(self) -> Iterator[tuple[str, str]]:
        """Yield a regex for each core, and the text to force behind it."""
        for core in self.cores:
            regex = self._core(core)
            # A core of another part of the layout is dropped, and the whole literal follows.
            own = list(re.finditer(regex, self.literal))
            yield regex, self.literal[own[-1].end() :] if own else self.literal

    def _core(self, core: str) -> str:
        if core.startswith("<"):
            return self._tag_lead + quoted(core)
        name = quoted(core)
        marked = "|".join(f"{quoted(mark)}{name}(?:{quoted(mark)}:|:{quoted(mark)})" for mark in MARKS)
        return f"{_BREAKS}{_HEADING}(?:{marked}|{name}:)"

    @property
    def _labels(self) -> list[str]:
        return [core for core in self.cores if not core.startswith("<")]

    @property
    def _tag_lead(self) -> str:
        # Where labels end a text, line breaks are never part of a segment, and so have to be part of what follows them.
        return rf"\n{{0,{MOST_BREAKS}}}" if self._labels else ""

    @cached_property
    def _found(self) -> re.Pattern[str]:
        return re.compile(self.pattern)

    @cached_property
    def _core_found(self) -> re.Pattern[str]:
        return re.compile("|".join(map(self._core, self.cores)))

    def find(self, text: str, at: int) -> int:
        """Return where the text that begins at `at` ends; -1 if nothing ends it."""
        found = self._found.search(text, at) if self.pattern else None
        return found.start() if found else -1 if self.literal else len(text)

    def skip(self, text: str, at: int) -> int:
        """Return where the part behind the ending at `at` begins; -1 if no ending stands there."""
        found = self._found.match(text, at) if self.pattern else None
        return found.end() if found else -1 if self.literal else at

    def decided(self, text: str, at: int) -> int:
        """Return the last offset in the ending at `at` at which the judge could still have gone on with the text."""
        found = self._core_found.search(text, at) if self.cores else None
        return found.end() - 1 if found else at

    @cached_property
    def longest(self) -> int:
        """The most bytes that the ending can take."""
        marks = MOST_BREAKS + len("###### :") + 2 * max(map(len, MARKS))
        before = [len(core.encode()) + marks for core in self.cores]
        return max(before, default=0) + len(self.literal.encode())

    def segments(self, *, one_line: bool) -> str:
        """Return a nested Lark grammar for text that can't hold an ending, yet can end where the judge wants.

        The lexer takes the longest match and never goes back. Take the single terminal /([^<]|<[^\\/])+/ before "</b>":
        when the judge writes "<", the lexer counts it into the terminal, and can't give it back when "/" would have to
        follow. So the judge could never write "</b>"; only the budget would end the text. Instead, the text is cut into
        segments wherever "</b>" could begin:

            start: S (T0 S0 | T1 S1 | T2 S2)*
            S: /[^<]+/              text without the first character of "</b>"
            T0: "<"
            S0: /[^\\/<][^<]*/      after "<", anything that does not continue with "/"
            T1: "</"
            S1: /[^b<][^<]*/        after "</", anything that does not continue with "b"
            T2: "</b"
            S2: /[^><][^<]*/

        Each proper prefix of an ending is a separator. Behind it, either a segment shows that it was text,
        or the rest of the ending comes and the text has ended.
        """
        separators = list(self._separators(one_line=one_line) if self.cores else self._prefixes(one_line=one_line))
        first = {"\n"} if one_line or self._labels else set()
        first |= {"<"} if len(self._labels) < len(self.cores) else set()
        if not self.cores:
            first |= {self.literal[0]}
        pairs = [f"T{at} S{at}" for at in range(len(separators))]
        loop = f" ({' | '.join(pairs)})*" if pairs else ""
        # Behind the last text nothing follows, so it may end at any place.
        last = f" ({' | '.join(f'T{at}' for at in range(len(separators)))})?" if pairs and not self.literal else ""
        terminals = "".join(
            f"T{at}: /{regex}/\nS{at}: /[^{character_class(then | first)}][^{character_class(first)}]*/\n"
            for at, (regex, then) in enumerate(separators)
        )
        return f"start: S{loop}{last}\nS: /[^{character_class(first)}]+/\n{terminals}"

    def _prefixes(self, *, one_line: bool) -> Iterator[tuple[str, set[str]]]:
        """Yield the proper prefixes of the literal, each with the character that would continue it."""
        for at in range(1, len(self.literal)):
            before = self.literal[:at]
            # If the literal stood earlier in "prefix + literal" than behind the prefix, the reader would end the text
            # too early: with "\n\n" as the literal, "\n" before it makes "\n\n\n". Such a prefix is no separator.
            if (before + self.literal).find(self.literal) == at and not (one_line and "\n" in before):
                yield quoted(before), {self.literal[at]}

    def _separators(self, *, one_line: bool) -> Iterator[tuple[str, set[str]]]:
        """Yield regexes of the proper prefixes of all cores, each with the characters that may continue it to one."""
        labels, tags = self._labels, [core for core in self.cores if core.startswith("<")]
        if labels and not one_line:
            then = _continued(labels)
            begin = {*"*_", *then[""]}
            yield _BREAKS, {"\n", "#", *begin, *("<" if tags else "")}
            yield rf"{_BREAKS}\x23{{1,6}}", {"#", " "}
            yield rf"{_BREAKS}\x23{{1,6}} ", begin
            yield rf"{_BREAKS}{_HEADING}[*_]{{1,3}}", begin
            for prefix in sorted(then.keys() - {""} | set(labels)):
                marked = rf"{_BREAKS}{_HEADING}[*_]{{0,3}}{quoted(prefix)}"
                yield marked, then.get(prefix, set()) | (set(":*_") if prefix in labels else set())
                if prefix in labels:
                    yield rf"{marked}[*_]{{1,3}}", set(":*_")
        lead = "" if one_line else self._tag_lead
        for prefix, following in _continued(tags).items():
            if prefix:
                yield lead + quoted(prefix), following


def _continued(texts: Iterable[str]) -> dict[str, set[str]]:
    """Return each proper prefix of the texts, with the characters that follow it."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for text in texts:
        for at, character in enumerate(text):
            found[text[:at]].add(character)
    return dict(found)
