"""The parts of the check, in the order in which they run."""

TITLES = {
    "doctor": "`pathway-local doctor`",
    "demo": "compares the demo judge's verdicts with those stored from a processor",
    "random": "checks replies of a random judge at temperature 1 under four rubrics",
    "kills": "kills the engine, the command and a worker, then resumes the run",
    "bench-8b": "runs the benchmark with the shape of an 8B judge",
    "bench-0.6b": "runs the benchmark with the shape of a small judge",
}

_LIMITS = {"doctor": 60.0, "demo": 180.0, "random": 150.0, "kills": 180.0, "bench-8b": 330.0, "bench-0.6b": 150.0}
"""Loading takes most of it: on an H100 the 8b shape took 99 to 128 s for each of two engines, so that the small shape,
which comes last, has no time left there. The parts before them took 4, 33 and 83 s."""


def limits(*, on_gpu: bool) -> dict[str, float]:
    """Return the seconds that each part may take; two cores need longer for the kills than a machine with a GPU."""
    return _LIMITS if on_gpu else _LIMITS | {"kills": 240.0}
