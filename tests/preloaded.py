"""Starts commands without the start of Python: a server that has imported the libraries forks a process for each.

Most tests that type a command ask what it does, and its imports take longer than that. A process forked here is a child
of the test's own, in a new session, with its own arguments, folder, environment, umask and streams. It imports
`pathway_local.cli` itself, since that looks at streams and environment. But what Python and libraries read when they
start is the server's: a command that needs another is started as usual (`starts_alike`). And a command that ends by
itself skips Python's own teardown (`_run`), which only a command that is started `afresh` shows.
"""

import atexit
import ctypes
import gc
import inspect
import json
import os
import pkgutil
import runpy
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from importlib import import_module
from pathlib import Path

HERE = Path(__file__).parent
LONGEST = 1 << 17
"""Bytes of a request."""

AT_START = (
    "PYTHON",
    "LC_",
    "LANG",
    "LD_",
    "MALLOC",
    "OMP_",
    "OPENBLAS_",
    "HF_",
    "XDG_",
    "TRANSFORMERS_",
    "TOKENIZERS_",
)
"""How the names of variables begin that Python or a library reads when it starts."""

APART = (
    "pathway_local.cli",
    "pathway_local.engines.vllm",
    "pathway_local.sheets.parquet",
)
"""Modules that are not preloaded: they look at streams, load torch, or start a thread, which a fork would lose."""

SET_CHILD_SUBREAPER = 36


def start_environment() -> dict[str, str]:
    """Return the variables with which every command of a test starts."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "OMP_WAIT_POLICY") if name in os.environ}
    return kept | {"PYTHONPATH": f"{HERE}{os.pathsep}{HERE.parent}"}


def starts_alike(environment: Mapping[str, str]) -> bool:
    """Whether a command may be forked: what is read at a start is in its environment as in the server's."""
    return _at_start(environment) == _at_start(start_environment())


def _at_start(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith(AT_START)}


class Forked(subprocess.Popen[str]):
    """A command that the server forks. Its three streams are an empty stdin and pipes, unless descriptors are given."""

    def __init__(
        self,
        arguments: Sequence[str],
        cwd: Path,
        environment: Mapping[str, str],
        stdin: int = subprocess.DEVNULL,
        stdout: int = subprocess.PIPE,
        stderr: int = subprocess.PIPE,
    ) -> None:
        self._server = _running_server()
        own = [os.dup(each) if each >= 0 else each for each in (stdin, stdout, stderr)]
        super().__init__(arguments, stdin=own[0], stdout=own[1], stderr=own[2], cwd=cwd, env=environment, text=True)

    def _execute_child(self, *given: object) -> None:
        """Replace how `Popen` forks and executes; all else stays as it is."""
        named = inspect.signature(subprocess.Popen._execute_child).bind(self, *given).arguments
        theirs = [named[name] for name in ("p2cread", "c2pwrite", "errwrite")]
        os.umask(umask := os.umask(0o077))
        asked = {"argv": named["args"], "cwd": str(named["cwd"]), "environment": named["env"], "umask": umask}
        self.pid = self._server.fork(theirs, asked)
        self._child_created = True
        for each in theirs:
            os.close(each)
        self._closed_child_pipe_fds = True

    def __exit__(self, *raised: object) -> None:
        super().__exit__(*raised)
        assert not any(self._server.home.iterdir()), "it has written to the home that libraries saw when they started"


class Server:
    """The server's process, which ends with ours."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="preloaded-")
        self.home = Path(self._folder.name)
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        # With one thread for linear algebra, that library starts none.
        environment = start_environment() | {"HOME": str(self.home), "OPENBLAS_NUM_THREADS": "1"}
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(theirs.fileno())],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )

    def fork(self, streams: Sequence[int], asked: Mapping[str, object]) -> int:
        """Start a command with these streams; return the id of its process."""
        with _adopting():
            socket.send_fds(self._socket, [json.dumps(asked).encode()], streams)
            told = self._socket.recv(LONGEST)
        assert told, self._process.communicate()[1]
        return int(told)


@contextmanager
def _adopting() -> Iterator[None]:
    """Become the parent of processes whose own parent ends meanwhile."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(SET_CHILD_SUBREAPER, 1)
    try:
        yield
    finally:
        libc.prctl(SET_CHILD_SUBREAPER, 0)


@lru_cache(1)
def _running_server() -> Server:
    return Server()


def _serve(requests: socket.socket) -> None:
    """Fork a process for each request; return in that process, ready to run."""
    while True:
        message, streams, *_ = socket.recv_fds(requests, LONGEST, 3)
        if not message:
            sys.exit()
        ours, theirs = os.pipe()
        if not (between := os.fork()):
            if not (command := os.fork()):
                os.close(ours)
                os.close(theirs)
                requests.close()
                _become(streams, **json.loads(message))
                return
            os.write(theirs, str(command).encode())
            os._exit(0)
        os.waitpid(between, 0)  # from now on the test's process is the command's parent
        requests.send(os.read(ours, 99))
        for each in (ours, theirs, *streams):
            os.close(each)


def _become(streams: Sequence[int], argv: Sequence[str], cwd: str, environment: Mapping[str, str], umask: int) -> None:
    os.setsid()
    os.umask(umask)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv[:] = argv


def _preload() -> None:
    import pathway_local

    for module in pkgutil.walk_packages(pathway_local.__path__, "pathway_local."):
        if not module.name.startswith(APART):
            import_module(module.name)
    for name in (
        *("scripted_kind", "transformers.tokenization_utils_tokenizers", "llguidance.hf"),
        *("typer._adapters", "rich.console", "rich.progress", "rich._unicode_data.unicode17-0-0"),
    ):
        import_module(name)
    from pathway_local.engines.engine_list import installed_packages
    from pathway_local.judges import limited_process
    from pathway_local.judges.registry import load_registry
    from pathway_local.sheets.columns import names_of
    from pathway_local.words.language import ENGLISH, Language

    # To read these files takes a command longer than most of its work.
    installed_packages()
    load_registry()
    Language(ENGLISH)
    names_of("ids")
    limited_process.in_process = limited_process.answer  # as in the tests' own process
    assert tempfile.tempdir is None
    assert len(list(Path("/proc/self/task").iterdir())) == 1, "a thread would be missing from what is forked"
    gc.freeze()


def _run(script: str) -> None:
    """Run a script to its end, as Python does. To free what was preloaded, Python would first copy all of it."""
    code: object = None
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as ended:
        code = ended.code
    if code is None or isinstance(code, int):
        threading._shutdown()
        atexit._run_exitfuncs()
        with suppress(OSError, ValueError):  # what cannot be flushed is reported by Python's own end below
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
            os._exit((code or 0) & 0xFF)
    sys.exit(code)


if __name__ == "__main__":
    requests = socket.socket(fileno=int(sys.argv[1]))
    _preload()
    _serve(requests)
    _run(sys.argv[0])
