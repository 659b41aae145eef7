"""In which groups a rater errs: how far its scores lie from others', per group of cases.

Errors are used because a kappa falls by itself where a group's scores span little of the scale.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from pathway_local.statistics.figure import FloatArray, IntArray, Reason
from pathway_local.statistics.intervals import Effect, mean_effect


@dataclass(frozen=True, slots=True)
class GroupError:
    """The errors of a rater in one group, by name: `mean_difference` and `mean_absolute_error`."""

    group: int
    cases: int
    effects: Mapping[str, Effect]


def group_errors(
    rater: FloatArray,
    reference: FloatArray,
    groups: IntArray,
    *,
    clusters: IntArray | None = None,
    smallest: int = 10,
) -> tuple[GroupError, ...]:
    """Errors rater - reference of cases (cases,) by group code, on the cases with both scores.

    Intervals are robust to dependence within `clusters`. Groups under `smallest` cases get a reason instead of figures.
    """
    both = np.isfinite(rater) & np.isfinite(reference)
    found = []
    for name in np.unique(groups):
        inside = both & (groups == name)
        size, errors = int(inside.sum()), (rater - reference)[inside]
        own = None if clusters is None else clusters[inside]
        few = Reason("the group has {cases} cases, under {smallest}", cases=size, smallest=smallest)
        made = dict.fromkeys(("mean_difference", "mean_absolute_error"), Effect(None, missing=few))
        if size >= smallest:
            for key, each in (("mean_difference", errors), ("mean_absolute_error", np.abs(errors))):
                made[key] = mean_effect(each, own, each="error")
        found.append(GroupError(int(name), size, made))
    return tuple(found)
