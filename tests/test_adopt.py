"""A prompt becomes a rubric: inputs, scale and format are found in it, and its text stays as it is."""

import re
import time
from contextlib import suppress
from pathlib import Path

import pytest
from families import FAMILIES, write_tokenizer
from hypothesis import given, settings
from hypothesis import strategies as st

from pathway_local.adopt.adoption import Adoption, adopt
from pathway_local.errors import RubricError
from pathway_local.judges.chat.turns import Chat
from pathway_local.rendering.prompt import Prompt, PromptWriter
from pathway_local.rendering.rubric_check import check_grammars, example_inputs
from pathway_local.rendering.tokenizer import JudgeTokenizer
from pathway_local.rubrics.rubric import Rubric, load_rubric, parse_rubric

ROOT = Path(__file__).parents[1]
OWN = Path(__file__).parent / "rubric_files"
ORIGINALS = ROOT.parent / "shared" / "originals"
BUILT_IN = {
    "contextual_relevance_prompt.txt": "contextual-relevance",
    "gold_answer_prompt.txt": "gold-answer",
    "groundedness.prompty": "groundedness",
    "pathway_answer_prompt.txt": "pathway-answer",
}


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> JudgeTokenizer:
    return JudgeTokenizer(write_tokenizer(FAMILIES[0], tmp_path_factory.mktemp("judge")))


def adopted(text: str, **options: object) -> tuple[Adoption, Rubric]:
    adoption = adopt(text.encode(), "mine.txt", **options)  # type: ignore[arg-type]
    return adoption, parse_rubric(adoption.data.decode(), "mine.prompty")


def of_file(path: Path, **options: object) -> tuple[Adoption, Rubric]:
    adoption = adopt(path.read_bytes(), str(path), **options)  # type: ignore[arg-type]
    return adoption, parse_rubric(adoption.data.decode(), "mine.prompty")


def written(rubric: Rubric, tokenizer: JudgeTokenizer, inputs: dict[str, str]) -> str:
    check_grammars(rubric.format, inputs, None)
    [prompt] = PromptWriter(rubric, tokenizer, Chat(), context=20_000).write([inputs])
    assert isinstance(prompt, Prompt), prompt
    return tokenizer.grammar_tokenizer.decode_bytes(list(prompt.ids)).decode()


@pytest.mark.parametrize("file", sorted(BUILT_IN))
def test_an_original_runs_without_an_edit_in_the_layout_of_ours(file: str, tokenizer: JudgeTokenizer) -> None:
    if not (ORIGINALS / file).is_file():
        pytest.skip("the original prompts are not beside this checkout")
    adoption, rubric = of_file(ORIGINALS / file)
    ours = load_rubric(BUILT_IN[file])
    assert adoption.unsettled == 0
    assert rubric.format.outputs.layout == ours.format.outputs.layout
    assert list(rubric.format.outputs.fields) == list(ours.format.outputs.fields)
    assert [f.type for f in rubric.format.outputs.fields.values()] == [
        f.type for f in ours.format.outputs.fields.values()
    ]
    for name, score in rubric.format.scores.items():
        assert score.values == ours.format.scores[name].values
        assert set(score.levels) == set(score.values)
        assert score.special == ours.format.scores[name].special
    assert set(rubric.inputs) == set(ours.inputs)
    text = written(rubric, tokenizer, {name: f"the {name} text" for name in rubric.inputs})
    for name in rubric.inputs:
        assert text.count(f"the {name} text") == 1 + (name in ours.format.echoes)


def test_the_rubric_for_people_gets_the_score_line_on_request(tokenizer: JudgeTokenizer) -> None:
    path = ORIGINALS / "pathway_rubric.md"
    if not path.is_file():
        pytest.skip("the original prompts are not beside this checkout")
    with pytest.raises(RubricError, match="no output format") as refused:
        of_file(path)
    assert "--layout score-line" in refused.value.hint
    adoption, rubric = of_file(path, layout="score-line")
    ours = load_rubric("pathway-answer")
    assert adoption.unsettled == 0
    assert rubric.format.outputs.layout == ours.format.outputs.layout
    assert rubric.format.scores["score"].levels[1] == "Contradictory or Inappropriately Sourced"
    assert list(rubric.inputs) == ["question", "ideal_answer", "generated_answer", "retrieved_content"]
    assert "**Score:** [one whole number from 1 to 5]" in written(rubric, tokenizer, dict.fromkeys(rubric.inputs, "x"))


