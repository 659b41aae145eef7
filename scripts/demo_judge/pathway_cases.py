"""Makes cases for the pathway-answer rubric: an AI answer, an ideal answer and retrieved content."""

from demo_judge.made_case import MadeCase, lines, points
from demo_judge.phrases import REFUSALS, VAGUE
from demo_judge.world import Fact, World

JUSTIFICATIONS = {
    1: "Wrong: it contradicts the ideal answer.",
    2: "Ungrounded: the content does not support it.",
    3: "Partial: key information is missing.",
    4: "Good: only a minor detail is missing.",
    5: "Excellent: the same meaning, complete and grounded.",
}


def pathway_case(world: World, score: int, parts: int) -> MadeCase:
    """Make a case of this score with a question of `parts` parts."""
    rng = world.rng
    facts = world.facts(parts)
    link = world.link() if score == 4 or rng.random() < 0.4 else ""
    told: list[Fact] = list(facts)
    extra: Fact | None = None
    keeps_link = bool(link) and score != 4 and (score == 5 or rng.random() < 0.8)
    if score == 1:
        at = rng.randrange(parts)
        told[at] = world.changed(told[at])
    elif score == 2 and rng.random() < 0.1:
        return _blank(world, facts, link)
    elif score == 2:
        extra = world.other(facts)
    elif score == 3:
        if rng.random() < 0.3:
            return _refused(world, facts, link)
        told = sorted(rng.sample(facts, rng.randint(1, parts - 1)), key=facts.index) if parts > 1 else []
    sentences = [world.say(fact) for fact in told] or [world.pick(VAGUE)]
    if extra:
        sentences.insert(rng.randint(0, len(sentences)), world.say(extra))
    answer = world.answer(sentences, link if keeps_link else "", opener=0.25)
    return _case(world, facts, link, score, answer, *_walk(facts, told, extra, "" if keeps_link else link))


def _walk(facts: list[Fact], told: list[Fact], extra: Fact | None, left_out: str) -> tuple[str, str]:
    """Return the analysis, point by point, and its deciding words."""
    compared = points(facts, told, ("ideal", "answer"))
    added = [f"Added: {extra.topic}."] if extra else []
    left = [f"Left out: {left_out}."] if left_out else []
    decisive = [*lines(compared, "wrong"), *added, *lines(compared, "missing"), *left]
    good = [] if decisive else ["Nothing is wrong, added or missing."]
    return " ".join([each.line for each in compared] + added + left + good), (decisive + good)[0]


def _refused(world: World, facts: list[Fact], link: str) -> MadeCase:
    decisive = "The answer refuses"
    analysis = f"{decisive}, although the content has {facts[0].topic}."
    return _case(world, facts, link, 3, world.pick(REFUSALS), analysis, decisive)


def _blank(world: World, facts: list[Fact], link: str) -> MadeCase:
    decisive = "The retrieved content is blank."
    answer = world.join([world.say(fact) for fact in facts]) if world.rng.random() < 0.7 else world.pick(REFUSALS)
    case = _case(world, facts, link, 2, answer, decisive, decisive)
    return MadeCase({**case.inputs, "retrieved_content": ""}, case.scores, case.fields, decisive)


def _case(
    world: World, facts: list[Fact], link: str, score: int, answer: str, analysis: str, decisive: str
) -> MadeCase:
    detail = world.details(link)
    ideal = [world.say(fact) for fact in facts] + detail
    inputs = {
        "question": " ".join(world.ask(fact) for fact in facts),
        "ideal_answer": world.join(ideal),
        "retrieved_content": world.join(world.content(facts, detail)),
        "ai_answer": answer,
    }
    fields = {"analysis": analysis, "justification": JUSTIFICATIONS[score]}
    return MadeCase(inputs, {"score": score}, fields, decisive)
