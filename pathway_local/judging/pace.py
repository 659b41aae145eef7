"""Says in words how far a job is and how fast it goes."""

from pathway_local.judging.recorder import Tally


def progress_line(rater: str, tally: Tally, total: int | None, seconds: float) -> str:
    """Return one line about a judge that has judged for so many seconds; `total` is the number of cases, if known."""
    of, left = (f" of {total}", _left(tally, total, seconds)) if total is not None else ("", "")
    return f"{rater}: {tally.done}{of} done, {figures(tally, seconds)}{left}"


def figures(tally: Tally, seconds: float) -> str:
    """Return pace, tokens, cache and failures."""
    seconds = max(seconds, 1e-6)
    tokens = tally.tokens
    parts = [
        f"{tally.judged / seconds:.1f} cases/s",
        f"{(tokens.prompt + tokens.generated) / seconds:.0f} tokens/s" if tokens.prompt else "",
        f"cache {tokens.cached / tokens.prompt:.0%}" if tokens.prompt else "",
        f"{tally.failures.total()} failed" if tally.failures else "",
    ]
    return ", ".join(part for part in parts if part)


def duration(seconds: float) -> str:
    """Return a time in words, as exact as an estimate is: 40 s, 12 min, 3 h 20 min."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, rest = divmod(minutes, 60)
    return f"{hours:,} h {rest} min" if rest else f"{hours:,} h"


def _left(tally: Tally, total: int, seconds: float) -> str:
    """Estimate the time to the end, by the pace so far."""
    cases = total - tally.done
    return f", about {duration(seconds / tally.judged * cases)} left" if tally.judged and cases > 0 else ""
