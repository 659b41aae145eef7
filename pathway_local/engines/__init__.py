"""Where judges run: requests with token ids go in, completions come out, in any order."""
