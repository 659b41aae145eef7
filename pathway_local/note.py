"""A sentence by its key, with the values that fill its blanks."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

NoteKind = Literal["answer", "says", "note", "warning"]


@dataclass(frozen=True, slots=True)
class Note:
    """A sentence of the section `notes`; values may be notes themselves.

    An `answer` is what a reader should see first; the others say what came out, `note` what to know about it, and warn
    of what may be wrong with it.
    """

    key: str
    values: Mapping[str, object] = field(default_factory=dict)
    kind: NoteKind = "says"
