"""Makes the pictures of docs/first-hour.md: types its commands in a terminal of 80 columns and shows what they wrote.

Needs Chromium (Debian: `apt install chromium`). Run it when the commands' output has changed.
"""

import fcntl
import html
import os
import pty
import re
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
from io import StringIO
from pathlib import Path

import openpyxl
from rich.console import Console
from rich.terminal_theme import DEFAULT_TERMINAL_THEME
from rich.text import Text

ROOT = Path(__file__).parents[1]
PAGE, PICTURES = ROOT / "docs" / "first-hour.md", ROOT / "docs" / "pictures"
COLUMNS, LINES = 80, 50
SHOWN = ("summary", "agreement")
"""Commands whose output is a picture."""

ROWS, CELL = 5, 90
"""Rows of the workbook in its picture, and characters of a cell there."""

# Without Rich's own frame, which loads a font from the internet.
SVG = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img"><style>
.{unique_id}-matrix {{ font: {char_height}px monospace; white-space: pre }}
{styles}</style><defs>{lines}</defs><rect width="{width}" height="{height}" rx="8" fill="#fff" stroke="#ccc"/>
<g transform="translate(9, 9)">{backgrounds}<g class="{unique_id}-matrix">{matrix}</g></g></svg>
"""
WORKBOOK = """<meta charset="utf-8"><style>
body {{ margin: 12px; font: 13px sans-serif }} table {{ border-collapse: collapse }}
td, th {{ border: 1px solid #ccc; padding: 3px 6px; text-align: left; vertical-align: top; max-width: 260px }}
caption {{ text-align: left; margin-bottom: 6px; color: #555 }}
</style><table><caption>{name}, sheet {sheet}: its first rows, drawn from the file</caption>{rows}</table>"""


def typed(command: list[str], folder: Path) -> str:
    """Run a command in a pseudo-terminal, and return everything that it shows there."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    said = b""
    with subprocess.Popen(command, cwd=folder, stdin=follower, stdout=follower, stderr=follower) as process:
        os.close(follower)
        try:
            while part := os.read(leader, 65536):
                said += part
        except OSError:
            pass  # Linux reports the end of a terminal as an error
    os.close(leader)
    if process.returncode:
        raise SystemExit(f"{shlex.join(command)} ended with {process.returncode}:\n{said.decode()}")
    return said.decode().replace("\r\n", "\n")


def draw_terminal(line: str, said: str, picture: Path) -> None:
    """Write a command and its output as an SVG that loads nothing."""
    console = Console(width=COLUMNS, record=True, file=StringIO(), force_terminal=True)
    console.print(Text(f"$ {line}"))
    console.print(Text.from_ansi(said.rstrip()))
    picture.write_text(console.export_svg(theme=DEFAULT_TERMINAL_THEME, code_format=SVG), encoding="utf-8")


def draw_page(page: Path, picture: Path, width: int, height: int) -> None:
    """Write a picture of the top of a page."""
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--window-size={width},{height}"]
    command = ["chromium", *options, f"--screenshot={picture}", page.as_uri()]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)


def workbook_page(book: Path) -> str:
    """Return the first rows of a workbook's first sheet as HTML: what the file holds, not how Excel shows it."""
    sheet = openpyxl.load_workbook(book).worksheets[0]
    rows = []
    for number, row in enumerate(sheet.iter_rows(max_row=ROWS, values_only=True)):
        texts = ["" if value is None else str(value) for value in row]
        cells = (html.escape(text if len(text) <= CELL else f"{text[:CELL]}…") for text in texts)
        tag = "td" if number else "th"
        rows.append(f"<tr>{''.join(f'<{tag}>{cell}</{tag}>' for cell in cells)}</tr>")
    return WORKBOOK.format(name=book.name, sheet=sheet.title, rows="".join(rows))


def main() -> None:
    """Run the page's commands in a copy of the examples, and write the pictures."""
    if not shutil.which("chromium"):
        raise SystemExit("error: chromium is not installed (Debian: apt install chromium)")
    PICTURES.mkdir(exist_ok=True)
    lines = re.findall(r"^pathway-local .*$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    shown = list(SHOWN)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        shutil.copytree(ROOT / "examples", folder / "examples")
        for line in lines:
            _, name, *rest = shlex.split(line)
            if name in ("start", "sample"):  # a dialog, and a step for those who have no ratings yet
                continue
            print(line, flush=True)
            said = typed([str(Path(sys.executable).with_name("pathway-local")), name, *rest], folder)
            if name in shown:
                shown.remove(name)  # the first of its kind on the page
                draw_terminal(line, said, PICTURES / f"first-hour-{name}.svg")
        (folder / "book.html").write_text(workbook_page(folder / "primeira.xlsx"), encoding="utf-8")
        draw_page(folder / "book.html", PICTURES / "first-hour-workbook.png", 900, 360)
        draw_page(folder / "relatorio.html", PICTURES / "first-hour-report.png", 900, 860)
    for picture in sorted(PICTURES.glob("first-hour-*")):
        print(f"{picture.relative_to(ROOT)}: {picture.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
