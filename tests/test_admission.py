"""What an engine begins fits into its cache, and nothing waits for ever."""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pathway_local.engines.admission import LINGER, PORTION, SPARE, Admission
from pathway_local.engines.passes import Pass

RUBRIC = tuple(range(100))
ROOM = 1000
CAPACITY = round(ROOM / (1 - SPARE)) + 1


def _pass(name: object, own: int = 60, most: int = 160, *, continues: bool = False) -> Pass:
    return Pass(str(name), (7,) * own, None, most, shared=RUBRIC, continues=continues)


def _begun(admission: Admission) -> list[str]:
    return [item.id for item in admission.begin()]


def _filled(passes: Iterable[Pass]) -> Admission:
    admission = Admission(CAPACITY)
    for item in passes:
        admission.add(item)
    return admission


def test_what_prompts_share_counts_once_and_replies_a_quarter_of_their_budget() -> None:
    admission = _filled(map(_pass, range(20)))
    assert _begun(admission) == [str(number) for number in range(10)]
    assert (ROOM - len(RUBRIC)) // (60 + 160 // 4 * PORTION) == 10
    assert admission.waiting == 10


def test_what_continues_never_waits_and_what_ended_keeps_its_room_for_some_steps() -> None:
    admission = _filled(map(_pass, range(20)))
    assert len(_begun(admission)) == 10
    admission.end(_pass(0), 40)
    for _ in range(LINGER):
        assert _begun(admission) == []
    admission.add(_pass("probe", own=900, most=1, continues=True))
    assert _begun(admission)[0] == "probe"


def test_room_is_given_back_step_by_step() -> None:
    admission = _filled(map(_pass, range(20)))
    _begun(admission)
    admission.end(_pass(0), 40)
    later = [_begun(admission) for _ in range(LINGER + 2)]
    assert later == [[]] * LINGER + [["10"], []]


@pytest.mark.parametrize(("written", "least", "most"), [(160, 4, 6), (8, 12, 14)])
def test_the_length_of_replies_is_learned(written: int, least: int, most: int) -> None:
    admission = _filled(_pass(number) for number in range(3000))
    under_way = _begun(admission)
    for _ in range(3000):
        for name in under_way:
            admission.end(_pass(name), written)
        under_way = _begun(admission)
        if admission.waiting < 100:
            break
    assert least <= len(under_way) <= most


def test_a_pass_larger_than_the_cache_goes_alone() -> None:
    admission = _filled([_pass("large", own=5000), _pass("small")])
    assert _begun(admission) == ["large"]
    assert _begun(admission) == []
    admission.end(_pass("large"), 1)
    assert _begun(admission) == ["small"]


@given(st.data())
def test_all_begin_and_what_is_under_way_fits(data: st.DataObject) -> None:
    passes = [
        Pass(str(at), (1,) * own, None, most, shared=(shared,) * 50, continues=continues)
        for at, (own, most, shared, continues) in enumerate(
            data.draw(st.lists(st.tuples(st.integers(1, 300), st.integers(1, 400), st.integers(1, 3), st.booleans())))
        )
    ]
    admission = Admission(CAPACITY)
    waiting, under_way, begun = list(passes), list[Pass](), list[str]()
    while waiting or admission.waiting or under_way:
        for item in waiting[: data.draw(st.integers(0, 5))]:
            admission.add(item)
            waiting.remove(item)
        new = list(admission.begin())
        begun += [item.id for item in new]
        under_way += new
        beginners = [item for item in under_way if not item.continues]
        if len(under_way) > 1 and beginners == under_way:
            assert sum(len(item.own) for item in under_way) + 50 * len({item.shared for item in under_way}) <= ROOM
        for item in under_way[: data.draw(st.integers(0 if waiting else 1, 5))]:
            admission.end(item, data.draw(st.integers(0, item.max_tokens)))
            under_way.remove(item)
    assert sorted(begun) == sorted(item.id for item in passes)
