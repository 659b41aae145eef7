"""How well the demo judge did: one score of one rubric on the cases of one split."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ScoreFigures:
    """Shares of `cases`, of which `read` got a verdict. A case without one is neither exact nor named.

    `within_one` and `kappa` (quadratic weights) leave special levels out; `named` counts verdicts that hold the
    words on which the score turns.
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
