"""Comparisons of two responses: every case in both orders, one verdict of both, and nothing lost or done twice."""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import loop_here
import pytest
from families import FAMILIES, write_tokenizer
from loop_here import stored

from pathway_local.case import Case
from pathway_local.errors import UsageError
from pathway_local.judges.judge_spec import Chat
from pathway_local.judges.registry import load_registry
from pathway_local.judging.loop import JudgingLoop
from pathway_local.judging.plan import Plan
from pathway_local.judging.planned_rater import planned_raters
from pathway_local.passes import Pass, PassResult
from pathway_local.rendering.prompt import PromptWriter
from pathway_local.rendering.tokenizer import JudgeTokenizer
from pathway_local.rubrics.pair import verdict_of_orders
from pathway_local.rubrics.rubric import Rubric
from pathway_local.rubrics.rubric_file import load_rubric, parse_rubric
from pathway_local.runs.run_file import RunFile
from pathway_local.verdict import Failure, Number, Score, Verdict

RUBRIC = """---
name: which
kind: pair
swap: {a: b}
inputs: {a: {type: string}, b: {type: string}}
outputs:
  layout: |-
    Reason: {reason}
    Better: {better}
  fields:
    reason: {type: text, tokens: 20, lines: one}
    better: {type: score, scale: nominal, levels: {1: A, 0: tie, -1: B}, written: {1: A, 0: C, -1: B}}
---
user:
Compare.
A: {{ a }}
B: {{ b }}
"""
Judge = Callable[[str, str], str]
"""What a judge writes of the response that stands first and the one that stands second: A, B or C, a tie."""


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> JudgeTokenizer:
    return JudgeTokenizer(write_tokenizer(FAMILIES[0], tmp_path_factory.mktemp("qwen")))


@pytest.fixture
def run(tmp_path: Path) -> Iterator[RunFile]:
    with RunFile.create(tmp_path / "t.run") as run:
        yield run


class Script:
    """A judge by a rule, which gives its choice 80% and shares the rest among the others."""

    def __init__(self, tokenizer: JudgeTokenizer, judge: Judge) -> None:
        self.tokenizer, self.judge = tokenizer, judge
        self.read: list[tuple[str, str]] = []

    def __call__(self, item: Pass) -> PassResult:
        text = self.tokenizer.grammar_tokenizer.decode_bytes(list(item.ids)).decode()
        [(first, second)] = re.findall(r"A: (.*)\nB: (.*?)<\|im_end\|>", text)
        choice = self.judge(first, second)
        if item.max_tokens == 1:
            shares = {i: 0.8 if choice.startswith(self.said(i)) else 0.1 for i in item.logprob_ids}
            return PassResult("", logprobs=({i: math.log(share) for i, share in shares.items()},))
        self.read.append((first, second))
        if choice == "die":
            return PassResult("", finish="error", error="no memory for this one")
        return PassResult("", self.tokenizer.encode(f" {first} stood first\nBetter: {choice}"))

    def said(self, token: int) -> str:
        return self.tokenizer.bytes_of(token).decode().strip() or "?"


def judging(run: RunFile, script: Script, text: str = RUBRIC, **options: Any) -> JudgingLoop:
    return loop_here.judging(run, parse_rubric(text, "which"), script, **options)


def cases(count: int) -> list[Case]:
    return [Case(f"c{i}", {"a": f"long answer {i}", "b": f"short {i}"}, row=i + 1) for i in range(count)]


def verdict(run: RunFile, case: str = "c0") -> Verdict:
    outcome = stored(run)[case].outcome
    assert isinstance(outcome, Verdict)
    return outcome


def longer(first: str, second: str) -> str:
    return "A" if len(first) > len(second) else "B"


def place(first: str, second: str) -> str:
    return "A"


def test_both_orders_make_one_verdict_about_the_cases_own_a_and_b(run: RunFile, tokenizer: JudgeTokenizer) -> None:
    script = Script(tokenizer, longer)
    tally = judging(run, script).judge(cases(200))
    assert (tally.judged, len(script.read)) == (200, 400)
    assert {first.split()[0] for first, _ in script.read} == {"long", "short"}
    for record in stored(run).values():
        outcome = record.outcome
        assert isinstance(outcome, Verdict)
        assert outcome.scores["better"].value == 1
        assert outcome.scores["better"].probabilities == pytest.approx({-1: 0.1, 0: 0.1, 1: 0.8})
        number = record.case_id[1:]
        assert outcome.fields == {
            "reason": f"long answer {number} stood first", "swapped.reason": f"short {number} stood first",
            "choice_ab": 1, "choice_ba": 1, "consistent": True, "a_better": pytest.approx(0.8),
        }  # fmt: skip
        assert outcome.marks == ()


