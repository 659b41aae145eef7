"""Part `doctor`."""

import json
from collections import Counter

import pytest

from gpu_check.findings import Table, Work


@pytest.mark.timeout(60)
def test_doctor(work: Work) -> None:
    """`pathway-local doctor`."""
    checks = json.loads(work.typed("doctor", "--json").stdout)
    counts = Counter(check["status"] for check in checks)
    work.words.append(", ".join(f"{count} {status}" for status, count in counts.items()))
    work.problems += [f"{each['name']}: {each['found']}" for each in checks if each["status"] == "problem"]
    rows = [[check["name"], check["status"], check["found"], check["fix"]] for check in checks]
    work.tables.append(Table("Checks", ["check", "status", "found", "fix"], rows))
