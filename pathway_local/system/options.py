"""Declares what a user may choose: an option is a field of a class with its help, and pydantic checks its value."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.fields import FieldInfo

from pathway_local.errors import UnknownName, UsageError
from pathway_local.system.safe_yaml import first_complaint


@dataclass(frozen=True, slots=True)
class Says:
    """How help shows an option: the name of its value (empty for a switch), what it does, and its `short` name."""

    value: str
    text: str
    short: str = ""


class Options(BaseModel):
    """The options of a command, which are also the arguments of a Python program."""

    model_config = ConfigDict(extra="forbid", frozen=True)


Form = TypeVar("Form")


def flag(name: str) -> str:
    """Return an option's name on the command line."""
    return f"--{name.replace('_', '-')}"


def declared(form: Any) -> dict[str, tuple[FieldInfo, Says]]:
    """Return the options that a class declares, by name: its fields that have a text."""
    fields = form.__pydantic_fields__.items()
    return {name: (each, said) for name, each in fields for said in each.metadata if isinstance(said, Says)}


def checked(form: type[Form], given: Mapping[str, Any], *first: object) -> Form:
    """Return the options with these values, checked; a text stands for a list of one. Raises UnknownName, UsageError.

    `first` are the form's own arguments, which are no options.
    """
    fields = declared(form)
    if unknown := next((name for name in given if name not in fields), ""):
        raise UnknownName("option", unknown, fields)
    lists = {name for name, (each, _) in fields.items() if get_origin(each.annotation) in (tuple, Sequence)}
    values = {name: [value] if isinstance(value, str) and name in lists else value for name, value in given.items()}
    try:
        return form(*first, **values)
    except ValidationError as error:
        keys, kind, said = first_complaint(error)
        name = str(keys[0])
        value, hint = given.get(name), fields[name][1].text
        if kind == "missing":
            raise UsageError(f"{flag(name)} is missing", hint) from None
        shown = repr(value)[:60] if isinstance(value, str | int | float) else f"(a {type(value).__name__})"
        raise UsageError(f"{flag(name)} {shown}: {said}", hint) from None