@pytest.mark.parametrize("file", ["described.txt", "braces.txt", "labels.txt", "tags.prompty", "keys.prompty"])
@pytest.mark.parametrize("ends", [b"\n", b"\r\n"])
def test_the_text_stays_byte_for_byte(file: str, ends: bytes) -> None:
    original = (OWN / file).read_bytes().replace(b"\n", ends)
    made = adopt(original, file).data
    at = made.index(b"outputs:") if file.endswith(".prompty") else 0
    if file.endswith(".txt"):
        assert made.endswith(b"---\n" + original)
    else:
        end = made.index(b"---", at)
        assert made[:at] + made[end:] == original


def test_described_inputs_follow_in_the_user_turn(tokenizer: JudgeTokenizer) -> None:
    _, rubric = of_file(OWN / "described.txt")
    assert [turn.role for turn in rubric.turns] == ["system", "user"]
    assert rubric.turns[0].template == (OWN / "described.txt").read_text().strip()
    assert rubric.inputs["reply"].description == "What the assistant told the reader"
    assert rubric.format.echoes == {"offer_id": "offer_id", "offer": "offer"}
    assert rubric.format.scores["score"].levels == {1: "Breaks off", 2: "Continues", 3: "Continues well"}
    text = written(rubric, tokenizer, {**dict.fromkeys(rubric.inputs, "x"), "reply": "{offer} {{offer}} {% x %}"})
    assert "<reply>\n{offer} {{offer}} {% x %}\n</reply>" in text
    assert text.count("- **{reply}**: What the assistant told the reader") == 1
    assert text.endswith('{"offer_id": "x", "offer": "x", "score":')


def test_single_braces_are_filled_as_str_format_does(tokenizer: JudgeTokenizer) -> None:
    _, rubric = of_file(OWN / "braces.txt")
    inputs = {"task": "{student_summary} }} {{x}}", "model_summary": "{task}", "student_summary": "{{task}}"}
    original = (OWN / "braces.txt").read_text()
    assert original.format(**inputs).strip() in written(rubric, tokenizer, inputs)
    assert rubric.format.scores["coverage_score"].levels == {1: "Scrap", 2: "Small", 3: "Large", 4: "Whole"}
    assert rubric.format.scores["accuracy_score"].levels[3] == "Nearly right"


def test_inputs_are_found_in_a_sentence() -> None:
    adoption, rubric = of_file(OWN / "labels.txt")
    assert list(rubric.inputs) == ["request", "colleague_reply", "help_desk_reply", "knowledge_page"]
    assert {f.line for f in adoption.findings if f.what == "input"} == {22}
    assert rubric.format.outputs.layout == load_rubric("pathway-answer").format.outputs.layout
    assert rubric.format.scores["score"].levels == {1: "Against it", 2: "Part of it", 3: "Same in substance"}


def test_inputs_are_found_under_a_heading() -> None:
    _, rubric = adopted("# Inputs\n- Question: what was asked\n- Answer: the reply\n\nAnswer only with Yes or No.\n")
    assert {name: wanted.description for name, wanted in rubric.inputs.items()} == {
        "question": "what was asked",
        "answer": "the reply",
    }


def test_a_rubric_for_people_is_recognised() -> None:
    with pytest.raises(RubricError, match="no output format"):
        of_file(OWN / "people.md")
    _, rubric = of_file(OWN / "people.md", layout="score-line")
    assert list(rubric.inputs) == ["request", "model_reply", "help_desk_reply"]
    assert rubric.format.scores["score"].levels == {1: "Against the facts", 2: "Incomplete", 3: "Complete"}
    assert "one whole number from 1 to 3" in rubric.turns[-1].template


