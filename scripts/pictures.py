"""Makes the pictures of docs/first-hour.md and docs/handover.md: types their commands in a terminal of 80 columns.

Run it when the commands' output has changed. The run of docs/handover.md is one that the tests make up.
"""

import errno
import fcntl
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

from rich.console import Console
from rich.terminal_theme import DEFAULT_TERMINAL_THEME
from rich.text import Text

ROOT = Path(__file__).parents[1]
PAGE, PICTURES = ROOT / "docs" / "first-hour.md", ROOT / "docs" / "pictures"
COLUMNS, LINES = 80, 50
SOME_FAILED = 1
"""Exit code of the page's import, in which one reply is unreadable."""

SHOWN = ("summary", "agreement")
"""Commands whose output is a picture."""

# Without Rich's own frame, which loads a font from the internet.
SVG = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img"><style>
.{unique_id}-matrix {{ font: {char_height}px monospace; white-space: pre }}
{styles}</style><defs>{lines}</defs><rect width="{width}" height="{height}" rx="8" fill="#fff" stroke="#ccc"/>
<g transform="translate(9, 9)">{backgrounds}<g class="{unique_id}-matrix">{matrix}</g></g></svg>
"""


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
        except OSError as error:
            if error.errno != errno.EIO:  # by which Linux reports the end of a terminal
                raise
    os.close(leader)
    if process.returncode not in (0, SOME_FAILED):
        raise SystemExit(f"{shlex.join(command)} ended with {process.returncode}:\n{said.decode()}")
    return said.decode().replace("\r\n", "\n")


def draw_terminal(line: str, said: str, picture: Path) -> None:
    """Write a command and its output as an SVG that loads nothing."""
    console = Console(width=COLUMNS, record=True, file=StringIO(), force_terminal=True)
    console.print(Text(f"$ {line}"))
    console.print(Text.from_ansi(said.rstrip()))
    picture.write_text(console.export_svg(theme=DEFAULT_TERMINAL_THEME, code_format=SVG), encoding="utf-8")


def command_of(line: str) -> list[str]:
    """Return a page's line as a command of this environment."""
    return [str(Path(sys.executable).with_name("pathway-local")), *shlex.split(line)[1:]]


def first_hour(folder: Path) -> None:
    """Run the page's commands in a copy of the examples, and draw the first of those that are shown."""
    lines = re.findall(r"^pathway-local .*$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    shown = list(SHOWN)
    shutil.copytree(ROOT / "examples", folder / "examples")
    for line in lines:
        name = shlex.split(line)[1]
        if name in ("start", "sample"):  # a dialog, and a step for those who have no ratings yet
            continue
        print(line, flush=True)
        said = typed(command_of(line), folder)
        if name in shown:
            shown.remove(name)
            draw_terminal(line, said, PICTURES / f"first-hour-{name}.svg")


def handover(folder: Path) -> None:
    """Type the page's command without a sheet."""
    sys.path.append(str(ROOT / "tests"))
    from handed_run import handed_run

    page = (ROOT / "docs" / "handover.md").read_text(encoding="utf-8")
    line = next(line for line in re.findall(r"^ *(pathway-local handover .*)$", page, re.MULTILINE))
    handed_run(folder / "answers.run")
    draw_terminal(line, typed(command_of(line), folder), PICTURES / "handover.svg")


def main() -> None:
    """Write all pictures."""
    PICTURES.mkdir(exist_ok=True)
    for draw in (first_hour, handover):
        with tempfile.TemporaryDirectory() as made:
            draw(Path(made))
    for picture in sorted(PICTURES.glob("*.svg")):
        print(f"{picture.relative_to(ROOT)}: {picture.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
