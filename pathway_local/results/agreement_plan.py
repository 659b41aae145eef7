"""Which raters of a run to compare, and how."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AgreementPlan:
    """`raters` are named (none: all); cases with the same value of the column `cluster` depend on each other.

    Judges are compared with the raters called `against` (empty: all people) by `figure` (empty: quadratic kappa, for
    nominal scores plain kappa); `margin` is the largest shortfall that still counts as "not worse". `by` is a column
    of subgroups; those under `smallest` cases are left out.
    """

    raters: Sequence[str] = ()
    cluster: str = ""
    against: str = ""
    figure: str = ""
    margin: float = 0.05
    by: str = ""
    smallest: int = 10
