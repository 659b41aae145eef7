"""Sealing: what an engine's process may reach, and how the kernel enforces it."""
