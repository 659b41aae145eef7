"""A Ray cluster as the place of engines: what `judge` must know and check before any case travels. Imports no Ray."""

import ipaddress
import math
import platform
import re
import stat
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path

from pathway_local import __version__, errors
from pathway_local.check import Check
from pathway_local.engines.engine_list import installed_packages
from pathway_local.engines.process import LOOK, EngineProcess, Gone
from pathway_local.engines.wire import Failed, Found, Load, Place
from pathway_local.errors import EngineDied, EngineError, EngineMissing, UsageError
from pathway_local.judges.weights import models_home
from pathway_local.passes import EngineConfig
from pathway_local.system.machine import Machine
from pathway_local.system.private_file import closing_command

RAY = "2.60.0"
"""The version that we tested; all nodes of a cluster must have the same one anyway."""

INSTALL = "Run `./scripts/setup --cluster` in this project's folder (with --gpu for .venv-gpu), on all nodes."

LOOK_LIMIT = 60.0
"""Seconds that a look at a cluster may take, joining included."""

TLS_KEY = "RAY_TLS_SERVER_KEY"
TLS_FILES = ("RAY_TLS_SERVER_CERT", TLS_KEY, "RAY_TLS_CA_CERT")
OTHERS = 0o077
"""Permissions of other users."""

LOOPBACK_ALONE = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
"""Without this variable Ray takes 127.0.0.1 for this machine's address on the network."""

_SECURE = "docs/privacy.md (A cluster) says how; or keep all nodes on 127.0.0.1"
_TOKEN = (
    "Run: (umask 077; ray get-auth-token --generate >/dev/null), and set RAY_AUTH_MODE=token for `ray start` and here."
)
START = "Start one with `ray start`, on this machine too, and give the address that it prints."
_ADDRESS = re.compile(r"[A-Za-z0-9.\-]{1,253}:\d{1,5}|\[[0-9a-fA-F:]+\]:\d{1,5}")


def cluster_of(address: str, workers: int) -> "Cluster | None":
    """Return the cluster that options name; None if they name none. Raises UsageError."""
    if workers > 1 and not address:
        raise UsageError("--workers is for a cluster", "Add --cluster ADDRESS, or give --gpus N or --engines N.")
    return Cluster(address, workers) if address else None


