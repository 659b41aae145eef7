"""The parts of the check, in the order in which they run."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Kind:
    """A part's title, the seconds that it may take, and its function as "module:name", which its own process imports.

    Two cores need longer for some than a machine with a GPU: `without_gpu` is then their limit.
    """

    title: str
    limit: float
    function: str
    without_gpu: float = 0.0

    def allowed(self, *, on_gpu: bool) -> float:
        """Return the seconds that the part may take here."""
        return self.limit if on_gpu else self.without_gpu or self.limit


# Loading takes most of it: on an H100 the 8b shape took 99 to 128 s for each of two engines, so that the small shape,
# which comes last, has no time left there. The parts before them took 4, 33 and 83 s.
PARTS = {
    "doctor": Kind("`pathway-local doctor`", 60.0, "examined:run"),
    "demo": Kind("compares the demo judge's verdicts with those stored from a processor", 180.0, "demo_judge:run"),
    "random": Kind("checks replies of a random judge at temperature 1 under four rubrics", 150.0, "random_judge:run"),
    "kills": Kind("kills the engine, the command and a worker, then resumes the run", 180.0, "kills:run", 240.0),
    "bench-8b": Kind("runs the benchmark with the shape of an 8B judge", 330.0, "benchmarks:run_large"),
    "bench-0.6b": Kind("runs the benchmark with the shape of a small judge", 150.0, "benchmarks:run_small"),
}
