"""A command imports what it needs: libraries that take long are left to the commands that use them."""

import subprocess
import sys

import pytest

SLOW = ("numpy", "scipy", "openpyxl", "pyarrow", "transformers", "torch", "vllm", "outlines", "rich.markdown")
NEEDED = {"": (), "summary": ("numpy",), "export": ("numpy",), "judge": ("numpy",), "judges": ()}


@pytest.mark.parametrize("command", NEEDED)
def test_help_imports_no_library_that_it_does_not_need(command: str) -> None:
    code = (
        "import sys; sys.argv = ['pathway-local', *filter(None, [sys.argv[1]]), '--help']\n"
        "from pathway_local.cli import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        "print(*(name for name in SLOW if name in sys.modules), sep=',', file=sys.stderr)"
    ).replace("SLOW", repr(SLOW))
    done = subprocess.run([sys.executable, "-c", code, command], capture_output=True, text=True, timeout=120)
    loaded = set(filter(None, done.stderr.splitlines()[-1].split(",")))
    assert loaded <= set(NEEDED[command]), done.stderr
