"""A command imports what it needs: libraries that take long are left to the commands that use them."""

import subprocess
import sys

SLOW = ("numpy", "scipy", "openpyxl", "pyarrow", "transformers", "torch", "vllm", "outlines", "rich.markdown")
COMMANDS = {"": (), "judges": (), "summary": ("numpy",), "export": ("numpy",), "judge": ("numpy",)}
"""The slow libraries that each command needs; a later one needs those of the one before."""

CODE = """
import sys
from pathway_local.cli import main
for command in COMMANDS:
    sys.argv = ["pathway-local", *filter(None, [command]), "--help"]
    try: main()
    except SystemExit: pass
    print(command, *(name for name in SLOW if name in sys.modules), sep=",", file=sys.stderr)
""".replace("COMMANDS", repr(tuple(COMMANDS))).replace("SLOW", repr(SLOW))


def test_help_imports_no_library_that_it_does_not_need() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, timeout=120)
    loaded = {command: names for command, *names in (line.split(",") for line in done.stderr.splitlines())}
    assert list(loaded) == list(COMMANDS), done.stderr
    for command, names in loaded.items():
        assert set(names) <= set(COMMANDS[command]), command
