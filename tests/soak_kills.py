"""`soak_kills.py KILLS VLLM_KILLS`: commands and engines killed with signal 9 at random moments, each time going on.

Ends with 1 where a case has no outcome or two, one that was shown is lost, or the scripted engine's differ from
those of a run that nobody disturbed.
"""

import random
import sys
import tempfile
from pathlib import Path

from disturbed import Killed, Outcomes, kill_commands, kill_engines, outcomes, superseded
from reply_script import SECONDS
from tiny_judge import make_tiny_judge
from typed import Desk

CASES, VLLM_CASES = 400, 6000
LONGEST = 3.0
"""Seconds after a command's start, or after its first case, within which it is killed."""


def main(kills: int, vllm_kills: int) -> int:
    """Kill and go on, for commands and for engines, with the scripted engine and with vLLM; the exit code."""
    problems: list[str] = []
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        judge = Path(folder) / "judge"
        judge.mkdir()
        make_tiny_judge(judge)
        plain = Desk(Path(folder) / "plain", judge)
        plain.typed(*plain.judging(plain.cases(CASES)), timeout=1800)
        undisturbed = outcomes(plain.work / "may.run")
        for kill in (kill_commands, kill_engines):
            desk = Desk(Path(folder) / f"scripted-{kill.__name__}", judge, environment={SECONDS: "0.05"})
            command = desk.judging(desk.cases(CASES))
            killed = kill(desk, command, kills, LONGEST, random.Random(1))
            desk.environment[SECONDS] = "0"
            desk.typed(*command, timeout=1800)
            problems += _problems(f"scripted, {kill.__name__}", desk, killed, CASES, undisturbed)
        for kill in (kill_commands, kill_engines):
            desk = Desk(Path(folder) / f"vllm-{kill.__name__}", judge)
            command = desk.judging(desk.cases(VLLM_CASES), "--detail", "score", engine="vllm")
            killed = kill(desk, command, vllm_kills, 3 * LONGEST, random.Random(2))
            desk.typed(*command, timeout=1800)
            problems += _problems(f"vLLM, {kill.__name__}", desk, killed, VLLM_CASES)
    print("; ".join(problems) or "one outcome for every case, none lost that was shown, the same as undisturbed")
    return 1 if problems else 0


def _problems(name: str, desk: Desk, killed: Killed, cases: int, undisturbed: Outcomes | None = None) -> list[str]:
    """Say what was seen, and give what is wrong with it."""
    found = outcomes(desk.work / "may.run")
    problems = list(killed.lost)
    if not len(found) == len({case_id for case_id, *_ in found}) == cases or superseded(desk.work / "may.run"):
        problems.append("not one outcome for every case")
    if failed := sum(failure is not None for *_, failure in found):
        problems.append(f"{failed} failures")
    if undisturbed is not None and found != undisturbed:
        problems.append("other outcomes than undisturbed")
    print(
        f"{name}: {killed.kills} kills, {killed.judging} of them while cases were judged; {len(found)} outcomes for "
        f"{cases} cases; {'; '.join(problems) or 'nothing lost, twice or otherwise'}",
        flush=True,
    )
    return [f"{name}: {problem}" for problem in problems]


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2])))
