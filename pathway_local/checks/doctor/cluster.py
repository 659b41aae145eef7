"""Checks of a Ray cluster: its version, its network, its folders, and whether it answers."""

from collections.abc import Iterator

from pathway_local.check import Check
from pathway_local.engines.cluster import INSTALL, RAY, Cluster, look
from pathway_local.system.installed import version_of


def cluster_checks(address: str) -> Iterator[Check]:
    """Check the cluster at this address. Raises UsageError for no address, EngineError if it does not answer."""
    Cluster(address)
    version = version_of("ray")
    if version != RAY:
        said = f"{version or 'none'} is installed; this release was tested with {RAY}"
        yield Check("Ray", "note" if version else "problem", said, INSTALL)
    if not version:
        return
    found = look(address)
    yield from found.checks
    if found.machine:
        nodes = "1 node" if len(found.nodes) == 1 else f"{len(found.nodes)} nodes"
        yield Check("cluster", "ok", f"{nodes}; a worker there has {found.machine.described()}")
