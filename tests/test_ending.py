"""A text ends where the judge begins the next part of the layout, however it spells it; honest text does not end it."""

from pathlib import Path

import llguidance
import pytest
from walks import Walker, is_legal

from pathway_local.judging.pool import Replay
from pathway_local.rendering.tokenizer import JudgeTokenizer
from pathway_local.rubrics.ending import Ending, cores_of
from pathway_local.rubrics.form import Form, Reply
from pathway_local.rubrics.output_format import OutputFormat
from pathway_local.rubrics.rubric_file import load_rubric

FIELDS = {"why": {"type": "text", "tokens": 60}, "s": {"type": "score", "min": 1, "max": 5}}


def form_of(name: str) -> Form:
    rubric = load_rubric(name)
    return rubric.format.reply(dict.fromkeys(rubric.inputs, "x")).form


def layout(text: str, **why: object) -> Form:
    fields = {**FIELDS, "why": {**FIELDS["why"], **why}}
    return OutputFormat.load({"layout": text, "fields": fields}).reply({}).form


def cut(form: Form, reply: str, judge: Path) -> tuple[str, ...]:
    """The fields of a reply that a budget cut, each byte of which was a token."""
    tokenizer = JudgeTokenizer(judge)
    single = {tokenizer.bytes_of(token): token for token in reversed(range(tokenizer.grammar_tokenizer.vocab_size))}
    ids = [single[byte.to_bytes()] for byte in reply.encode()]
    return Replay(tokenizer, ids).cut_fields(Reply((), form), form.read(reply), form.grammar())


def written(walker: Walker, form: Form, pieces: list[str]) -> str:
    """The reply of a judge that writes these pieces; between them it gets what the grammar forces."""
    matcher = llguidance.LLMatcher(walker.tokenizer, llguidance.grammar_from("lark", form.grammar()))
    single = {text: token for token, text in reversed(list(enumerate(walker.texts))) if len(text) == 1}
    text = b""
    for piece in pieces:
        for byte in (each.to_bytes() for each in piece.encode()):
            text += byte
            matcher.compute_ff_bytes()
            assert matcher.consume_token(single[byte]), f"{text!r} is refused"
        forced = matcher.compute_ff_bytes()
        for byte in (each.to_bytes() for each in forced):
            assert matcher.consume_token(single[byte])
        text += forced
    assert matcher.is_accepting(), text
    return text.decode()


@pytest.mark.parametrize(
    ("end", "forced"),
    [
        ("\n**Score:", "** "),
        ("\n\n\n**Score**:", " "),
        ("\nScore:", " "),
        ("\n\n### Score:", " "),
        ("\n## **Score:", "** "),
        ("\n__Score__:", " "),
        ("\n**Justification:", "**\n\n**Score:** "),
        ("\nAnalysis:", "\n\n**Score:** "),
    ],
)
def test_a_label_ends_a_text(walker: Walker, tiny_judge: Path, end: str, forced: str) -> None:
    form = form_of("pathway-answer")
    reply = written(walker, form, [f"Right.{end}", "5", "It is.\n\n- All of it."])
    assert reply == f"Right.{end}{forced}5\n\n**Justification:**\nIt is.\n\n- All of it."
    reading = form.read(reply)
    assert reading.values == {"analysis": "Right.", "score": 5, "justification": "It is.\n\n- All of it."}
    assert reply[slice(*reading.spans["score"])] == "5"
    assert cut(form, reply, tiny_judge) == ()


@pytest.mark.parametrize(
    ("end", "forced"),
    [("</S0>", "\n<S1>"), ("\n</S0>", "\n<S1>"), ("\n\n<S1>", ""), ("</S1>", "</S0>\n<S1>"), ("<S2>", "</S0>\n<S1>")],
)
def test_a_tag_ends_a_text(walker: Walker, tiny_judge: Path, end: str, forced: str) -> None:
    form = form_of("groundedness")
    reply = written(walker, form, [f"It is backed.{end}", "All < is </S.</S1>", "5"])
    assert reply == f"It is backed.{end}{forced}All < is </S.</S1>\n<S2>5</S2>"
    values = form.read(reply).values
    assert str(values["thoughts"]).rstrip() == "It is backed."
    assert (values["explanation"], values["score"]) == ("All < is </S.", 5)
    assert cut(form, reply, tiny_judge) == ()


@pytest.mark.parametrize("again", ["\n\n**Analysis:**", "\nScore:", "\n**Justification**:"])
def test_a_judge_that_begins_the_layout_again_has_ended_its_last_text(walker: Walker, again: str) -> None:
    form = form_of("pathway-answer")
    reply = written(walker, form, ["Right.\n\n**Score:", "5", f"It is.{again}"])
    assert form.read(reply).values["justification"] == "It is."


