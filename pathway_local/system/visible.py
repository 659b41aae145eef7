"""Shows control characters instead of obeying them: text from outside must not steer a terminal."""

import re

# Control characters but tab and line feed; marks that turn the direction of the text after them; separators that some
# terminals break lines at; and halves of surrogate pairs, which stand for bytes of a file name that are not text.
_CONTROL = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")

COMMAND = re.compile(r"`[^`]* [^`]*`|pathway-local |chmod |source ")
"""A command in a line, which is then never broken over lines: it could not be pasted."""


def visible(text: str, *, lines: bool = False) -> str:
    """Return the text with control characters, and line breaks unless it has `lines`, as escapes such as \\x1b."""
    shown = _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)
    return shown if lines else shown.replace("\n", "\\n")


def visible_json(text: str) -> str:
    """Return JSON with these characters as JSON's escapes, which stand for the same text."""
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
