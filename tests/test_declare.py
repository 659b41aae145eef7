"""A prompt becomes a rubric: what its form shows is declared, the rest is asked, and no mark is taken for text."""

import re
import time
from contextlib import suppress
from pathlib import Path

import pytest
from adopting import adopted, adopted_text, proposed
from families import FAMILIES, write_tokenizer
from hypothesis import given, settings
from hypothesis import strategies as st

from pathway_local.declare.prompt import Prompt as Read
from pathway_local.declare.prompt import read_prompt
from pathway_local.errors import PathwayError, RubricError
from pathway_local.judges.judge_spec import Chat
from pathway_local.rendering.prompt import Prompt, PromptWriter
from pathway_local.rendering.rubric_check import check_grammars, example_inputs
from pathway_local.rendering.tokenizer import JudgeTokenizer
from pathway_local.rubrics.rubric import Rubric
from pathway_local.rubrics.rubric_file import load_rubric, parse_rubric

ROOT = Path(__file__).parents[1]
OWN = Path(__file__).parent / "rubric_files"
ORIGINALS = ROOT.parent / "shared" / "originals"
QUESTIONS = ("question", "ideal_answer", "ai_answer", "retrieved_content")
COMPLETED = {
    "contextual_relevance_prompt.txt": (
        "contextual-relevance",
        {"fq_id: ?": "fq_id: = fq_id", "question: ?": "question: = follow_up_question"},
        (),
    ),
    "gold_answer_prompt.txt": ("gold-answer", {"ness_score: ?": "ness_score: 1-5"}, ()),
    "groundedness.prompty": ("groundedness", {"score: ?": "score: 1 a < 2 b < 4 d < 5 e or 3 c"}, ()),
    "pathway_answer_prompt.txt": ("pathway-answer", {" ?;": ";"}, QUESTIONS),
    "pathway_rubric.md": ("pathway-answer", {"reasons: ?": "reasons: text"}, QUESTIONS),
}
"""The built-in rubric that each original became, and what a person completes: each `?`, and inputs without marks."""


def read(prompt: str) -> Read:
    return read_prompt(prompt, "mine.txt")


def fields(prompt: str) -> dict[str, str]:
    return dict(proposed(prompt).fields)


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> JudgeTokenizer:
    return JudgeTokenizer(write_tokenizer(FAMILIES[0], tmp_path_factory.mktemp("judge")))


def written(rubric: Rubric, tokenizer: JudgeTokenizer, inputs: dict[str, str]) -> str:
    check_grammars(rubric.format, inputs, None)
    [prompt] = PromptWriter(rubric, tokenizer, Chat(), context=20_000).write([inputs])
    assert isinstance(prompt, Prompt), prompt
    return tokenizer.grammar_tokenizer.decode_bytes(list(prompt.ids)).decode()


@pytest.mark.parametrize("file", sorted(COMPLETED))
def test_an_original_is_adopted_with_at_most_a_completed_question_mark(file: str, tokenizer: JudgeTokenizer) -> None:
    if not (ORIGINALS / file).is_file():
        pytest.skip("the original prompts are not beside this checkout")
    data, (name, completed, inputs) = (ORIGINALS / file).read_bytes(), COMPLETED[file]
    ours, declared = load_rubric(name), proposed(data, file, inputs).declared
    for shown, typed in completed.items():
        assert shown in declared
        declared = declared.replace(shown, typed)
    assert "?" not in declared
    rubric = parse_rubric(adopted_text(data, file, declared, inputs=inputs), "mine.prompty")
    if file.endswith("t") or file.endswith("y"):
        kinds = [{key: field.type for key, field in each.format.outputs.fields.items()} for each in (rubric, ours)]
        assert kinds[0] == kinds[1]
    for key, score in rubric.format.scores.items():
        assert score.values == ours.format.scores[key].values
        assert score.special == ours.format.scores[key].special
    assert len(rubric.inputs) == len(ours.inputs)
    text = written(rubric, tokenizer, {each: f"the {each} text" for each in rubric.inputs})
    assert all(text.count(f"the {each} text") == 1 + (each in rubric.format.echoes.values()) for each in rubric.inputs)


