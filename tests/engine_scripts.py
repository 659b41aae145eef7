"""Scripts for a scripted engine in a child process: they die, hang, or tell what they see from inside."""

import os
import resource
import signal
import socket
import time
from pathlib import Path

from scripted_engine import Reply

from pathway_local.passes import Pass

POISON, ONCE, FOREVER, HEAVY = range(1_000_001, 1_000_005)
MARK = "ENGINE_SCRIPTS_MARK"
"""Environment variable that names a file: what is in it has happened already."""


LOAD_ENDS = "ENGINE_SCRIPTS_LOAD_ENDS"
"""Environment variable: the signal that ends each load."""

if LOAD_ENDS in os.environ:
    os.kill(os.getpid(), int(os.environ[LOAD_ENDS]))


def answer(item: Pass) -> Reply:
    """The ids backwards, unless one of them asks for worse."""
    if POISON in item.ids:
        os.kill(os.getpid(), signal.SIGKILL)
    if ONCE in item.ids and _first_time():
        os.abort()
    if FOREVER in item.ids and _first_time():
        time.sleep(3600)
    return item.ids[::-1]


def pid(item: Pass) -> Reply:
    """Which process answers."""
    return (os.getpid(),)


def pid_or_die(item: Pass) -> Reply:
    """Which process answers; or it dies of the same ids as in `answer`."""
    answer(item)
    return pid(item)


def gpus(item: Pass) -> Reply:
    """The GPUs that the process may see, as bytes."""
    return tuple(os.environ["CUDA_VISIBLE_DEVICES"].encode())


def starve(item: Pass) -> Reply:
    """Memory runs out for the first few."""
    mark = Path(os.environ[MARK])
    times = len(mark.read_text()) if mark.exists() else 0
    if HEAVY in item.ids and times < 3:
        mark.write_text("x" * (times + 1))
        raise MemoryError
    return item.ids[::-1]


def die(item: Pass) -> Reply:
    """Nothing works."""
    print(f"secret {item.ids}", flush=True)
    raise RuntimeError(f"secret {item.ids}")


def look(item: Pass) -> Reply:
    """What the child is like: umask, core limit and filter, signals ignored, interfaces, errno of a connect outside."""
    umask = os.umask(0)
    os.umask(umask)
    core = max(0, resource.getrlimit(resource.RLIMIT_CORE)[0])
    dumped = int(Path("/proc/self/coredump_filter").read_text(), 16)
    ignored = sum(signal.getsignal(each) is signal.SIG_IGN for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
    reached = (_outside(socket.SOCK_STREAM), _outside(socket.SOCK_DGRAM))
    return (umask, core, dumped, ignored, len(socket.if_nameindex()), *reached)


def working_folder(item: Pass) -> Reply:
    """Files in the working folder, its permissions, and how many variables name it by an empty part."""
    from pathway_local.sealing.launch import drop_empty_parts

    found = sum(1 for _ in Path().iterdir()), Path().stat().st_mode & 0o777
    given = sum("" in os.environ[name].split(":") for name in ("LD_LIBRARY_PATH", "PATH", "PYTHONPATH"))
    os.environ["LD_LIBRARY_PATH"] = "/lib/of/cv2:"  # as OpenCV does
    drop_empty_parts()
    return (*found, given, int(os.environ["LD_LIBRARY_PATH"] != "/lib/of/cv2"))


def switches(item: Pass) -> Reply:
    """Whether the off-switches are set, others unset, and whether any heavy library is loaded."""
    import sys

    from pathway_local.sealing.launch import SWITCHES, UNSET

    wrong = [name for name, value in SWITCHES.items() if os.environ[name] != value]
    wrong += [name for name in UNSET if name in os.environ]
    return (len(wrong), sum(name in sys.modules for name in ("torch", "vllm", "transformers", "outlines")))


def caches(item: Pass) -> Reply:
    """How many caches would lie in our folder, and that folder's permissions."""
    ours = Path(os.environ["TORCHINDUCTOR_CACHE_DIR"]).parent
    places = ("FLASHINFER_WORKSPACE_BASE", "OUTLINES_CACHE_DIR", "TRITON_CACHE_DIR", "VLLM_CACHE_ROOT")
    return (sum(Path(os.environ[name]).parent == ours for name in places), ours.stat().st_mode & 0o777)


def _outside(kind: int) -> int:
    try:
        with socket.socket(socket.AF_INET, kind) as outside:
            outside.settimeout(5)
            return outside.connect_ex(("192.0.2.1", 53))
    except OSError as error:
        return error.errno or 0


def _first_time() -> bool:
    mark = Path(os.environ[MARK])
    if mark.exists():
        return False
    mark.touch()
    return True
