"""Defines an analysis: options, and a call on a run's ratings that yields tables."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any, Generic, TypeVar, get_origin

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pathway_local.errors import UsageError
from pathway_local.results.table import Table
from pathway_local.scores.scores import Scores
from pathway_local.system.safe_yaml import first_complaint
from pathway_local.words.language import Spell, Spelled


@dataclass(frozen=True, slots=True)
class Says:
    """How help shows an option: the name of its value (empty for a switch), what it does.

    Other options in its text stand in braces, by name.
    """

    value: str
    text: str


class Options(BaseModel):
    """The options of an analysis: those of its command, and arguments for a Python program."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class OptionError(ValueError):
    """Options that can't be followed: what is wrong and what to do, with options in braces, by name."""

    def __init__(self, said: str, hint: str = "") -> None:
        super().__init__(said)
        self.hint = hint


Rubric = Annotated[str, Says("RUBRIC", "Only this rubric; default: all.")]
Raters = Annotated[tuple[str, ...], Says("NAME", "Only this rater; repeat for more.")]
By = Annotated[str, Says("COLUMN", "Show figures for each value of this column, too.")]
Between = Annotated[
    str, Says("COLUMN", "Compare the values of this column, or those that you name, e.g. chatbot=v1,v2.")
]
Cluster = Annotated[str, Says("COLUMN", "Column that groups related cases, e.g. student or conversation.")]
PairBy = Annotated[
    str, Says("NAME", "With {between}: column or input with the shared question; default: the rubric's question.")
]
Bad = Annotated[
    str,
    Says("LEVEL", "Scores up to this level, a number or name, count as bad (default: the lower half of the scale)."),
]
Against = Annotated[str, Says("NAME", "The rater or group of people whose labels count.")]
MinGroup = Annotated[int, Field(ge=1), Says("N", "Leave out groups and comparisons of fewer cases.")]
Margin = Annotated[float, Field(ge=0, allow_inf_nan=False)]

Own = TypeVar("Own", bound=Options)


@dataclass(frozen=True, slots=True)
class Analysis(Generic[Own]):
    """A command, a table file, a page and JSON at once: `tables` yields what it finds."""

    options: type[Own]
    tables: Callable[[Scores, Own], Iterator[Table]]
    examples: tuple[str, str]

    @property
    def says(self) -> str:
        """Return what the analysis does, in a sentence or two."""
        return self.tables.__doc__ or ""


def found_by(analysis: Analysis[Own], data: Scores, given: Mapping[str, Any], spell: Spell = str) -> list[Table]:
    """Return what an analysis finds with these options, with the cautions about judges. Raises PathwayError."""
    with naming(spell):
        options = checked(analysis.options, given)
        return [table.with_cautions(data.labels) for table in analysis.tables(data, options)]


@contextmanager
def naming(spell: Spell) -> Iterator[None]:
    """Turn an OptionError into a UsageError that names options as their user knows them."""
    try:
        yield
    except OptionError as error:
        names = Spelled(spell)
        raise UsageError(str(error).format_map(names), error.hint.format_map(names)) from None


def as_given(value: object) -> str:
    """A value that a user gave, for a text with options in braces."""
    return str(value).replace("{", "{{").replace("}", "}}")


def checked(options: type[Own], given: Mapping[str, Any]) -> Own:
    """The options by name, checked; a text stands for a list of one. Raises OptionError."""
    lists = {name for name, each in options.model_fields.items() if get_origin(each.annotation) is tuple}
    try:
        return options(**{name: [v] if isinstance(v, str) and name in lists else v for name, v in given.items()})
    except ValidationError as error:
        keys, kind, said = first_complaint(error)
        name = str(keys[0]) if keys else ""
        if name not in options.model_fields:
            hint = f"There are: {', '.join(options.model_fields)}."
            raise OptionError(f"no option is called {as_given(name)}", hint) from None
        if kind == "missing":
            raise OptionError(f"{{{name}}} is missing") from None
        raise OptionError(f"{{{name}}} {as_given(given[name])}: {said}") from None
