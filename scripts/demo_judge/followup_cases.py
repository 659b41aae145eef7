"""Makes cases for the contextual-relevance rubric: a follow-up question after a question and its answer."""

from demo_judge.made_case import MadeCase
from demo_judge.phrases import GENERAL, GIVEN, NEXT, OFF_TOPIC
from demo_judge.world import Fact, World

FOUR_POINTS = {
    1: "It leaves {topic} altogether. Nothing links it to the exchange. A question about {subject} would be better. It "
    "is no 2, since it has nothing to do with TVOU.",
    2: "It turns away from {topic}. Only TVOU links it to the exchange. A question about {subject} would be better. It "
    "is no 3, since it brings in {theirs}.",
    3: "It asks about {theirs}, not about {subject}. The general topic earns points. Naming {subject} would be better. "
    "It is no 4, since it misses the context.",
    4: "It stays with {subject}. A natural next step earns points. Naming a detail of the answer would be better. It "
    "is no 5, since it cites no detail.",
    5: "It builds on {theirs} from the answer. The detail earns points. Little would be better. It is no 4, since it "
    "goes on from {topic}.",
}


def followup_case(world: World, score: int, parts: int) -> MadeCase:
    """Make a case of this score after a question of `parts` parts."""
    rng = world.rng
    facts = world.facts(parts)
    if score == 5 and all(fact.value in ("yes", "no") for fact in facts):
        return followup_case(world, score, parts)
    near = rng.choice([fact for fact in facts if score != 5 or fact.value not in ("yes", "no")])
    follow_up, theirs, decisive = _follow_up(world, near, facts, score)
    opener = world.opener()
    inputs = {
        "user_question": " ".join(world.ask(fact) for fact in facts),
        "answer": world.join(opener + [world.say(fact) for fact in facts]),
        "fq_id": f"{rng.choice(('fq', 'q', 'f'))}-{rng.randint(1, 99)}",
        "follow_up_question": follow_up,
    }
    words = {"topic": near.topic, "subject": near.subject, "theirs": theirs}
    reason = FOUR_POINTS[score].format(**words)
    return MadeCase(inputs, {"score": score}, {"reason": reason}, decisive.format(**words))


def _follow_up(world: World, near: Fact, facts: list[Fact], score: int) -> tuple[str, str, str]:
    """Return the follow-up question, its topic, and the deciding words of its reason."""
    rng = world.rng
    if score == 1:
        return world.pick(OFF_TOPIC), "", "It leaves {topic} altogether"
    if score == 2:
        if rng.random() < 0.2 and near.value not in ("yes", "no"):
            wrong = world.changed(near).value
            return world.pick(GIVEN).format(v=wrong), wrong, "it brings in {theirs}"
        other = world.stranger(facts)
        return world.ask(other), other.topic, "it brings in {theirs}"
    if score == 3:
        if rng.random() < 0.5:
            return world.pick(GENERAL).format(g=near.kind.area), near.kind.area, "It asks about {theirs}"
        twin = world.fact(near.kind)
        return world.ask(twin), twin.topic, "It asks about {theirs}"
    if score == 4:
        kinds = world.sister_kinds(near, facts)
        if rng.random() < 0.5 and kinds:
            return world.ask(world.fact(rng.choice(kinds), near.subject)), "", "It stays with {subject}"
        return world.pick(NEXT).format(s=near.subject), "", "It stays with {subject}"
    return world.pick(GIVEN).format(v=near.value), near.value, "It builds on {theirs}"