AZURE = """---
name: Coherence
model: {api: chat, parameters: {temperature: 0.0, max_tokens: 800, response_format: {type: text}}}
inputs: {query: {type: string}, response: {type: string}}
---
system:
You rate how coherent a RESPONSE is.
user:
## [Coherence: 1] (Incoherent)
**Definition:** Words without a link.
## [Coherence: 2] (Poor)
**Definition:** Some links.
## [Coherence: 3] (Coherent)
**Definition:** Each sentence leads on.

# Data
QUERY: {{query}}
RESPONSE: {{response}}

# Tasks
- **ThoughtChain**: Start it with "Let's think step by step:".

## Write between the tags: <S0>your chain of thoughts</S0>, <S1>your explanation</S1>, <S2>your Score</S2>.
# Output
"""


def test_tags_that_are_numbered_have_the_names_of_their_texts_and_levels_those_of_headings() -> None:
    assert proposed(AZURE).declared == "thoughts: text; explanation: text; score: 1 Incoherent < 2 Poor < 3 Coherent"
    rubric = adopted(AZURE)
    check_grammars(rubric.format, example_inputs(rubric), None)


SLOTS = {
    "<1-5>": "1-5",
    "[1-5]": "1-5",
    '"an integer from 1 to 5"': "1-5",
    "<0-1>": "0-1 by ?",
    "<0.0-1.0>": "0-1 by ?",
    "<1-5, in 0.5 increments>": "1-5 ?",
    "<a float from 1 to 5>": "1-5 by ?",
    "<1-5 or N/A>": "1-5 ?",
    "<0, 0.5 or 1>": "0 ? 0.5 ? 1",
    "<0 or 1>": "0 ? 1",
    "<1-2 sentences>": "1-2 ?",
    '"yes" | "no"': "no < yes",
    '"PASS/FAIL"': "FAIL < PASS",
    "true or false": "false < true",
    '"good" or "bad" or "N/A"': "good ? bad ? N/A",
    '"A"': "?",
    "0.85": "?",
    "<score>": "?",
    "sum of both": "?",
    '"1" | "2" | "3"': '"1" ? "2" ? "3"',
    "null": "?",
    '"4/5"': "4 ? 5",
}


@pytest.mark.parametrize("slot", SLOTS)
def test_a_slot_says_what_stands_in_it_and_nothing_else(slot: str) -> None:
    declared = fields(f'Judge {{answer}}. Return JSON: {{"grade": {slot}}}\n')
    assert declared.get("grade", "?") == SLOTS[slot]


ASKED = {
    "a line that adds a value": ('Judge {a}. Give 0 to spam.\nReturn JSON: {{"score": <1-5>}}', "score: 1-5 ?"),
    "halves": ('Judge {a}. Halbe Punkte sind erlaubt.\nReturn JSON: {{"score": <1-5>}}', "score: 1-5 ?"),
    "another scale": ('Judge {a} from 1 to 10.\nReturn JSON: {{"score": <1-5>}}', "score: 1-5 ?"),
    "another key": ('Judge {a}. Add a "tone" key.\nReturn JSON: {{"score": <1-5>}}', "score: 1-5 ?"),
    "a text before the object": ('Judge {a}. Write <why>your reasons</why>, then {{"score": <1-5>}}', "score: 1-5 ?"),
    "two forms": ('Judge {a}. Write <grade>1-5</grade> or {{"score": <1-5>}}', "reasons: ?; score: ?"),
    "words without an order": ('Judge {a}: {{"why": "<why>", "kind": "A" | "B"}}', "why: text; kind: A ? B"),
    "a form for each part": ("Judge {a}.\nClarity: [1-5]\nClarity: [1-5]\n", "reasons: ?; score: ?"),
    "an input by the name of a part": ('Judge {a}: {{"a": "some words", "score": <1-5>}}', "a: ?; score: 1-5"),
    "words beside a number": ('Judge {a}: {{"sure": <0-100>, "kind": "A" | "B"}}', "sure: 0-100; kind: A ? B"),
    "a list at the top": ('Judge {a}: [{{"claim": "<text>", "ok": "yes" or "no"}}]', "reasons: ?; score: ?"),
    "a sentence": ("Judge {a} from 1 to 5. Output only the number.", "reasons: ?; score: ?"),
    "a list beside a score": (
        'Judge {a}: {{"all": [{{"claim": "<a>", "ok": "yes" | "no"}}], "score": <1-3>}}',
        "all: ?; score: 1-3",
    ),
}


