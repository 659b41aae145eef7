"""`soak_vllm.py CASES MINUTES`: many cases through real vLLM; memory and open files of both processes over time.

Ends with 1 where a case has no outcome, a descriptor more is open late than early, or memory still grows.
"""

import json
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from disturbed import Watched, outcomes
from tiny_judge import make_tiny_judge
from typed import Desk

from gpu_check.test_kills import engine_of

EVERY = 5.0
"""Seconds between two looks."""

WARM = 0.25
"""The share of the looks that counts as warming up: buffers and caches fill in it."""

MOST_GROWTH = 0.1
"""Memory in the last quarter may be this much above that of the second."""

LEAST_LOOKS = 12
CACHE_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class Look:
    """What was seen at one moment; memory is resident, in MB."""

    seconds: float
    cases: int
    command_mb: float
    command_files: int
    engine_mb: float
    engine_files: int


def main(cases: int, minutes: float) -> int:
    """Judge the cases, watch, print; the exit code."""
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        judge = Path(folder) / "judge"
        judge.mkdir()
        desk = Desk(Path(folder) / "desk", make_tiny_judge(judge))
        _with_small_caches(desk)
        command = desk.judging(desk.cases(cases), "--detail", "score", engine="vllm")
        began = time.monotonic()
        with Watched(desk, command) as watched:
            looks = list(_looks(watched, began + 60 * minutes))
            in_time = watched.process.poll() is not None
            if not in_time:
                watched.process.send_signal(signal.SIGTERM)
                watched.read_for(120)
            code = watched.process.wait(60)
        stored = outcomes(desk.work / "may.run")
    failed = sum(failure is not None for *_, failure in stored)
    print(f"{len(stored)} of {cases} cases in {time.monotonic() - began:.0f} s, {failed} failed, exit code {code}")
    problems = [] if not in_time or len(stored) == cases else ["a case has no outcome"]
    return _judged(looks, problems)


def _with_small_caches(desk: Desk) -> None:
    """Caches that are full soon: until they are, memory grows for thousands of cases, and a leak would not show.

    The cache of keys and values touches its pages for the first time; oneDNN keeps a compiled kernel for each size
    of batch, up to its capacity; the allocator makes more arenas for more threads.
    """
    desk.environment |= {"ONEDNN_PRIMITIVE_CACHE_CAPACITY": "8", "MALLOC_ARENA_MAX": "2"}
    models = desk.work / "models.yaml"
    entries = json.loads(models.read_text())
    entries["tiny"]["engine"] = {"kv_cache_memory_bytes": CACHE_BYTES}
    models.write_text(json.dumps(entries))


def _looks(watched: Watched, until: float) -> Iterator[Look]:
    began = time.monotonic()
    while watched.process.poll() is None and time.monotonic() < until:
        watched.read_for(EVERY)
        engine = engine_of(watched.process.pid)
        try:
            if engine is None or not watched.shown:
                continue
            look = Look(time.monotonic() - began, watched.shown, *_seen(watched.process.pid), *_seen(engine.pid))
        except OSError:  # it ended meanwhile
            continue
        print(json.dumps(asdict(look)), flush=True)
        yield look


def _seen(process: int) -> tuple[float, int]:
    """Resident memory in MB, and open descriptors."""
    place = Path(f"/proc/{process}")
    told = (place / "status").read_text()
    resident = int(told.partition("VmRSS:")[2].split()[0])
    return round(resident / 1024, 1), len(list((place / "fd").iterdir()))


def _judged(looks: list[Look], problems: list[str]) -> int:
    if len(looks) < LEAST_LOOKS:
        print(f"only {len(looks)} looks at its memory: take more cases")
        return 1
    settled = looks[int(WARM * len(looks)) :]
    third = max(1, len(settled) // 3)
    early, late = settled[:third], settled[-third:]
    for name in ("command", "engine"):
        memory = [statistics.median(getattr(look, f"{name}_mb") for look in part) for part in (early, late)]
        files = [max(getattr(look, f"{name}_files") for look in part) for part in (early, late)]
        print(f"{name}: {memory[0]:.0f} MB early, {memory[1]:.0f} MB late; {files[0]} then {files[1]} open files")
        if memory[1] > memory[0] * (1 + MOST_GROWTH):
            problems.append(f"the memory of the {name} grows")
        if files[1] > files[0]:
            problems.append(f"the {name} leaves files open")
    print("; ".join(problems) or "memory is flat, and no file is left open")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), float(sys.argv[2])))
