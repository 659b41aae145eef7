"""Files, processes and what is installed here: the few ways to touch the machine."""
