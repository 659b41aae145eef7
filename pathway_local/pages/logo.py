"""Reads the picture at the top of a page, from a file that nobody has checked yet."""

import base64
from pathlib import Path
from xml.parsers import expat

from pathway_local.errors import UsageError

MOST_BYTES = 500_000
MOST_PIXELS = 4000
"""Width and height at most: a small file may unpack to a picture that fills the memory."""

_PNG = b"\x89PNG\r\n\x1a\n"
_JPEG = b"\xff\xd8\xff"
_JPEG_SIZES = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}
"""Markers of the segments that hold the size of a JPEG."""
_SVG = "http://www.w3.org/2000/svg svg"
_SVG_REFUSED = {"script", "foreignObject", "use"}
"""Elements that run something, hold a page, or draw others again: nested, these take for ever to draw."""


def read_logo(path: Path) -> str:
    """Return a picture as the address of an image that holds it. Raises UsageError.

    Its bytes say what it is, not its name. A browser runs and loads nothing for an SVG in an image; one with scripts is
    refused all the same, since a reader may save the picture and open it by itself.
    """
    if path.exists() and not path.is_file():
        raise UsageError(f"the logo {path} is no file", "Give a PNG, JPEG or SVG file.")
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise UsageError(f"the logo {path} can't be read: {error.strerror}", "Check the path.") from None
    if len(data) > MOST_BYTES:
        raise UsageError(f"the logo {path} has more than {MOST_BYTES:,} bytes", "Save it in a smaller size.")
    kind, width, height = _png(data) or _jpeg(data) or _svg(data, path)
    if not (0 < width <= MOST_PIXELS and 0 < height <= MOST_PIXELS):
        said = f"the logo {path} has {width:,} by {height:,} pixels"
        raise UsageError(said, f"Save it with 1 to {MOST_PIXELS:,} pixels to each side.")
    return f"data:image/{kind};base64,{base64.b64encode(data).decode()}"


def _png(data: bytes) -> tuple[str, int, int] | None:
    if not data.startswith(_PNG) or data[12:16] != b"IHDR":
        return None
    return "png", int.from_bytes(data[16:20]), int.from_bytes(data[20:24])


def _jpeg(data: bytes) -> tuple[str, int, int] | None:
    """Return the size, from the first segment that has it; sizes of 0 if none does."""
    if not data.startswith(_JPEG):
        return None
    at = 2
    while data[at : at + 1] == b"\xff" and at + 9 <= len(data):
        if data[at + 1] in _JPEG_SIZES:
            return "jpeg", int.from_bytes(data[at + 7 : at + 9]), int.from_bytes(data[at + 5 : at + 7])
        at += 2 + max(2, int.from_bytes(data[at + 2 : at + 4]))
    return "jpeg", 0, 0


def _svg(data: bytes, path: Path) -> tuple[str, int, int]:
    """Check an SVG, which a browser draws in the size that the page gives it. Raises UsageError."""
    hint = "Save it as PNG, or as a plain SVG without scripts and symbols."
    is_root = True

    def refuse(*_: object) -> None:
        raise UsageError(f"the logo {path} is an SVG with a document type, which can hide what is in it", hint)

    def begin(name: str, attributes: dict[str, str]) -> None:
        nonlocal is_root
        if is_root and name != _SVG:
            raise UsageError(f"the logo {path} is no picture that a page can show", "Give a PNG, JPEG or SVG file.")
        is_root = False
        if name.rpartition(" ")[2] in _SVG_REFUSED or any(each.lower().startswith("on") for each in attributes):
            raise UsageError(f"the logo {path} is an SVG with a script, a page or a symbol in it", hint)

    parser = expat.ParserCreate("utf-8", " ")
    parser.StartDoctypeDeclHandler, parser.StartElementHandler = refuse, begin
    try:
        parser.Parse(data, True)
    except expat.ExpatError:
        said = f"the logo {path} is neither a PNG, nor a JPEG, nor a whole SVG"
        raise UsageError(said, "Give a file that your browser shows.") from None
    return "svg+xml", 1, 1
