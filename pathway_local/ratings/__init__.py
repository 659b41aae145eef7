"""Verdicts of people and hosted judges: handed out, sampled, imported."""
