"""What an engine begins fits into its cache, and nothing waits for ever."""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pathway_local.engines.admission import LINGER, PORTION, SHARE, SPARE, Admission
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


def _filled(passes: Iterable[Pass]) -> Admission:
    admission = Admission(CAPACITY, BLOCK)
    for item in passes:
        admission.add(item)
    return admission


def test_what_prompts_share_counts_once_and_replies_a_part_of_their_budget() -> None:
    admission = _filled(map(_pass, range(20)))
    assert _begun(admission) == [str(number) for number in range(10)]
    assert (ROOM - len(RUBRIC)) // (50 + 160 * SHARE * PORTION + BLOCK) == 10
    assert admission.waiting == 10


def test_samples_of_a_case_share_its_prompt() -> None:
    admission = _filled(Pass(str(number), (7,) * 60, None, 160, shared=RUBRIC) for number in range(40))
    assert len(_begun(admission)) == (ROOM - len(RUBRIC) - 60) // (160 * SHARE * PORTION + BLOCK)


def test_what_continues_never_waits_and_what_ended_keeps_its_room_for_a_while() -> None:
    admission = _filled(map(_pass, range(20)))
    assert len(_begun(admission)) == 10
    admission.end(_pass(0), 1.0, 40)
    assert _begun(admission, 1.0 + LINGER / 2) == []
    admission.add(_pass("probe", own=900, most=1, continues=True))
    assert _begun(admission, 1.0 + LINGER / 2) == ["probe"]


def test_room_is_given_back() -> None:
    admission = _filled(map(_pass, range(20)))
    _begun(admission)
    admission.end(_pass(0), 1.0, 40)
    later = [_begun(admission, 1.0 + share * LINGER) for share in (0, 0.9, 1.1, 2)]
    assert later == [[], [], ["10"], []]


def test_where_all_end_at_once_the_next_wait_for_what_continues_these() -> None:
    admission = _filled(map(_pass, range(20)))
    for name in _begun(admission):
        admission.end(_pass(int(name)), 1.0, 40)
    assert _begun(admission, 1.0) == []
    assert len(_begun(admission, 1.0 + 2 * LINGER)) == 10


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


@given(st.data())
def test_all_begin_and_what_is_under_way_fits(data: st.DataObject) -> None:
    passes = [
        Pass(str(at), (at,) * own, None, most, shared=(shared,) * 50, after="0" * continues)
        for at, (own, most, shared, continues) in enumerate(
            data.draw(st.lists(st.tuples(st.integers(1, 300), st.integers(1, 400), st.integers(1, 3), st.booleans())))
        )
    ]
    admission, now = Admission(CAPACITY, BLOCK), 0.0
    waiting, under_way, begun = list(passes), list[Pass](), list[str]()
    while waiting or admission.waiting or under_way:
        for item in waiting[: data.draw(st.integers(0, 5))]:
            admission.add(item)
            waiting.remove(item)
        now += 2 * LINGER
        new = list(admission.begin(now))
        begun += [item.id for item in new]
        under_way += new
        if len(under_way) > 1 and not any(item.continues for item in under_way):
            assert sum(len(item.own) for item in under_way) + 50 * len({item.shared for item in under_way}) <= ROOM
        for item in under_way[: data.draw(st.integers(0 if waiting else 1, 5))]:
            admission.end(item, now, data.draw(st.integers(0, item.max_tokens)))
            under_way.remove(item)
    assert sorted(begun) == sorted(item.id for item in passes)
