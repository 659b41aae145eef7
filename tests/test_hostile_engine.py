"""A model's own code, once it runs in the engine's process: whom it can look into, join, and write to."""

import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import gettempdir

import pytest

ATTACK = """
import ctypes, errno, json, os, signal, socket, sys
from pathlib import Path
from pathway_local.sealing import landlock, seal
from pathway_local.sealing.filter import numbers
from pathway_local.sealing.launch import engine_files, give_up_sockets

user, lacking, folder = sys.argv[1], sys.argv[2].split(","), Path(sys.argv[3])
libc = ctypes.CDLL(None, use_errno=True)
number = numbers()
(folder / "cases.csv").write_text("case text")
(folder / "own").mkdir()
if user == "nobody":
    os.chown(folder, 65534, 65534)
    os.chown(folder / "cases.csv", 65534, 65534)
    os.chown(folder / "own", 65534, 65534)
    os.setgid(65534)
    os.setuid(65534)
    libc.prctl(4, 1)  # changing the user made /proc/self root's
secret = ctypes.create_string_buffer(b"case text in the command's memory")
place, command = ctypes.addressof(secret), os.getpid()
own_socket = socket.socket()
libc.prctl(0x59616D61, ctypes.c_ulong(-1))  # no Yama: any process may trace this one

class Piece(ctypes.Structure):
    _fields_ = [("at", ctypes.c_void_p), ("length", ctypes.c_size_t)]

def called(name, *arguments):
    done = libc.syscall(ctypes.c_long(number[name]), *arguments)
    if done < 0:
        raise OSError(ctypes.get_errno(), "refused")
    return done

def read_memory():
    got = ctypes.create_string_buffer(9)
    called("process_vm_readv", command, ctypes.byref(Piece(ctypes.addressof(got), 9)), ctypes.c_ulong(1),
           ctypes.byref(Piece(place, 9)), ctypes.c_ulong(1), ctypes.c_ulong(0))

def memory_file(mode):
    with open(f"/proc/{command}/mem", mode, buffering=0) as memory:
        memory.seek(place)
        memory.read(9) if mode == "rb" else memory.write(b"case")

def take_descriptor():
    called("pidfd_getfd", os.pidfd_open(command), own_socket.fileno(), 0)

def join():
    called("setns", os.pidfd_open(command), 0x40000000)

def open_to_all():
    (folder / "cases.csv").chmod(0o666)
    if (folder / "cases.csv").stat().st_mode & 0o066 != 0o066:
        raise OSError(errno.EPERM, "unchanged")

attacks = {
    "open to all": open_to_all,
    "give to a group": lambda: os.chown(folder / "cases.csv", -1, os.getgid()),
    "attribute": lambda: os.setxattr(folder / "cases.csv", "user.mine", b"1"),
    "empty": lambda: os.truncate(folder / "cases.csv", 0),
    "leave in memory": lambda: called("shmget", 0x50770001, 4096, 0o1666),
    "trace": lambda: called("ptrace", ctypes.c_long(16), ctypes.c_long(command), None, None),
    "read memory": read_memory,
    "memory file": lambda: memory_file("rb"),
    "write memory": lambda: memory_file("r+b"),
    "take a descriptor": take_descriptor,
    "join namespaces": join,
    "join the network": lambda: called("setns", os.open(f"/proc/{command}/ns/net", os.O_RDONLY), 0),
    "new namespaces": lambda: called("unshare", 0x50000000),
    "compare": lambda: called("kcmp", os.getpid(), command, 0, 0, 0),
    "watch": lambda: called("perf_event_open", bytes(128), 0, -1, -1, 0),
    "program of the kernel": lambda: called("bpf", 5, bytes(128), 128),
    "keys": lambda: called("keyctl", 0, -3, 0, 0, 0),
    "become root": lambda: os.setuid(0) if os.getuid() else called("setns", -1, 0),
    "signal": lambda: os.kill(command, 0),
    "read cases": lambda: (folder / "cases.csv").read_text(),
    "write cases": lambda: (folder / "cases.csv").open("a").close(),
    "new file": lambda: (folder / "left behind").touch(),
    "list": lambda: list(folder.iterdir()),
    "own file": lambda: (folder / "own" / "mine").touch(),
    "system": lambda: Path("/etc/hosts").read_text(),
    "thread": lambda: __import__("threading").Thread(target=bool).start(),
}

def tried(attack):
    try:
        attack()
    except OSError as error:
        return errno.errorcode.get(error.errno, "refused")
    return "ok"

reads, writes = os.pipe()
ready, begins = os.pipe()
if os.fork() == 0:
    os.read(ready, 1)
    os.environ["PATHWAY_LOCAL_TEMPORARY"] = str(folder / "own")
    if "namespace" in lacking:
        seal.enter_namespace = lambda: "open"
    if "files" in lacking:
        landlock.version = lambda: 0
    files = engine_files("")
    found = seal.close_off("auto", -1, files)
    if found.files:
        landlock.keep_to(files)
    status = Path("/proc/self/status").read_text()
    lines = [line.split() for line in status.splitlines()]
    rights = sum(int(line[1], 16) for line in lines if line[0] in ("CapPrm:", "CapEff:", "CapAmb:"))
    said = {name: tried(attack) for name, attack in attacks.items()}
    os.write(writes, json.dumps([str(found), rights, said]).encode())
    os._exit(0)
if "command" not in lacking:
    give_up_sockets()  # a real engine is started from a thread without this filter
os.write(begins, b"x")
os.wait()
print(os.read(reads, 1 << 16).decode())
"""

HARMLESS = {"own file", "system", "thread"}
FILES = {"read cases", "write cases", "new file", "list", "signal"}
USERS = ["root", "nobody"]


def _attacked(tmp_path: Path, user: str, lacking: str = "") -> tuple[str, int, set[str]]:
    """The seal, the rights that are left, and the attacks that succeed."""
    for folder in (tmp_path, *tmp_path.parents):
        if folder == Path(gettempdir()):
            break
        folder.chmod(0o755)
    command = [sys.executable, "-c", ATTACK, user, lacking, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert not done.returncode, done.stderr
    seal, rights, said = json.loads(done.stdout)
    return seal, rights, {name for name, outcome in said.items() if outcome == "ok"}


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to be root, and to become somebody else: sudo ./scripts/test")
@pytest.mark.parametrize("user", USERS)
def test_under_the_whole_seal_it_reaches_its_own_folder_alone(tmp_path: Path, user: str) -> None:
    assert _attacked(tmp_path, user) == ("namespace+filter+files", 0, HARMLESS)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to be root, and to become somebody else: sudo ./scripts/test")
@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("lacking", ["namespace", "files", "namespace,files"])
def test_where_the_kernel_gives_less_it_still_can_not_look_into_the_command(
    tmp_path: Path, user: str, lacking: str
) -> None:
    seal, rights, done = _attacked(tmp_path, user, lacking)
    assert seal == "+".join(part for part in ("namespace", "filter", "files") if part not in lacking.split(","))
    assert not rights
    assert done == HARMLESS | (FILES if "files" in lacking else set())


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become somebody else: sudo ./scripts/test")
def test_the_attack_would_succeed_on_a_command_that_lets_itself_be_read(tmp_path: Path) -> None:
    done = _attacked(tmp_path, "nobody", "namespace,files,command")[2]
    assert {"memory file", "write memory"} <= done
