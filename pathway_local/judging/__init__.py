"""Judging: from a plan to the verdicts in a run."""
