"""Makes cases for the gold-answer rubric: a model's answer and a gold answer."""

from collections.abc import Sequence

from demo_judge.made_case import MadeCase, lines, point, points
from demo_judge.phrases import REFUSALS, UNKNOWN, VAGUE
from demo_judge.world import Fact, World

LEAST = {1: 2, 2: 3, 3: 2}
"""The fewest facts with which an answer can have a score."""


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
    told, given = _answer(world, facts, link, score)
    return _compared(world, facts, link, told, given)


def _answer(world: World, facts: list[Fact], link: str, score: int) -> tuple[list[Fact], str]:
    """Return facts in the gold answer's order and a link (right, wrong or ""), whose lower score is `score`."""
    rng, kept, errors = world.rng, list(facts), 0
    if score == 5:
        return kept, link
    if score == 4:
        return kept, "" if rng.random() < 0.6 else world.link()
    style = rng.random()
    if score == 3:
        if style < 0.5:
            errors = 1
        else:
            kept = sorted(rng.sample(facts, len(facts) - 1), key=facts.index)
    elif score == 2:
        if style < 0.5:
            kept = [rng.choice(facts)]
        else:
            errors = len(facts) - 1
    else:
        kept = [rng.choice(facts)] if style < 0.3 else kept
        errors = len(kept)
    wrong = rng.sample(range(len(kept)), errors)
    return [world.changed(fact) if at in wrong else fact for at, fact in enumerate(kept)], link


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


def _compared(world: World, facts: list[Fact], link: str, told: list[Fact], given: str) -> MadeCase:
    sides = ("gold", "answer")
    compared = points(facts, told, sides)
    links = [point("Link", link, sides, link, given)] if link else []
    wrong = [each for each in compared if each.state == "wrong"]
    gone, slip = lines(links, "missing"), lines(links, "wrong")
    agrees = "All that it says agrees with the gold answer."
    named = " and ".join([each.topic for each in wrong] + ["the link"] * len(slip))
    return _made(
        world,
        facts,
        gold=world.join([world.say(fact) for fact in facts] + world.details(link)),
        text=world.answer([world.say(fact) for fact in told], given),
        scores=(completeness(len(told), len(facts), bool(gone)), correctness(len(wrong), len(told), bool(slip))),
        complete=" ".join(each.line for each in compared + links),
        missing=[each.topic for each in compared + links if each.state == "missing"],
        correct=f"It is wrong on {named}." if named else agrees,
        errors=[f"says {each.found} on {each.topic}" for each in wrong] + [f"says {given}"] * len(slip),
        decisive=[*lines(compared, "wrong"), *lines(compared, "missing"), *gone, *slip, agrees][0],
    )


def _empty(world: World, facts: list[Fact], text: str, score: int, decisive: str) -> MadeCase:
    return _made(
        world,
        facts,
        gold=world.join([world.say(fact) for fact in facts]),
        text=text,
        scores=(score, score),
        complete=f"{decisive} and says nothing on {facts[0].topic}.",
        missing=[fact.topic for fact in facts],
        correct=f"{decisive}, so nothing in it is useful.",
        decisive=decisive,
    )


def _unknown(world: World, facts: list[Fact]) -> MadeCase:
    decisive = "The gold answer cannot tell either"
    return _made(
        world,
        facts,
        text=world.pick(REFUSALS if world.rng.random() < 0.5 else UNKNOWN),
        gold=world.pick(UNKNOWN),
        scores=(5, 5),
        complete=f"{decisive}.",
        correct="The answer agrees with the gold answer.",
        decisive=decisive,
    )


def _made(
    world: World,
    facts: list[Fact],
    *,
    gold: str,
    text: str,
    scores: tuple[int, int],
    complete: str,
    correct: str,
    decisive: str,
    missing: Sequence[str] = (),
    errors: Sequence[str] = (),
) -> MadeCase:
    question = " ".join(world.ask(fact) for fact in facts)
    return MadeCase(
        {"question": question, "gold_answer": gold, "model_answer": text},
        dict(zip(("completeness_score", "correctness_score"), scores, strict=True)),
        {
            "completeness_reasoning": complete,
            "key_missing_info": [f"nothing on {topic}" for topic in missing],
            "correctness_reasoning": correct,
            "factual_errors": list(errors),
        },
        decisive,
    )
