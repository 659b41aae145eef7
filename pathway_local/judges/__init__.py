"""Judges: the registry, their folders, weights and what they need."""
