"""Judges a run on a Ray cluster: splits it into parts, has the nodes judge them, and merges them as they come."""

import os
import secrets
import select
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from msgspec import ValidationError
from msgspec.json import decode, encode

from pathway_local.engines.cluster import JUDGED, SOME_FAILED, Order, Told, start_command
from pathway_local.errors import EngineDied, EngineError, EngineMissing
from pathway_local.judges.judge_spec import JudgeSpec
from pathway_local.judges.placement import gpus_named
from pathway_local.judges.registry import USUAL_JUDGE, load_registry, weights_folder
from pathway_local.judging.loop import Tally
from pathway_local.judging.plan import Plan
from pathway_local.judging.progress import Watcher
from pathway_local.runs.parts import MOST, merge_parts, split_run
from pathway_local.runs.run_file import RunFile
from pathway_local.sealing.launch import start_process
from pathway_local.sheets.pseudonyms import Pseudonyms
from pathway_local.system.machine import uses_gpu
from pathway_local.system.options import flag
from pathway_local.system.shipped import python_path

PARTS_EACH = 4
"""Parts for each worker: the last workers wait for one part at most, not for a whole share."""

HERE_ALONE = ("cluster", "workers", "engine_log")
_INSTALL = "Run `./scripts/setup --cluster` in this project's folder (with --gpu for .venv-gpu), on all nodes."


def judge_on_cluster(plan: Plan, given: Mapping[str, Any], watcher: Watcher, command: Sequence[str]) -> Tally:
    """Judge as planned; `given` are the options that the user gave, by name. Raises PathwayError.

    Parts lie in a folder beside the run. If a command is killed, the next one first merges what it finds there.
    """
    if not find_spec("ray"):
        raise EngineMissing("--cluster needs Ray, which is not installed here", _INSTALL)
    for earlier in sorted(plan.run.parent.glob(f"{plan.run.stem}.cluster-*")):
        if parts := sorted(earlier.glob("*.run")):
            merge_parts(plan.run, parts, command, watcher.notice)
        shutil.rmtree(earlier)
    if plan.pseudonyms and not plan.run.exists():
        Pseudonyms.at(plan.pseudonyms, make=True)
    specs = _judges(plan)
    folder = plan.run.absolute().with_name(f"{plan.run.stem}.cluster-{secrets.token_hex(4)}")
    parts = split_run(plan.run, min(MOST, PARTS_EACH * plan.workers), command, folder)
    order = Order(
        plan.cluster,
        plan.workers,
        max(gpus_named(spec.engine) for spec in specs) if uses_gpu() else 0,
        str(Path.cwd()),
        ("judge", str(plan.cases), *_typed(given)),
        str(plan.cases),
        tuple(str(weights_folder(spec)) for spec in specs),
        tuple(map(str, parts)),
    )
    path = folder / "order.json"
    path.touch(mode=0o600)
    path.write_bytes(encode(order))
    ended, failed = 0, Counter[str]()
    for told in _handed_out(path, watcher):
        if told.problem and not told.number:
            raise EngineDied(f"the cluster at {plan.cluster}: {told.problem}", "`ray status` shows it; run this again.")
        part = parts[told.number - 1]
        if told.code not in (JUDGED, SOME_FAILED):
            log = part.with_suffix(".log")
            raise EngineError(f"{part.name} was not judged: {_reason(log) or told.problem}", f"Read {log}.")
        ended += 1
        failed["cases"] += told.code == SOME_FAILED
        merge_parts(plan.run, [part], command, watcher.notice)
        watcher.notice(f"{ended} of {len(parts)} parts judged and merged")
    if ended == len(parts):
        shutil.rmtree(folder)
    elif not watcher.stopped():
        raise EngineDied(f"the cluster at {plan.cluster} is gone", "What was merged is stored; run this again.")
    return Tally(failures=+failed)


def _judges(plan: Plan) -> list[JudgeSpec]:
    names = list(plan.judge)
    if not names and plan.run.exists():
        with RunFile.read(plan.run) as run:
            names = [str(rater.spec["judge"]) for _, rater in run.raters() if rater.kind == "judge"]
    registry = load_registry(plan.models)
    return [registry.get(name) for name in dict.fromkeys(names or [USUAL_JUDGE])]


def _typed(given: Mapping[str, Any]) -> Iterator[str]:
    """Yield the options as a user types them, without those that are for this command alone."""
    for name, value in given.items():
        for each in value if isinstance(value, list | tuple) else [value]:
            if name not in HERE_ALONE and each not in (None, False):
                yield flag(name) if each is True else f"{flag(name)}={each}"


def _handed_out(order: Path, watcher: Watcher) -> Iterator[Told]:
    """Start the process that joins the cluster; yield what it tells until it ends or the user stops."""
    alive, ours = os.pipe()
    environment = os.environ | {"PYTHONPATH": python_path()}
    process = start_process(start_command(order, alive), [alive], environment, "/")
    os.close(alive)
    assert process.stdout is not None
    rest = b""
    try:
        while not watcher.stopped():
            if not select.select([process.stdout], [], [], 1.0)[0]:
                continue
            if not (piece := os.read(process.stdout.fileno(), 1 << 16)):
                return
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                with suppress(ValidationError, ValueError):  # Ray's own words
                    yield decode(line, type=Told)
    finally:
        os.close(ours)
        process.kill()
        process.wait()


def _reason(log: Path) -> str:
    lines = log.read_text("utf-8", "replace").splitlines() if log.exists() else []
    return next((line for line in reversed(lines) if line.startswith("error")), lines[-1] if lines else "")[:300]
