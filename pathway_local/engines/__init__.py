"""Runs judges: requests with token ids go in, completions come out, in any order."""
