"""Holds what a recogniser finds: a reply's layout, and its slots with the prompt's words in their places."""

from dataclasses import dataclass


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
    """A reply's format as one recogniser sees it. `closing` tells the judge of words that it lacks."""

    recogniser: str
    layout: str
    slots: tuple[Slot, ...]
    closing: str = ""


def in_layout(text: str) -> str:
    """Return the text as a layout writes it, where single braces hold the name of a field."""
    return text.replace("{", "{{").replace("}", "}}")


def as_name(label: str) -> str:
    """Return a label as a field's name: final_score for "Final score"."""
    name = "_".join("".join(letter if letter.isalnum() else " " for letter in label).lower().split())
    return name if name and not name[0].isdigit() else f"field_{name}".rstrip("_")
