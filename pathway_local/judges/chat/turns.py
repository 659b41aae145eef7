"""How a judge takes turns, and how long and by what drawing it thinks before a reply: all from its entry."""

from dataclasses import asdict, dataclass

from pydantic import JsonValue

from pathway_local.errors import UsageError
from pathway_local.judges.judge_spec import JudgeSpec
from pathway_local.passes import Sampling

MOST_DIGITS = 10


@dataclass(frozen=True, slots=True)
class Chat:
    """A judge's turns: whether the system turn is folded into the user turn, the switches of the chat template, and the
    text that opens a reply before the reply's own start."""

    folds_system: bool = False
    switches: tuple[tuple[str, object], ...] = ()
    opening: str = ""


def think_budget(wanted: str, judge: JudgeSpec) -> int:
    """Return the judge's thinking budget in tokens; `wanted` is a number, or "auto" for the judge's own budget.

    Raises UsageError if it is neither, or if the judge never thinks or its way of thinking is not known.
    """
    if wanted != "auto" and not (wanted.isdecimal() and len(wanted) < MOST_DIGITS):
        raise UsageError(
            f"--think {wanted[:20]} is not a number of tokens", "Give, for example, --think 1024, or --think alone."
        )
    budget = int(wanted) if wanted != "auto" else None
    if budget == 0:
        return 0
    if judge.thinking is None:
        hint = "Leave --think out, or take a judge that can; `pathway-local judges list` shows which."
        if judge.thinks == "not known":
            raise UsageError(f"it is not known how judge {judge.name!r} thinks", f"Describe it in its entry. {hint}")
        raise UsageError(f"judge {judge.name!r} never thinks", hint)
    return budget or judge.thinking.budget


def chat_of(judge: JudgeSpec, budget: int) -> Chat:
    """Return how the judge takes turns if it may think for `budget` tokens."""
    how = judge.thinking
    folds = judge.system == "fold"
    if how is None:
        return Chat(folds)
    switches, opening = (how.on_by, how.start) if budget else (how.off_by, how.skip)
    return Chat(folds, tuple(switches.items()), opening)


def thinking_sampling(judge: JudgeSpec, reply: Sampling) -> Sampling:
    """Return how to draw the judge's thoughts: as its maker recommends, or else as the reply.

    A judge that always takes the likeliest token can think in circles.
    """
    stated = judge.thinking.sampling if judge.thinking else judge.sampling
    how = stated if stated.temperature is not None else judge.sampling
    if how.temperature is None:
        return reply
    return Sampling(how.temperature, how.top_p or 1.0, how.top_k or 0, reply.seed)


def chat_settings(judge: JudgeSpec, budget: int, reply: Sampling) -> dict[str, JsonValue]:
    """Return everything in the judge's entry that changes its prompts or thinking, as JSON for the rater's spec."""
    how = judge.thinking
    thinks: dict[str, JsonValue] = {}
    if how and budget:
        drawn = thinking_sampling(judge, reply)
        thinks = {"end": how.end, "closing": how.closing, "sampling": asdict(drawn)}
    chat = chat_of(judge, budget)
    return {
        "system": judge.system,
        "switches": dict(how.on_by if budget else how.off_by) if how else {},
        "opening": chat.opening,
        "end_of_turn": list(judge.end_of_turn),
        "thinking": thinks,
    }
