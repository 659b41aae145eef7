"""Checks of judges and of this machine that run before anything is judged."""
