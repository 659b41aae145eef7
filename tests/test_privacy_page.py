"""The commands of docs/privacy.md, run as they stand there by the shell, on a run of the scripted engine."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from reply_script import SECONDS
from typed import COMMAND, Desk
from typer.main import get_command

from pathway_local.cli import runs
from pathway_local.cli.command_line import COMMANDS

PAGE = (Path(__file__).parents[1] / "docs" / "privacy.md").read_text()
BLOCKS = re.findall(r"^```bash\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
TOOLS = ("strace", "lsof", "ss", "sqlite3", "pgrep")
WORDS = "the quagga office"

# Stands in for `pathway-local`: the page judges with the demo judge, which takes vLLM and half a minute a time.
SHIM = """#!/bin/sh
case $1 in
judge) exec {command} "$@" --judge scripted --engine scripted --models models.yaml ;;
doctor) exec {command} "$@" --models models.yaml ;;
*) exec {command} "$@" ;;
esac
"""


def test_the_page_names_commands_that_are_there() -> None:
    named = set(re.findall(r"pathway-local (\w+)", PAGE))
    assert {"judge", "runs", "export"} <= named <= set(COMMANDS)


@pytest.mark.soak
@pytest.mark.skipif(
    not all(map(shutil.which, TOOLS)),
    reason=f"needs {', '.join(TOOLS)}: apt-get install strace lsof iproute2 sqlite3 procps",
)
def test_every_claim_can_be_checked_with_public_tools(tmp_path: Path, tiny_judge: Path) -> None:
    desk = Desk(tmp_path / "d", tiny_judge, environment={SECONDS: "0.2", "WORDS": WORDS})
    rows = "".join(f"Where is {WORDS}?,{WORDS} is in room {n}.,Go to {WORDS}.\n" for n in range(12))
    cases = desk.work / "cases.csv"
    cases.write_text("query,context,response\n" + rows)
    cases.chmod(0o600)
    shim = desk.root / "bin" / "pathway-local"
    shim.parent.mkdir()
    shim.write_text(SHIM.format(command=shlex.join(COMMAND)))
    shim.chmod(0o700)
    desk.environment["PATH"] = f"{shim.parent}:{desk.environment['PATH']}"
    assert len(BLOCKS) == 6
    # One shell for all, since a block goes on where the one before has ended; the last line says that it came so far.
    script = "\n".join(["set -e -x", *BLOCKS, "echo all"])
    done = subprocess.run(["bash", "-c", script], cwd=desk.work, env=desk.environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.splitlines()[-1] == "all"


def test_the_pages_for_the_person_who_signs_say_the_same_in_each_language() -> None:
    folder = Path(__file__).parents[1] / "docs" / "gdpr"
    pages = {path.stem: path.read_text() for path in folder.glob("*.md")}
    assert set(pages) == {"de", "en", "es", "fr", "pt"}
    shapes = {name: re.findall(r"^(#+|-|\d\.) ", page, re.MULTILINE) for name, page in pages.items()}
    assert all(shape == shapes["en"] for shape in shapes.values())
    named = {name: sorted(re.findall(r"`([^`]+)`", page)) for name, page in pages.items()}
    commands = {
        name: sorted(re.sub(r"--onto \w+", "--onto SHEET", each) for each in found) for name, found in named.items()
    }
    assert all(each == commands["en"] for each in commands.values())
    purge = get_command(runs.app).commands["purge"]  # type: ignore[attr-defined]
    options = {name for option in purge.params for name in option.opts}
    assert {"--case", "--where", "--all"} <= options
    for name, page in pages.items():
        others = {f"({other}.md)" for other in pages if other != name}
        assert all(other in page for other in others) and "(../privacy.md)" in page
