"""The register of engines; `--engine auto` takes the first one that is installed."""

from pathway_local.engines.engine import EngineKind
from pathway_local.engines.transformers import TRANSFORMERS
from pathway_local.engines.vllm import VLLM
from pathway_local.errors import UnknownName
from pathway_local.system.machine import version_of

AUTO = "auto"
ENGINES: list[EngineKind] = [VLLM, TRANSFORMERS]


def engine_names() -> list[str]:
    """Return the names that `--engine` accepts."""
    return [AUTO, *(engine.name for engine in ENGINES)]


def engine_kind(name: str) -> EngineKind:
    """Return the engine of that name. Raises UnknownName."""
    if name == AUTO:
        return next((engine for engine in ENGINES if engine.is_installed()), ENGINES[0])
    if name not in engine_names():
        raise UnknownName("engine", name, engine_names())
    return next(engine for engine in ENGINES if engine.name == name)


def installed_packages() -> dict[str, str]:
    """Return the versions of the distributions of all engines that can change a score."""
    names = dict.fromkeys(package for engine in ENGINES for package in engine.packages)
    return {name: found for name in names if (found := version_of(name))}
