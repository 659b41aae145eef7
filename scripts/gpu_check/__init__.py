"""Checks within ten minutes whether everything works on this machine's GPU; `scripts/gpu-check` runs it."""
