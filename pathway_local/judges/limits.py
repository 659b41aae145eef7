"""Asks what a judge's chat template or tokenizer does, in a process with little memory and time."""

import json
import signal
import subprocess
import sys
from typing import Any

from pathway_local.errors import EngineError, TooCostly
from pathway_local.judges import limited_process
from pathway_local.judges.limited_process import LIMITS

WAIT = 60
"""Seconds until the process is killed. It ends itself after less processor time, unless it can't start."""

AGAIN = "Fetch or copy the judge's folder again, from a source that you trust."


def ask(what: str, **request: object) -> dict[str, Any]:
    """Return the answer of `limited_process` about the "chat template" or the "tokenizer".

    Raises TooCostly if it takes more than its limits, EngineError if its process ends in another way.
    """
    said: dict[str, Any] = json.loads(answer(json.dumps({"what": what, **request}, default=str)))
    if "limit" in said:
        raise TooCostly(f"the {what} {said['limit']}", AGAIN)
    return said


def answer(request: str) -> str:
    """Return what the process answers, as JSON."""
    what = json.loads(request)["what"]
    try:
        # With -P, Python does not look for modules in the file's own folder, which has modules of its own.
        done = subprocess.run(
            [sys.executable, "-P", limited_process.__file__, *map(str, LIMITS[what])],
            input=request.encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=WAIT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise EngineError(f"the {what} gives no answer within {WAIT} seconds", AGAIN) from None
    if -done.returncode in (signal.SIGXCPU, signal.SIGKILL):
        raise TooCostly(f"the {what} takes over {LIMITS[what][0]} seconds", AGAIN)
    if done.returncode:
        raise EngineError(f"the {what} ends its process (exit code {done.returncode})", AGAIN)
    return done.stdout.decode()
