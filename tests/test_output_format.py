"""An output format writes its grammar and reads its text from one declaration."""

import json
import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from walks import Walker

from pathway_local.errors import FormatError, ReplyError
from pathway_local.rubrics.form import Form, Reply, Slot
from pathway_local.rubrics.output_format import OutputFormat
from pathway_local.rubrics.rubric_file import builtin_names, load_rubric
from pathway_local.verdict import Value

NAMES = ["one", "two", "three", "four", "five"]
SCORE = {"type": "score", "min": 1, "max": 5}
ONE_LEVEL = "two levels or more, and each special value once"


def _scores(low: int, size: int) -> dict[str, object]:
    return {"type": "score", "min": low, "max": low + size}


def _verdicts(items: int, tokens: int) -> dict[str, object]:
    verdict = {"type": "score", "levels": CLAIMED, "written": CLAIMED, "special": [2]}
    members = {"claim": {"type": "text", "tokens": tokens}, "verdict": verdict, "certain": {"type": "boolean"}}
    return {"type": "verdicts", "score": "share", "items": items, "members": members}


CLAIMED = {0: "unsupported", 1: "supported", 2: "no claim"}
WORDS = {0: "Incorrect", 1: "Partially correct", 2: "Correct", 3: "Cannot be assessed"}
LETTERS = {1: "A", 2: "B", 3: "C"}
GRADES = {2: "A>>B", 1: "A>B", 0: "A=B", -1: "B>A", -2: "B>>A"}
FIELDS: dict[str, st.SearchStrategy[dict[str, object]]] = {
    "text": st.integers(8, 60).map(lambda tokens: {"type": "text", "tokens": tokens}),
    "line": st.integers(8, 60).map(lambda tokens: {"type": "text", "tokens": tokens, "lines": "one"}),
    "score": st.builds(_scores, st.integers(0, 3), st.integers(1, 9)),
    "named": st.just({"type": "score", "levels": {0: "bad", 1: "good"}, "written": {0: "Fail", 1: "Pass"}}),
    "stepped": st.sampled_from([(0, 1, 0.1), (0, 1, 0.01), (1, 5, 0.5), (-1, 1, 0.25), (0, 100, 10), (0, 4, 2)]).map(
        lambda told: {"type": "score", "min": told[0], "max": told[1], "step": told[2]}
    ),
    "halves": st.just({"type": "score", "levels": {0: "wrong", 0.5: "in part", 1: "right"}}),
    "or null": st.sampled_from(["null", "N/A", "-1"]).map(
        lambda text: {"type": "score", "min": 1, "max": 10, "special": [-1], "written": {-1: text}}
    ),
    "unsure": st.just({"type": "score", "levels": WORDS, "written": WORDS, "special": [3], "scale": "ordinal"}),
    "nominal": st.just({"type": "score", "scale": "nominal", "levels": LETTERS, "written": LETTERS}),
    "preference": st.just({"type": "score", "scale": "nominal", "levels": GRADES, "written": GRADES}),
    "constant": st.just({"type": "choice", "choices": ["clarity"]}),
    "choice": st.just({"type": "choice", "choices": ["yes", 'a "quoted" one', "no"]}),
    "boolean": st.just({"type": "boolean"}),
    "verdicts": st.builds(_verdicts, st.integers(1, 4), st.integers(8, 20)),
    "list": st.tuples(st.integers(1, 4), st.integers(4, 20)).map(
        lambda found: {"type": "list", "items": found[0], "tokens": found[1]}
    ),
}


@st.composite
def formats(draw: st.DrawFn, *, as_json: bool) -> OutputFormat:
    kinds = sorted(FIELDS.keys() - ({"list", "verdicts"} if not as_json else set()))
    chosen = draw(st.lists(st.sampled_from(kinds), min_size=0, max_size=4))
    at = draw(st.integers(0, len(chosen)))
    fields = dict(zip(NAMES, [draw(FIELDS[kind]) for kind in [*chosen[:at], "score", *chosen[at:]]], strict=False))
    for name, field in fields.items():
        if field["type"] == "verdicts":
            fields[name] = {**field, "score": f"{name}_share"}
    if as_json:
        return OutputFormat.load({"layout": "json", "fields": fields})
    ends = st.sampled_from(["\n", "\n\n**Next:** ", "</S0>\n<S1>", " [RESULT] ", "\n## ", "[["])
    layout = "Begin:\n" + "".join(f"{{{name}}}{draw(ends)}" for name in fields)
    return OutputFormat.load({"layout": layout.rstrip(), "fields": fields})


def values_for(draw: st.DrawFn, reply: Reply) -> dict[str, Value]:
    return {slot.name: draw(_value(slot, reply)) for slot in reply.form.slots}


