from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from pathway_local.results.compare import sentences_on
from pathway_local.results.comparison import Comparison, ComparisonPlan, Side, paired_difference
from pathway_local.results.pairing import Pairing
from pathway_local.statistics.figure import Interval, Undefined
from pathway_local.words.language import Language

SAY = Language("en")


def test_wins_ties_losses_and_the_paired_t_interval() -> None:
    first = np.array([5.0, 4, 4, 2, 5, np.nan, 3])
    second = np.array([3.0, 4, 5, 1, 4, 4, np.nan])
    found = paired_difference(first, second)
    assert (found.pairs, found.wins, found.ties, found.losses) == (5, 3, 1, 1)
    expected = stats.ttest_rel(first[:5], second[:5]).confidence_interval()
    interval = found.effect.estimate().interval
    assert isinstance(interval, Interval)
    assert (interval.low, interval.high) == pytest.approx(tuple(expected))


def test_clusters_make_a_clear_lead_less_clear() -> None:
    lead = np.repeat([0.9, -0.5] * 10, 10)
    clear = paired_difference(lead, np.zeros(200)).effect.estimate().interval
    clustered = paired_difference(lead, np.zeros(200), np.repeat(np.arange(20), 10)).effect.estimate().interval
    assert isinstance(clear, Interval) and isinstance(clustered, Interval)
    assert clustered.low < -0.05 < 0 < clear.low


def test_means_that_tie_differences_that_are_alike_and_no_pair() -> None:
    assert paired_difference(np.array([0.1 + 0.2, 1.0]), np.array([0.3, 2.0])).ties == 1
    alike = paired_difference(np.array([3.0, 5.0]), np.array([2.0, 4.0])).effect.estimate()
    assert (alike.value, alike.interval) == (1, Undefined("every difference is 1"))
    none = paired_difference(np.array([np.nan]), np.array([3.0]))
    assert (none.effect.estimate().value, none.pairs) == (Undefined("there is no difference"), 0)


@pytest.mark.parametrize(
    ("differences", "by_judge", "by_people"),
    [
        ([1, 2, 1, 2], "demo scores v1 higher.", "people would score v1 higher."),
        ([-1, -2, -1, -2], "demo scores v2 higher.", "people would score v2 higher."),
        (
            [1, -2, 2, -1],
            "do not show which of them demo scores higher.",
            "do not show which of them people would score higher.",
        ),
    ],
)
def test_only_labels_say_which_chatbot_people_would_score_higher(
    differences: list[float], by_judge: str, by_people: str
) -> None:
    first = 3 + np.array(differences * 3)
    found = paired_difference(first, np.full(len(first), 3.0))
    found = replace(found, estimate=found.effect.estimate())
    side = Side("v1", len(first), len(first))
    plan = ComparisonPlan("chatbot", ("v1", "v2"), Pairing("question"))
    each = Comparison("r", "score", "demo", side, replace(side, name="v2"), found, replace(found, labels=(6, 6)))
    plain, quoted = map(SAY.note, sentences_on(each, plan))
    assert by_judge in plain and by_people in quoted
    assert "better" not in plain and "worse" not in plain


def test_a_difference_that_rounds_to_none_and_is_shown_is_not_said_to_be_none() -> None:
    found = paired_difference(np.array([3.003, 3.004, 3.005] * 9), np.full(27, 3.0))
    side = Side("v1", 27, 27)
    each = Comparison(
        "r", "score", "demo", side, replace(side, name="v2"), replace(found, estimate=found.effect.estimate())
    )
    (said,) = map(SAY.note, sentences_on(each, ComparisonPlan("chatbot", ("v1", "v2"), Pairing("question"))))
    assert "as high as" not in said and said.endswith("demo scores v1 higher.")