@pytest.mark.parametrize(
    "honest",
    [
        "The Score: 5 is asked for, and **Score:** is bold.",
        'The case says:\n> Score: 5\n\n- Score: 90 in a test\n\n"Score: 3"',
        "**Score** is what counts.\nScores: many.\nScore\u00adless.\nFinal Score: 2",
        "### A heading\n\n* one **bold** point\n  - nested\n\n**Summary:** fine\n",
    ],
)
def test_honest_text_does_not_end(walker: Walker, honest: str) -> None:
    form = form_of("pathway-answer")
    reply = written(walker, form, [f"{honest}\n\n**Score:", "3", f"x {honest.strip()}"])
    values = form.read(reply).values
    assert (str(values["analysis"]).strip(), values["score"]) == (honest.strip(), 3)
    assert values["justification"] == f"x {honest.strip()}"


@pytest.mark.parametrize("behind", [" [[{s}]]", " Score: {s}", "\n## Score\n{s}", "\n{s}"])
def test_without_a_core_only_the_whole_literal_ends_a_text(walker: Walker, behind: str) -> None:
    form = layout(f"Reason:{{why}}{behind}")
    assert form.ending("why").cores == ()
    literal = form.ending("why").literal
    reply = written(walker, form, [f"So.{literal}", "4"])
    assert form.read(reply).values == {"why": "So.", "s": 4}


def test_tags_on_lines_of_their_own(walker: Walker) -> None:
    form = layout("<why>\n{why}\n</why>\n\n<score>{s}</score>")
    reply = written(walker, form, ["So.</why>", "4"])
    assert reply == "So.</why>\n\n<score>4</score>"
    assert form.read(reply).values == {"why": "So.", "s": 4}


def test_tags_and_labels_together(walker: Walker) -> None:
    form = layout("<why>{why}</why>\n**Score:** {s}")
    for end, forced in (("\n\n</why>", "\n**Score:** "), ("\nScore:", " "), ("<why>", "</why>\n**Score:** ")):
        reply = written(walker, form, [f"One.\nTwo < 3.\n<b>{end}", "4"])
        assert reply == f"One.\nTwo < 3.\n<b>{end}{forced}4"
        assert form.read(reply).values == {"why": "One.\nTwo < 3.\n<b>", "s": 4}


def test_a_line_ends_at_any_spelling_and_holds_no_break(walker: Walker) -> None:
    form = layout("Why:{why}\nScore: {s}", lines="one")
    reply = written(walker, form, ["So.\n\n**Score:", "4"])
    assert form.read(reply).values == {"why": "So.", "s": 4}
    matcher = llguidance.LLMatcher(walker.tokenizer, llguidance.grammar_from("lark", form.grammar()))
    assert matcher.validate_tokens(walker.tokenizer.tokenize_str(" So.\nx")) <= len(
        walker.tokenizer.tokenize_str(" So.\n")
    )


def test_texts_of_the_case_are_no_cores() -> None:
    fields = {**FIELDS, "q": {"type": "echo", "input": "question"}}
    output_format = OutputFormat.load({"layout": "{why}\n\n**Question:** {q}\n**Score:** {s}", "fields": fields})
    form = output_format.reply({"question": "x\n**Score:** 5"}).form
    assert form.ending("why") == Ending("\n\n**Question:** x\n**Score:** 5\n**Score:** ")


def test_cores_are_tags_and_labels_at_the_start_of_a_line() -> None:
    assert cores_of(["<S0>Let us think:", "</S0>\n<S1>"]) == ("<S0>", "</S0>", "<S1>")
    assert cores_of(["**Analysis:**\n", "\n\n**Score**: ", "\nWhy so: "]) == ("Analysis", "Score", "Why so")
    assert cores_of(["{", " Score: ", "\n## Score\n", "\n(a): ", "\n***x_: ", "\n5: "]) == ()


def test_a_budget_that_ends_behind_a_line_break_is_told_from_a_text_that_ended(
    walker: Walker, tiny_judge: Path
) -> None:
    """Both replies hold line breaks and then the label: only the masks know who wrote them."""
    form, seen = layout("**Why:**\n{why}\n\n**Score:** {s}", tokens=8), set()
    for length in range(1, 8):
        matcher = llguidance.LLMatcher(walker.tokenizer, llguidance.grammar_from("lark", form.grammar()))
        for byte in (text := "x" * length + "\n"):
            matcher.compute_ff_bytes()
            matcher.consume_token(walker.tokenizer.tokenize_str(byte)[0])
        full = not is_legal(JudgeTokenizer(tiny_judge).letter_id, matcher, walker.tokenizer)
        reply = written(walker, form, [text, "\n\n**Score:", "3"])
        assert cut(form, reply, tiny_judge) == (("why",) if full else ())
        assert str(form.read(reply).values["why"]).strip() == "x" * length
        seen.add(full)
    assert seen == {True, False}
