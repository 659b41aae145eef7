"""`soak_attacks.py SIGNALS REAL`: commands disturbed at random moments, each time continued by the same command.

SIGNALS signals, half as many full disks, limits of memory and jumps of the clock each with the scripted engine; REAL
signals with real engines: half with transformers, half with vLLM, most of these while it judges; and a twentieth as
many limits of memory with vLLM. Ends with 1 if an outcome is lost, doubled or another than undisturbed, if a process or
file is left, or if a command ends otherwise than with a clean error.
"""

import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from attacked import Trial, scores_and_texts, small_disk
from disturbed import Outcomes, outcomes
from reply_script import SECONDS
from tiny_judge import make_tiny_judge
from typed import Desk

CASES, TRANSFORMERS_CASES, VLLM_CASES = 60, 400, 4000
"""So many that an engine judges for longer than it loads."""


def main(signals: int, real: int) -> int:
    """Attack and continue; return the exit code."""
    problems: list[str] = []
    # A shell has its background programs ignore SIGINT, and the commands that we start would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        judge = Path(folder) / "judge"
        judge.mkdir()
        make_tiny_judge(judge)
        if signals:
            problems += _attack_scripted(Path(folder), judge, signals)
        if real:
            trial = _trial(Desk(Path(folder) / "transformers", judge), "transformers", 2, TRANSFORMERS_CASES)
            problems += _attack("transformers", trial, real // 2, lambda: trial.interrupt(_either(trial)))
            vllm = _trial(Desk(Path(folder) / "vllm", judge), "vllm", 3, VLLM_CASES)
            problems += _attack("vLLM judges", vllm, real * 3 // 8, lambda: vllm.interrupt_judging(_either(vllm)))
            problems += _attack("vLLM", vllm, real // 8, lambda: vllm.interrupt(_either(vllm)))
            problems += _attack("vLLM", vllm, real // 20, vllm.starve)
    print("\n".join(problems) or "nothing lost, doubled or left")
    return 1 if problems else 0


def _attack_scripted(folder: Path, judge: Path, signals: int) -> list[str]:
    name = "scripted"
    trial = _trial(Desk(folder / name, judge, environment={SECONDS: "0.02"}), name, 1)
    problems = _attack(name, trial, signals, lambda: trial.interrupt(_either(trial)))
    problems += _attack(name, trial, signals // 2, trial.jump)
    problems += _attack(name, trial, signals // 2, trial.starve)
    with small_disk(trial.desk.work / "disk") as trial.disk:
        trial.run = Path("disk/may.run")
        trial.command = [*trial.command[:-1], str(trial.run)]
        return problems + _attack(name, trial, signals // 2, trial.fill)


def _trial(desk: Desk, engine: str, seed: int, cases: int = CASES) -> Trial:
    """Judge undisturbed, to know how long it takes and what comes out."""
    judge = "scripted" if engine == "scripted" else "tiny"
    command = desk.judging(desk.cases(cases), engine=engine, judge=judge)
    began = time.monotonic()
    desk.typed(*command, afresh=True, timeout=1800)
    seconds, right = time.monotonic() - began, outcomes(desk.work / "may.run")
    (desk.work / "may.run").unlink()
    print(f"{engine}: {seconds:.1f} s undisturbed", flush=True)
    same: Callable[[Outcomes], Outcomes] = list if engine == "scripted" else scores_and_texts
    return Trial(desk, command, seconds, right, random.Random(seed), same)


def _either(trial: Trial) -> signal.Signals:
    return trial.rng.choice((signal.SIGINT, signal.SIGTERM))


def _attack(name: str, trial: Trial, times: int, attack: Callable[[], None]) -> list[str]:
    """Disturb a command so often that so many disturbances hit it; return what was wrong."""
    trial.start_over()
    with suppress(KeyboardInterrupt):  # an interrupt ends these attacks early, not the count of them
        while trial.tried.total() < times and not trial.problems:
            attack()
            if trial.is_done:
                trial.finish()
            print(f"{name}: {trial.tried.total()} of {times}", file=sys.stderr, flush=True)
    trial.finish()
    print(
        f"{name}: {dict(trial.tried)} hit, {trial.judging} of them after a first outcome; exit codes "
        f"{dict(trial.codes)}; {trial.finished} runs finished, {len(trial.gaps)} outcomes with other probabilities, "
        f"by {max(trial.gaps, default=0):.2g} at most; {'; '.join(trial.problems) or 'nothing lost, doubled or left'}",
        flush=True,
    )
    return [f"{name}: {problem}" for problem in trial.problems]


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2])))
