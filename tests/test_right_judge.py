"""A judge that gives what the built-in rubrics say passes every probe: none asks for another score than they do."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from faulty_judges import FACTS, ideal

from pathway_local.case import Case, CaseRef
from pathway_local.probes.drawing import COLUMNS, ID, draw, rows, self_test
from pathway_local.rater import Rater
from pathway_local.results.self_test import self_test_table
from pathway_local.results.table import Table
from pathway_local.rubrics.rubric_file import load_rubric
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.run_rubrics import store_rubric
from pathway_local.scores.scores import Scores
from pathway_local.verdict import Score, Verdict

CASES = 80
Texts = Mapping[str, str]
Levels = Mapping[str, int]


@dataclass
class Seen:
    """How many facts an answer takes from a source, whether it has others, and whether a number of it is wrong."""

    right: int
    others: int
    wrong: bool
    refuses: bool


def seen(answer: str, source: str) -> Seen:
    """Compare the facts of an answer with those of a source; each has a topic and ends in a stop."""
    said = re.findall(r"(?:Fact \w of the|In) topic\d+x .*?\.", " ".join(answer.replace("*", "").split()))
    known = set(re.findall(r"(?:Fact \w of the|In) topic\d+x .*?\.", source))
    about = {fact.partition(" comes to ")[0] for fact in known if " comes to " in fact}
    wrong = any(fact not in known and fact.partition(" comes to ")[0] in about for fact in said)
    others = sum(fact not in known for fact in said) - wrong
    return Seen(len({*said} & known), others, wrong, "I can't help" in answer)


def pathway_answer(texts: Texts) -> Levels:
    """A wrong number is a 1, what content does not back a 2, and so is anything without content."""
    found = seen(texts["ai_answer"], texts["ideal_answer"])
    backed = not seen(texts["ai_answer"], texts["retrieved_content"]).others
    if found.wrong:
        return {"score": 1}
    if not texts["retrieved_content"].strip() or not backed or not found.right:
        return {"score": 3 if found.refuses and texts["retrieved_content"].strip() else 2}
    return {"score": 5 if found.right == FACTS else 4 if found.right == FACTS - 1 else 3}


def gold_answer(texts: Texts) -> Levels:
    """A refusal is a 1 for both; what says nothing is too brief to be correct, but not false."""
    found = seen(texts["model_answer"], texts["gold_answer"])
    complete = [1, 2, 2, 3, 3, 4, 5][found.right]
    correct = 1 if found.refuses else 3 if found.wrong else 2 if found.others or not found.right else 5
    return {"completeness_score": complete, "correctness_score": 3 if found.right == 1 else correct}


def groundedness(texts: Texts) -> Levels:
    """What claims nothing is a 3, off the scale; a wrong number is a 2, whatever else is right or wrong."""
    found = seen(texts["response"], texts["context"])
    if found.wrong:
        return {"score": 2}
    if found.others:
        return {"score": 1}
    return {"score": 3 if not found.right else 5 if found.right == FACTS else 4}


def contextual_relevance(texts: Texts) -> Levels:
    """A question about a detail of the answer is a 5; one with another topic is a 2, and no question at all a 1."""
    asked = re.search(r"topic\d+x", texts["follow_up_question"])
    if not asked:
        return {"score": 1}
    exchange = f"{texts['user_question']} {texts['answer']}"
    return {"score": 5 if asked[0] in exchange else 2}


def criteria(texts: Texts) -> Levels:
    """Each case brings its own criteria. Some are met by any answer, so another case's answer is no worse."""
    topic = texts["instruction"].removeprefix("What about ").removesuffix("?")
    met = "Fact" in texts["response"] if "begin" in texts["criteria"] else topic in texts["response"]
    return {"score": 5 if met else 1}


