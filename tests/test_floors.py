"""Imports go one way: a module imports from its own room and from rooms below it, and modules form no circle."""

import ast
import re
from collections import Counter
from collections.abc import Set
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "pathway_local"
MAP = (PACKAGE.parent / "ARCHITECTURE.md").read_text()

VALUES = "values"
CEILINGS = {
    VALUES: 748,
    "system": 741,
    "rubrics": 3385,
    "sheets": 2243,
    "probes": 348,
    "judges": 1538,
    "rendering": 526,
    "sealing": 929,
    "engines": 2289,
    "runs": 2203,
    "judging": 2186,
    "statistics": 1715,
    "words": 211,
    "ratings": 2292,
    "scores": 562,
    "results": 4408,
    "output": 743,
    "pages": 793,
    "viewer": 583,
    "checks": 394,
    "api": 338,
    "declare": 452,
    "cli": 2616,
}
"""Bottom to top, each room with the most lines that it may have: a room that grows fails. The modules at the root are
the room of values, every folder is a room of its own. Lower a ceiling whenever its room gets smaller."""

ROOMS = tuple(CEILINGS)

AT_THE_ROOT = {"__init__", "case", "check", "errors", "note", "passes", "rater", "verdict"}

NARROWER = {
    VALUES: set(),
    "system": {VALUES},
    "sealing": {VALUES, "system"},
    "engines": {VALUES, "system", "judges", "sealing"},
    "statistics": {VALUES},
}
"""Rooms that import less than all below them: engines know token ids, and neither rubrics nor texts."""

READ_FILES = {f"rubrics.{name}" for name in ("rubric_file", "prompty_file", "criteria", "marks", "front_matter")}
"""The door: modules that make rubrics of prompts' files. What judges, stores or shows never imports them."""

HEAVY = {"vllm", "torch", "outlines"}
MAY_BE_HEAVY = {"engines.vllm", "engines.vllm_core", "engines.transformers", "sealing.trial"}
OUTSIDE = {"benchmark", "bundling", "demo_judge", "gpu_check"}
"""What lies in scripts/: it imports the package, and is not there in an installation."""


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")


@cache
def modules() -> dict[str, ast.Module]:
    """Each module's syntax tree. Parsing all takes seconds, so it is left to the first test that needs them."""
    return {name_of(path): ast.parse(path.read_text(encoding="utf-8")) for path in sorted(PACKAGE.rglob("*.py"))}


FOLDERS = {path.relative_to(PACKAGE).parts[0] for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE}


def room_of(module: str) -> str:
    first = "cli" if module == "__main__" else module.partition(".")[0]
    return first if first in FOLDERS else VALUES


def imports(tree: ast.AST) -> set[str]:
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.module and not node.level, "a relative import: name the module from pathway_local on"
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def own_imports(module: str) -> set[str]:
    """The package's modules that this one imports, wherever in it. `from pathway_local import …` names `__init__`."""
    named = {
        name.removeprefix("pathway_local.") if name != "pathway_local" else "__init__"
        for name in imports(modules()[module])
        if name.partition(".")[0] == "pathway_local"
    }
    return {name for name in named if name in modules() and name != module}


def reached_from(rooms: Set[str]) -> set[str]:
    """The modules of these rooms and all that these import."""
    todo = [module for module in modules() if room_of(module) in rooms]
    known = set(todo)
    while todo:
        found = own_imports(todo.pop()) - known
        known |= found
        todo += found
    return known


def test_every_folder_is_a_room_of_the_table() -> None:
    assert set(ROOMS) - {VALUES} == FOLDERS


def test_no_room_grows_above_its_ceiling() -> None:
    lines = Counter[str]()
    for path in PACKAGE.rglob("*.py"):
        lines[room_of(name_of(path))] += len(path.read_text("utf-8").splitlines())
    assert {room: size for room, size in lines.items() if size > CEILINGS[room]} == {}


def test_the_root_holds_values_alone() -> None:
    assert {module for module in modules() if room_of(module) == VALUES} == AT_THE_ROOT


def test_a_module_imports_only_from_below() -> None:
    """As every room has a place of its own in the order, this also keeps rooms from importing each other."""
    for module in modules():
        room = room_of(module)
        allowed = NARROWER.get(room, set(ROOMS[: ROOMS.index(room)])) | {room}
        for other in own_imports(module):
            assert room_of(other) in allowed, f"{module} imports {other}"


def test_no_circle_of_modules() -> None:
    done: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        assert name not in path, " → ".join((*path, name))
        if name not in done:
            for other in own_imports(name):
                visit(other, (*path, name))
            done.add(name)

    for name in modules():
        visit(name, ())


def test_only_engines_know_vllm_and_torch_and_nothing_imports_what_lies_in_scripts() -> None:
    for module, tree in modules().items():
        named = {name.partition(".")[0] for name in imports(tree)}
        assert module in MAY_BE_HEAVY or not named & HEAVY, module
        assert not named & OUTSIDE, module


def test_tests_import_what_takes_seconds_only_where_they_use_it(imported_first: set[str]) -> None:
    assert imported_first
    assert not imported_first & {*HEAVY, "transformers", "ray"}


def test_behind_the_door_no_module_reads_a_prompts_file() -> None:
    """A rubric is read once, by what runs a command; a run keeps it compiled."""
    behind = set(ROOMS) - {"rubrics", "declare", "checks", "api", "cli"}
    assert not reached_from(behind) & READ_FILES


def test_only_scores_reads_outcomes_for_an_analysis() -> None:
    """Combined scores are written, to an open run."""
    for module in modules():
        if room_of(module) == "results" and module != "results.combined":
            assert not own_imports(module) & {"runs.run_file", "runs.database"}, module


def test_results_run_on_a_laptop() -> None:
    rooms = {room_of(module) for module in reached_from({"ratings", "results"})}
    assert not rooms & {"rendering", "sealing", "engines", "judging"}


def test_the_reading_list_names_files_that_take_about_an_hour() -> None:
    chapter = MAP[MAP.index("## Read it in an hour") : MAP.index("## Drills")]
    files = [PACKAGE / name for name in re.findall(r"`([a-z_/]+\.py)`", chapter)]
    lines = sum(len(file.read_text().splitlines()) for file in files)
    assert len(files) == 16 and abs(lines - 3600) < 300, lines


def test_a_drill_has_its_test() -> None:
    drills = MAP[MAP.index("## Drills") : MAP.index("## Rooms")]
    named = re.findall(r"`(tests/\w+\.py)`", drills)
    assert set(named) == {f"tests/{path.name}" for path in (PACKAGE.parent / "tests").glob("test_another_*.py")}
