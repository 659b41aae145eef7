"""The parts of the check, in the order in which they run."""

TITLES = {
    "doctor": "`pathway-local doctor`",
    "demo": "the demo judge, sealed, beside the verdicts stored from a processor",
    "random": "replies of a random judge at temperature 1 under four rubrics",
    "kills": "signal 9 to the command, its engine and a worker of it, and going on",
    "bench-0.6b": "the benchmark of a small judge's shape",
    "bench-8b": "the benchmark of the shape of an 8B judge",
}

_LIMITS = {"doctor": 60.0, "demo": 120.0, "random": 120.0, "kills": 180.0, "bench-0.6b": 150.0, "bench-8b": 210.0}


def limits(*, on_gpu: bool) -> dict[str, float]:
    """The seconds that each part may take; two cores need longer for the kills than a machine with a GPU."""
    return _LIMITS if on_gpu else _LIMITS | {"kills": 240.0}