def test_the_score_line_replaces_a_format_that_the_prompt_asks_for_and_shows_both() -> None:
    adoption, rubric = of_file(OWN / "keys.prompty", layout="score-line")
    assert ("replaced", "JSON, from a list of keys") in [(found.what, found.value) for found in adoption.findings]
    assert ("format", "the standard one (--layout score-line)") in [(f.what, f.value) for f in adoption.findings]
    assert list(rubric.format.outputs.fields) == ["analysis", "score", "justification"]
    assert "Instead of the format that is asked for above, write exactly" in rubric.turns[-1].template


def test_every_finding_names_its_line() -> None:
    path = OWN / "tags.prompty"
    adoption, _ = of_file(path)
    lines = path.read_text().splitlines()
    found = {finding.value.split(":")[0]: lines[finding.line - 1] for finding in adoption.findings if finding.line}
    assert found["query"] == "QUERY: {{query}}"
    assert found["thoughts"] == "<S0>"
    assert found["score"].startswith("<S2>")
    assert found["of score"].startswith("1- Unbacked")


JSON_CASES: dict[str, tuple[str, dict[str, tuple[str, int]]]] = {
    "ranges and kinds": (
        'Judge {answer}. Respond in JSON:\n{"score": [0-10], "ok": true, "why": "...", "tags": ["a", "b"], '
        '"n": <number of slips>}',
        {"score": ("score", 11), "ok": ("boolean", 0), "why": ("text", 0), "tags": ("list", 0), "n": ("number", 0)},
    ),
    "nested objects": (
        'Judge {answer}, each from 1 to 5.\nOutput:\n{"clarity": {"score": <1-5>, "reason": "<why>"}, '
        '"style": {"rating": <1-5>}}',
        {"clarity.score": ("score", 5), "clarity.reason": ("text", 0), "style.rating": ("score", 5)},
    ),
    "a fence, comments and a comma too many": (
        'Rate {answer}.\n```json\n{\n  "rating": 3, // from 1 to 7\n  "notes": "short notes",\n}\n```\n',
        {"rating": ("score", 7), "notes": ("text", 0)},
    ),
    "choices": (
        'Judge {answer}. Return JSON: {"label": "good" | "bad" | "mixed", "score": 1|2|3, "sure": <true/false>}',
        {"label": ("choice", 0), "score": ("score", 3), "sure": ("boolean", 0)},
    ),
    "null": (
        'Judge {answer} from 1 to 5. Return JSON: {"score": <1-5>, "quote": "<a quote, or null if there is none>"}',
        {"score": ("score", 5), "quote": ("json", 0)},
    ),
    "a verdict in words": (
        'Judge {answer}. Return JSON: {"reason": "<why>", "verdict": "PASS" or "FAIL"}',
        {"reason": ("text", 0), "verdict": ("score", 2)},
    ),
    "a verdict that is true or false": (
        'Judge {answer}. Return JSON: {"reason": "<why>", "correct": true or false}',
        {"reason": ("text", 0), "correct": ("score", 2)},
    ),
    "a status that two examples show": (
        'Give {answer} a score from 1 to 5. Return JSON:\n{"status": "completed", "score": 4}\n'
        'or {"status": "skipped", "score": null}',
        {"status": ("choice", 0), "score": ("score", 5)},
    ),
    "a list of objects": (
        'Judge {answer}. Return JSON: {"findings": [{"quote": "<words>", "count": <number of times>}], "score": <1-5>}',
        {"findings": ("json", 0), "score": ("score", 5)},
    ),
}


@pytest.mark.parametrize("name", JSON_CASES)
def test_json_skeletons(name: str) -> None:
    text, wanted = JSON_CASES[name]
    adoption, rubric = adopted(text)
    assert adoption.unsettled == 0, adoption.data.decode()
    found = {
        key: (field.type, len(rubric.format.scores[key].values) if field.type == "score" else 0)
        for key, field in rubric.format.outputs.fields.items()
    }
    assert found == wanted
    check_grammars(rubric.format, example_inputs(rubric), None)


