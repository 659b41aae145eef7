"""Rendering: a rubric and a case become the token ids of a prompt."""
