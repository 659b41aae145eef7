"""Doctor's checks, one after another: of the machine, a cases file, a run and the judges."""

import os
import platform
import shlex
import stat
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

from pathway_local import __version__
from pathway_local.check import Check, checked
from pathway_local.engines.engine_list import ENGINES, installed_packages
from pathway_local.errors import CasesError, EngineError, PathwayError, RunFileError
from pathway_local.judges.engine_settings import file_checks
from pathway_local.judges.registry import USUAL_JUDGE, Registry, load_registry, weights_folder
from pathway_local.judges.weights import weights_hash
from pathway_local.rater import Rater
from pathway_local.runs.audit import AuditTrail, check_content
from pathway_local.runs.run_file import RunFile
from pathway_local.sealing.launch import give_up_sockets
from pathway_local.sealing.seal import Seal
from pathway_local.sealing.trial import try_seal
from pathway_local.sheets.columns import listed
from pathway_local.sheets.kinds import open_sheet
from pathway_local.system.machine import (
    CPU_BUILD,
    EITHER_BUILD,
    GPU_BUILD,
    TORCH_ALONE,
    Machine,
    this_machine,
    uses_gpu,
)
from pathway_local.system.private_file import closing_command, exposed_to, folder_open_to, left_parts

_ALLOW = (
    "Allow users to make namespaces: Ubuntu since 23.10 needs "
    "`sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0` or an AppArmor profile, Debian before 11 "
    "`sudo sysctl kernel.unprivileged_userns_clone=1`; in a container, start it with --network none."
)
_GPU_FILES = ("/dev/nvidiactl", "/dev/nvidia-uvm")


def machine_checks(machine: Machine) -> Iterator[Check]:
    """Check the machine. Takes some seconds, half a minute with a GPU."""
    on_gpu, cuda = bool(machine.gpus) and uses_gpu(), "no: the seal could not be tried"
    try:
        seal, cuda = try_seal(cuda=on_gpu)
        yield _seal(seal)
    except EngineError as error:
        yield Check("seal", "problem", str(error), "Run `python -m pathway_local.sealing.trial` to see why.")
    yield _gpu(machine)
    if on_gpu:
        yield _cuda(cuda)


def _seal(seal: Seal) -> Check:
    if not seal.missing:
        said = f"{seal}: the engine reaches no network, no other program's socket, and no file but its own"
        return Check("seal", "ok", said)
    fix = _ALLOW if not (seal.namespace or seal.why) else ""
    return Check("seal", "note" if seal.namespace or seal.filter else "problem", f"{seal}: {seal.missing}", fix)


def _gpu(machine: Machine) -> Check:
    slow = "" if machine.bf16 else ", in float32, since this one has no bfloat16"
    if not machine.gpus:
        wanted = uses_gpu()
        fix = f"Install the driver, or the CPU build: {CPU_BUILD}." if wanted else ""
        found = (
            "none, and the installed engine needs one" if wanted else f"none; the engine runs on the processor{slow}"
        )
        return Check("GPU", "problem" if wanted else "ok", found, fix)
    if not uses_gpu():
        found = f"{machine.described()}, but the installed engine runs on the processor{slow}"
        return Check("GPU", "note", found, f"Install the GPU build: {GPU_BUILD}.")
    missing = [name for name in _GPU_FILES if not Path(name).exists()]
    if missing:
        # The driver's helper makes them, but it is set-uid root and so can't run inside the seal.
        fix = "Run once as root: nvidia-modprobe -u -c=0"
        return Check("GPU", "problem", f"{machine.described()}, but {', '.join(missing)} is missing", fix)
    return Check("GPU", "ok", machine.described())


def _cuda(found: str) -> Check:
    if found.startswith("no:"):
        fix = "Run `nvidia-smi`; if it lists the GPU, try the same outside the seal with `judge --seal off`."
        return Check("CUDA inside the seal", "problem", found.removeprefix("no: "), fix)
    return Check("CUDA inside the seal", "ok", found)


def version_checks() -> Iterator[Check]:
    """Check what is installed, without importing it; an engine that was not tested says so once it is loaded."""
    found = {"pathway-local": __version__, "Python": platform.python_version(), **installed_packages()}
    yield Check("versions", "ok", ", ".join(f"{name} {known}" for name, known in found.items()))
    if not any(engine.is_installed() for engine in ENGINES):
        fix = f"Install the usual one: {EITHER_BUILD}. Or a slower one: {TORCH_ALONE}."
        yield Check("engine", "problem", "no engine is installed", fix)


RESTORE = "Restore a copy from a backup."

LOCAL = "Move the run to a local disk, and copy it back when it is finished."
# SQLite's logs beside a run need memory that all readers and writers share, which a network file system can't give.
_NETWORK = ("nfs", "cifs", "smb", "afs", "v9fs", "ceph", "lustre", "gpfs", "beegfs", "fuse")
_SQLITE = b"SQLite format 3\0"


def is_run(path: Path) -> bool:
    """Whether a file is a run rather than cases. Raises CasesError if it can't be read."""
    try:
        with path.open("rb") as file:
            return path.suffix == ".run" or file.read(len(_SQLITE)) == _SQLITE
    except OSError as error:
        raise CasesError(f"{path} can't be read: {error.strerror}", "Name a run file or a cases file.") from None


