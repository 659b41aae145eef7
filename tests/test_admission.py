"""What an engine begins fits into its cache, and nothing waits for ever."""

from collections.abc import Iterable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pathway_local.engines.admission import EVERY, LINGER, PORTION, SPARE, WAVE, Admission
from pathway_local.passes import Pass

RUBRIC = tuple(range(100))
ROOM = 1000
BLOCK = 10
CAPACITY = round(ROOM / (1 - SPARE))


def _pass(name: object, own: int = 50, most: int = 160, *, continues: bool = False) -> Pass:
    own_ids = (name,) * own if isinstance(name, int) else (0,) * own
    return Pass(str(name), own_ids, None, most, shared=RUBRIC, after="0" * continues)


def _begun(admission: Admission, now: float = 0.0) -> list[str]:
    return [item.id for item in admission.begin(now)]


def _filled(passes: Iterable[Pass], seats: int = 1000, every: int = 1) -> Admission:
    admission = Admission(CAPACITY, BLOCK, seats, every)
    for item in passes:
        admission.add(item)
    return admission


def test_what_prompts_share_counts_once_and_replies_a_part_of_their_budget() -> None:
    admission = _filled(map(_pass, range(20)))
    assert _begun(admission) == [str(number) for number in range(5)]
    assert (ROOM - len(RUBRIC)) // (50 + 160 * PORTION + BLOCK) == 5
    assert admission.waiting == 15


def test_samples_of_a_case_share_its_prompt() -> None:
    admission = _filled(Pass(str(number), (7,) * 60, None, 160, shared=RUBRIC) for number in range(40))
    assert len(_begun(admission)) == (ROOM - len(RUBRIC) - 60) // (160 * PORTION + BLOCK)


def test_what_continues_never_waits_and_what_ended_keeps_its_room_for_a_while() -> None:
    admission = _filled(map(_pass, range(20)))
    assert len(_begun(admission)) == 5
    admission.end(_pass(0), 1.0, 160)
    assert _begun(admission, 1.0 + LINGER / 2) == []
    admission.add(_pass("probe", own=900, most=1, continues=True))
    assert _begun(admission, 1.0 + LINGER / 2) == ["probe"]


def test_room_is_given_back() -> None:
    admission = _filled(map(_pass, range(20)))
    _begun(admission)
    admission.end(_pass(0), 1.0, 160)
    later = [_begun(admission, 1.0 + share * LINGER) for share in (0, 0.9, 1.1, 2)]
    assert later == [[], [], ["5"], []]


def test_where_all_end_at_once_the_next_wait_for_what_continues_these() -> None:
    admission = _filled(map(_pass, range(20)))
    for name in _begun(admission):
        admission.end(_pass(int(name)), 1.0, 160)
    assert _begun(admission, 1.0) == []
    assert len(_begun(admission, 1.0 + 2 * LINGER)) == 5


@pytest.mark.parametrize(("written", "least", "most"), [(160, 5, 5), (8, 13, 13)])
def test_the_length_of_replies_is_learned_from_those_with_the_same_budget(written: int, least: int, most: int) -> None:
    admission, now = _filled([]), 0.0
    for number in range(2000):
        for item in (_pass(number), _pass(number, most=3000)):
            admission.add(item)
            now += 1.0
            assert _begun(admission, now) == [item.id]
            admission.end(item, now, written if item.max_tokens == 160 else None if number % 2 else 3000)
    for number in range(30):
        admission.add(_pass(number))
    assert least <= len(_begun(admission, now + 1.0)) <= most


def test_a_pass_larger_than_the_cache_goes_alone() -> None:
    admission = _filled([_pass("large", own=5000), _pass("small")])
    assert _begun(admission) == ["large"]
    assert _begun(admission) == []
    admission.end(_pass("large"), 1.0, 1)
    assert _begun(admission, 2.0) == ["small"]


def test_passes_start_in_waves_while_others_run() -> None:
    seats, wave = 80, int(80 * WAVE)
    admission = Admission(10**6, BLOCK, seats)
    for number in range(seats + wave):
        admission.add(_pass(number))
    running = _begun(admission)
    assert len(running) == seats
    for name in running[: wave - 1]:
        admission.end(_pass(int(name)), 0.0, 9)
        admission.add(_pass(f"probe-{name}", most=1, continues=True))
        assert _begun(admission) == []
    admission.end(_pass(wave), 0.0, 9)
    assert len(_begun(admission)) == 2 * wave - 1, "a wave of seats is free, and probes share it"


def test_probes_start_together() -> None:
    admission = Admission(10**6, BLOCK, 80)
    admission.add(_pass(0))
    assert _begun(admission) == ["0"]
    found = []
    for number in range(80):
        admission.add(_pass(f"probe-{number}", most=1, continues=True))
        found.append(len(_begun(admission)))
    assert [number for number in found if number] == [10] * 8


def test_first_passes_start_at_once_and_none_waits_long() -> None:
    admission = Admission(10**6, BLOCK, 80)
    for number in range(70):
        admission.add(_pass(number))
        assert _begun(admission) == [str(number)], "seats are free"
    for name in range(70, 80):
        admission.add(_pass(name))
    found = [_begun(admission) for _ in range(EVERY + 1)]
    assert [name for step in found for name in step] == [str(name) for name in range(70, 80)]
    admission.end(_pass(0), 0.0, 9)
    admission.add(_pass("last", most=1, continues=True))
    steps = [_begun(admission) for _ in range(EVERY)]
    assert ["last"] in steps
    for number in range(1, 80):
        admission.end(_pass(number), 0.0, 9)
    admission.end(_pass("last", most=1), 0.0, 1)
    admission.add(_pass("alone", most=1, continues=True))
    assert _begun(admission) == ["alone"], "nothing else runs"


@given(
    st.lists(st.tuples(st.integers(1, 300), st.integers(1, 400), st.integers(1, 3), st.booleans())),
    st.integers(1, 20),
    st.integers(1, 20),
    st.integers(),
)
def test_all_begin_and_what_is_under_way_fits(
    drawn: list[tuple[int, int, int, bool]], seats: int, every: int, seed: int
) -> None:
    chance = Random(seed)
    passes = [
        Pass(str(at), (at,) * own, None, most, shared=(shared,) * 50, after="0" * continues)
        for at, (own, most, shared, continues) in enumerate(drawn)
    ]
    admission, now = Admission(CAPACITY, BLOCK, seats, every), 0.0
    waiting, under_way, begun = list(passes), list[Pass](), list[str]()
    while waiting or admission.waiting or under_way:
        for item in waiting[: chance.randint(0, 5)]:
            admission.add(item)
            waiting.remove(item)
        now += 2 * LINGER
        new = list(admission.begin(now))
        assert new or under_way or not admission.waiting
        begun += [item.id for item in new]
        under_way += new
        if len(under_way) > 1 and not any(item.continues for item in under_way):
            assert len(under_way) <= seats
            assert sum(len(item.own) for item in under_way) + 50 * len({item.shared for item in under_way}) <= ROOM
        for item in under_way[: chance.randint(0 if waiting else 1, 5)]:
            admission.end(item, now, chance.randint(0, item.max_tokens))
            under_way.remove(item)
    assert sorted(begun) == sorted(item.id for item in passes)
