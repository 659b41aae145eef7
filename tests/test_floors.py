"""Imports go one way: from a floor only to floors below it, and never in a circle, of modules or of packages."""

import ast
from collections.abc import Collection, Mapping
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "pathway_local"

FLOORS = {
    "values": "errors case verdict rater shipped safe_yaml yaml_places output_file private_file private_process "
    "pseudonyms installed engines.passes",
    "files and figures": "prompty adopt rubrics sheets judges statistics",
    "runs": "runs",
    "prompts": "tokenizer chat prompt",
    "engines": "engines",
    "checks": "checks doctor",
    "the loop": "reading judge loaded plan job",
    "results": "ratings results",
    "commands": "demo cli",
}
HEAVY = {"vllm", "torch", "outlines"}
MAY_BE_HEAVY = (
    "engines.trial",
    "engines.vllm",
    "engines.vllm_request",
    "engines.transformers",
    "engines.child",
    "demo",
)


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")


MODULES = {name_of(path): ast.parse(path.read_text(encoding="utf-8")) for path in PACKAGE.rglob("*.py")}


def floor_of(module: str) -> int:
    """The floor of the longest name in the table that the module begins with."""
    found = [
        (len(name), floor)
        for floor, names in enumerate(FLOORS.values())
        for name in names.split()
        if module == name or module.startswith(f"{name}.")
    ]
    assert found, f"{module} stands on no floor: name it in FLOORS"
    return max(found)[1]


def imports(tree: ast.AST) -> set[str]:
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def own_imports(module: str) -> set[str]:
    named = {
        name.removeprefix("pathway_local.") for name in imports(MODULES[module]) if name.startswith("pathway_local.")
    }
    return {name for name in named if name in MODULES and name != module}


@pytest.mark.parametrize("module", sorted(MODULES.keys() - {"__init__"}))
def test_a_module_imports_only_from_below(module: str) -> None:
    for other in own_imports(module) - {"__init__"}:
        assert floor_of(other) <= floor_of(module), f"{module} imports {other} from above"


def check_no_circle(graph: Mapping[str, Collection[str]]) -> None:
    done: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        assert name not in path, " → ".join((*path, name))
        if name not in done:
            for other in graph[name]:
                visit(other, (*path, name))
            done.add(name)

    for name in graph:
        visit(name, ())


def test_no_circle_of_modules() -> None:
    check_no_circle({module: own_imports(module) for module in MODULES})


def test_no_circle_of_packages() -> None:
    packages: dict[str, set[str]] = {module.partition(".")[0]: set() for module in MODULES if "." in module}
    for module in MODULES:
        own = module.partition(".")[0]
        if own in packages:
            others = {other.partition(".")[0] for other in own_imports(module)}
            packages[own] |= others & packages.keys() - {own}
    check_no_circle(packages)


@pytest.mark.parametrize("module", sorted(MODULES))
def test_only_engines_know_vllm_and_torch(module: str) -> None:
    if not module.startswith(MAY_BE_HEAVY):
        assert not {name.partition(".")[0] for name in imports(MODULES[module])} & HEAVY


@pytest.mark.parametrize("module", sorted(MODULES))
def test_nothing_of_the_package_imports_the_benchmark_or_the_check_of_a_gpu(module: str) -> None:
    assert not {name.partition(".")[0] for name in imports(MODULES[module])} & {"benchmark", "gpu_check"}


def test_results_run_on_a_laptop() -> None:
    todo = [module for module in MODULES.keys() - {"__init__"} if floor_of(module) == list(FLOORS).index("results")]
    known = set(todo)
    while todo:
        found = own_imports(todo.pop()) - known
        known |= found
        todo += found
    assert {module for module in known if module.startswith("engines.")} <= {"engines.passes"}