def cases_checks(path: Path) -> Iterator[Check]:
    """Check a cases file and its folder; from then on this process can open no socket."""
    yield from _place("cases", path)
    give_up_sockets()
    yield checked("cases", lambda: _sheet(path), RESTORE)


def run_checks(path: Path, judges: Registry) -> Iterator[Check]:
    """Check a run file, its folder, its audit trail, and the weights of its judges."""
    yield from _place("run", path)
    if not os.access(path.absolute().parent, os.W_OK):
        said = "you can't write to it, so the run can only be read"
        yield Check("run folder", "note", said, "Move the run to your own folder before you continue it.")
    yield _file_system(path)
    yield checked("run", lambda: _run(path), RESTORE)
    yield checked("audit trail", lambda: _trail(path), RESTORE)
    for rater in _judges(path):
        yield checked(f"judge {rater.name}", partial(_weights, rater, judges))


def _place(name: str, path: Path) -> Iterator[Check]:
    """Check who can read the file and change its folder, and whether a killed command left half-written files there."""
    others, own = exposed_to(path), f"{name} file, permissions"
    if others:
        yield Check(own, "problem", f"{others} can read it", closing_command(path))
    else:
        yield Check(own, "ok", "nobody else can read it")
    folder, own = path.resolve().parent, f"{name} folder, permissions"
    mode = stat.filemode(folder.stat().st_mode)
    if others := folder_open_to(path):
        fix = f"Run `chmod go-w {shlex.quote(str(folder))}`, or move {path.name} to your own folder"
        what = "add files to it" if folder.stat().st_mode & stat.S_ISVTX else "replace files in it"
        yield Check(own, "problem", f"{others} can {what} ({mode} {folder})", fix)
    else:
        yield Check(own, "ok", f"{mode} {folder}")
    if parts := left_parts(path.absolute().parent):
        names = shlex.join(map(str, parts))
        said = f"{path.absolute().parent} holds half-written files of a command that was killed or is still writing"
        yield Check("half-written files", "problem", said, f"If no command is writing there: rm -r {names}")


def _file_system(path: Path) -> Check:
    """Check that a run is on a local disk."""
    name, command = "run folder, file system", ["stat", "--file-system", "--format=%T", "--", str(path)]
    kind = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    if kind.startswith(_NETWORK) and kind != "fuseblk":
        return Check(name, "note", f"{kind} is a network file system: writing a run there can damage it", LOCAL)
    return Check(name, "ok", kind or "unknown")


def _run(path: Path) -> Check:
    with RunFile.read(path, None) as run:
        outcomes = run.database.rows("SELECT COUNT(*) FROM current")[0][0]
        jobs = run.jobs.all()
        unended = sum(job.ended is None for job in jobs)
    found = f"whole; {outcomes:,} outcomes by {len(jobs)} commands"
    if unended:
        return Check("run", "note", f"{found}, of which {unended} did not end", "Repeat the last command to continue.")
    return Check("run", "ok", found)


def _trail(path: Path) -> Check:
    with RunFile.read(path, None) as run, run.database.snapshot():
        AuditTrail(run.database).check()
        check_content(run.database)
        return Check("audit trail", "ok", "as recorded; the outcomes match it")


def _judges(path: Path) -> list[Rater]:
    """Return the run's judges, each once; none if the run can't be read, which another check reports."""
    with suppress(RunFileError), RunFile.read(path, None) as run:
        return list({rater.name: rater for _, rater in run.raters() if rater.kind == "judge"}.values())
    return []


def _weights(rater: Rater, judges: Registry) -> Check:
    """Check that the weights on the disk are those that judged."""
    folder = weights_folder(judges.get(str(rater.spec.get("judge"))))
    if rater.spec.get("weights") != weights_hash(folder):
        said = f"the files in {folder} have changed since it judged"
        return Check(f"judge {rater.name}", "problem", said, "Restore the old files to continue this run.")
    return Check(f"judge {rater.name}", "ok", f"{folder} holds the files that judged")


def _sheet(path: Path) -> Check:
    sheet = open_sheet(path)
    rows = f"{sum(not row.blank for row in sheet.rows()):,} rows"
    named = f" named in row {sheet.header_row}" if sheet.header_row else ""
    names = ", ".join(listed(sheet.columns))
    if len(sheet.columns) == 1:
        fix = "Put commas or semicolons between its cells, or name the row of its columns: judge --header-row N"
        return Check("cases", "problem", f"only one column{named}: {names}; {rows}", fix)
    return Check("cases", "ok", f"{len(sheet.columns)} columns{named}: {names}; {rows}")


def examine(target: Path | None = None, judge: str | None = None, registry: Path | None = None) -> Iterator[Check]:
    """Check this machine, a judge (default: the demo judge), and a run or cases file if one is named.

    If something can't be checked, that is itself a problem, and the other checks still run.
    """
    yield from machine_checks(this_machine())
    yield from version_checks()
    judges = Registry({})
    try:
        judges = load_registry(registry)
        spec = judges.get(judge or USUAL_JUDGE)
        yield from file_checks(spec, weights_folder(spec))
    except PathwayError as error:
        yield Check("judge", "problem", str(error), error.hint)
    if target is not None:
        try:
            yield from run_checks(target, judges) if is_run(target) else cases_checks(target)
        except PathwayError as error:
            yield Check("file", "problem", str(error), error.hint)
