"""A viewer of a run in the browser, served to this machine alone."""