@pytest.mark.parametrize("name", ASKED)
def test_what_the_form_does_not_say_is_asked(name: str) -> None:
    prompt, declared = ASKED[name]
    assert proposed(prompt).declared == declared


def test_of_two_lists_of_levels_neither_is_taken_and_what_stands_behind_a_slot_stays() -> None:
    found = proposed((OWN / "braces.txt").read_bytes())
    assert found.fields["coverage_score"] == found.fields["accuracy_score"] == "?"
    found = proposed("Judge {answer}. Reply with:\nScore: [1-5]/5\nReason: [why]\n")
    assert (found.declared, found.lines) == ("score: 1-5; reason: text", ("Score: {score}/5", "Reason: {reason}"))


def test_a_form_that_the_prompt_shows_nowhere_is_added_to_it() -> None:
    rubric = adopted("Judge {answer}. Yes or no?", declared="reasons: text; verdict: no < yes")
    assert rubric.turns[-1].template.endswith('Write exactly:\n\n{"reasons": "<reasons>", "verdict": "<no | yes>"}')
    shown = adopted('Judge {answer}: {{"reasons": "<why>", "verdict": "yes" | "no"}}')
    assert "Write exactly" not in shown.turns[-1].template


def test_maths_is_no_input() -> None:
    assert list(read("The solution $x$ of $\\frac{a}{b}$ is {answer}.").inputs) == ["answer"]
    assert list(read("Compare $question with $answer.").inputs) == ["question", "answer"]


TEXT = "<answer> {answer} {{answer}} {% if x %} {# #}"
MARKED = {
    "Judge {{ answer }}{% if context %} by {{ context }}{% endif %}.": "Judge TEXT by TEXT.",
    "Judge {answer}. Braces: {{}} {{ two words }}": "Judge TEXT. Braces: {} { two words }",
    'Judge {answer}. Such as {"a": {"b": []}}.': 'Judge TEXT. Such as {"a": {"b": []}}.',
    "{{answer}}: {% this %} {# that #} and {{ two words }}.": "TEXT: {% this %} {# that #} and {{ two words }}.",
    'Judge {$answer} and $context, such as {"a": $answer}.': 'Judge TEXT and TEXT, such as {"a": TEXT}.',
    "Judge ${item.answer} {{answer.": "Judge TEXT {{answer.",
    "Judge {{item.answer}} and {{{answer}}}.": "Judge TEXT and {TEXT}.",
    "Judge {answer}.\n\nExample:\nuser:\nHello {\n": "Judge TEXT.\n\nExample:\nuser:\nHello {",
}


@pytest.mark.parametrize("prompt", MARKED)
def test_every_mark_becomes_one_template_that_a_hostile_text_cannot_change(
    prompt: str, tokenizer: JudgeTokenizer
) -> None:
    rubric = adopted(prompt, declared="score: 1-5")
    text = written(rubric, tokenizer, dict.fromkeys(rubric.inputs, TEXT))
    assert MARKED[prompt].replace("TEXT", TEXT) in text
    assert [turn.role for turn in rubric.turns] == ["user"]


def test_a_template_of_ours_stays_byte_for_byte() -> None:
    prompt = "system:\nJudge.\n\nuser:\n{% if chat %}{{ chat }}\n{% endif %}Be fair.\n"
    assert read(prompt).body == prompt
    assert read(prompt).inputs == {"chat": {"type": "conversation"}}


def test_inputs_without_marks_follow_in_a_user_turn(tokenizer: JudgeTokenizer) -> None:
    prompt = read_prompt("Is {it} right?\nsystem:\nSay {{yes}}.", "mine.txt", ["question", "answer"])
    assert list(prompt.inputs) == ["question", "answer"] and not read("Is it right?").inputs
    made = adopted_text("Is {it} right?\nsystem:\nSay {{yes}}.", declared="score: 1-5", inputs=["question", "answer"])
    rubric = parse_rubric(made, "mine.prompty")
    assert [turn.role for turn in rubric.turns] == ["system", "user"]
    text = written(rubric, tokenizer, {"question": "Why?", "answer": "So."})
    assert "Is {it} right?\nsystem:\nSay {{yes}}." in text
    assert "<question>\nWhy?\n</question>\n\n<answer>\nSo.\n</answer>" in text


