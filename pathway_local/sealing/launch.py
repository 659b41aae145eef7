"""Starts processes from a thread without a filter, and makes an engine's process private: its variables and folders.

A filter on system calls belongs to a thread, and whatever the thread starts inherits it; an engine must not inherit
that this process has no sockets. So one thread, which only starts processes, is set aside before the others get it.
"""

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from pathway_local.sealing.filter import install
from pathway_local.sealing.landlock import Files
from pathway_local.system.private_process import STOPPING, make_private, own_cache
from pathway_local.system.shipped import packaged_folder

_apart: list[ThreadPoolExecutor] = []
_DUMPABLE = 4


def give_up_sockets() -> bool:
    """Forbid sockets to this thread, and to all that it starts from now on; return False if the kernel can't filter.

    From now on only root reads this process's memory, not other programs of its user, such as an engine.
    Threads that native libraries started while they were imported keep their rights: they run only their own library's
    code (an allocator, linear algebra).
    """
    apart = ThreadPoolExecutor(1, "starts-processes")
    apart.submit(bool).result()  # starts the thread before the filter is on
    ctypes.CDLL(None).prctl(_DUMPABLE, 0, 0, 0, 0)
    with suppress(OSError):
        install("no-sockets")
        _apart.append(apart)
        return True
    return False


def start_process(
    command: Sequence[str], inherited: Sequence[int], environment: Mapping[str, str], folder: str
) -> "subprocess.Popen[bytes]":
    """Start a process in its own session and in `folder`; after `give_up_sockets`, start it on the thread set aside.

    The process gets an empty stdin, the descriptors in `inherited`, and one pipe for its output. Signals that ask a
    program to end are blocked in it from the start: its parent answers them.
    """

    def start() -> "subprocess.Popen[bytes]":
        # Asked for first: blocking may raise KeyboardInterrupt at once, and the mask must be restored then, too.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
        try:
            signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)
            return subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=inherited,
                start_new_session=True,
                env=environment,
                cwd=folder,
            )
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    # The first: one made later, when this thread had a filter already, has inherited it.
    return _apart[0].submit(start).result() if _apart else start()


TEMPORARY = "PATHWAY_LOCAL_TEMPORARY"
"""Environment variable: the folder for an engine's temporary files, which is removed when the engine ends."""

SWITCHES = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_DO_NOT_TRACK": "1",
    "DO_NOT_TRACK": "1",
    "VLLM_HOST_IP": "127.0.0.1",
    "RAY_USAGE_STATS_ENABLED": "0",
    "VLLM_ALLOW_INSECURE_SERIALIZATION": "0",
    "VLLM_CONFIGURE_LOGGING": "0",
    "TQDM_DISABLE": "1",
    # Otherwise a crash writes the GPU's memory to a file, with the cases in flight.
    "CUDA_ENABLE_COREDUMP_ON_EXCEPTION": "0",
    "CUDA_ENABLE_USER_TRIGGERED_COREDUMP": "0",
    "VLLM_DEBUG_LOG_API_SERVER_RESPONSE": "0",
    "VLLM_TRACE_FUNCTION": "0",
    # A forked worker would inherit our pipes, and keep them open when we die.
    "VLLM_WORKER_MULTIPROCESSING_METHOD": "spawn",
}
"""Set before any import: they keep vLLM and its libraries off the network, and cases out of pipes and files."""

UNSET = (
    "VLLM_DEBUG_DUMP_PATH",
    "VLLM_LOGGING_CONFIG_PATH",
    "VLLM_MODEL_REDIRECT_PATH",
    "VLLM_TORCH_PROFILER_DIR",
)
"""Removed: they would make vLLM write files about its work, or load other weights than those that we checked."""

CACHES = {
    "CUDA_CACHE_PATH": "cuda",
    "FLASHINFER_WORKSPACE_BASE": "flashinfer",
    "OUTLINES_CACHE_DIR": "outlines",
    "TORCHINDUCTOR_CACHE_DIR": "inductor",
    "TRITON_CACHE_DIR": "triton",
    "VLLM_CACHE_ROOT": "vllm",
}
"""Folders, in one of ours, in which libraries keep what they compile."""


def settle() -> None:
    """Make this process private."""
    for number in STOPPING:
        # The parent answers these, but systemd sends them to every process of a service. Ignore them although they are
        # blocked, since a library may unblock them.
        signal.signal(number, signal.SIG_IGN)
    make_private()
    os.environ.update(SWITCHES | _caches() | _homes())
    for name in UNSET:
        os.environ.pop(name, None)
    drop_empty_parts()


def drop_empty_parts() -> None:
    """Remove the empty parts of PATH, LD_LIBRARY_PATH and their like, which mean the working folder.

    Programs that an engine starts would load code from there. Libraries add such parts while they are imported.
    """
    for name, value in os.environ.items():
        if name.endswith("PATH") and "" in (parts := value.split(os.pathsep)):
            os.environ[name] = os.pathsep.join(filter(None, parts))


def _caches() -> dict[str, str]:
    """Return private folders for caches, which libraries load as code or pickles; some defaults are open to others."""
    home = own_cache()
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        home.chmod(0o700)
    except OSError:
        if TEMPORARY not in os.environ:
            return {}
        home = Path(os.environ[TEMPORARY])  # the home is read-only: cache for this process alone
    for name in CACHES.values():
        (home / name).mkdir(mode=0o700, exist_ok=True)
    return {variable: str(home / name) for variable, name in CACHES.items()}


def _homes() -> dict[str, str]:
    """Let what libraries keep for a user go to the folder that is removed."""
    own = os.environ.get(TEMPORARY)
    return dict.fromkeys(("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"), own) if own else {}


SYSTEM = ["/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin", "/etc", "/opt", "/proc", "/sys", "/nix/store"]
"""Files that every program reads."""

DEVICES = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"]


def engine_files(model: str) -> Files:
    """Return the files that the process of an engine needs.

    It reads the interpreter, its libraries, the system and the folder `model`, whose files may be links. It writes its
    temporary folder, its caches, and shared memory, where even an engine of one process keeps its semaphores.
    """
    package, folder = packaged_folder(""), Path(model)
    named = (os.environ.get(name, "").split(os.pathsep) for name in ("LD_LIBRARY_PATH", "CUDA_HOME"))
    given = [sys.prefix, sys.base_prefix, *sys.path, *(each for parts in named for each in parts)]
    libraries = [Path(each) for each in (*SYSTEM, *given) if each and Path(each) != package.parent]
    judge = [folder, *(path.resolve() for path in folder.iterdir())] if model and folder.is_dir() else []
    own = [Path(os.environ[name]) for name in (TEMPORARY, *CACHES) if name in os.environ]
    # A checkout may hold runs and cases beside the package: there it sees names alone.
    return Files(
        read=[*libraries, package, *judge],
        write=[*own, Path("/dev/shm")],
        devices=[*map(Path, DEVICES), *Path("/dev").glob("nvidia*")],
        list=[package.parent],
    )
