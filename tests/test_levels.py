"""Correlation over systems and within documents, against loops of scipy and against published ratings."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from pathway_local.statistics.figure import Interval, Undefined
from pathway_local.statistics.levels import correlation_at

DATA = Path(__file__).parents[2] / "shared" / "data"
BY_SCIPY = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}


def ratings(documents: int = 40, systems: int = 6) -> tuple[np.ndarray, ...]:
    """Two continuous raters, the system and the document of each case; the second rater lacks a few cases."""
    rng = np.random.default_rng(8)
    system, document = np.tile(np.arange(systems), documents), np.repeat(np.arange(documents), systems)
    worth = (
        rng.normal(0, 0.6, systems)[system] + rng.normal(0, 1, documents)[document] + rng.normal(0, 0.5, len(system))
    )
    first, second = worth + rng.normal(0, 0.5, len(worth)), worth + rng.normal(0, 0.8, len(worth))
    second[rng.permutation(len(worth))[:9]] = np.nan
    return first, second, system, document


def test_levels_are_those_of_loops() -> None:
    first, second, system, document = ratings()
    both = np.isfinite(second)
    means = [[each[both & (system == one)].mean() for one in range(6)] for each in (first, second)]
    found = correlation_at("system", first, second, system, clusters=document)
    within = correlation_at("document", first, second, document)
    assert (found.groups, within.used) == (6, 40)
    for name, scipy in BY_SCIPY.items():
        assert found.figures[name].value == pytest.approx(scipy(*means).statistic)
        own = [scipy(first[both & (document == one)], second[both & (document == one)]).statistic for one in range(40)]
        assert within.figures[name].value == pytest.approx(np.mean(own))
        interval = within.figures[name].interval
        reach = stats.t.ppf(0.975, 39) * np.std(own, ddof=1) / np.sqrt(40)
        assert isinstance(interval, Interval) and interval.high - interval.low == pytest.approx(2 * reach)


def test_documents_that_share_a_cluster_through_any_case_belong_together() -> None:
    first, second, _, document = ratings()
    second = np.where(np.isfinite(second), second, 0.0)  # a case with one score links nothing
    reader = np.arange(len(document)) + 1000
    reader[5::12] = reader[6::12] = document[5::12]  # the last case of every other document, and the next one's first
    linked = correlation_at("document", first, second, document, clusters=reader).figures["pearson"].interval
    pairs = correlation_at("document", first, second, document, clusters=document // 2).figures["pearson"].interval
    assert isinstance(linked, Interval) and linked == pairs and linked.clusters == 20


def test_documents_without_spread_are_left_out_and_few_systems_refused() -> None:
    first, second = np.array([1.0, 2, 3, 3, 3, 1, 2]), np.array([1.0, 2, 1, 2, 3, 2, 1])
    document = np.array([0, 0, 1, 1, 1, 2, 2])
    found = correlation_at("document", first, second, document)
    assert (found.groups, found.used) == (3, 2) and found.figures["kendall"].value == pytest.approx(0)
    few = correlation_at("system", first, second, np.array([0, 1, 0, 1, 0, 1, 0])).figures["spearman"].value
    assert few == Undefined("there are 2 systems, under 3")
    nothing = correlation_at("document", first * np.nan, second, document)
    assert isinstance(nothing.figures["pearson"].value, Undefined) and nothing.groups == 0
    constant = correlation_at("system", first * 0, second, np.array([0, 1, 2, 0, 1, 2, 0]))
    assert isinstance(constant.figures["pearson"].value, Undefined)


def test_the_interval_at_system_level_covers_the_truth() -> None:
    """Systems are fixed, so the truth is the correlation of their true means."""
    rng = np.random.default_rng(4)
    worth, taste = np.linspace(-1, 1, 8), rng.normal(0, 0.5, 8)
    truth = float(np.corrcoef(worth, worth + taste)[0, 1])
    covered = 0
    for _ in range(60):
        system, document = np.tile(np.arange(8), 60), np.repeat(np.arange(60), 8)
        shared = rng.normal(0, 1, 60)[document] + rng.normal(0, 0.5, 480)
        first, second = worth[system] + shared, (worth + taste)[system] + shared
        found = correlation_at("system", first, second, system, clusters=document)
        interval = found.figures["pearson"].interval
        assert isinstance(interval, Interval)
        covered += interval.low <= truth <= interval.high
    assert covered >= 52


@pytest.mark.skipif(not DATA.is_dir(), reason="the published scores are not beside the repository")
@pytest.mark.parametrize("dimension", ["naturalness", "coherence", "engagingness", "groundedness", "overall"])
def test_published_ratings_of_six_systems_on_sixty_dialogues(dimension: str) -> None:
    replies = json.loads((DATA / "unieval_topical_chat_result.json").read_text())
    people, judge = (np.array([each[by][dimension] for each in replies]) for by in ("scores", "predict_scores"))
    named = ([each[by] for each in replies] for by in ("system_id", "source"))
    system, dialogue = (np.unique(names, return_inverse=True)[1] for names in named)
    over = correlation_at("system", people, judge, system)
    within = correlation_at("document", people, judge, dialogue)
    assert over.groups == 6 and within.groups == 60
    means = [[each[system == one].mean() for one in range(6)] for each in (people, judge)]
    assert over.figures["spearman"].value == pytest.approx(stats.spearmanr(*means).statistic)
    own = [
        stats.kendalltau(people[dialogue == one], judge[dialogue == one]).statistic
        for one in range(60)
        if np.ptp(people[dialogue == one]) > 0
    ]
    assert within.figures["kendall"].value == pytest.approx(np.mean(own))
