"""Judges from a Python program: the same job as the command `judge`, on a file or on rows that the program holds."""

import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Literal, Self, get_args

from pathway_local.api.progress import LineProgress
from pathway_local.api.rubric import Rubric
from pathway_local.api.run import Run
from pathway_local.engines.allocation import Engines
from pathway_local.errors import UnknownName, UsageError
from pathway_local.judging.engine_cache import EngineCache
from pathway_local.judging.job import run_job
from pathway_local.judging.plan import OF_RATERS, Plan, check_continues
from pathway_local.rubrics.output_format import Detail
from pathway_local.rubrics.rubric import Rubric as FileRubric
from pathway_local.sealing.levels import Wanted
from pathway_local.sealing.trial import check_seal
from pathway_local.sheets.in_memory import sheet_or_path
from pathway_local.system.private_file import closing_command, exposures

Name = str | os.PathLike[str]

COMMAND = ("python", "judge")
"""The audit trail's entry in place of a command line."""


class Engine:
    """Keeps a judge loaded between calls of `judge`; unloads it when another one is needed or its `with` block ends.

    `kind` is vllm, transformers or auto. `gpus` is a number of GPUs or "all"; each gets an engine. `seal` keeps engines
    off networks: as far as possible ("auto"), or the call fails ("required"), or not at all ("off"). Threads may share
    an engine; their calls take turns. Processes may not.
    """

    def __init__(self, kind: str = "auto", *, gpus: int | Literal["all"] | None = None, seal: Wanted = "auto") -> None:
        self.kind, self.seal = kind, seal
        self.engines = Engines("" if gpus is None else str(gpus))
        self.cache = EngineCache()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Free the judge once no call uses it; a later call of `judge` loads it again."""
        self.cache.close()


def judge(
    cases: object,
    rubric: Name | Rubric | Sequence[Name | Rubric] = (),
    *,
    run: Name,
    judge: Name | Sequence[Name] = (),
    id: str | None = None,
    map: Mapping[str, str] | None = None,
    keep: str | Sequence[str] = (),
    detail: Detail = "full",
    samples: int = 1,
    temperature: float | None = None,
    seed: int | None = None,
    think: int | Literal["auto"] = 0,
    limit: int | None = None,
    texts: bool = True,
    models: Name | None = None,
    engine: Engine | None = None,
    progress: bool = True,
) -> Run:
    """Judge cases under one or more rubrics into a run file, which is made or continued, and return the run.

    `cases` are dicts, a pandas or Arrow table, or a file's path. The other arguments are the options of
    `pathway-local judge`: `id` and `map` name columns, `keep` those that the run keeps, or "all". Without `progress`,
    nothing is printed. A call that was interrupted has stored its verdicts, and the same call judges the rest.
    Raises PathwayError, whose `hint` says what to do.
    """
    plan = Plan(
        cases=sheet_or_path(cases),
        run=Path(run),
        rubrics=[_rubric(each) for each in ([rubric] if isinstance(rubric, str | os.PathLike | Rubric) else rubric)],
        judges=[os.fspath(each) for each in ([judge] if isinstance(judge, str | os.PathLike) else judge)],
        registry=Path(models) if models else None,
        id_column=id,
        mapping=map or {},
        keep=None if keep == "all" else [keep] if isinstance(keep, str) else keep,
        detail=detail,
        samples=samples,
        temperature=temperature,
        seed=seed,
        think=str(think),
        limit=limit,
        texts=texts,
        engine=engine.kind if engine else "auto",
        seal=engine.seal if engine else "auto",
        engines=engine.engines if engine else Engines(),
    )
    _check(plan)
    watcher = LineProgress(shown=progress)
    for path, others in exposures([plan.run, *([plan.cases] if isinstance(plan.cases, Path) else [])]):
        watcher.notice(f"{path} can be read by {others}: {closing_command(path)}")
    with ExitStack() as stack:
        stack.callback(watcher.end)
        used = engine or stack.enter_context(Engine())
        run_job(plan, watcher, COMMAND, used.cache)
    return Run.open(plan.run)


def _rubric(given: Name | Rubric) -> FileRubric:
    return (given if isinstance(given, Rubric) else Rubric.load(given)).read


def _check(plan: Plan) -> None:
    """Raise UsageError for a value that the command's own options would not take."""
    numbers = (("samples", int, 100), ("limit", int, 2**63), ("seed", int, 2**63), ("temperature", int | float, 5))
    for name, kind, most in numbers:
        least, value = int(name in ("samples", "limit")), getattr(plan, name)
        if value is not None and not (isinstance(value, kind) and least <= value <= most):
            said = f"{name} is {repr(value)[:20]}, not a number from {least} to {most}"
            raise UsageError(said, "Leave it out, or change it.")
    if any(not isinstance(name, str) for name in (plan.id_column or "", *plan.mapping.values(), *(plan.keep or ()))):
        raise UsageError("id, map and keep name columns, and one of the names is no text", "Give texts.")
    for name, value, known in (("detail", plan.detail, get_args(Detail)), ("seal", plan.seal, get_args(Wanted))):
        if value not in known:
            raise UnknownName(name, str(value), known)
    usual = Plan(plan.cases, plan.run, judges=[])
    changed = [name for name in OF_RATERS if getattr(plan, name) != getattr(usual, name)]
    check_continues(plan, ["judge" if name == "judges" else name for name in changed])
    check_seal(plan.seal)
