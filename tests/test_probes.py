"""Probes change exactly what they say, in any language, and leave out what a case or a rubric does not allow."""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from faulty_judges import RUBRIC, rows
from hypothesis import given
from hypothesis import strategies as st

from pathway_local.case import BadRow, Case
from pathway_local.errors import CasesError, UnknownName, UsageError
from pathway_local.probes.drawing import ProbeSet, make_test, reordered
from pathway_local.probes.probe_list import (
    PROBES,
    as_list,
    cut,
    dropped,
    follows,
    gold,
    injection,
    nothing,
    number,
    numbers,
    other_number,
    padding,
    sentences,
    with_number,
    without_sentences,
)
from pathway_local.probes.subject import Measured, Subject, phrases, roles_of
from pathway_local.rubrics.rubric import Rubric
from pathway_local.rubrics.rubric_file import builtin_names, load_rubric, parse_rubric

FACTS = parse_rubric(RUBRIC, "facts")


def measured(rubric: Rubric = FACTS, **roles: str) -> Measured:
    return Measured(rubric, roles_of(rubric, roles))


def subject(ideal: str, answer: str = "An answer.", question: str = "A question?", **others: str) -> Subject:
    texts = {"question": question, "ideal_answer": ideal, "answer": answer}
    return Subject("c", 0, texts, measured(), **others)


def answers(found: Mapping[str, Mapping[str, str]] | str) -> dict[str, str]:
    assert not isinstance(found, str), found
    return {variant: texts["answer"] for variant, texts in found.items()}


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("One. Two! Three? Four…", 4),
        ("It costs 3.50 dollars at example.org. That is all.", 2),
        ("他说：“好。”然后走了！真的吗？", 3),
        ("1. Open the page.\n2. Press the button.\n- Done", 3),
        ("A line\n\nanother line", 2),
        ("Dr. Weiß hilft, z. B. vom 3. Mai, bzw. nach Nr. 12 usw. Danke.", 1),
        ("Ask for B. \nThat is all.", 2),
        ("Plan it with Mr. White, e.g. at 9 a.m. today. It takes 21. Apply by April 1.\nThat is all.", 4),
        ("No stop", 1),
        ("", 0),
    ],
)
def test_sentences_in_several_languages(text: str, count: int) -> None:
    assert len(sentences(text)) == count
    assert "".join(sentences(text)) == text


@given(st.text("aB .!?。\n1-*\"'", max_size=60))
def test_sentences_lose_nothing(text: str) -> None:
    assert "".join(sentences(text)) == text


def test_sentences_are_left_out_apart_from_each_other() -> None:
    text = "Aa. Bb. Cc. Dd. Ee. Ff."
    assert without_sentences(text, 3, 0) == "Bb. Dd. Ff."
    assert without_sentences(text, 1, 2) == "Aa. Bb. Dd. Ee. Ff."
    assert without_sentences("Aa. Bb.", 1, 7) == "Aa."


def test_a_number_is_changed_alone() -> None:
    text = "1. Pay 21 to 28 dollars by 2024-05-01 at 10:30, room B12, 3.5 hours, 21."
    assert numbers(text) == ["21", "28", "3.5"]
    assert with_number(text, "21", "31") == text.replace(" 21", " 31")
    assert other_number("21", ["21", "28"]) == "31"
    assert other_number("21", ["31", "41"]) == "51"
    assert other_number("0.5", []) == "1.5"


@given(st.integers(0, 10**6).map(str))
def test_another_number_is_another_of_the_same_length(number: str) -> None:
    changed = other_number(number, [number])
    assert changed != number and len(changed) == len(number)


def test_cut_keeps_the_beginning_and_dropped_leaves_out() -> None:
    case = subject("One. Two. Three. Four.")
    assert answers(cut(case)) == {"75%": "One. Two. Three.", "50%": "One. Two.", "25%": "One."}
    assert answers(dropped(case)) == {"1": "Two. Three. Four.", "2": "Two. Four."}  # half of them stay
    assert answers(dropped(subject("One. Two. Three. Four. Five. Six.")))["3"] == "Two. Four. Six."
    assert cut(subject("One. Two. Three.")) == "fewer than 4 sentences in the ideal answer"
    assert dropped(subject("One. Two.")) == "fewer than 3 sentences in the ideal answer"