def test_a_verdict_that_is_true_or_false_is_written_without_quotes() -> None:
    _, rubric = adopted(JSON_CASES["a verdict that is true or false"][0])
    assert rubric.format.reply({}).form.write({"reason": "r", "correct": 1}).endswith('"correct": true}')


TEXT_CASES = {
    "tags of their own names": (
        "Judge {{answer}} from 1 to 5.\n<reason>why</reason>\n<score>1-5</score>",
        "<reason>{reason}</reason>\n<score>{score}</score>",
    ),
    "tags in a tag": (
        "Judge {{answer}}.\n<out>\n<why>…</why>\n<rating>1-5</rating>\n</out>",
        "<out>\n<why>{why}</why>\n<rating>{rating}</rating>\n</out>",
    ),
    "a bare number": ("Judge {answer}. Respond with only a number between 1 and 5.", "{score}"),
    "Pass or Fail": ("Judge {answer}. Answer only with Pass or Fail.", "{verdict}"),
    "yes and no": ('Is {answer} right? Reply with "Yes" or "No" only.', "{verdict}"),
    "feedback and result": (
        'Judge {response} from 1 to 5.\nForm: "Feedback: (your feedback) [RESULT] (an integer from 1 to 5)"',
        "Feedback: {feedback} [RESULT] {score}",
    ),
    "a rating in brackets": (
        'Rate {answer} on a scale of 1 to 10 in this form: "[[rating]]", for example: "Rating: [[5]]".',
        "{explanation}\n\nRating: [[{rating}]]",
    ),
    "a line at the end": ("Judge {answer} on a scale of 1-5. Write only a line: Score: [1-5]", "Score: {score}"),
    "headings": (
        "Judge {answer}.\n\n## Verdict\n[what you think]\n\n## Score\n[1-5]\n",
        "## Verdict\n{verdict}\n\n## Score\n{score}",
    ),
}


@pytest.mark.parametrize("name", TEXT_CASES)
def test_text_layouts(name: str) -> None:
    text, layout = TEXT_CASES[name]
    adoption, rubric = adopted(text)
    assert adoption.unsettled == 0, adoption.data.decode()
    assert rubric.format.outputs.layout == layout
    check_grammars(rubric.format, example_inputs(rubric), None)


def test_words_become_a_score_with_the_good_one_on_top() -> None:
    _, rubric = adopted(TEXT_CASES["Pass or Fail"][0])
    assert rubric.format.reply({}).form.read("Pass").values == {"verdict": 1}
    assert rubric.format.scores["verdict"].levels == {0: "Fail", 1: "Pass"}


def test_a_skipped_status_is_marked_by_a_rule() -> None:
    _, rubric = of_file(OWN / "keys.prompty")
    assert [rule.name for rule in rubric.rules] == ["skipped"]
    assert list(rubric.format.outputs.fields) == [
        "reason", "score", "details.jumps", "details.places", "details.quotes", "status",
    ]  # fmt: skip
    schema = rubric.format.schema()
    places = schema["properties"]["details"]["properties"]["places"]  # type: ignore[index,call-overload]
    assert places["items"]["properties"]["severity"] == {"enum": ["low", "high"]}  # type: ignore[index,call-overload]


def test_what_is_not_certain_is_marked_and_refused_until_it_is_settled() -> None:
    text = 'Judge how clear {answer} is.\nRespond in JSON: {"clarity_score": 0, "reason": "<why>"}'
    made = adopt(text.encode(), "mine.txt")
    assert made.unsettled == 1
    front = made.data.decode()
    with pytest.raises(RubricError, match=r"mine\.prompty line 11: not settled: the prompt does not state the scale"):
        parse_rubric(front, "mine.prompty")
    settled = re.sub(r" *# UNSETTLED[^\n]*\n", "", front).replace("max: 5", "max: 3")
    assert parse_rubric(settled, "mine.prompty").format.scores["clarity_score"].values == (1, 2, 3)


