"""Prompty files as others write them: keys, templates, inputs that don't match, and comparisons."""

from pathlib import Path

import pytest
from jinja2 import Template

from pathway_local.case import Case
from pathway_local.errors import FormatError, MissingInput, RubricError
from pathway_local.rubrics.rubric import Rubric
from pathway_local.rubrics.rubric_file import load_rubric, parse_rubric
from pathway_local.verdict import Score

OWN = Path(__file__).parent / "rubric_files"
OUTPUTS = 'outputs: {layout: "Score: {score}", fields: {score: {type: score, min: 1, max: 5}}}\n'


def rubric_of(front: str, body: str = "user:\n{{ answer }}\n", *, outputs: str = OUTPUTS) -> Rubric:
    return parse_rubric(f"---\n{front}{outputs}---\n{body}", "mine.prompty")


def own(name: str, outputs: str) -> str:
    """The text of a file as others write it, with a declaration of its format."""
    return (OWN / name).read_text().replace("---\n", f"---\noutputs: {outputs}\n", 1)


TAGS = own("tags.prompty", "{layout: '<S0>{thoughts}</S0> {score}', fields: 'thoughts: text; score: 1-5'}")


def test_a_file_of_another_program_loads_unchanged_but_for_a_declaration() -> None:
    with pytest.raises(RubricError, match=r"tags\.prompty: nothing declares the reply's format") as refused:
        load_rubric(str(OWN / "tags.prompty"))
    assert "rubrics adopt" in refused.value.hint
    rubric = parse_rubric(TAGS, "mine.prompty")
    assert [turn.role for turn in rubric.turns] == ["system", "user"]
    ignored = "max_tokens, top_p, response_format of model.parameters are ignored"
    assert rubric.notices == (f"{ignored}: judge has --temperature, --seed and --think",)
    assert {name: wanted.empty for name, wanted in rubric.inputs.items()} == {
        "query": "fail", "response": "fail", "context": "fail",
    }  # fmt: skip


def test_names_used_and_declared_must_match() -> None:
    with pytest.raises(
        RubricError, match=r"mismatch\.prompty line 10, column 11: the prompt uses 'tool_definition'"
    ) as error:
        load_rubric(str(OWN / "mismatch.prompty"))
    assert "Is 'tool_definitions' meant?" in error.value.hint
    with pytest.raises(RubricError, match=r"line 2, column 22: the prompt never uses this input"):
        rubric_of("inputs: {answer: {}, other: {}}\n")


def test_an_input_that_the_case_lacks_takes_its_default() -> None:
    rubric = rubric_of(
        'inputs: {answer: {type: string}, context: {type: string, default: "none"}}\n', "{{ answer }} {{ context }}"
    )
    assert rubric.inputs_of(Case("1", {"answer": "a"})) == {"answer": "a", "context": "none"}
    with pytest.raises(MissingInput, match="'context' is empty"):
        rubric.inputs_of(Case("1", {"answer": "a", "context": " "}))
    with pytest.raises(MissingInput, match="'answer' is missing"):
        rubric.inputs_of(Case("1", {}))


@pytest.mark.parametrize("outputs", ["outputs: 5\n", "outputs: {layot: json, fieldz: {}}\n", "outputs: []\n"])
def test_outputs_that_declare_nothing_are_refused_though_the_prompt_asks_for_a_format(outputs: str) -> None:
    with pytest.raises(FormatError, match="line 3, column 1: outputs has neither fields nor a schema"):
        rubric_of("inputs: {answer: {}}\n", "user:\n{{answer}} Reply only with Yes or No.", outputs=outputs)


@pytest.mark.parametrize(
    ("front", "said"),
    [
        ("name: x\ninputz: {answer: {}}\n", r"line 3, column 1: unknown key$"),
        ('"": x\ninputs: {answer: {}}\n', r"line 2, column 1: unknown key$"),
        ("inputs: [answer]\n", r"line 2, column 1: inputs must map"),
        ("inputs: {answer: {type: string, emtpy: judge}}\n", r"line 2, column 33: unknown key"),
        ("inputs: {answer: {empty: maybe}}\n", r"line 2, column 19: .* must be judge or fail"),
        ("inputs: {answer: {required: true}}\n", r"line 2, column 19: unknown key"),
        ("kind: prompt\n", r"line 2, column 1: kind may only be pair"),
        ("people: [a]\n", r"line 2, column 1: people must be a text"),
        ("a: [\n", r"line 3, column"),
        ("name: a\nname: b\n", r"line 3, column 1: duplicate key$"),
        ('description: "\\ud83d"\n', r"line 2, column 14: .* is half a character"),
        ("- a\n", "has no keys"),
        ("rules: {a: b}\n", r"line 2, column 1: rules must be a list"),
    ],
)  # fmt: skip
def test_an_error_names_line_and_column(front: str, said: str) -> None:
    with pytest.raises(RubricError, match=f"mine.prompty.*{said}"):
        rubric_of(front, outputs="" if front.startswith(("-", "a:")) else OUTPUTS)


def test_an_error_in_the_format_or_the_template_names_its_line() -> None:
    outputs = 'outputs:\n  layout: "Score: {score}"\n  fields:\n    score: {type: score, top: 1}\n'
    with pytest.raises(FormatError, match=r"mine\.prompty line 6, column 5: outputs\.fields\.score"):
        rubric_of("inputs: {answer: {}}\n", outputs=outputs)
    with pytest.raises(RubricError, match=r"mine\.prompty line 7: "):
        rubric_of("inputs: {answer: {}}\n", "user:\n{{ answer }}\n{{ answer\n")


