"""Makes the picture of docs/handover.md: what `handover` prints about a made-up run of the tests."""

import re
import shlex
import sys
import tempfile
from pathlib import Path

from first_hour_pictures import PICTURES, ROOT, draw_terminal, typed

sys.path.append(str(ROOT / "tests"))
from handed_run import handed_run


def main() -> None:
    """Type the page's second command."""
    page = (ROOT / "docs" / "handover.md").read_text(encoding="utf-8")
    line = next(line for line in re.findall(r"^ *(pathway-local handover .*)$", page, re.MULTILINE))
    with tempfile.TemporaryDirectory() as made:
        handed_run(Path(made) / "answers.run")
        _, *words = shlex.split(line)
        said = typed([str(Path(sys.executable).with_name("pathway-local")), *words], Path(made))
    draw_terminal(line, said, PICTURES / "handover.svg")


if __name__ == "__main__":
    main()