def test_what_is_not_certain_is_asked() -> None:
    text = 'Judge how clear it is.\nRespond in JSON: {"clarity_score": 0, "reason": "<why>"}'
    made = adopt(text.encode(), "mine.txt", ask=lambda q, p: "question, reply" if "given" in q else "0-10")
    rubric = parse_rubric(made.data.decode(), "mine.prompty")
    assert made.unsettled == 0
    assert list(rubric.inputs) == ["question", "reply"]
    assert rubric.format.scores["clarity_score"].values == tuple(range(11))
    assert "clarity_score: 0 to 10" in [finding.value for finding in made.findings]
    assert not any(finding.doubt for finding in made.findings)


def test_an_answer_that_settles_nothing_leaves_the_mark() -> None:
    text = 'Judge how clear {answer} is.\nRespond in JSON: {"clarity_score": 0, "reason": "<why>"}'
    assert adopt(text.encode(), "mine.txt", ask=lambda q, p: "no idea").unsettled == 1


def test_a_name_that_may_be_an_output_is_not_certain() -> None:
    made = adopt(b"Judge {answer}. Write only a line: Score: [1-5]. Your words: {explanation}", "mine.txt")
    assert b"# UNSETTLED: explanation may be an input" in made.data


def test_two_formats_are_not_certain() -> None:
    text = 'Judge {{answer}}.\n<score>1-5</score>\n\nRespond in JSON: {"score": <1-5>, "reason": "<why>"}'
    made = adopt(text.encode(), "mine.txt")
    assert b"# UNSETTLED: line 2 shows another format (tagged parts)" in made.data


SYNTAXES = {
    "jinja2": "Judge {{ answer }}{% if context %} by {{ context }}{% endif %}. Answer only with Pass or Fail.",
    "braces": "Judge {answer}. Braces: {{}}. Answer only with Pass or Fail.",
    "single-braces": 'Judge {answer}. Such as {"a": {"b": 1}}. Answer only with Pass or Fail.',
    "double-braces": "Judge {{answer}}. Such as {% this %} and {{ two words }}. Answer only with Pass or Fail.",
    "none": "Read the question and the answer. Is the answer an answer to the question? Answer only with Yes or No.",
}


@pytest.mark.parametrize("syntax", SYNTAXES)
def test_places_are_found_in_each_way_to_write_them(syntax: str, tokenizer: JudgeTokenizer) -> None:
    adoption, rubric = adopted(SYNTAXES[syntax])
    declared = re.search(r"format: (\S+)", adoption.data.decode())
    assert declared and declared.group(1) == syntax
    text = written(rubric, tokenizer, {name: f"<{name}> {{answer}} {{{{answer}}}}" for name in rubric.inputs})
    assert "<answer> {answer} {{answer}}" in text
    if syntax in ("single-braces", "double-braces"):
        assert SYNTAXES[syntax].split(". ")[1] in text


def test_role_lines_count_only_where_a_text_begins_with_one() -> None:
    _, rubric = adopted("Judge {answer}. Answer only with Pass or Fail.\n\nExample:\nuser:\nHello\n")
    assert [turn.role for turn in rubric.turns] == ["user"]
    _, rubric = adopted("system:\nJudge.\nuser:\nIs {{answer}} right? Answer only with Yes or No.\n")
    assert [turn.role for turn in rubric.turns] == ["system", "user"]


def test_a_prompt_with_places_and_no_format_is_told_the_score_line_at_its_end() -> None:
    _, rubric = adopted("Judge {answer} on a scale from 1 to 3, please.", layout="score-line")
    [turn] = rubric.turns
    text = turn.render({"answer": "A"}, {"answer": "<A>"})
    assert text.startswith("Judge <A> on a scale")
    assert text.endswith("**Justification:**\n[why this number and no neighbouring one]")


def test_a_prompty_without_places_gets_its_inputs_in_its_own_user_turn() -> None:
    body = "system:\nJudge.\nuser:\nRead the question and the answer. Is it an answer to the question?\n"
    _, rubric = adopted(f"---\nname: x\n---\n{body}Reply only with Yes or No.\n")
    assert [turn.role for turn in rubric.turns] == ["system", "user"]
    text = rubric.turns[1].render({}, {"question": "Q", "answer": "A"})
    assert text.endswith("with Yes or No.\n\n<question>\nQ\n</question>\n\n<answer>\nA\n</answer>")