def answered(case: int) -> str:
    """A case's own answer: half of the facts, in each fourth case with a wrong number."""
    half = "\n".join(ideal(case).split("\n")[: FACTS // 2])
    return half.replace(f" {100 + case} ", f" {900 + case} ") if case % 4 == 3 else half


def inputs(name: str, case: int) -> dict[str, str]:
    """The texts of a case; content to answer from is there in half of the cases that may lack it."""
    asked, right = f"What about topic{case}x?", ideal(case)
    content = right if case % 2 else ""
    if name == "pathway-answer":
        return {"question": asked, "ideal_answer": right, "ai_answer": answered(case), "retrieved_content": content}
    if name == "gold-answer":
        return {"question": asked, "gold_answer": right, "model_answer": answered(case)}
    if name == "groundedness":
        return {"query": asked, "context": right, "response": answered(case)}
    if name == "contextual-relevance":
        follow = f"What if the {100 + case} dollars of topic{case}x are too much?"
        return {"user_question": asked, "answer": right, "fq_id": f"f{case}", "follow_up_question": follow}
    described = {f"score{level}_description": f"level {level}" for level in range(1, 6)}
    wanted = "Does it begin with a fact?" if case % 2 else "Does it keep to the topic?"
    texts = {"criteria": wanted, "instruction": asked, "reference_answer": right}
    return {**texts, **described, "response": answered(case)}


RIGHT: Mapping[str, Callable[[Texts], Levels]] = {
    "pathway-answer": pathway_answer,
    "gold-answer": gold_answer,
    "groundedness": groundedness,
    "contextual-relevance": contextual_relevance,
    "criteria": criteria,
}
ALWAYS = {"repeat", "stranger", "nothing", "injection", "padding"}
WITH_IDEAL = ALWAYS | {"gold", "cut", "number"}
PROBES = {
    ("pathway-answer", "score"): WITH_IDEAL,
    ("gold-answer", "completeness_score"): WITH_IDEAL,
    ("gold-answer", "correctness_score"): WITH_IDEAL - {"cut"},
    ("groundedness", "score"): ALWAYS,
    ("contextual-relevance", "score"): ALWAYS - {"padding"},
    ("criteria", "score"): {"repeat", "injection"},
}
"""The probes that each score allows; where each case has its own criteria, other answers may meet them."""


def judged(path: Path, name: str, score: str, judge: Callable[[Texts], Levels]) -> Table:
    rubric = load_rubric(name)
    test = self_test(rubric, score)
    probes = [probe for probe in test.probes if probe.name in {*PROBES[name, score], "gold", "stranger"}]
    test = replace(test, probes=probes)
    cases = [Case(f"c{case}", inputs(name, case)) for case in range(CASES)]
    with RunFile.create(path, kind="self-test") as run:
        store_rubric(run, rubric)
        rater = run.add_rater(Rater("right", "judge", rubric.name, {}))
        for row in rows(draw(cases, test, CASES), probes):
            told = {each: row[each] for each in COLUMNS}
            levels = judge({each: row[each] for each in rubric.inputs})
            verdict = Verdict({named: Score(level, {level: 1.0}) for named, level in levels.items()})
            run.put(rater, CaseRef(row[ID], hash="-", metadata=told), verdict, keep=COLUMNS)
    with RunFile.read(path, "self-test") as read:
        return self_test_table(Scores(read), test, ["right"], "cases.jsonl")


@pytest.mark.parametrize(("name", "score"), PROBES)
def test_a_right_judge_passes_each_probe_under_each_built_in_rubric(name: str, score: str, tmp_path: Path) -> None:
    found = judged(tmp_path / "t.run", name, score, RIGHT[name]).rows
    of_score = [row for row in found if row["probe"] in PROBES[name, score]]
    assert {row["probe"] for row in of_score} == PROBES[name, score]
    assert [(row["probe"], row["change"], row["passed"]) for row in of_score if row["result"] != "passed"] == []


def test_a_wrong_judge_fails_under_the_built_in_rubrics_too(tmp_path: Path) -> None:
    for level in (4, 5):
        found = judged(tmp_path / f"{level}.run", "groundedness", "score", lambda texts, at=level: {"score": at})
        assert {row["probe"] for row in found.rows if row["result"] == "failed"} == {"stranger", "nothing"}
