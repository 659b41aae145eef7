"""Makes a page: one HTML file that a browser keeps from loading, sending or running anything but the page's own."""

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from pathway_local import __version__
from pathway_local.errors import UsageError
from pathway_local.system.private_file import check_output, output_file
from pathway_local.system.visible import visible
from pathway_local.words.language import Language

MOST_ROWS = 100
"""Rows of a table on a page."""

LONGEST_TEXT = 20_000
"""Characters of a text of a case on a page: a longer one is cut, and the page says by how much."""

OPEN_TEXT = 3_000
"""A longer text stays closed until somebody opens it, so that the next case is not far away."""

LONGEST_CELL = 400
"""Characters of a cell of a table; names and ids are shorter, and what is longer is no name."""

FOLDER = Path(__file__).with_name("templates")


@dataclass(frozen=True, slots=True)
class Passage:
    """A text of a case under the name of its input."""

    name: str
    text: str
    is_long: bool


@cache
def environment(*folders: Path) -> Environment:
    """Return the templates of these folders and of pages, with every value escaped."""
    made = Environment(
        loader=FileSystemLoader([*folders, FOLDER]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["outside"] = outside
    made.globals["MOST_ROWS"] = MOST_ROWS
    return made


def page(
    template: str, language: Language, title: str, own: str = "", *, logo: str = "", css: str = "", **values: object
) -> str:
    """The page from a template: every value is escaped, and style and script are allowed by their hashes.

    Only a page with a name `own` has a script, OWN.js; it also has a style beside that of all pages, OWN.css. A `logo`
    is the address of an image that holds it; only a page with a logo may show images, and only such. `css` is a style
    that this page alone needs.
    """
    style = "".join(_text(f"{name}.css") for name in filter(None, ("style", own)))
    style += css + f"@page {{ size: {language.paper} }}\n"
    script = _text(f"{own}.js") if own else ""
    policy = f"default-src 'none'; style-src {_hashed(style)}; base-uri 'none'; form-action 'none'"
    if script:
        policy += f"; script-src {_hashed(script)}"
    if logo:
        policy += "; img-src data:"
    ours = {"style": style, "script": script, "policy": policy, "version": __version__}
    return environment().get_template(template).render(say=language, title=title, logo=logo, **ours, **values)


def _text(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


def _hashed(text: str) -> str:
    """Return the source by which a Content-Security-Policy allows an inline style or script."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def outside(text: object, longest: int = LONGEST_CELL) -> str:
    """A name, id or cell from outside in one line: control characters and marks of direction shown, long ones cut."""
    return _cut(str(text), longest, lines=False)


def caution(rater: str, label: str, say: Language) -> str:
    """Return what a judge's label says of it, which must stand wherever its scores do; empty without a label."""
    return say("label_warning", rater=visible(rater), label=visible(label)) if label else ""


def passages(texts: Mapping[str, str]) -> tuple[Passage, ...]:
    """The texts of a case under their names."""
    return tuple(
        Passage(outside(name), passage(text, LONGEST_TEXT), len(text) > OPEN_TEXT) for name, text in texts.items()
    )


def passage(text: str, longest: int) -> str:
    """A text of several lines from outside, cut if it is longer."""
    return _cut(text.replace("\r\n", "\n"), longest, lines=True)


def _cut(text: str, longest: int, *, lines: bool) -> str:
    beginning = visible(text[:longest], lines=lines)
    return beginning if len(text) <= longest else f"{beginning} … [+{len(text) - longest:,}]"


def is_page(path: Path) -> bool:
    """Whether a file's name is that of a page."""
    return path.suffix.lower() in (".html", ".htm")


def check_page(path: Path, *, force: bool) -> None:
    """Raise the errors that `write_page` would raise for this path, before any work is done."""
    if not is_page(path):
        raise UsageError(f"{path.name} is not the name of a page", "Name a file that ends in .html.")
    check_output(path, force=force)


def write_page(path: Path, text: str, *, force: bool) -> None:
    """Write a page to a file. Raises OutputExists, and UsageError if it can't be written."""
    with output_file(path, force=force) as file:
        file.write(text.encode("utf-8", "replace"))