def _value(slot: Slot, reply: Reply) -> st.SearchStrategy[Value]:
    field = slot.field
    free = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)
    if field.type == "text":
        ending = reply.form.ending(slot.name)
        plain = free.filter(lambda text: ending.find(text + ending.literal, 0) == len(text))
        return free if reply.form.in_json else plain
    if field.type == "list":
        return st.lists(free, max_size=field.items)
    if field.type == "verdicts":
        one = {"claim": free, "verdict": st.sampled_from(list(CLAIMED.values())), "certain": st.booleans()}
        # A reply has the members in their order, and the library mixes them.
        item = st.fixed_dictionaries(one).map(lambda drawn: {name: drawn[name] for name in one})
        return st.lists(item, max_size=field.items)
    return st.sampled_from(list(field.texts(reply.form.in_json).values()))


@settings(max_examples=150, deadline=None)
@given(data=st.data(), as_json=st.booleans())
def test_what_is_written_is_read_back(data: st.DataObject, as_json: bool) -> None:
    reply = data.draw(formats(as_json=as_json)).reply({})
    values = values_for(data.draw, reply)
    read = reply.form.read(reply.form.write(values)).values
    assert {name: read[name] for name in values} == values
    for slot in reply.form.slots:
        if slot.field.type == "verdicts":
            said = [item["verdict"] for item in values[slot.name]]  # type: ignore[union-attr,index,call-overload]
            real = [word == "supported" for word in said if word != "no claim"]
            assert read[slot.score] == pytest.approx(sum(real) / len(real) if real else -1, abs=1e-6)
    assert set(read) == set(values) | {slot.score for slot in reply.form.slots if slot.score}


@settings(max_examples=60, deadline=None)
@given(data=st.data(), as_json=st.booleans())
def test_the_example_of_a_reply_is_one(data: st.DataObject, as_json: bool) -> None:
    form = data.draw(formats(as_json=as_json)).reply({}).form
    values = {slot.name: slot.field.example(slot.name) for slot in form.slots}
    read = form.read(form.write(values)).values
    assert {name: read[name] for name in values} == values


@settings(max_examples=60, deadline=None)
@given(data=st.data(), as_json=st.booleans())
def test_json_layouts_write_json_that_keeps_the_schema(data: st.DataObject, as_json: bool) -> None:
    output_format = data.draw(formats(as_json=True))
    reply = output_format.reply({})
    values = values_for(data.draw, reply)
    written = json.loads("".join(text for text, _ in reply.start) + reply.form.write(values))
    shown = {
        name: json.loads(text)
        for name, score in output_format.scores.items()
        for text, value in score.values_by_text(True).items()
        if name in values and value == values[name]
    }
    assert written == {**values, **shown}
    Draft202012Validator(output_format.schema()).validate({**written, **{name: values[name] for name in shown}})


@settings(max_examples=40, deadline=None)
@given(data=st.data(), as_json=st.booleans(), seed=st.integers(0, 10_000), awkward=st.booleans())
def test_any_walk_ends_and_is_read(
    walker: Walker, data: st.DataObject, as_json: bool, seed: int, awkward: bool
) -> None:
    reply = data.draw(formats(as_json=as_json)).reply({})
    assert_readable(walker, reply, seed, awkward=awkward)


def assert_readable(walker: Walker, reply: Reply, seed: int, *, awkward: bool) -> None:
    grammar = reply.form.grammar()
    text, ids, ended = walker.walk(grammar, seed, awkward=awkward, limit=reply.form.limit)
    assert ended, f"no end after {len(ids)} tokens: {text[-80:]!r}"
    reading = reply.form.read(text.decode("utf-8", "surrogateescape"))
    assert set(reading.values) == {name for slot in reply.form.slots for name in (slot.name, slot.score) if name}
    assert walker.accepts(grammar, ids)


@pytest.mark.parametrize("name", builtin_names())
@pytest.mark.parametrize("detail", ["full", "through-score", "score"])
def test_walks_through_the_rubrics(walker: Walker, name: str, detail: str) -> None:
    rubric = load_rubric(name)
    reply = rubric.format.reply(dict.fromkeys(rubric.inputs, 'a "case"\n'), detail)  # type: ignore[arg-type]
    for seed in range(6 if detail == "full" else 12):
        assert_readable(walker, reply, seed, awkward=bool(seed % 2))


