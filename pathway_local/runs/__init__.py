"""Runs: one SQLite file each, its jobs, outcomes and audit trail."""
