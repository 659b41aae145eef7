"""Judging: from a command's plan to verdicts in a run."""
