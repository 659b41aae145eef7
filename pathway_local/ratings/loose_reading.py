"""Values read from a reply that breaks its format, and a mark for each kind of break."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from pathway_local.errors import ReplyError
from pathway_local.rubrics.form import Slot
from pathway_local.verdict import Value

SPACING = "spacing"
"""The break of a reply that differs from its format only in blanks and line ends."""

_OPENING, _CLOSING = re.compile(r"```[\w-]*[ \t]*\r?\n"), "```"


@dataclass(slots=True)
class LooseReading:
    """Values by field, the `breaks` of the format, and the `rest`: text that belongs to no field."""

    values: dict[str, Value] = field(default_factory=dict)
    breaks: dict[str, None] = field(default_factory=dict)
    rest: list[str] = field(default_factory=list)
    _reason: str = ""

    def mark(self, name: str) -> None:
        """Note a break, once."""
        self.breaks[name] = None

    def unfenced(self, text: str) -> str:
        """Return the text inside the reply's only code fence; text outside it is kept as rest."""
        fences = islice(_fences(text), 2)
        opening, end = next(fences, (None, -1))
        if opening is None or next(fences, None):
            return text
        self.mark("code-fence")
        self.keep_outside(text[: opening.start()], text[end + len(_CLOSING) :])
        return text[opening.end() : end].rstrip(" \t").removesuffix("\n").removesuffix("\r")

    def keep_outside(self, *texts: str) -> None:
        """Keep texts that stand outside the format as rest."""
        kept = [text.strip() for text in texts if text.strip()]
        if kept:
            self.mark("text-around")
            self.rest += kept

    def take(self, slot: Slot, read: Callable[[], tuple[Value, str]]) -> None:
        """Fill a field with the value that `read` returns and mark its departure; on ReplyError mark it unreadable."""
        try:
            self.values[slot.name], how = read()
        except ReplyError as error:
            self._reason = self._reason or f"{slot.name}: {error}"
            self.mark(f"unreadable:{slot.name}")
            return
        if how:
            self.mark(how)

    def checked(self, slots: Sequence[Slot]) -> "LooseReading":
        """This reading if it has a score. Raises ReplyError if not."""
        if not any(slot.score in self.values for slot in slots):
            raise ReplyError(self._reason or "it has no readable score")
        if not self.breaks:
            self.mark(SPACING)
        return self


def _fences(text: str) -> Iterator[tuple[re.Match[str], int]]:
    """Yield each code fence: the match of its opening, and where its closing begins.

    One pattern for a whole fence would take hours for a megabyte of blanks behind an opening.
    """
    opening = _OPENING.search(text)
    while opening and (end := text.find(_CLOSING, opening.end())) >= 0:
        yield opening, end
        opening = _OPENING.search(text, end + len(_CLOSING))
