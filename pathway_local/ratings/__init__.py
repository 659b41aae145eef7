"""Ratings of people and hosted judges: sampled, handed out, imported."""
