"""The demo judge's figures for one score of one rubric on one split."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ScoreFigures:
    """Shares of `cases`, of which `read` have a verdict. A case without one is neither exact nor named.

    `within_one` and `kappa` (quadratic weights) leave special levels out; `named` counts verdicts that contain the
    deciding words.
    """

    rubric: str
    split: str
    score: str
    cases: int
    read: int
    exact: float
    within_one: float
    kappa: float | None
    named: float
