"""Part `doctor`: runs `pathway-local doctor`."""

import json
from collections import Counter

from gpu_check.findings import Table
from gpu_check.work import Work


def run(work: Work) -> None:
    """Run doctor and take over its problems."""
    done = work.typed("doctor", "--json")
    try:
        checks = json.loads(done.stdout)
    except json.JSONDecodeError:
        work.found.problems.append(f"it printed no JSON (exit code {done.returncode})")
        return
    counts = Counter(check["status"] for check in checks)
    work.found.words.append(", ".join(f"{count} {status}" for status, count in counts.items()))
    work.found.problems += [
        f"{check['name']}: {check['found']}" + (f" → {check['fix']}" if check["fix"] else "")
        for check in checks
        if check["status"] == "problem"
    ]
    rows = [[check["name"], check["status"], check["found"]] for check in checks]
    work.found.tables.append(Table("Checks", ["check", "status", "found"], rows))
