"""The checks of `pathway-local doctor`: this machine, the judge, the run and the cases, each with its fix."""