def test_a_judge_that_looks_at_the_place_alone_gives_ties_that_are_marked(
    run: RunFile, tokenizer: JudgeTokenizer
) -> None:
    judging(run, Script(tokenizer, place)).judge(cases(3))
    found = verdict(run)
    assert found.scores["better"].value == 0
    assert found.scores["better"].probabilities == pytest.approx({-1: 0.45, 0: 0.1, 1: 0.45})
    assert (found.fields["choice_ab"], found.fields["choice_ba"]) == (1, -1)
    assert (found.fields["consistent"], found.marks) == (False, ("flipped",))


def test_one_order_is_the_files_and_random_takes_each_about_half_the_time(
    run: RunFile, tokenizer: JudgeTokenizer, tmp_path: Path
) -> None:
    script = Script(tokenizer, longer)
    judging(run, script, orders="one").judge(cases(20))
    assert all(first.startswith("long") for first, _ in script.read) and len(script.read) == 20
    assert {"choice_ba", "consistent"}.isdisjoint(verdict(run).fields)
    with RunFile.create(tmp_path / "random.run") as other:
        drawn, again = Script(tokenizer, longer), Script(tokenizer, longer)
        judging(other, drawn, orders="random").judge(cases(200))
        assert len(drawn.read) == 200
        assert 70 < sum(first.startswith("long") for first, _ in drawn.read) < 130
        for record in stored(other).values():
            assert isinstance(record.outcome, Verdict)
            assert record.outcome.scores["better"].value == 1
            choices = [name for name in record.outcome.fields if name.startswith("choice_")]
            assert len(choices) == 1
            assert ("swapped.reason" in record.outcome.fields) == (choices == ["choice_ba"])
        assert judging(other, again, orders="random").judge(cases(200)).skipped == 200


def test_conversations_change_places_whole_and_a_shared_one_stays(tokenizer: JudgeTokenizer) -> None:
    talking = RUBRIC.replace("type: string", "type: conversation")
    text = talking.replace("inputs: {a", "inputs: {talk: {type: conversation}, a")
    text = text.replace("Compare.", "Compare.\n{{ talk }}")
    rubric = parse_rubric(text, "which")
    texts = {name: f'[{{"role": "user", "content": "{name} talks"}}]' for name in ("talk", "a", "b")}
    prompts = PromptWriter(rubric, tokenizer, Chat(), context=2000).write([texts, texts], ["ab", "ba"])
    shown = [tokenizer.grammar_tokenizer.decode_bytes(list(each.ids)).decode() for each in prompts]  # type: ignore[union-attr]
    for said, order in zip(shown, (("a", "b"), ("b", "a")), strict=True):
        places = [said.find(f"{name} talks") for name in ("talk", *order)]
        assert places == sorted(places) and -1 not in places


def test_samples_are_drawn_in_each_order(run: RunFile, tokenizer: JudgeTokenizer) -> None:
    script = Script(tokenizer, longer)
    judging(run, script, samples=3).judge(cases(10))
    pairs = [(f"long answer {i}", f"short {i}") for i in range(10)]
    assert Counter(script.read) == dict.fromkeys([*pairs, *((second, first) for first, second in pairs)], 3)
    assert verdict(run).fields["consistent"] is True


def test_without_texts_the_choice_in_each_order_stays(run: RunFile, tokenizer: JudgeTokenizer) -> None:
    judging(run, Script(tokenizer, longer), texts=False).judge(cases(4))
    assert verdict(run).fields.items() >= {"consistent": True}.items()
    assert not any(isinstance(value, str) for value in verdict(run).fields.values())


def test_a_case_that_fails_in_one_order_fails_and_is_tried_again(run: RunFile, tokenizer: JudgeTokenizer) -> None:
    broken = Script(tokenizer, lambda first, second: "die" if first == "short 2" else longer(first, second))
    tally = judging(run, broken).judge(cases(5))
    assert (tally.judged, tally.failures.total()) == (4, 1)
    assert isinstance(stored(run)["c2"].outcome, Failure)
    whole = Script(tokenizer, longer)
    assert judging(run, whole).judge(cases(5)).judged == 1
    assert sorted(whole.read) == [("long answer 2", "short 2"), ("short 2", "long answer 2")]


