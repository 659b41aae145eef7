"""How fast judging is beside what the engine itself gives: `scripts/bench` runs it."""