NATURAL = {
    "pathway-answer": [
        {
            "analysis": '* one **bold** point\n  - nested, 3 < 4\n\n**Summary:** fine\n\n* "quoted" \\ more\n\n1. last',
            "score": 4,
            "justification": "Grounded.\n\n- but a link is missing",
        },
        {"analysis": "**Score** is what this is about.", "score": 1, "justification": "Wrong.\n**Score** is 1."},
    ],
    "groundedness": [
        {"thoughts": " 1. a < b and <b>bold</b>\n\n2. \"x\"", "explanation": "Fine & short.", "score": 5},
        {"thoughts": " <S3> is a tag; </S is the start of one.", "explanation": "-", "score": 3},
    ],
    "pair-answer": [
        {"comparison": "**A** names the form; B says:\n\n> ask the desk\n\n* so **Verdict** is clear", "preference": 1},
        {"comparison": "Both are wrong.", "preference": 0},
        {"comparison": "**Verdict:** is what comes next.\n**Verdicts:** B, since it is complete.", "preference": -1},
    ],
    "contextual-relevance": [
        {"score": 2, "reason": 'He said "yes"\nthen \\left — ünïcode 😀.\n\n- (1) aligned\n- (2) points'},
    ],
    "gold-answer": [
        {
            "completeness_score": 3,
            "completeness_reasoning": 'Covers "fees", not the deadline.',
            "key_missing_info": ["the date", 'the "form"'],
            "correctness_score": 5,
            "correctness_reasoning": "All of it holds.",
            "factual_errors": [],
        }
    ],
}  # fmt: skip


@pytest.mark.parametrize(("name", "values"), [(name, case) for name, cases in NATURAL.items() for case in cases])
def test_natural_text_is_accepted_and_may_end_early(walker: Walker, name: str, values: dict[str, Value]) -> None:
    rubric = load_rubric(name)
    assert_accepted(walker, rubric.format.reply(dict.fromkeys(rubric.inputs, "x")).form, values)


def assert_accepted(walker: Walker, form: Form, values: dict[str, Value]) -> None:
    text = form.write(values)
    assert walker.accepts(form.grammar(), walker.tokenizer.tokenize_str(text))
    assert dict(form.read(text).values) == values


@pytest.mark.parametrize(
    ("explanation", "verdict"),
    [("A names the form; B does not.\n\n**Final verdict:** ", 1), ("Both fail (see 1 and 2).\n\n", 0), ("B.", -1)],
)
def test_a_choice_in_brackets_may_end_a_sentence(walker: Walker, explanation: str, verdict: int) -> None:
    fields = {"explanation": {"type": "text"}, "verdict": {"type": "score", "levels": {1: "A", 0: "C", -1: "B"}}}
    fields["verdict"]["written"] = fields["verdict"]["levels"]
    form = OutputFormat.load({"layout": "{explanation}[[{verdict}]]", "fields": fields}).reply({}).form
    values: dict[str, Value] = {"explanation": explanation, "verdict": verdict}
    assert_accepted(walker, form, values)


def test_the_start_ends_before_a_blank_and_holds_the_echoes() -> None:
    rubric = load_rubric("contextual-relevance")
    reply = rubric.format.reply({**dict.fromkeys(rubric.inputs, "x"), "fq_id": 'a"b', "follow_up_question": "Why?"})
    assert "".join(text for text, _ in reply.start) == '{"fq_id": "a\\"b", "follow_up_question": "Why?", "score":'
    assert [text for text, theirs in reply.start if theirs] == ['"a\\"b"', '"Why?"']
    assert reply.form.parts[0] == " "


def test_details_leave_out_what_they_say() -> None:
    rubric = load_rubric("gold-answer")
    through = rubric.format.reply({}, "through-score")
    assert [slot.name for slot in through.form.slots][-1] == "correctness_score"
    alone = rubric.format.reply({}, "score")
    assert alone.form.write({"completeness_score": 2, "correctness_score": 3}) == ' 2, "correctness_score": 3'
    assert load_rubric("pathway-answer").format.reply({}, "score").start == (("**Score:**", False),)
    assert load_rubric("groundedness").format.reply({}, "score").start == (("<S2>", False),)


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("no sections at all", "analysis: nothing ends the text"),
        ("fine\n\n**Score:** 7\n\n**Justification:**\nx", "score: expected one of 1, 2"),
        ("fine\n\n**Score:** 4", "the layout's text behind score is missing"),
    ],
)
def test_text_without_the_format_is_refused(text: str, missing: str) -> None:
    with pytest.raises(ReplyError, match=missing):
        load_rubric("pathway-answer").format.reply({}).form.read(text)


