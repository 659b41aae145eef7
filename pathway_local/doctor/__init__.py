"""What `pathway-local doctor` looks at: this machine, the judge, the run and the cases; a check each, with its fix."""

from collections.abc import Iterator
from pathlib import Path

from pathway_local.checks.check import Check
from pathway_local.checks.weights_check import file_checks
from pathway_local.doctor.files import cases_checks, is_run, run_checks
from pathway_local.doctor.machine import machine_checks
from pathway_local.doctor.versions import version_checks
from pathway_local.judges.machine import this_machine
from pathway_local.judges.registry import load_registry, weights_folder


def examine(target: Path | None = None, judge: str | None = None, registry: Path | None = None) -> Iterator[Check]:
    """Look at this machine, then at a judge, then at a run or cases file, where these are named.

    Raises PathwayError where the judge is not known or its weights are not here, or the target can't be read.
    """
    machine = this_machine()
    yield from machine_checks(machine, target.parent if target else Path())
    yield from version_checks()
    judges = load_registry(registry)
    if judge is not None:
        spec = judges.get(judge)
        yield from file_checks(spec, weights_folder(spec), machine)
    if target is not None:
        yield from run_checks(target, judges) if is_run(target) else cases_checks(target)
