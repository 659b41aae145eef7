"""Choices between two responses as a table and sentences."""

from collections.abc import Iterator, Sequence

from pathway_local.results.preferences import Preferences
from pathway_local.results.views.cells import interval_head, number
from pathway_local.results.views.view import TableView
from pathway_local.rubrics.pair import FLIPPED
from pathway_local.statistics.figure import Estimate, Interval, percent


def preferences_table(
    title: str, heads: Sequence[str], rows: Sequence[tuple[Sequence[str], Preferences, int]]
) -> TableView:
    """A row for the choices of each group, given with its names and its failures."""
    failed = any(failures for _, _, failures in rows)
    cells = tuple((*names, *_cells(found), *([str(count or "")] if failed else [])) for names, found, count in rows)
    ends = interval_head(found.win_rate.interval for _, found, _ in rows)
    own = ("n", "A", "tie", "B", "A's wins", ends, "flips", "P(A)", *(["failed"] if failed else []))
    return TableView(title, (*heads, *own), cells, len(heads))


def preferences_meaning(found: Preferences) -> str:
    """Say which response is A, and what the columns mean."""
    first, second = (", ".join(names) for names in (found.pair.swap, found.pair.swap.values()))
    return (
        f"A is {first}, B is {second}. A's wins count a tie as half; P(A) is the mean probability with which the judge "
        "chose A."
    )


def preferences_sentences(found: Preferences) -> Iterator[str]:
    """Say how often the order changed the choice."""
    if found.flips:
        share = found.flip_rate
        yield (
            f"{found.flips} of {found.both} choices {FLIPPED} with the order ({_percent(share)}) and count as ties; "
            f"{found.first} of them favoured the response that was read first."
        )


def _cells(found: Preferences) -> list[str]:
    rate, likely = found.win_rate, found.a_better
    return [
        *map(str, (found.n, found.wins, found.ties, found.losses)),
        number(rate.value) if found.n else "–",
        f"{rate.interval.low:.2f}–{rate.interval.high:.2f}" if isinstance(rate.interval, Interval) else "–",
        f"{found.flips} of {found.both}" if found.both else "–",
        "–" if likely is None else f"{likely:.2f}",
    ]


def _percent(share: Estimate) -> str:
    """The share, which is defined where a flip was found, and its interval, if it has one."""
    assert isinstance(share.value, float)
    if not isinstance(share.interval, Interval):
        return f"{share.value:.0%}"
    ends = f"{share.interval.low:.0%}–{share.interval.high:.0%}"
    return f"{share.value:.0%}, {percent(share.interval.level)} interval {ends}"
