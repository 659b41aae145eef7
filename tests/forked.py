"""Commands in forked copies of the test's process, with an engine in them: fast enough for thousands, and killable.

A command is killed with signal 9 at its n-th step: a statement of SQLite, or a file that is opened, linked, renamed
or removed.
"""

import io
import os
import signal
import sqlite3
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import reply_script
import scripted_engine
from fuzz import memory_of_a_fork
from typed import RUBRIC

from pathway_local.cli import main
from pathway_local.cli.command_line import COMMANDS
from pathway_local.engines.engines import Engines
from pathway_local.judges.judge_spec import Chat, JudgeSpec
from pathway_local.judges.registry import load_registry
from pathway_local.judging import job, preparation
from pathway_local.judging.engine_cache import EngineCache
from pathway_local.passes import EngineConfig
from pathway_local.rendering.prompt import PromptWriter
from pathway_local.rendering.tokenizer import JudgeTokenizer
from pathway_local.rubrics.rubric_file import parse_rubric

STEPS = ("open", "os.link", "os.rename", "os.remove")
KILLED = -signal.SIGKILL
JUDGE = '{"scripted": {"source": "%s", "context": 8192, "engine": {"script": "reply_script:reply"}}}'


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended, and what it took with all that was imported before; `code` is negative for a signal."""

    code: int
    out: str
    err: str
    seconds: float
    megabytes: float
    """Memory that the command took at most, beyond what the tests hold."""


class Forks:
    """Runs commands; what they need is imported and loaded once, before the first fork."""

    def __init__(self, judge: Path) -> None:
        os.environ[reply_script.JUDGE] = str(judge)
        reply_script._tokenizer()
        self.judge, self.tokenizer = judge, JudgeTokenizer(judge, ())
        models = judge.parent / "models.yaml"
        models.write_text(JUDGE % judge)
        self.registry = load_registry(models)
        for module, _ in COMMANDS.values():
            import_module(f"pathway_local.cli.{module}")
        # The chat template is rendered once, and not in each fork in a process of its own.
        rubric = parse_rubric(RUBRIC, "small")
        PromptWriter(rubric, self.tokenizer, Chat(), context=8192).write([dict.fromkeys(rubric.inputs, "x")])

    def typed(self, folder: Path, *arguments: object, kill: int = 0) -> Ended:
        """Run a command in this folder to its end, or until its step number `kill`, counted from 1."""
        said = [folder.parent / name for name in ("out", "err")]
        at_rest = memory_of_a_fork()
        child = os.fork()
        if not child:
            code = 70
            with suppress(BaseException):
                code = self._run(folder, [str(each) for each in arguments], kill, said)
            os._exit(code)
        _, status, used = os.wait4(child, 0)
        out, err = (path.read_text("utf-8", "replace") if path.exists() else "" for path in said)
        seconds = used.ru_utime + used.ru_stime
        return Ended(os.waitstatus_to_exitcode(status), out, err, seconds, used.ru_maxrss / 1024 - at_rest)

    def _run(self, folder: Path, arguments: list[str], kill: int, said: list[Path]) -> int:
        sys.stdout, sys.stderr = (io.TextIOWrapper(path.open("wb"), "utf-8", "replace") for path in said)
        os.chdir(folder)
        sys.argv = ["pathway-local", *arguments]
        sys.stdin = Path(os.devnull).open()  # noqa: SIM115
        job.EngineCache = partial(_EngineHere, self.tokenizer)  # type: ignore[misc,assignment]
        preparation.load_registry = lambda _: self.registry  # reading ours takes longer than judging five cases
        if kill:
            _kill_at(kill)
        code = 0
        try:
            main()
        except SystemExit as ended:
            code = int(ended.code or 0)
        except BaseException:  # noqa: BLE001  the child must end here, and say why
            traceback.print_exc()
            code = 70
        sys.stdout.flush()
        sys.stderr.flush()
        return code


class _EngineHere(EngineCache):
    """Gives the scripted engine in this very process."""

    def __init__(self, tokenizer: JudgeTokenizer) -> None:
        super().__init__()
        self._only = tokenizer

    def tokenizer(self, judge: JudgeSpec) -> JudgeTokenizer:
        return self._only

    def engine(self, kind: str, config: EngineConfig, *_: Any) -> Engines:
        return scripted_engine.load(config)  # type: ignore[return-value]


def _kill_at(number: int) -> None:
    left = number

    def step() -> None:
        nonlocal left
        left -= 1
        if left <= 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def heard(event: str, _: tuple[Any, ...]) -> None:
        if event in STEPS:
            step()

    connect: Callable[..., sqlite3.Connection] = sqlite3.connect

    def traced(*arguments: Any, **named: Any) -> sqlite3.Connection:
        made = connect(*arguments, **named)
        made.set_trace_callback(lambda _: step())
        return made

    sqlite3.connect = traced  # type: ignore[assignment]
    sys.addaudithook(heard)