@pytest.mark.parametrize(
    ("block", "said"),
    [
        ({"layout": "{a}", "fields": {"a": {"type": "text"}}}, "no field has the type score"),
        ({"layout": "{a}{b}", "fields": {"a": SCORE, "b": SCORE}}, "nothing separates"),
        ({"layout": "{a} {c}", "fields": {"a": SCORE}}, "does not declare"),
        ({"layout": "{a}", "fields": {"a": SCORE, "b": SCORE}}, r"\{b\} 0 times"),
        ({"layout": "{a} {b}", "fields": {"a": SCORE, "b": {"type": "list"}}}, "needs a JSON layout"),
        ({"layout": "{a", "fields": {"a": SCORE}}, "layout"),
        ({"layout": "{a}", "fields": {"a": {"type": "score", "levels": {1: "x"}}}}, "two levels"),
        ({"layout": "{a}", "fields": {"a": {**SCORE, "special": [9]}}}, "not on the scale"),
        ({"fields": {"a": {"type": "score", "levels": {0: "a", 1: "b"}, "special": [1]}}}, ONE_LEVEL),
        ({"fields": {"a": {**SCORE, "special": [0, 0], "written": {0: "0"}}}}, ONE_LEVEL),
        ({"layout": "{a}", "fields": {"a": _verdicts(1, 8)}}, "needs a JSON layout"),
        ({"layout": "json", "fields": {"share": SCORE, "a": _verdicts(1, 8)}}, "'share' is the name of two"),
        ({"layout": "json", "fields": {"a": {**_verdicts(1, 8), "members": {"b": SCORE, "c": SCORE}}}}, "just one"),
        ({"layout": "{a}", "fields": {"a": {**SCORE, "colour": "red"}}}, "outputs.fields.a"),
    ],
)
def test_a_wrong_declaration_is_named(block: dict[str, object], said: str) -> None:
    with pytest.raises(FormatError, match=said) as error:
        OutputFormat.load(block)
    assert "Value error" not in str(error.value)


CLAIMS = OutputFormat.load({"layout": "json", "fields": {"claims": _verdicts(4, 16)}})


@pytest.mark.parametrize(
    ("said", "share"),
    [
        ([], -1), ([("The fee is \"due\" on 1 May.\nThe form\\is online.", "supported")], 1),
        ([("A", "supported"), ("B", "unsupported"), ("C", "supported"), ("Hello!", "no claim")], 2 / 3),
        ([("Hello!", "no claim")], -1), ([("A", "unsupported")], 0),
    ],
)  # fmt: skip
def test_natural_verdicts_are_accepted(walker: Walker, said: list[tuple[str, str]], share: float) -> None:
    form = CLAIMS.reply({}).form
    claims: Value = [{"claim": claim, "verdict": verdict, "certain": True} for claim, verdict in said]
    text = form.write({"claims": claims})
    assert walker.accepts(form.grammar(), walker.tokenizer.tokenize_str(text))
    assert form.read(text).values == {"claims": claims, "share": pytest.approx(share, abs=1e-6)}


@pytest.mark.parametrize("detail", ["full", "through-score", "score"])
def test_verdicts_are_written_at_every_detail(detail: str) -> None:
    fields = {"claims": _verdicts(2, 16), "last": {"type": "text"}}
    form = OutputFormat.load({"layout": "json", "fields": fields}).reply({}, detail).form  # type: ignore[arg-type]
    assert [slot.name for slot in form.slots] == ["claims", "last"][: 2 if detail == "full" else 1]


@pytest.mark.parametrize(
    "text",
    [
        '[{"claim": "A", "verdict": "maybe", "certain": true}]',
        '[{"claim": "A", "verdict": "supported"}]',
        '[{"claim": 1, "verdict": "supported", "certain": true}]', '{"claim": "A"}', "[1]",
        '[{"claim": "A", "verdict": ["supported"], "certain": true}]',
        *(f'[{{"claim": "A", "verdict": "supported", "certain": {certain}}}]' for certain in ("1", '"true"', "null")),
    ],
)  # fmt: skip
def test_other_lists_are_no_verdicts(text: str) -> None:
    field = CLAIMS.outputs.fields["claims"]
    with pytest.raises(ReplyError):
        field.read(text, 0, "", True)
    good = '[{"claim": "A", "verdict": "supported", "certain": true}]'
    assert field.read(good, 0, "", True)[1] == len(good)


def test_every_letter_may_begin_a_text(walker: Walker) -> None:
    reply = OutputFormat.load({"layout": "{t}\n\n**Score:** {s}", "fields": {"t": {"type": "text"}, "s": SCORE}}).reply(
        {}
    )
    for letter in string.ascii_letters + string.digits + "*-#>_`|\"'(":
        text = reply.form.write({"t": f"{letter} x\n{letter} y\n\n{letter} z", "s": 1})
        assert walker.accepts(reply.form.grammar(), walker.tokenizer.tokenize_str(text)), letter