def test_names_that_are_given_are_the_only_marks() -> None:
    prompt = read_prompt("Judge {answer} of {form}: <reply> or <other>.", "mine.txt", ["answer"])
    assert "{{ answer }} of {form}" in prompt.body
    angles = read_prompt("Judge <reply> or <other>.", "mine.txt", ["reply"])
    assert angles.body == "Judge {{ reply }} or <other>."


def test_front_matter_stays_but_for_what_the_rubric_declares_anew() -> None:
    head = (
        "---\nname: mine\ntemplate: {format: f-string}\noutputs:\n  a: {type: int}\ninputs:\n  a: {description: It}\n"
    )
    head += "notes: kept\n---\n"
    made = adopted_text(f"{head}system:\nJudge {{a}} and {{b}}.\n", declared="score: 1-5")
    rubric = parse_rubric(made, "x.prompty")
    assert (rubric.name, rubric.notes, list(rubric.inputs)) == ("mine", "kept", ["a", "b"])
    assert rubric.inputs["a"].description == "It"


@pytest.mark.parametrize(
    "mark", ["{reply[:2000]}", "{}", "%s", "$answer_a$", "${a || 'No answer was given, so judge the question.'}"]
)
def test_marks_of_other_tools_are_told(mark: str) -> None:
    assert read(f"Q: {{question}}\nA: {mark}\n").strange == (f"A: {mark}",)


REFUSED = {
    r"line 2: .* is a token of one model's chat template": ("<|im_start|>user", "[INST]", "<start_of_turn>user"),
    "line 2": ("{{#each points}}{{this}}{{/each}}", "{{ answer | trim }}", "{% set x = 1 %}", "{{ f(x) }}"),
}


@pytest.mark.parametrize(("said", "line"), [(said, line) for said, lines in REFUSED.items() for line in lines])
def test_what_no_rubric_may_have_is_refused_with_its_line(said: str, line: str) -> None:
    with pytest.raises(RubricError, match=said):
        read(f"Judge {{{{answer}}}} by these:\n{line}\n")


@pytest.mark.parametrize(
    "text", ["", "\x00", "{{" + "-" * 3000 + "x}}", "{% if x %}" * 150 + "{{x}}" + "{% endif %}" * 150, "{% x"]
)
def test_text_that_is_no_prompt_is_refused_or_left_to_the_user(text: str) -> None:
    with suppress(RubricError):
        assert proposed(text).open


@pytest.mark.parametrize(
    "unit",
    [
        *("<a>", "<a></a>", "<a>1-5</a>", "</a>", " ", "\n", "Yes or No ", '{"a": ', '{"a": 1}', "1 - x\n", "1, 2 or "),
        *('"a" ', "a: [b]\n", "A: <a>\n", "[[a]]", "{a}", "$a ", "{{a}}", "{", "# A\n[b]\n", "<", "(", "<1-5>\n"),
    ],
)
def test_time_grows_with_the_length_of_a_text_and_not_with_its_square(unit: str) -> None:
    def seconds(length: int) -> float:
        text = f"{unit * (length // len(unit))}\nAnswer {{answer}}."
        began = time.process_time()
        with suppress(RubricError):
            proposed(text)
        return time.process_time() - began

    short = max(0.01, min(seconds(7_500), seconds(7_500)))
    assert min(seconds(60_000), seconds(60_000)) < 24 * short


PIECES = [
    *("{answer}", "{{answer}}", "{", "}", "{{", '"score": ', "[1-5]", "<1-5>", "<score>", "</score>", "**Score:** "),
    *("Pass or Fail", "only ", '"a"', ",", "{% if x %}", "{% x", "\n", "\n- ", ": ", "x", "1", "null", "[", "]"),
    *("Return JSON with these keys:\n", "Score 1 - bad\n", "Score 2 - good\n", "[RESULT] ", "Feedback: ", "user:\n"),
]


@settings(max_examples=150, deadline=1000)
@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
def test_any_text_is_refused_or_left_open_or_proposed_and_what_is_proposed_loads_or_names_why_not(text: str) -> None:
    try:
        found = proposed(text)
        if not found.open and read(text).inputs:
            rubric = adopted(text)
            check_grammars(rubric.format, example_inputs(rubric), None)
            assert re.search(r"\w", rubric.text)
    except PathwayError:
        return
