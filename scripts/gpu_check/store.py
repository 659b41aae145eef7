"""Stores the demo judge's verdicts on the samples, for a GPU to be compared with."""

import json
import tempfile
from dataclasses import asdict
from pathlib import Path

from gpu_check.samples import STORED, judge_samples


def store_verdicts() -> Path:
    """Judge the samples here and store the verdicts; where. Raises PathwayError; SystemExit on a GPU."""
    with tempfile.TemporaryDirectory(prefix="gpu-check-") as folder:
        found = judge_samples(Path(folder), None)
    if found.engine["device"] != "cpu" or found.failures:
        raise SystemExit(f"error: only verdicts of a processor are stored, and no failures: {found.engine['device']}")
    STORED.write_text(json.dumps(asdict(found), indent=1) + "\n", "utf-8")
    return STORED