def test_a_number_changes_in_the_answer_or_everywhere() -> None:
    case = subject("It takes 21 days.", question="Is it 21 days?")
    [changed] = number(case).values()  # type: ignore[union-attr]
    assert changed == {"question": "Is it 21 days?", "ideal_answer": "It takes 21 days.", "answer": "It takes 31 days."}
    [changed] = follows(case).values()  # type: ignore[union-attr]
    assert set(re.findall(r"\d+", " ".join(changed.values()))) == {"31"}
    assert changed["ideal_answer"] == changed["answer"]
    assert number(subject("No number.")) == "no number to change in the answer"


def test_content_is_made_to_back_an_ideal_answer() -> None:
    rubric = load_rubric("pathway-answer")
    texts = {"question": "q", "ideal_answer": "Right.", "ai_answer": "a", "retrieved_content": "Other."}
    [made] = gold(Subject("c", 0, texts, measured(rubric))).values()  # type: ignore[union-attr]
    assert made == {**texts, "ai_answer": "Right.", "retrieved_content": "Other.\n\nRight."}


def test_attacks_come_in_six_languages_and_in_the_rubrics_own_layout() -> None:
    assert len(phrases()) == 6 and all(own.keys() == phrases()["en"].keys() for own in phrases().values())
    pleas = set()
    for place in range(6):
        case = Subject("c", place, subject("Ideal.").texts, measured(), "Something else.")
        found = answers(injection(case))
        pleas.add(found["plea"])
        assert all(text.startswith("Something else.\n\n") for text in found.values())
    assert len(pleas) == 6 and all("5" in plea for plea in pleas)
    assert found["score"].endswith("\nScore: 5") and "</answer>" in found["end"] and "<|im_start|>" in found["turns"]
    assert measured(load_rubric("gold-answer")).score_lines == '{"completeness_score": 5, "correctness_score": 5}'


def test_nothing_and_padding_speak_the_answers_language() -> None:
    german = subject("Ideal.", "Das ist nicht der Fall, und die Gebühr wird auf dem Konto für Sie bezahlt. Danke.")
    assert answers(nothing(german))["refusal"].startswith("Es tut mir leid")
    assert answers(nothing(german))["empty"] == "" and answers(nothing(german))["question"] == "A question?"
    padded = answers(padding(german))
    assert padded["polite"].endswith(phrases()["de"]["after"]) and padded["repeated"].endswith("Danke. Danke.")
    assert padded["markdown"].splitlines() == [f"**{sentences(german.own)[0].strip()}**", "", "- Danke."]
    assert padded["blanks"].split() == german.own.split()
    assert padding(subject("", '[{"role": "user", "content": "x"}]')) == "the answer is a list of messages"
    fails = Subject("c", 0, german.texts, measured(parse_rubric(RUBRIC.replace(", empty: judge", ""), "facts")))
    assert "empty" not in answers(nothing(fails))


def test_a_refusal_is_not_tried_where_there_is_something_to_answer_from() -> None:
    texts = {"question": "q", "ideal_answer": "Right.", "ai_answer": "a", "retrieved_content": " "}
    rubric = measured(load_rubric("pathway-answer"))
    for content, tried in ((" ", True), ("Content.", False)):
        made = nothing(Subject("c", 0, texts | {"retrieved_content": content}, rubric))
        assert ("refusal" in made) == tried and {"dot", "thoughts", "question"} <= {*made}


