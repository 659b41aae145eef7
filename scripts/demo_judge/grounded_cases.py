"""Makes cases for the groundedness rubric: responses whose claims context, query or tool calls may support."""

import json

from demo_judge.made_case import MadeCase, lines, points
from demo_judge.phrases import CHATTER, PLEASANTRIES
from demo_judge.world import Fact, World

EXPLANATIONS = {
    1: "The response does not answer the question and nothing supports it.",
    2: "The response has a wrong or unsupported detail.",
    3: "There is nothing to be grounded.",
    4: "All of it is supported, but a key detail is missing.",
    5: "All of it is supported, and it is complete.",
}


def grounded_case(world: World, score: int, parts: int) -> MadeCase:
    """Make a case of this score with a question of `parts` parts (at least two for 4)."""
    rng = world.rng
    facts = world.facts(max(parts, 2) if score == 4 else parts)
    asked = " ".join(world.ask(fact) for fact in facts)
    if score == 3:
        return _unclaiming(world, facts, asked)
    if score == 1 and rng.random() < 0.5:
        decisive = f"The response is not about {facts[0].topic}."
        return _case(world, facts, asked, score, world.pick(CHATTER), decisive, decisive)
    claims = _claims(world, facts, score)
    if score in (2, 5) and claims[:1] != [] and rng.random() < 0.1 and len(claims) == len(facts):
        return _without_context(world, facts, claims, asked, score)
    thoughts, decisive = _walk(facts, claims, "context")
    response = world.join(world.opener() + [world.say(claim) for claim in claims])
    return _case(world, facts, asked, score, response, thoughts, decisive)


def _claims(world: World, facts: list[Fact], score: int) -> list[Fact]:
    """Return the claims of the response, in its order."""
    rng = world.rng
    if score == 1:
        return [world.other(facts)]
    claims = list(facts)
    if score == 2 and rng.random() < 0.6:
        at = rng.randrange(len(claims))
        claims[at] = world.changed(claims[at])
    elif score == 2:
        claims.insert(rng.randint(0, len(claims)), world.other(facts))
    elif score == 4:
        claims.pop(rng.randrange(len(claims)))
    if rng.random() < 0.5:
        rng.shuffle(claims)
    return claims


def _walk(facts: list[Fact], claims: list[Fact], source: str) -> tuple[str, str]:
    """Return the thoughts, claim by claim, and their deciding words."""
    compared = points(claims, facts, ("response", source), "unsupported")
    claimed = {claim.topic for claim in claims}
    missing = [f"Asked, not given: {fact.topic}." for fact in facts if fact.topic not in claimed]
    decisive = lines(compared, "wrong", "unsupported") + missing
    good = [] if decisive else ["Nothing is wrong, added or missing."]
    return " ".join([each.line for each in compared] + missing + good), (decisive + good)[0]


def _unclaiming(world: World, facts: list[Fact], asked: str) -> MadeCase:
    decisive = "The response makes no claim."
    query = asked
    if world.rng.random() < 0.5:
        turns = [("user", asked), ("assistant", world.say(facts[0])), ("user", "Thank you.")]
        query = json.dumps([{"role": role, "content": text} for role, text in turns])
    return _case(world, facts, query, 3, world.pick(PLEASANTRIES), decisive, decisive)


def _without_context(world: World, facts: list[Fact], claims: list[Fact], asked: str, score: int) -> MadeCase:
    """Make a case with a blank context: the user's words or a tool call in the response are the source."""
    stated = world.join([world.say(fact) for fact in facts])
    response = world.join([world.say(claim) for claim in claims])
    source = world.rng.choice(("query", "tool"))
    if source == "query":
        query = f"I read this: {stated} {asked}"
    else:
        query = asked
        calls = [{"name": "look_up", "arguments": {}}]
        turns: list[dict[str, object]] = [{"role": "assistant", "tool_calls": calls}]
        turns += [{"role": "tool", "content": stated}, {"role": "assistant", "content": response}]
        response = json.dumps(turns)
    return _made(query, "", response, score, *_walk(facts, claims, source))


def _case(
    world: World, facts: list[Fact], asked: str, score: int, response: str, thoughts: str, decisive: str
) -> MadeCase:
    context = world.join(world.content(facts))
    if score == 3 and world.rng.random() < 0.5:
        context = ""
    query = asked
    if score != 3 and world.rng.random() < 0.15:
        query = json.dumps([{"role": "user", "content": asked}])
    if world.rng.random() < 0.1:
        response = json.dumps([{"role": "assistant", "content": response}])
    return _made(query, context, response, score, thoughts, decisive)


def _made(query: str, context: str, response: str, score: int, thoughts: str, decisive: str) -> MadeCase:
    inputs = {"query": query, "context": context, "response": response}
    fields = {"thoughts": f" {thoughts}", "explanation": EXPLANATIONS[score]}
    return MadeCase(inputs, {"score": score}, fields, decisive)