@dataclass(frozen=True)
class Cluster:
    """The engines to run on a cluster: so many `workers`. `address` is HOST:PORT."""

    address: str
    workers: int = 1

    def __post_init__(self) -> None:
        """Raise UsageError if the address is invalid."""
        if not _ADDRESS.fullmatch(self.address):
            said = f"--cluster is {self.address[:40]!r}, not HOST:PORT"
            raise UsageError(said, "Give the address that `ray start --head` printed, such as 10.0.0.5:6379.")

    @cached_property
    def found(self) -> Found:
        """The cluster's machine and nodes. Raises EngineError if it does not answer or a check finds a problem."""
        found = look(self.address)
        refuse_problems(self.address, found.checks)
        return found

    @property
    def machine(self) -> Machine:
        """The machine of one worker, with its part of the node's memory. Raises EngineError, see `found`."""
        machine = self.found.machine
        assert machine is not None
        on_one_node = math.ceil(self.workers / max(1, len(self.found.nodes)))  # Ray spreads workers evenly
        return replace(machine, free_memory=machine.free_memory // on_one_node)

    def check_room(self, gpus: int) -> None:
        """Raise UsageError if the cluster is too small for its workers: Ray would wait for further nodes.

        Each takes `gpus` GPUs and a processor of a node; with 0 GPUs, each takes a whole node.
        """
        nodes = self.found.nodes
        room = sum(min(there // gpus, processors) for there, processors in nodes) if gpus else len(nodes)
        if self.workers > room:
            takes = f"{gpus} GPU{'s' * (gpus > 1)} and one processor of a node" if gpus else "a whole node"
            hint = f"Each takes {takes}. `ray status` shows what the nodes have."
            raise UsageError(f"--workers {self.workers}: the cluster has room for {room}", hint)

    def place(self, folder: Path, weights: str, gpus: int) -> Place:
        """Return the place of an engine that needs so many GPUs, for the judge in `folder` with this hash."""
        home, real = models_home().resolve(), folder.resolve()
        relative = real.relative_to(home) if real.is_relative_to(home) else real
        gpu = self.machine.gpus[0].name if gpus else ""
        return Place(self.address, str(relative), weights, own_versions(), gpu, gpus)


def look(address: str) -> Found:
    """Return what checks of a cluster found, and a worker's machine. Raises EngineError if it does not answer."""
    if not find_spec("ray"):
        raise EngineMissing("--cluster needs Ray, which is not installed here", INSTALL)
    process = EngineProcess(Load("", EngineConfig("")), place=Place(address, look=True))
    until, printed = time.monotonic() + LOOK_LIMIT, ""
    try:
        while time.monotonic() < until:
            for message in process.receive(LOOK):
                if isinstance(message, Found):
                    return message
                if isinstance(message, Failed):
                    raise getattr(errors, message.error)(message.message, message.hint)
    except Gone:
        printed = process.output.text
    finally:
        process.kill()
    why = next((line for line in reversed(printed.splitlines()) if line.strip()), "")
    said = f": {why[:200]}" if why else f" within {LOOK_LIMIT:.0f} s"
    raise EngineDied(
        f"the cluster at {address} started no worker{said}", "`ray status` shows what it has and waits for."
    )


def refuse_problems(address: str, found: Iterable[Check]) -> None:
    """Raise EngineError for the first problem that a check found."""
    for check in found:
        if check.status == "problem":
            raise EngineError(f"the cluster at {address}: {check.name}: {check.found}", check.fix)


def own_versions() -> dict[str, str]:
    """Return the versions that can change a score."""
    return {"pathway-local": __version__, "Python": platform.python_version(), **installed_packages()}


def network_checks(hosts: Collection[str], environment: Mapping[str, str]) -> Iterator[Check]:
    """Check that nobody else can join or read the traffic between these hosts.

    Every user of a machine can connect to its loopback, but only root can read what is sent there.
    """
    if environment.get("RAY_AUTH_TOKEN"):
        said = "RAY_AUTH_TOKEN holds the token itself, and every worker sees it"
        yield Check("token", "problem", said, "Put it into a file with mode 0600, named by RAY_AUTH_TOKEN_PATH.")
    elif environment.get("RAY_AUTH_MODE") != "token":
        yield Check("token", "problem", "RAY_AUTH_MODE=token is not set", _TOKEN)
    else:
        yield _token(environment.get("RAY_AUTH_TOKEN_PATH", ""))
    if all(map(on_loopback, hosts)):
        yield Check("network", "ok", "all nodes are on loopback")
    else:
        yield _tls(environment)


def _token(named: str) -> Check:
    path = Path(named) if named else Path.home() / ".ray" / "auth_token"
    mode = _mode(path)
    if mode is None:
        fix = "Put the cluster's token there, with mode 0600, or unset RAY_AUTH_TOKEN_PATH." if named else _TOKEN
        return Check("token", "problem", f"there is no token at {path}", fix)
    if mode & OTHERS:
        return Check("token", "problem", f"other users can read {path}", f"Run: {closing_command(path)}")
    return Check("token", "ok", f"in {path}, which only its owner can read")


def _tls(environment: Mapping[str, str]) -> Check:
    modes = {name: _mode(Path(environment.get(name) or "/nowhere")) for name in TLS_FILES}
    missing = [name for name, mode in modes.items() if mode is None]
    if environment.get("RAY_USE_TLS") != "1":
        return Check("TLS", "problem", "off loopback, and RAY_USE_TLS=1 is not set", f"{_SECURE}.")
    if missing:
        return Check("TLS", "problem", f"{', '.join(missing)} names no file", f"{_SECURE}.")
    if (modes[TLS_KEY] or 0) & OTHERS:
        path = environment[TLS_KEY]
        return Check("TLS", "problem", f"other users can read the key {path}", f"Run: {closing_command(Path(path))}")
    return Check("TLS", "ok", "RAY_USE_TLS=1, with certificate, key and authority")


def _mode(path: Path) -> int | None:
    """Return a file's mode; None if this user finds no file there."""
    with suppress(OSError):
        mode = path.stat().st_mode
        return mode if stat.S_ISREG(mode) else None
    return None


def folder_check(session: Path) -> Check:
    """Check that only its owner can enter Ray's session folder, which has logs and what spills from memory.

    Ray makes the folder itself open to all, so one above it must be closed, wherever links lead.
    """
    try:
        real = session.resolve(strict=True)
        for folder in (real, *real.parents):
            if not folder.stat().st_mode & OTHERS:
                return Check("session folder", "ok", f"{session} is below {folder}, which only its owner can enter")
    except OSError as error:
        said = f"{session} can't be checked: {error.strerror}"
        return Check("session folder", "problem", said, "Run this as the user who started Ray, on one of its nodes.")
    fix = "Start Ray with --temp-dir=FOLDER/ray, in a FOLDER of yours with mode 0700 and a short name."
    return Check("session folder", "problem", f"other users can enter {session}", fix)


def on_loopback(host: str) -> bool:
    """Whether a host is this machine alone."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def host_of(address: str) -> str:
    """Return the host of HOST:PORT."""
    return address.rpartition(":")[0]


def without_ray(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables for an engine that a worker starts: without Ray's own, and with all threads.

    Ray gives its workers one thread (OMP_NUM_THREADS), and names their GPUs, which the engine keeps.
    """
    return {name: value for name, value in environment.items() if not name.startswith(("RAY_", "OMP_NUM_THREADS"))}