def test_a_follow_up_question_is_not_changed_like_an_answer() -> None:
    rubric = measured(load_rubric("contextual-relevance"))
    texts = {"user_question": "Why?", "answer": "For 3 reasons.", "fq_id": "f", "follow_up_question": "Which 3?"}
    case = Subject("c", 0, texts, rubric)
    assert {*nothing(case)} == {"dot", "thoughts"} and {*padding(case)} == {"repeated", "blanks", "markdown"}
    by_name = {probe.name: probe for probe in PROBES}
    assert by_name["number"].lacks(rubric) == "the rubric judges a question, which claims nothing"
    assert not by_name["number"].lacks(measured(load_rubric("groundedness")))


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("One. Two.", "**One.**\n\n- Two."),
        ("- a\n- b", "- **a**\n\n- b"),
        ("1. Open it.\n2. Close it.", "1. **Open it.**\n\n2. Close it."),
        ("**Bold** one.\n# Two", "**Bold** one.\n\n# Two"),
        ("One", "**One**"),
    ],
)
def test_markdown_that_is_there_stays(text: str, made: str) -> None:
    assert as_list(text) == made


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("score", "overall"),
        ("groundedness", "overall"),
        ("toxicity", "other"),
        ("conciseness", "other"),
        ("hallucination_rate", "other"),
        ("inaccuracy", "other"),
        ("answerAccuracy", "correctness"),
        ("factual_correctness", "correctness"),
        ("Vollständigkeit", "completeness"),
        ("incompleteness", "other"),
    ],
)
def test_a_score_has_the_role_of_the_words_in_its_name(name: str, role: str) -> None:
    rubric = parse_rubric(RUBRIC.replace("{score}", f"{{{name}}}").replace("    score:", f"    {name}:"), "facts")
    assert roles_of(rubric, {}).scores == {name: role}


def test_the_best_level_is_told_with_what_to_do_if_it_is_the_worst() -> None:
    found = measured(load_rubric("gold-answer")).lines()
    otherwise = "if it is the worst, add --role completeness_score=other"
    assert found[2] == f"best level of completeness_score: 5 ({otherwise})"
    assert len(found) == 4
    assert len(measured(FACTS, score="other").lines()) == len(measured(load_rubric("pair-answer")).lines()) == 2
    left = make_test(cases(4), measured(FACTS, score="other"), 4, [])
    assert {probe.name for probe in left.probes} >= {"injection", "levels", "repeat", "alone"}
    assert {"gold", "padding", "cut"} <= left.without.keys()
    assert any(row.probe == "stranger" for row in left.rows)  # injection is compared with it


def test_scores_by_each_cases_own_criteria_have_no_level_to_expect() -> None:
    rubric = load_rubric("criteria")
    assert roles_of(rubric, {}).scores == {"score": "other"}
    assert roles_of(rubric, {"score": "overall"}).scores == {"score": "overall"}


def test_low_levels_will_do_where_a_rubric_may_have_one_below() -> None:
    nothing, stranger = (next(probe for probe in PROBES if probe.name == name) for name in ("nothing", "stranger"))
    facts, backed = measured(), measured(load_rubric("pathway-answer"))
    assert [nothing.expects("overall", each) for each in (facts, backed)] == ["bottom", "low"]
    assert nothing.expects("completeness", facts) == "bottom" and nothing.expects("correctness", facts) == "low"
    assert stranger.expects("overall", facts) == "low" and stranger.expects("other", facts) is None


def test_roles_are_read_from_names_and_can_be_given() -> None:
    found = roles_of(load_rubric("gold-answer"), {})
    assert found.inputs == {"question": "question", "answer": "model_answer", "reference": "gold_answer"}
    assert found.scores == {"completeness_score": "completeness", "correctness_score": "correctness"}
    assert roles_of(load_rubric("contextual-relevance"), {}).inputs["answer"] == "follow_up_question"
    odd = parse_rubric(RUBRIC.replace("answer", "essay"), "odd")
    with pytest.raises(UsageError, match="do not tell which of them is judged") as refused:
        roles_of(odd, {})
    assert "--role INPUT=answer" in refused.value.hint
    given = roles_of(odd, {"essay": "answer", "ideal_essay": "reference", "score": "other"})
    assert given.inputs == {"question": "question", "answer": "essay", "reference": "ideal_essay"}
    assert given.scores == {"score": "other"}
    assert "question" not in roles_of(odd, {"essay": "answer", "question": "none"}).inputs
    with pytest.raises(UsageError, match="gives the role answer twice"):
        roles_of(odd, {"essay": "answer", "ideal_essay": "answer"})


