"""Judges from a Python program: the same job as the command `judge`, on a file or on rows that the program holds."""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from inspect import Parameter, Signature, signature
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any, Literal, Self
from weakref import finalize

from pathway_local.api.rubric import Name, Rubric, in_python, path_text
from pathway_local.api.run import Run
from pathway_local.errors import PathwayError
from pathway_local.judging.engine_cache import EngineCache
from pathway_local.judging.job import run_job
from pathway_local.judging.plan import OPTIONS, Plan, default_run, read_plan
from pathway_local.judging.progress import Progress, Watcher
from pathway_local.rubrics.rubric import Rubric as FileRubric
from pathway_local.rubrics.rubric_file import load_rubric
from pathway_local.sealing.seal import Wanted
from pathway_local.sealing.trial import check_seal
from pathway_local.sheets.in_memory import sheet_or_path
from pathway_local.system.private_file import closing_command, exposures

COMMAND = ("python", "judge")
"""The audit trail's entry in place of a command line."""


class Engine:
    """Keeps a judge loaded between calls of `judge`; unloads it when another one is needed or its `with` block ends.

    `kind` is vllm, transformers or auto. `gpus` is a number of GPUs or "all"; each gets an engine. `seal` keeps engines
    off networks: as far as possible ("auto"), or the call fails ("required"), or not at all ("off"). An engine judges
    for one call at a time, in the process that made it.
    """

    def __init__(self, kind: str = "auto", *, gpus: int | Literal["all"] | None = None, seal: Wanted = "auto") -> None:
        self.options = {"engine": None if kind == "auto" else kind, "gpus": gpus, "seal": seal}
        self.cache = EngineCache()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Free the judge; a later call of `judge` loads it again. Raises UsageError while a call uses it."""
        self.cache.close()


def judge(
    cases: object,
    rubric: Name | Rubric | type | Sequence[Name | Rubric | type] = (),
    *,
    run: Name | None = None,
    engine: Engine | str | None = None,
    progress: bool = True,
    **options: Any,
) -> Run:
    """Judge cases under one or more rubrics into a run file, which is made or continued, and return the run.

    `cases` are dicts, a pandas or Arrow table, or a file's path. A rubric is a name, a file, a `Rubric`, or a Pydantic
    model whose docstring is the prompt. Without `run`, a file's verdicts go where the command puts them, and those of
    rows into a temporary file that is removed with the returned run. `options` are those of `pathway-local judge`, by
    the same names: `judge`, `id`, `map`, `keep`, `detail`, `samples`, `without_text` …; `inspect.signature` lists them.
    A file or name stands for a list of one, and None for the default. Without `progress`, nothing is printed. A call
    that was interrupted has stored its verdicts, and the same call judges the rest, if it names its run. Raises
    PathwayError, whose `hint` says what to do.
    """
    given = {**(engine.options if isinstance(engine, Engine) else {"engine": engine}), **options}
    with ExitStack() as kept:
        try:
            sheet = sheet_or_path(cases)
            if run is None and isinstance(sheet, Path):
                run = default_run(sheet)
            run = _fleeting(kept) if run is None else Path(path_text(run))
            given["rubric"] = list(_rubrics(rubric))
            found = _judged(read_plan(sheet, run, given), engine, _watcher(shown=progress))
        except PathwayError as error:
            error.args, error.hint = (in_python(str(error)),), in_python(error.hint)
            raise
        finalize(found, kept.pop_all().close)
    return found


def _fleeting(kept: ExitStack) -> Path:
    """Return the path of a run that no other user can read, and that `kept` removes."""
    folder = mkdtemp(prefix="pathway-local-")
    kept.callback(rmtree, folder, ignore_errors=True)
    return Path(folder, "judged.run")


def _rubrics(given: object) -> Iterator[FileRubric]:
    """Yield the rubrics that a program gave. Raises RubricError, UsageError."""
    for each in given if isinstance(given, list | tuple) else [given]:
        if isinstance(each, str | os.PathLike):
            yield load_rubric(path_text(each))
        else:
            yield (each if isinstance(each, Rubric) else Rubric.of_model(each)).read


def _watcher(*, shown: bool) -> Watcher:
    """Return what shows notes on stderr and, in a notebook or terminal, a line of progress."""
    changes = sys.stderr.isatty() or "ipykernel" in sys.modules
    return Progress(sys.stderr, in_python, changes=changes) if shown else Watcher()


def _judged(plan: Plan, engine: object, watcher: Watcher) -> Run:
    check_seal(plan.seal)
    for path, others in exposures([plan.run, *([plan.cases] if isinstance(plan.cases, Path) else [])]):
        watcher.notice(f"{path} can be read by {others}: {closing_command(path)}")
    with ExitStack() as stack:
        stack.callback(watcher.end)
        used = engine if isinstance(engine, Engine) else stack.enter_context(Engine())
        run_job(plan, watcher, COMMAND, used.cache)
    return Run.open(plan.run)


def _with_options(plain: Signature) -> Signature:
    """Return the signature of `judge` with the command's options in place of `options`."""
    *own, _ = plain.parameters.values()
    more = [name for name in OPTIONS if name not in plain.parameters]
    kind = Parameter.KEYWORD_ONLY
    return plain.replace(parameters=[*own, *(Parameter(name, kind, default=None) for name in more)])


judge.__signature__ = _with_options(signature(judge))  # type: ignore[attr-defined]
