"""Whether this project works on this machine's GPU, in ten minutes: `scripts/gpu-check` runs it."""