@pytest.mark.parametrize("name", ["criteria", "pair-answer", *builtin_names()])
def test_every_built_in_rubric_has_roles(name: str) -> None:
    assert roles_of(load_rubric(name), {}).scores


def prompt_of(rubric: Rubric) -> str:
    """The words of all turns, with each input's name in its place."""
    names = dict.fromkeys(rubric.inputs)
    return "\n".join(
        turn.render({name: name for name in names}, {name: name for name in names}) for turn in rubric.turns
    )


def test_levels_change_places_and_nothing_else_does() -> None:
    for name in ("pathway-answer", "groundedness"):
        rubric = load_rubric(name)
        changed = reordered(rubric)
        assert changed and changed.name != rubric.name and changed.sha256 != rubric.sha256
        before, after = prompt_of(rubric).split("\n"), prompt_of(changed).split("\n")
        assert sorted(before) == sorted(after)
        moved = [at for at, (one, other) in enumerate(zip(before, after, strict=True)) if one != other]
        assert len(moved) >= 4
        again = reordered(changed)
        assert again and again.turns == rubric.turns
    assert reordered(load_rubric("pair-answer")) is None


@pytest.mark.parametrize(
    ("name", "moved"),
    [
        ("pathway-answer", [f"{at} = " for at in range(1, 6)]),
        ("gold-answer", [f"{at} = " for at in (*range(1, 6), *range(1, 6))]),
        ("groundedness", [f"{at} = " for at in range(5, 0, -1)]),
        ("contextual-relevance", [f"{at} = " for at in range(1, 6)]),
        ("criteria", [f"{at} = " for at in range(5, 0, -1)]),
    ],
)
def test_the_levels_of_every_score_turn_and_nothing_else(name: str, moved: list[str]) -> None:
    rubric = load_rubric(name)
    changed = reordered(rubric)
    assert changed
    before, after = prompt_of(rubric).split("\n"), prompt_of(changed).split("\n")
    assert [line[:4] for line in after if re.match(r"\d = ", line)] == moved
    assert len(before) == len(after)
    for mark in ("<", "#", "1. ", "2. ", "5. ", "1:", "Example query"):
        lines = [[at for at, line in enumerate(text) if line.startswith(mark)] for text in (before, after)]
        assert lines[0] == lines[1]


def with_levels(prompt: str, outputs: str = "{score: {type: score, min: 1, max: 3}}") -> Rubric:
    layout = " ".join(f"{{{name}}}" for name in re.findall(r"(\w+): \{type", outputs))
    return parse_rubric(
        f"---\nname: r\ninputs: {{answer: {{type: string}}}}\n"
        f"outputs:\n  layout: '{layout}'\n  fields: {outputs}\n---\n"
        f"user:\n{prompt}\n{{{{answer}}}}\n",
        "r",
    )


TWO = "{a: {type: score, min: 1, max: 3}, b: {type: score, min: 1, max: 3}}"


@pytest.mark.parametrize(
    ("prompt", "outputs", "turned"),
    [
        ("1. Read.\n2. Think.\n3. Choose.", "", None),
        ("Score 1. bad\nScore 2. fair\nScore 3. good\n", "", "Score 3. good\nScore 2. fair\nScore 1. bad\n"),
        ("1: bad\n2: fair\n3: good\n\n1: x\n2: y\n3: z\n", "", "3: good\n2: fair\n1: bad\n\n1: x\n2: y\n3: z\n"),
        ("1: bad\n2: fair\n3: good\n\n1: x\n2: y\n3: z\n", TWO, "3: good\n2: fair\n1: bad\n\n3: z\n2: y\n1: x\n"),
        ("1: bad\n2: fair\n3: good\n", TWO, "3: good\n2: fair\n1: bad\n"),  # one list for both scores
        ("1: bad\n\nIt is.\n\n2: fair\n\nIt is.\n\n3: good\n\nIt is.\n", "", None),  # whose is the last line?
        ("1: bad\n2: fair\n3: good\n</scale>\n", "", "3: good\n2: fair\n1: bad\n</scale>\n"),
    ],
)
def test_lists_of_levels_and_nothing_that_looks_like_one(prompt: str, outputs: str, turned: str | None) -> None:
    rubric = with_levels(prompt, outputs) if outputs else with_levels(prompt)
    changed = reordered(rubric)
    assert (changed and prompt_of(changed)) == (turned and prompt_of(rubric).replace(prompt, turned))


