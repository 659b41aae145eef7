"""How a judge takes its turns and whether it thinks first, by what its registry entry says."""

from dataclasses import dataclass

from pathway_local.engines.passes import GREEDY, Sampling
from pathway_local.errors import UsageError
from pathway_local.judges.judge_spec import JudgeSpec
from pathway_local.tokenizer import JudgeTokenizer


@dataclass(frozen=True, slots=True)
class Chat:
    """How a judge takes its turns: whether it knows a system turn, its chat template's switches, and what of ours
    opens its reply before the reply's own start."""

    folds_system: bool = False
    switches: tuple[tuple[str, object], ...] = ()
    opening: str = ""


@dataclass(frozen=True, slots=True)
class Thinking:
    """Free thinking before the reply: the token `end_id` or `budget` ends it, then come the ids of `closing`."""

    budget: int
    end_id: int
    closing: tuple[int, ...]
    sampling: Sampling = GREEDY


def think_budget(wanted: str, judge: JudgeSpec) -> int:
    """The tokens that the judge may think; `wanted` is a number or "auto" for the judge's own budget."""
    if wanted == "0":
        return 0
    if judge.thinking is None:
        raise UsageError(f"{judge.name} is no thinking judge", "Leave --think out, or take another judge.")
    if wanted == "auto":
        return judge.thinking.budget
    if not wanted.isdecimal():
        raise UsageError(f"--think {wanted} is neither a number of tokens nor auto", "Such as --think 1024.")
    return int(wanted)


def chat_of(judge: JudgeSpec, budget: int) -> Chat:
    """How the judge takes its turns, with `budget` tokens to think or none."""
    how = judge.thinking
    folds = judge.system == "fold"
    if how is None:
        return Chat(folds)
    switches, opening = (how.on_by, how.start) if budget else (how.off_by, how.skip)
    return Chat(folds, tuple(switches.items()), opening)


def thinking_of(judge: JudgeSpec, budget: int, tokenizer: JudgeTokenizer, seed: int) -> Thinking | None:
    """How the judge thinks before its reply; None where it does not."""
    how = judge.thinking
    if how is None or not budget:
        return None
    sampling = Sampling(how.sampling.temperature or 0.0, how.sampling.top_p or 1.0, how.sampling.top_k or 0, seed)
    return Thinking(budget, tokenizer.id_of(how.end), tokenizer.encode(how.closing), sampling)
