"""Collects what a machine without internet needs into one folder; `scripts/bundle` runs it."""