def cases(count: int) -> list[Case]:
    return [Case(row.pop("id"), row) for row in rows(count)]


def drawn(found: ProbeSet) -> set[str]:
    return {row.case for row in found.rows}


def test_the_draw_does_not_depend_on_order_and_a_larger_one_contains_the_smaller() -> None:
    few, many = make_test(cases(30), measured(), 10, []), make_test(cases(30)[::-1], measured(), 20, [])
    assert len(drawn(few)) == 10 and drawn(few) < drawn(many)
    assert len({(row.rubric, row.id) for row in few.rows}) == len(few.rows)


def test_cases_with_the_same_question_count_once_and_bad_ones_are_told() -> None:
    twice = [*cases(5), *(Case(f"again-{each.id}", each.inputs) for each in cases(5))]
    lacking = Case("lacking", {"question": "?", "answer": "x"})
    found = make_test([*twice, lacking, BadRow("b", 9, "f", "line 9", "broken")], measured(), 50, [])
    assert (found.cases, found.read) == (5, 12)
    assert sum(found.skipped.values()) == 7
    with pytest.raises(CasesError, match="no case can be used for a self-test: 1 without an input"):
        make_test([lacking], measured(), 5, [])


def test_a_file_without_answers_will_do_where_the_rubric_reads_ideal_ones() -> None:
    bare = [Case(each.id, {name: text for name, text in each.inputs.items() if name != "answer"}) for each in cases(4)]
    found = make_test(bare, measured(), 4, [])
    own = {row.case: row.texts["answer"] for row in found.rows if row.probe == "own"}
    assert own == {each.id: each.inputs["ideal_answer"] for each in bare}


def test_probes_and_single_changes_can_be_left_out() -> None:
    found = make_test(cases(4), measured(), 4, ["gold", "nothing:refusal"])
    assert found.without["gold"] == "you left it out"
    assert any(row.probe == "gold" for row in found.rows)  # others are compared with it
    assert "gold" not in [probe.name for probe in found.probes]
    assert {row.variant for row in found.rows if row.probe == "nothing"} == {"dot", "empty", "question", "thoughts"}
    for name in ("gild", "nothing:refusl", "gold:x"):
        with pytest.raises(UnknownName):
            make_test(cases(4), measured(), 4, [name])


def test_probes_name_all_their_changes() -> None:
    named = {(probe.name, variant) for probe in PROBES for variant in (*probe.variants, "")} | {("own", "")}
    assert {(row.probe, row.variant) for row in make_test(cases(12), measured(), 12, []).rows} <= named


def test_probes_that_a_rubric_does_not_allow_are_left_out_by_name() -> None:
    assert set(make_test(cases(4), measured(), 4, []).without) == {"responses"}
    pair = Measured(load_rubric("pair-answer"), roles_of(load_rubric("pair-answer"), {}))
    two = [Case(str(at), {"question": "q", "response_a": f"a{at}", "response_b": "b"}) for at in range(3)]
    found = make_test(two, pair, 3, [])
    assert {probe.name for probe in found.probes} == {"responses", "repeat", "alone"}
    swapped = next(row for row in found.rows if row.probe == "responses")
    assert (swapped.texts["response_a"], swapped.texts["response_b"][0]) == ("b", "a")


def test_every_probe_is_on_the_page_about_judges() -> None:
    page = (Path(__file__).parents[1] / "docs" / "judges.md").read_text()
    for probe in PROBES:
        assert f"| `{probe.name}` |" in page
