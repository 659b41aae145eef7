"""Runs all of doctor's checks, one after another: of the machine, a cases file, a run and the judges."""

import os
import re
import shlex
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

from pathway_local.check import Check, checked
from pathway_local.checks.machine import machine_checks, version_checks
from pathway_local.engines.cluster import INSTALL, RAY, Cluster, look
from pathway_local.errors import CasesError, PathwayError, RunFileError
from pathway_local.judges.registry import USUAL_JUDGE, Registry, load_registry, weights_folder
from pathway_local.judges.weights import weights_hash
from pathway_local.judges.weights_check import file_checks
from pathway_local.rater import Rater
from pathway_local.runs.audit import AuditTrail
from pathway_local.runs.content import check_content
from pathway_local.runs.run_file import RunFile
from pathway_local.sealing.launch import give_up_sockets
from pathway_local.sheets.columns import listed
from pathway_local.sheets.kinds import open_sheet
from pathway_local.system.machine import Machine, this_machine, version_of
from pathway_local.system.private_file import closing_command, exposed_to, folder_open_to, left_parts

RESTORE = "Restore a copy from a backup."

LOCAL = "Move the run to a local disk, and copy it back when it is finished."

# SQLite's logs beside a run need memory that all readers and writers share, which a network file system can't give.
_NETWORK = ("nfs", "cifs", "smb", "afs", "9p", "ceph", "lustre", "gpfs", "beegfs", "fuse.sshfs", "fuse.gluster")
_ESCAPED = re.compile(r"\\([0-7]{3})")
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
    yield _permissions("cases file", path)
    yield _folder("cases folder", path)
    yield from _left_parts(path.absolute().parent)
    give_up_sockets()
    yield checked("cases", lambda: _sheet(path), RESTORE)


def run_checks(path: Path, judges: Registry) -> Iterator[Check]:
    """Check a run file, its folder, its audit trail, and the weights of its judges."""
    yield _permissions("run file", path)
    folder = path.absolute().parent
    yield _folder("run folder", path)
    if not os.access(folder, os.W_OK):
        said = "you can't write to it, so the run can only be read"
        yield Check("run folder", "note", said, "Move the run to your own folder before you continue it.")
    yield _file_system(path, Path("/proc/self/mountinfo"))
    yield from _left_parts(folder)
    yield checked("run", lambda: _run(path), RESTORE)
    yield checked("audit trail", lambda: _trail(path), RESTORE)
    for rater in _judges(path):
        yield checked(f"judge {rater.name}", partial(_weights, rater, judges))


def _permissions(name: str, path: Path) -> Check:
    if others := exposed_to(path):
        return Check(f"{name}, permissions", "problem", f"{others} can read it", closing_command(path))
    return Check(f"{name}, permissions", "ok", "nobody else can read it")


def _folder(name: str, path: Path) -> Check:
    folder = path.resolve().parent
    mode = stat.filemode(folder.stat().st_mode)
    if others := folder_open_to(path):
        fix = f"Run `chmod go-w {shlex.quote(str(folder))}`, or move {path.name} to your own folder"
        what = "add files to it" if folder.stat().st_mode & stat.S_ISVTX else "replace files in it"
        return Check(f"{name}, permissions", "problem", f"{others} can {what} ({mode} {folder})", fix)
    return Check(f"{name}, permissions", "ok", f"{mode} {folder}")


def _left_parts(folder: Path) -> Iterator[Check]:
    """Yield a problem if a killed command left half-written files, which may hold texts of cases."""
    if parts := left_parts(folder):
        names = shlex.join(map(str, parts))
        said = f"{folder} holds half-written files of a command that was killed or is still writing"
        yield Check("half-written files", "problem", said, f"If no command is writing there: rm -r {names}")


def _file_system(path: Path, mounts: Path) -> Check:
    """Check that a run is on a local disk; `mounts` lists what is mounted where (proc_pid_mountinfo(5))."""
    name, kind = "run folder, file system", ""
    real, longest = path.resolve(), -1
    for line in mounts.read_text("utf-8", "replace").splitlines():
        before, _, after = line.partition(" - ")
        point = Path(_ESCAPED.sub(lambda found: chr(int(found[1], 8)), before.split()[4]))
        # Of two mounts in one place, the later one hides the other.
        if real.is_relative_to(point) and len(point.parts) >= longest:
            kind, longest = after.split()[0], len(point.parts)
    if kind.startswith(_NETWORK):
        return Check(name, "note", f"{kind} is a network file system: writing a run there can damage it", LOCAL)
    return Check(name, "ok", kind or "unknown")


def _run(path: Path) -> Check:
    with RunFile.read(path, None) as run:
        [[state]] = run.database.rows("PRAGMA quick_check(1)")
        if state != "ok":
            return Check("run", "problem", "some of its pages are damaged", RESTORE)
        outcomes = run.database.rows("SELECT COUNT(*) FROM outcomes WHERE superseded = 0")[0][0]
        jobs = run.jobs.all()
        unended = sum(job.ended is None for job in jobs)
    found = f"whole; {outcomes:,} outcomes by {len(jobs)} commands"
    if unended:
        return Check("run", "note", f"{found}, of which {unended} did not end", "Repeat the last command to continue.")
    return Check("run", "ok", found)


def _trail(path: Path) -> Check:
    with RunFile.read(path, None) as run, run.database.snapshot():
        trail = AuditTrail(run.database)
        trail.check()
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
    count = sheet.count()
    rows = f"about {count:,} rows" if count is not None else "rows not counted"
    named = f" named in row {sheet.header_row}" if sheet.header_row else ""
    names = ", ".join(listed(sheet.columns, guessed=sheet.guessed_header))
    if len(sheet.columns) == 1:
        fix = "Put commas or semicolons between its cells, or name the row of its columns: judge --header-row N"
        return Check("cases", "problem", f"only one column{named}: {names}; {rows}", fix)
    return Check("cases", "ok", f"{len(sheet.columns)} columns{named}: {names}; {rows}")


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
