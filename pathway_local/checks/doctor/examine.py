"""Runs all of doctor's checks, one after another."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from pathway_local.check import Check
from pathway_local.checks.doctor.files import cases_checks, is_run, run_checks
from pathway_local.checks.doctor.machine import machine_checks
from pathway_local.checks.doctor.versions import version_checks
from pathway_local.engines.cluster import INSTALL, RAY, Cluster, look
from pathway_local.errors import PathwayError
from pathway_local.judges.registry import USUAL_JUDGE, Registry, load_registry, weights_folder
from pathway_local.judges.weights_check import file_checks
from pathway_local.system.installed import version_of
from pathway_local.system.machine import Machine, this_machine


def examine(
    target: Path | None = None, judge: str | None = None, registry: Path | None = None, cluster: str = ""
) -> Iterator[Check]:
    """Check this machine, a judge (default: the demo judge), and a run or cases file and a cluster if they are named.

    If something can't be checked, that is itself a problem, and the other checks still run.
    """
    machine = this_machine()
    yield from machine_checks(machine, target.parent if target else Path())
    yield from version_checks()
    judges = Registry({})
    try:
        judges = load_registry(registry)
    except PathwayError as error:
        yield _problem("registry", error)
    else:
        yield from _looked("judge", lambda: _judge(judges, judge or USUAL_JUDGE, machine))
    if cluster:
        yield from _looked("cluster", lambda: _cluster(cluster))
    if target is not None:
        yield from _looked("file", lambda: run_checks(target, judges) if is_run(target) else cases_checks(target))


def _judge(judges: Registry, name: str, machine: Machine) -> Iterator[Check]:
    spec = judges.get(name)
    yield from file_checks(spec, weights_folder(spec), machine)


def _cluster(address: str) -> Iterator[Check]:
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


def _looked(name: str, look: Callable[[], Iterable[Check]]) -> Iterator[Check]:
    try:
        yield from look()
    except PathwayError as error:
        yield _problem(name, error)


def _problem(name: str, error: PathwayError) -> Check:
    return Check(name, "problem", str(error), error.hint)
