"""Makes cases for the gold-answer rubric: a model's answer and a gold answer."""

from collections.abc import Mapping
from dataclasses import dataclass

from demo_judge.made_case import MadeCase
from demo_judge.point import lines, point, points
from demo_judge.sentences import REFUSALS, UNKNOWN, VAGUE
from demo_judge.world import Fact, World
from pathway_local.verdict import Value

LEAST = {1: 2, 2: 3, 3: 2}
"""The fewest facts with which an answer can have a score."""


@dataclass(frozen=True, slots=True)
class _Answer:
    """The content of the model answer: facts in the gold answer's order, and a link that may be right, wrong or ""."""

    told: list[Fact]
    link: str


def gold_case(world: World, score: int, parts: int) -> MadeCase:
    """Make a case whose lower score is `score`, with `parts` facts or as many as the score needs."""
    rng = world.rng
    facts = world.facts(max(parts, LEAST.get(score, 1)))
    if score == 1 and rng.random() < 0.4:
        return _empty(world, facts, world.pick(REFUSALS), 1, "The answer refuses")
    if score == 2 and rng.random() < 0.3:
        return _empty(world, facts, world.pick(VAGUE), 2, "The answer is vague")
    if score == 5 and rng.random() < 0.1:
        return _unknown(world, facts)
    link = world.link() if score == 4 or rng.random() < 0.3 else ""
    answer = _answer(world, facts, link, score)
    return _case(world, facts, link, answer)


def _answer(world: World, facts: list[Fact], link: str, score: int) -> _Answer:
    """Make an answer whose lower score is `score`."""
    rng = world.rng
    count = len(facts)
    if score == 5:
        return _Answer(list(facts), link)
    if score == 4:
        return _Answer(list(facts), "" if rng.random() < 0.6 else world.link())
    kept = list(facts)
    errors = 0
    style = rng.random()
    if score == 3:
        errors = 1 if style < 0.5 else 0
        if not errors:
            kept = sorted(rng.sample(facts, count - 1), key=facts.index)
    elif score == 2:
        if style < 0.5:
            kept = [rng.choice(facts)]
        else:
            errors = count - 1
    else:
        kept = [rng.choice(facts)] if style < 0.3 else kept
        errors = len(kept)
    wrong = rng.sample(range(len(kept)), errors)
    return _Answer([world.changed(f) if at in wrong else f for at, f in enumerate(kept)], link)


def completeness(covered: int, count: int, link_gone: bool) -> int:
    """Return the completeness of an answer that covers this many of the gold answer's facts, right or wrong."""
    if covered == count:
        return 4 if link_gone else 5
    if covered == 0:
        return 1
    return 3 if 2 * covered >= count else 2


def correctness(wrong: int, covered: int, link_wrong: bool) -> int:
    """Return the correctness of an answer with this many wrong facts."""
    if not wrong:
        return 4 if link_wrong else 5
    if wrong == covered:
        return 1
    return 3 if 2 * wrong <= covered else 2


def _case(world: World, facts: list[Fact], link: str, answer: _Answer) -> MadeCase:
    sides = ("gold", "answer")
    compared = points(facts, answer.told, sides)
    links = [point("Link", link, sides, link, answer.link)] if link else []
    wrong = [each for each in compared if each.state == "wrong"]
    gone, slip = lines(links, "missing"), lines(links, "wrong")
    agrees = "All that it says agrees with the gold answer."
    named = " and ".join([each.topic for each in wrong] + ["the link"] * len(slip))
    fields: dict[str, Value] = {
        "completeness_reasoning": " ".join(each.line for each in compared + links),
        "key_missing_info": [f"nothing on {each.topic}" for each in compared + links if each.state == "missing"],
        "correctness_reasoning": f"It is wrong on {named}." if named else agrees,
        "factual_errors": [
            *(f"says {each.found} on {each.topic}" for each in wrong),
            *(f"says {answer.link}" for _ in slip),
        ],
    }
    scores = {
        "completeness_score": completeness(len(answer.told), len(facts), bool(gone)),
        "correctness_score": correctness(len(wrong), len(answer.told), bool(slip)),
    }
    gold = world.join([world.say(fact) for fact in facts] + world.details(link))
    decisive = [*lines(compared, "wrong"), *lines(compared, "missing"), *gone, *slip, agrees][0]
    text = world.answer([world.say(fact) for fact in answer.told], answer.link)
    return _made(world, facts, gold, text, scores, fields, decisive)


def _empty(world: World, facts: list[Fact], text: str, score: int, decisive: str) -> MadeCase:
    fields: dict[str, Value] = {
        "completeness_reasoning": f"{decisive} and says nothing on {facts[0].topic}.",
        "key_missing_info": [f"nothing on {fact.topic}" for fact in facts],
        "correctness_reasoning": f"{decisive}, so nothing in it is useful.",
        "factual_errors": [],
    }
    gold = world.join([world.say(fact) for fact in facts])
    return _made(world, facts, gold, text, _both(score), fields, decisive)


def _unknown(world: World, facts: list[Fact]) -> MadeCase:
    decisive = "The gold answer cannot tell either"
    fields: dict[str, Value] = {
        "completeness_reasoning": f"{decisive}.",
        "key_missing_info": [],
        "correctness_reasoning": "The answer agrees with the gold answer.",
        "factual_errors": [],
    }
    text = world.pick(REFUSALS if world.rng.random() < 0.5 else UNKNOWN)
    return _made(world, facts, world.pick(UNKNOWN), text, _both(5), fields, decisive)


def _both(score: int) -> dict[str, int]:
    return {"completeness_score": score, "correctness_score": score}


def _made(
    world: World,
    facts: list[Fact],
    gold: str,
    text: str,
    scores: dict[str, int],
    fields: Mapping[str, Value],
    decisive: str,
) -> MadeCase:
    question = " ".join(world.ask(fact) for fact in facts)
    inputs = {"question": question, "gold_answer": gold, "model_answer": text}
    return MadeCase(inputs, scores, fields, decisive)
