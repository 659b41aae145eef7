"""What `pathway-local doctor` looks at: this machine, the judge, the run and the cases; a check each, with its fix."""
