"""The plan of an agreement: its raters, their columns, and the margin that counts as equal."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pathway_local.statistics.levels import GroupLevel

IMPORT = "import"
"""In the place of a column: drift over the imports of a person's ratings."""


@dataclass(frozen=True, slots=True)
class AgreementPlan:
    """`raters` are named (none: all); cases with the same value of the column `cluster` depend on each other.

    Judges are compared with the raters called `against` (empty: all people) by `figure` (empty: quadratic kappa, for
    nominal scores plain kappa); `margin` is the largest shortfall that still counts as "not worse". `by` is a column
    of subgroups; those under `smallest` cases get no figures, and are left out if it `hides` them. `level_column` names
    the systems or the documents if correlations are asked for at that `level`, too. `drift` is a column with dates,
    batches or versions, or `IMPORT`; the raters of each pair in `twice` are one person, who rated cases a second time.
    Corrected means are looked at so many times (`looks`) while data grow.
    """

    raters: Sequence[str] = ()
    cluster: str = ""
    against: str = ""
    figure: str = ""
    margin: float = 0.05
    by: str = ""
    smallest: int = 10
    hides: bool = True
    level: GroupLevel | Literal["case"] = "case"
    level_column: str = ""
    drift: str = ""
    twice: tuple[tuple[str, str], ...] = ()
    looks: int = 1
