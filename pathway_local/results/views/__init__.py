"""Results as tables and plain English, worded once: the terminal draws them, `--json` prints them."""
