"""Compares the speed of `judge` with that of vLLM by itself; `scripts/bench` runs it."""
