"""Samples have the exact size and true probabilities, ignore the file's order, and contain smaller samples."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rated_run import judged_run

from pathway_local.errors import RunDamaged, UsageError
from pathway_local.ratings.samples import Inclusion, draw, inclusions, samples, store_sample

STRATA = st.lists(st.sampled_from("abcd"), min_size=1, max_size=120)


@settings(max_examples=60, deadline=None)
@given(STRATA, st.integers(0, 5), st.data())
def test_shares_add_up_and_probabilities_are_those_of_the_stratum(
    strata: list[str], seed: int, data: st.DataObject
) -> None:
    ids = [f"c{place}" for place in range(len(strata))]
    kinds = set(strata)
    least = sum(min(2, strata.count(kind)) for kind in kinds) if len(kinds) > 1 else 0
    size = data.draw(st.integers(max(least, 1), len(ids)))
    drawn, chances = draw(ids, strata, size, seed)
    assert sum(drawn) == size
    for kind in kinds:
        inside = [place for place, stratum in enumerate(strata) if stratum == kind]
        share = sum(drawn[place] for place in inside)
        assert {chances[place] for place in inside} == {share / len(inside)}
        if len(kinds) > 1:
            assert share >= min(2, len(inside))


@settings(max_examples=60, deadline=None)
@given(STRATA, st.integers(0, 5), st.data())
def test_a_larger_draw_holds_the_smaller_in_any_order_of_the_file(
    strata: list[str], seed: int, data: st.DataObject
) -> None:
    strata = [*strata, *"aabbccdd"]
    ids = [f"c{place}" for place in range(len(strata))]
    small = data.draw(st.integers(8, len(ids)))
    large = data.draw(st.integers(small, len(ids)))
    order = data.draw(st.permutations(range(len(ids))))
    first, _ = draw(ids, strata, small, seed)
    second, _ = draw([ids[p] for p in order], [strata[p] for p in order], large, seed)
    assert {ids[p] for p, is_in in enumerate(first) if is_in} <= {
        ids[p] for p, is_in in zip(order, second, strict=True) if is_in
    }


def test_every_case_is_drawn_about_as_often_as_its_probability_says() -> None:
    ids, strata = [f"c{place}" for place in range(40)], ["a"] * 30 + ["b"] * 10
    times = [0] * 40
    draws = 2000
    for seed in range(draws):
        drawn, chances = draw(ids, strata, 8, seed)
        times = [count + is_in for count, is_in in zip(times, drawn, strict=True)]
    # Five standard errors of a share.
    for count, chance in zip(times, chances, strict=True):
        assert abs(count / draws - chance) < 5 * (chance * (1 - chance) / draws) ** 0.5


def test_sizes_that_can_not_be_drawn() -> None:
    with pytest.raises(UsageError, match="there are 3"):
        draw(["1", "2", "3"], ["", "", ""], 4, 0)
    with pytest.raises(UsageError, match="too few for 3 strata"):
        draw(list("123456"), list("aabbcc"), 5, 0)


def test_a_sample_is_kept_and_replaced_by_one_of_the_same_seed(tmp_path: object) -> None:
    with judged_run(tmp_path / "s.run") as run:  # type: ignore[operator]
        job = run.jobs.begin(["sample"], {})
        every = [Inclusion("s-2", "h2", 2, 0, 0.25, True), Inclusion("s-1", "h1", 1, 1, 1.0, False)]
        store_sample(run, job, "tiny", 7, "audience", every)
        (kept,) = samples(run, "tiny")
        assert (kept.seed, kept.strata, kept.cases, kept.drawn) == (7, "audience", 2, 1)
        assert inclusions(run, kept.id) == [every[1], every[0]]
        store_sample(run, job, "tiny", 7, "audience", every[:1])
        store_sample(run, job, "tiny", 8, "audience", every[:1])
        assert [s.seed for s in samples(run, "tiny")] == [7, 8]
        assert len(run.database.rows("SELECT 1 FROM inclusions")) == 2


def test_small_strata_get_as_many_as_asked_for() -> None:
    strata = ["de"] * 180 + ["en"] * 20
    drawn, chances = draw([f"c{place}" for place in range(200)], strata, 40, 1, least=15)
    assert (sum(drawn[:180]), sum(drawn[180:])) == (25, 15)
    assert {chances[0], chances[-1]} == {25 / 180, 15 / 20}
    with pytest.raises(UsageError, match="20 cases are too few for 2 strata, which need 30"):
        draw([f"c{place}" for place in range(200)], strata, 20, 1, least=15)


def test_a_damaged_stratum_is_a_damaged_run(tmp_path: object) -> None:
    with judged_run(tmp_path / "s.run") as run:  # type: ignore[operator]
        job = run.jobs.begin(["sample"], {})
        store_sample(run, job, "tiny", 7, "audience", [Inclusion("s-1", "h1", 1, 0, 1.0, True)])
        with run.database.writing():
            run.database.execute("UPDATE inclusions SET stratum = 'true'", ())
        with pytest.raises(RunDamaged, match="a sample stored in it"):
            inclusions(run, samples(run, "tiny")[0].id)