def test_a_prompty_that_is_not_certain_points_to_adopt_and_is_settled_there() -> None:
    body = 'user:\nJudge {{answer}}. Return JSON: {"clear_score": 0, "why": "<why>"}\n'
    prompt = f"---\nname: x\ninputs: {{answer: {{}}}}\n---\n{body}"
    with pytest.raises(RubricError, match=r"mine\.prompty line 6: the output format is not certain") as error:
        parse_rubric(prompt, "mine.prompty")
    assert "rubrics adopt mine.prompty" in error.value.hint
    made = adopt(prompt.encode(), "mine.prompty").data.decode()
    assert made.startswith("---\nname: x\ninputs: {answer: {}}\noutputs:\n")
    settled = re.sub(r" *# UNSETTLED[^\n]*\n", "", made)
    assert parse_rubric(settled, "mine.prompty").format.scores["clear_score"].values == (1, 2, 3, 4, 5)


@pytest.mark.parametrize(
    "text",
    [
        *("", "Hello.", "{{", "{answer}", "\x00", "<score>" * 500, "{" * 5000, "Score: [" * 500),
        *('{"score": ' * 300, '{"score": ' + "[" * 3000),
    ],
)
def test_text_that_is_no_prompt_is_refused(text: str) -> None:
    with pytest.raises(RubricError):
        adopt(text.encode(), "mine.txt")


def test_bytes_that_are_no_text_are_named() -> None:
    with pytest.raises(RubricError, match="line 2, column 3: byte 8"):
        adopt("f\u00fcr\nab".encode() + b"\xff", "mine.txt")


PROMETHEUS = (
    'Judge {response} to {instruction}.\nForm: "(what you think) [RESULT] (%s)"\n\nResponse again: {response}\n'
)


def test_feedback_without_its_label_and_two_letters_without_an_order() -> None:
    adoption, rubric = adopted(PROMETHEUS % "an integer number between 1 and 5")
    assert adoption.unsettled == 0
    assert rubric.format.outputs.layout == "{feedback} [RESULT] {score}"
    assert rubric.format.scores["score"].values == (1, 2, 3, 4, 5)
    adoption, rubric = adopted(PROMETHEUS % 'either "A" or "B"')
    assert adoption.unsettled == 0
    assert rubric.format.scores["result"].scale == "nominal"
    assert rubric.format.reply({}).form.read(" fine [RESULT] B").values["result"] == 2


TOO_DEEP = {
    "parentheses": "{{ " + "(" * 3000 + "answer" + ")" * 3000 + " }}",
    "choices": "{% if answer %}" * 150 + "{{answer}}" + "{% endif %}" * 150,
    "conditions": "{% if " + " or ".join(["answer"] * 5000) + " %}{{answer}}{% endif %}",
    "signs": "{{" + "-" * 3000 + "answer}}",
    "objects": "{{ " + "{1:" * 2000 + "answer" + "}" * 2000 + " }}",
}


@pytest.mark.parametrize("name", TOO_DEEP)
def test_templates_that_are_nested_too_deep_are_named_and_adopted_as_text_without_conditions(name: str) -> None:
    body = f"{TOO_DEEP[name]} Is {{{{answer}}}} right? Answer only with Pass or Fail.\n"
    with pytest.raises(RubricError, match=r"mine\.prompty line 4: the template is nested too deep"):
        parse_rubric(f"---\ninputs: {{answer: {{}}}}\n---\n{body}", "mine.prompty")
    if "{% if" in body:
        with pytest.raises(
            RubricError, match=r"mine\.txt line 1: in the Jinja template: the template is nested too deep"
        ):
            adopted(body)
        return
    adoption, rubric = adopted(body)
    assert adoption.unsettled == 0
    assert rubric.turns[0].render({}, {"answer": "A"}).endswith("Is A right? Answer only with Pass or Fail.")


