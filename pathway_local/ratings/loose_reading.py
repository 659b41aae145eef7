"""What could be read of a reply that breaks its format, with a mark for each way in which it does."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pathway_local.errors import ReplyError
from pathway_local.rubrics.fields import ScoreField
from pathway_local.rubrics.output_format import Slot
from pathway_local.verdict import Value

_FENCE = re.compile(r"```[\w-]*[ \t]*\r?\n(.*?)\r?\n?[ \t]*```", re.DOTALL)


@dataclass(slots=True)
class LooseReading:
    """Values by field, the `breaks` of the format, and the `rest`: what has no place in any field."""

    values: dict[str, Value] = field(default_factory=dict)
    breaks: dict[str, None] = field(default_factory=dict)
    rest: list[str] = field(default_factory=list)
    _reason: str = ""

    def mark(self, name: str) -> None:
        """Note a break, once."""
        self.breaks[name] = None

    def unfenced(self, text: str) -> str:
        """The text inside the reply's code fence; what stands outside it is kept as rest."""
        found = _FENCE.search(text)
        if not found or len(_FENCE.findall(text)) > 1:
            return text
        self.mark("code-fence")
        self.around(text[: found.start()], text[found.end() :])
        return found.group(1)

    def around(self, *texts: str) -> None:
        """Keep what stands around the format."""
        kept = [text.strip() for text in texts if text.strip()]
        if kept:
            self.mark("text-around")
            self.rest += kept

    def take(self, slot: Slot, read: Callable[[], tuple[Value, str]]) -> None:
        """Fill a field with what `read` gives: a value and how it departs; a ReplyError leaves it empty, and marked."""
        try:
            self.values[slot.name], how = read()
        except ReplyError as error:
            self._reason = self._reason or f"{slot.name}: {error}"
            self.mark(f"unreadable:{slot.name}")
            return
        if how:
            self.mark(how)

    def checked(self, slots: Sequence[Slot]) -> "LooseReading":
        """This reading, if it has a score. Raises ReplyError."""
        if not any(slot.name in self.values for slot in slots if isinstance(slot.field, ScoreField)):
            raise ReplyError(self._reason or "it holds no score that can be read")
        if not self.breaks:
            self.mark("spacing")
        return self
