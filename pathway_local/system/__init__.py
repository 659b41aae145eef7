"""Files, processes and what is installed: the few ways to touch the machine."""