def test_a_failure_names_the_files_own_input_in_either_order(run: RunFile, tokenizer: JudgeTokenizer) -> None:
    long = Case("long", {"a": "x " * 200_000, "b": "short"}, row=1)
    empty = [Case(f"e{i}", {"a": "", "b": "short"}, row=i + 2) for i in range(9)]
    judging(run, Script(tokenizer, longer), orders="random").judge(
        [long, *(Case(f"l{i}", long.inputs, row=20 + i) for i in range(9)), *empty]
    )
    said = {record.outcome.message for record in stored(run).values() if isinstance(record.outcome, Failure)}
    assert len(said) == 2, said
    assert all("over 2000 tokens in a alone" in each or each == "the input 'a' is empty" for each in said)


def test_what_ends_between_both_orders_is_judged_again_whole(run: RunFile, tokenizer: JudgeTokenizer) -> None:
    """A stop stores only cases with all replies; the next command judges the others in both orders."""
    first = Script(tokenizer, longer)
    loop = judging(run, first, stopped=lambda: len(first.read) > 25)
    loop.judge(cases(60))
    done = {name for name, record in stored(run).items() if isinstance(record.outcome, Verdict)}
    assert 0 < len(done) < 60
    for name in done:
        assert verdict(run, name).fields["consistent"] is True
    second = Script(tokenizer, longer)
    tally = judging(run, second).judge(cases(60))
    assert (tally.skipped, tally.judged) == (len(done), 60 - len(done))
    assert len(second.read) == 2 * tally.judged
    assert len(stored(run)) == 60


def test_rules_are_checked_in_each_order(run: RunFile, tokenizer: JudgeTokenizer) -> None:
    rule = "{name: short-a, when: [{input: a, begins_with: [short]}], expect: [{field: better, equals: -1}]}"
    text = RUBRIC.replace("---\nuser", f"rules: [{rule}]\n---\nuser")
    judging(run, Script(tokenizer, place), text=text).judge(cases(1))
    assert verdict(run).marks == ("rule:short-a", "flipped")


@pytest.mark.parametrize(
    ("levels", "first", "second", "value", "flipped"),
    [
        ("1: A, 0: tie, -1: B", 1, 0, 0, True),
        ("1: A, 0: tie, -1: B", 0, 0, 0, False),
        ("2: AA, 1: A, 0: tie, -1: B, -2: BB", 2, -1, 1, False),  # the second order's B is the case's A
        ("2: AA, 1: A, 0: tie, -1: B, -2: BB", -2, -1, 0, True),
        ("1: A, -1: B", 1, 1, 1, True),  # no tie: the likelier side
    ],
)
def test_the_value_of_two_orders(levels: str, first: Number, second: Number, value: Number, flipped: bool) -> None:
    rubric = parse_rubric(re.sub(r"levels: .*\}\}", f"levels: {{{levels}}}}}", RUBRIC), "which")
    assert rubric.pair
    sure = {"ab": Verdict({"better": Score(first, {first: 0.9, -first: 0.1} if first else {})})}
    unsure = {"ba": Verdict({"better": Score(second, {second: 0.6, -second: 0.4} if second else {})})}
    found = verdict_of_orders(sure | unsure, rubric.pair, rubric.format)  # type: ignore[arg-type]
    assert found.scores["better"].value == value
    assert (found.marks == ("flipped",)) is flipped


def test_options_that_a_comparison_has_or_lacks(tmp_path: Path) -> None:
    pair, single = load_rubric("pair-answer"), load_rubric("groundedness")
    registry = load_registry(None)

    def orders(rubric: Rubric, **options: object) -> object:
        plan = Plan(tmp_path / "x.csv", tmp_path / "x.run", **options)  # type: ignore[arg-type]
        [rater] = planned_raters(plan, None, {rubric.name: rubric}, registry)
        return rater.settings.spec().get("orders", "absent"), rater.settings.replies

    assert orders(pair) == ("both", 2)
    assert orders(pair, orders="random") == ("random", 1)
    assert orders(single) == ("absent", 1)
    with pytest.raises(UsageError, match="--orders is for rubrics that compare"):
        orders(single, orders="one")
    with pytest.raises(UsageError, match="--truncate response_b would cut one of the two responses"):
        orders(pair, truncate="response_b")