@pytest.mark.parametrize("unit", [" ", "\n", "Yes or No ", "given a, b and c ", "read the question, the answer and "])
def test_time_grows_with_the_length_of_a_text_and_not_with_its_square(unit: str) -> None:
    def seconds(length: int) -> float:
        text = f"{unit * (length // len(unit))}\nAnswer only with Pass or Fail."
        began = time.process_time()
        with suppress(RubricError):
            adopted(text)
            parse_rubric(f"---\ninputs: {{x: {{}}}}\n---\n{text}", "mine.prompty")
        return time.process_time() - began

    short = max(0.005, min(seconds(5_000), seconds(5_000)))
    assert min(seconds(40_000), seconds(40_000)) < 30 * short


PIECES = [
    *("{answer}", "{{answer}}", "{", "}", "{{", '"score": ', "[1-5]", "<1-5>", "<score>", "</score>", "**Score:** "),
    *("Pass or Fail", "only ", '"a"', ",", "{% if x %}", "{% x", "\n", "\n- ", ": ", "x", "1", "null", "[", "]"),
    *("Return JSON with these keys:\n", "Score 1 - bad\n", "Score 2 - good\n", "[RESULT] ", "Feedback: "),
]


@settings(max_examples=150, deadline=1000)
@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
def test_any_text_is_adopted_or_refused_and_what_is_adopted_loads_or_names_its_open_point(text: str) -> None:
    try:
        made = adopt(text.encode(), "mine.txt")
    except RubricError:
        return
    assert made.data.endswith(text.encode())
    if not made.unsettled:
        rubric = parse_rubric(made.data.decode(), "mine.prompty")
        check_grammars(rubric.format, example_inputs(rubric), None)


def test_a_list_beside_a_score_keeps_the_scales_of_its_members() -> None:
    _, rubric = adopted(
        'Check {answer}. Return JSON: {"claims": [{"claim": "<text>", "score": <1-5 or null>, "done": true, '
        '"kind": "fact" | "opinion"}], "score": <1-5>}'
    )
    item = rubric.format.schema()["properties"]["claims"]["items"]  # type: ignore[index,call-overload]
    assert item["properties"] == {  # type: ignore[index,call-overload]
        "claim": {"type": "string", "maxLength": 400}, "score": {"enum": [1, 2, 3, 4, 5, None]},
        "done": {"type": "boolean"}, "kind": {"enum": ["fact", "opinion"]},
    }  # fmt: skip


def test_null_and_words_beyond_a_scale_take_none_of_its_values() -> None:
    _, rubric = adopted('Judge {answer}. Return JSON: {"score": <1-5, null or N/A>}')
    assert rubric.format.scores["score"].values == (-1, 0, 1, 2, 3, 4, 5)
    assert rubric.format.scores["score"].special == (0, -1)


@pytest.mark.parametrize(
    "inputs",
    [
        "inputs: {question: {}, answer: {}}",
        "inputs: [{name: question}, {name: answer}]",
        "inputSchema: {type: object, properties: {question: {type: string}, answer: {type: string}}}",
    ],
)
def test_inputs_that_the_front_matter_declares_in_any_way_may_be_repeated(inputs: str) -> None:
    body = 'Judge {{answer}} to {{question}}. Return JSON: {"question": "<the question, repeated>", "score": <1-5>}'
    _, rubric = adopted(f"---\nname: x\n{inputs}\n---\nuser:\n{body}\n")
    assert rubric.format.echoes == {"question": "question"}


def test_zero_for_a_case_beside_null_is_asked_about() -> None:
    prompt = 'Judge {answer}. Return JSON: {"score": <1-5 or null>}\nReturn 0 if the answer is empty.'
    made = adopt(prompt.encode(), "mine.txt").data
    assert b"# UNSETTLED: the prompt also says 0, the number that 'null' has here" in made


def test_a_scale_that_the_user_states_keeps_its_values_beside_null() -> None:
    prompt = 'Judge {answer}. Return JSON: {"clear_score": 0}\nReturn null if the answer is empty.'
    made = adopt(
        prompt.encode(), "mine.txt", ask=lambda question, proposed: "0-10" if "scale" in question else proposed
    )
    score = parse_rubric(made.data.decode(), "mine.prompty").format.scores["clear_score"]
    assert (score.values, score.special, score.written) == (tuple(range(-1, 11)), (-1,), {-1: "null"})


