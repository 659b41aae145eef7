"""What to compare of a run's raters, and how."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AgreementPlan:
    """What to compare: `raters` by name (none: all), cases that depend on each other by the column `cluster`.

    Judges are held against the raters called `against` (empty: all people) by `figure` (empty: quadratic kappa,
    for nominal scores plain kappa); `margin` is the loss of it that is no matter. `by` is a column for
    subgroups, of which those under `smallest` cases are left out.
    """

    raters: Sequence[str] = ()
    cluster: str = ""
    against: str = ""
    figure: str = ""
    margin: float = 0.05
    by: str = ""
    smallest: int = 10