REFUSED = {
    "{{ '%0999999999d' | format(1) }}": "filter 'format' is not allowed",
    "{% if 'a' * 10 ** 10 %}x{% endif %}": "mul is not allowed",
    "{{ answer | trim }}": "filter 'trim' is not allowed",
    "{% if answer == 'x' %}x{% endif %}": "compare is not allowed",
    "{% if 'x' %}x{% endif %}": "const is not allowed",
    "{% if answer %}{% else %}{% for m in answer %}{{ m }}{% endfor %}{% endif %}": "for is not allowed",
    "{% if answer is defined %}x{% endif %}": "test 'defined' is not allowed",
    "{% if answer %}{% elif range(9) %}x{% endif %}": "call is not allowed",
    "{{ answer ~ answer }}": "concat is not allowed",
    "{{ answer if answer else 'none' }}": "cond expr is not allowed",
    "{% set x = 1 %}": "assign is not allowed",
    "{% include '/etc/passwd' %}": "include is not allowed",
    "{{ " + "9" * 5000 + " }}": "a number that is too long",
}


@pytest.mark.parametrize("template", REFUSED)
def test_a_template_may_insert_inputs_and_test_them_and_nothing_else(template: str) -> None:
    with pytest.raises(RubricError) as error:
        rubric_of("inputs: {answer: {}}\n", f"user:\n{{{{ answer }}}}\n{template}\n")
    line = 7 - (len(template) > 5000)
    assert str(error.value).startswith(f"mine.prompty line {line}: ")
    assert REFUSED[template] in str(error.value)


TESTED = "{% if not a %}none{% elif a and not b or c %}x{% elif (b or c) and not c %}z{% else %}{{ a }}{% endif %}"


@pytest.mark.parametrize("filled", ["", "a", "b", "c", "ab", "ac", "bc", "abc"])
def test_tests_of_inputs_choose_as_jinja_does(filled: str) -> None:
    rubric = rubric_of("inputs: {a: {empty: judge}, b: {empty: judge}, c: {empty: judge}}\n", f"user:\n{TESTED}\n")
    texts = {name: name * (name in filled) for name in "abc"}
    assert rubric.turns[0].render(texts) == Template(TESTED).render(texts)


@pytest.mark.parametrize("marker", ["user:", "# user:", "  User :", "USER:"])
def test_role_markers_as_prompty_takes_them(marker: str) -> None:
    rubric = rubric_of("inputs: {answer: {}}\n", f"system:\nJudge.\n{marker}\n{{{{ answer }}}}\n")
    assert [turn.role for turn in rubric.turns] == ["system", "user"]


def test_windows_line_ends_and_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "mine.prompty"
    text = own("stars.prompty", "'stars: 1-5'")
    path.write_bytes(b"\xef\xbb\xbf" + text.encode().replace(b"\n", b"\r\n"))
    assert load_rubric(str(path)).turns == parse_rubric(text, "mine.prompty").turns


PAIR = "kind: pair\nswap: {one: two}\ninputs: {one: {}, two: {}}\n"
PREFERENCE = "outputs: {layout: '{p}', fields: {p: {type: score, levels: {%s}}}}\n"
COMPARED = "user:\n{{ one }} or {{ two }}\n"


def test_a_comparison_changes_places_and_sides() -> None:
    rubric = rubric_of(PAIR, COMPARED, outputs=PREFERENCE % "2: A, 0: same, -2: B")
    assert rubric.pair is not None
    assert rubric.pair.ordered({"one": "a", "two": "b", "q": "?"}, "ba") == {"two": "a", "one": "b", "q": "?"}
    turned = rubric.pair.in_case(Score(2, {-2: 0.1, 0: 0.2, 2: 0.7}), "ba")
    assert turned == Score(-2, {-2: 0.7, 0: 0.2, 2: 0.1})
    assert rubric.pair.prefers_a(turned) == 0.1


@pytest.mark.parametrize(
    ("front", "levels", "said"),
    [
        (PAIR.replace("swap: {one: two}\n", ""), "1: A, -1: B", "must say which inputs change places"),
        (PAIR.replace("one: two", "one: three"), "1: A, -1: B", "swap names 'three', which is not an input"),
        (PAIR.replace("one: two", "one: one"), "1: A, -1: B", "swap names 'one' twice"),
        (PAIR.replace("two: {}", "two: {empty: judge}"), "1: A, -1: B", "one and two differ in empty"),
        (PAIR.replace("kind: pair\n", ""), "1: A, -1: B", "swap belongs to a comparison"),
        (PAIR, "1: A, 2: B", "p does not treat A and B alike"),
    ],
)
def test_a_comparison_that_treats_responses_differently_is_refused(front: str, levels: str, said: str) -> None:
    with pytest.raises(RubricError, match=said):
        rubric_of(front, COMPARED, outputs=PREFERENCE % levels)


def test_a_comparison_keeps_its_own_fields_apart() -> None:
    outputs = "outputs: {layout: json, fields: {a_better: {type: text}, p: {type: score, levels: {1: A, -1: B}}}}\n"
    with pytest.raises(RubricError, match="a comparison fills the field 'a_better' itself"):
        rubric_of(PAIR, COMPARED, outputs=outputs)
