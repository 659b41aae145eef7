"""What an option of `judge` is called and says, for the command and for Python programs alike."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from pydantic import ConfigDict, TypeAdapter

from pathway_local.errors import UnknownName, UsageError

_AS_DECLARED = ConfigDict(strict=True, arbitrary_types_allowed=True)

# Headings over the options in a command's help.
CASES = "Cases"
JUDGE = "Judge"
REPLY = "Reply"
MACHINE = "Machine"
OUTPUT = "Output"
PRIVACY = "Privacy"


@dataclass(frozen=True, slots=True)
class Option:
    """The name of an option's value (empty for a switch), its help, and the heading above it.

    `names` are those on the command line, unless it has the name of its field. A number is from `least` to `most`.
    `typed` is the type on the command line, if it is not the field's own; then `read` makes the field's value of what a
    user typed or a program gave. `of_rater` options define a rater: a run that continues has its own raters. `type` and
    `default` are the field's.
    """

    value: str
    says: str
    group: str
    names: tuple[str, ...] = ()
    least: float | None = None
    most: float = float("inf")
    typed: Any = None
    read: Callable[[Any], Any] | None = None
    of_rater: bool = False
    type: Any = None
    default: Any = None

    @property
    def flag(self) -> str:
        """The option's name on the command line."""
        return self.names[0]

    def value_of(self, given: Any) -> Any:
        """Return the field's value for what was given. Raises UsageError."""
        read = self.read or (Path if Path in get_args(self.type) else None)
        try:
            value: Any = read(given) if read else given
            TypeAdapter(self.type, config=_AS_DECLARED).validate_python(value)
            if self.least is None or self.least <= value <= self.most:
                return value
        except (TypeError, ValueError):
            pass
        shown = repr(given)[:20] if isinstance(given, str | int | float) else f"a {type(given).__name__}"
        for choices in (get_args(each) for each in (self.type, *get_args(self.type)) if get_origin(each) is Literal):
            raise UnknownName(f"value of {self.flag}", shown.strip("'"), choices)
        wanted = "valid" if self.least is None else f"a number from {self.least} to {self.most}"
        raise UsageError(f"{self.flag} is {shown}, which is not {wanted}", self.says)


def values_by_name(given: Sequence[str], flag: str, form: str, example: str) -> Mapping[str, str]:
    """Read what the user gave for an option of this form, such as the example. Raises UsageError."""
    found: dict[str, str] = {}
    for item in given:
        name, sign, value = item.partition("=")
        if not (name and sign and value):
            raise UsageError(f"{flag} {name}{sign}{value} is not {form}", f"Such as {flag} {example}.")
        if name in found:
            raise UsageError(f"{flag} gives {name} twice", "Give each name once.")
        found[name] = value
    return found


def columns_by_input(given: Sequence[str] | Mapping[str, str]) -> Mapping[str, str]:
    """Read what the user gave for --map. Raises UsageError."""
    return given if isinstance(given, Mapping) else values_by_name(given, "--map", "INPUT=COLUMN", "question=Query")


ID = Option("COLUMN", "Column with the cases' ids.", CASES)
HEADER_ROW = Option("N", "Row that names the columns; default: detected.", CASES, least=1, most=100_000)
ENCODING = Option("NAME", "Encoding of a text file, such as cp1252; default: detected.", CASES)
MAP = Option(
    "INPUT=COLUMN",
    "Column to read an input from, if their names differ; repeat for each.",
    CASES,
    typed=list[str],
    read=columns_by_input,
)
MODELS = Option("FILE", "Your own models.yaml; it overrides built-in entries.", JUDGE)