def test_adopt_reads_the_schema_that_the_front_matter_gives_the_model() -> None:
    schema = "{type: object, properties: {grade: {type: integer, minimum: 1, maximum: 4}}}"
    front = f"model: {{parameters: {{response_format: {{type: json_schema, json_schema: {{schema: {schema}}}}}}}}}"
    _, rubric = adopted(f"---\nname: x\n{front}\n---\nuser:\nJudge {{{{answer}}}}.\n")
    assert rubric.format.scores["grade"].values == (1, 2, 3, 4)


def test_a_number_that_counts_something_is_no_points_of_a_word() -> None:
    _, rubric = adopted("Judge {answer}.\nGood: 1 error at most\nBad: 2 errors or more\nAnswer only with Good or Bad.")
    assert rubric.format.scores["verdict"].levels == {0: "Bad", 1: "Good"}
    _, rubric = adopted("Judge {answer}.\nGood: 2 points, Bad: 1 point.\nAnswer only with Good or Bad.")
    assert rubric.format.scores["verdict"].levels == {1: "Bad", 2: "Good"}


def test_keys_below_a_key_without_a_description_are_asked_about() -> None:
    keys = "- scores:\n  - clarity: 1-5\n  - style: 1-3\n- why: text"
    made = adopt(f"Judge {{answer}}. Return a JSON object with these keys:\n{keys}".encode(), "mine.txt").data
    assert b"# UNSETTLED: the keys below scores may be its members, or the values that it may have" in made
    fields = parse_rubric(re.sub(r" *# UNSETTLED.*\n", "", made.decode()), "mine.prompty").format.outputs.fields
    assert list(fields) == ["scores.clarity", "scores.style", "why"]


BROKEN = (
    '{"verdict": {"score": <1-5>}, "tags": [}',
    '{"type": "object", "properties": {"a": {"type": "object", "properties": {"score": {"enum": [1, 2, 3]}}},}}',
)


@pytest.mark.parametrize("broken", BROKEN)
def test_an_object_inside_of_one_that_can_not_be_read_is_not_certain(broken: str) -> None:
    made = adopt(f"Judge {{answer}}.\nReturn JSON: {broken}".encode(), "mine.txt").data
    assert b"# UNSETTLED: line 2 begins an object around it that can't be read" in made


def test_two_final_lines_are_asked_about() -> None:
    prompt = 'Judge {answer}. End with "Verdict: PASS" or "Verdict: FAIL", and then "Score: X", where X is 1 to 5.'
    made = adopt(prompt.encode(), "mine.txt").data
    assert b"# UNSETTLED: line 1 shows another line, 'verdict'" in made


def test_a_number_and_null_beyond_a_scale_have_values_of_their_own_and_any_other_number_is_asked_about() -> None:
    _, rubric = adopted('Judge {answer}. Return JSON: {"score": "<1-5 or null, or 0 if it is empty>"}')
    assert rubric.format.scores["score"].written == {0: "0", -1: "null"}
    made = adopt(b'Judge {answer}. Return JSON: {"score": <1-5 or 0 if it is empty; see part 7>}', "mine.txt").data
    assert b"# UNSETTLED: the prompt also says 7, which is not on the scale" in made
    made = adopt(b'Judge {answer}. Return JSON: {"score": "<1-5, or 0 if it is empty, or null>"}', "mine.txt").data
    assert b"score: {type: score, scale: ordinal, min: 1, max: 5" in made


def test_a_labelled_part_that_stands_elsewhere_is_asked_about() -> None:
    made = adopt(b"Judge {answer}.\nAnalysis: [your text]\n\nNow the score.\nScore: [1-5]", "mine.txt").data
    assert b"# UNSETTLED: line 2 shows another labelled part" in made


def test_the_scale_of_a_part_is_not_taken_for_the_scale_of_the_total() -> None:
    prompt = "Judge {answer} with 0, 1 or 2 points for each of three criteria. Reply only with the total number."
    made = adopt(prompt.encode(), "mine.txt").data
    assert b"# UNSETTLED: line 1 may state the scale of a part, and the score be their total" in made
