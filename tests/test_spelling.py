"""Fields that are declared in one line."""

import random
import re
import shlex
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, get_args

import pytest
from pydantic import BaseModel, Field
from typed_here import Run, typing_in

import pathway_local as pl
from pathway_local.errors import FormatError, RubricError
from pathway_local.rubrics.form import AnyField
from pathway_local.rubrics.output_format import OutputFormat
from pathway_local.rubrics.rubric_file import load_rubric, parse_rubric
from pathway_local.rubrics.spelling import Field as Spelled
from pathway_local.rubrics.spelling import block_of, field_of, fields_in

PAGE = Path(__file__).parents[1] / "docs" / "rubrics.md"
KINDS = {str(kind.model_fields["type"].default) for kind in get_args(get_args(AnyField)[0])}

NAMED = {0: "no", 1: "yes"}


def score(low: float, high: float, step: float = 1, **more: object) -> Spelled:
    return {"type": "score", "min": low, "max": high, "step": step, **more}


def levels(names: dict[int, str], *, written: bool = True, **more: object) -> Spelled:
    return {"type": "score", "levels": names, **({"written": names} if written else {}), **more}


VERDICTS = {"claim": {"type": "text", "tokens": 60}, "verdict": levels(NAMED)}
SPELLED: dict[str, Spelled] = {
    "text": {"type": "text"},
    " text  120 ": {"type": "text", "tokens": 120},
    "line 40": {"type": "text", "tokens": 40, "lines": "one"},
    "1-5": score(1, 5),
    "-2 to 2": score(-2, 2),
    "0-1 by 0.1": score(0, 1, 0.1),
    "1 wrong < 2 partly right < 3 right": levels({1: "wrong", 2: "partly right", 3: "right"}, written=False),
    "no < yes": levels(NAMED),
    "A | B": levels({1: "A", 2: "B"}, scale="nominal"),
    "1-5 or N/A or 0": score(1, 5, special=[-1, 0], written={-1: "N/A", 0: "0"}),
    "no < yes or unsure": levels(NAMED | {-1: "unsure"}, special=[-1]),
    '"this or that" < "a; b"': levels({0: "this or that", 1: "a; b"}),
    "choice a | b": {"type": "choice", "choices": ["a", "b"]},
    "true/false": {"type": "boolean"},
    "list 5": {"type": "list", "items": 5},
    "0 < 2 < 4": levels({0: "", 2: "", 4: ""}, written=False),
    "1-3 (1 one, 2 as two)": score(1, 3, levels={1: "one"}, written={2: "two"}),
    'prefer first as "1" > second as "2"': levels(
        {1: "first", -1: "second"}, written=False, scale="nominal"
    ) | {"written": {1: "1", -1: "2"}},
    "1-5 or 5 or -1 unknown as N/A -- how clear it is": score(
        1, 5, special=[5, -1], levels={-1: "unknown"}, written={-1: "N/A"}, description="how clear it is"
    ),
    "list 5 of text 60": {"type": "list", "items": 5, "tokens": 60},
    "= question": {"type": "echo", "input": "question"},
    "[claim: text 60, verdict: no < yes] as faithfulness": {
        "type": "verdicts", "score": "faithfulness", "members": VERDICTS,
    },
}  # fmt: skip


@pytest.mark.parametrize("spelling", SPELLED)
def test_each_spelling_declares_a_field_that_a_format_takes(spelling: str) -> None:
    assert field_of(spelling) == SPELLED[spelling]
    other = "text" if "score" in str(SPELLED[spelling]["type"]) else "1-5"
    whole = OutputFormat.load({"fields": {"one": spelling, "other": "1-5", "third": other}})
    assert whole.in_json and "other" in whole.scores


REFUSED = {
    "banana": "declares no field; write one of: text,",
    "0-1": "two values or a share: write 0-1 by 1, or 0-1 by 0.1",
    "1 no < yes": "each level a number and a name, or each only a name",
    "2 no < 1 yes": "must rise",
    "5-1": "max must lie",
    "no < no": "written the same way",
    "text many": "declares no field",
    "": "declares no field",
    "[claim: text] as x": "just one member must be a score",
    "[claim text] as x": "is no NAME: SPELLING",
    "good > fair > poor": "declares no field",
    "0-1 by 0.3": "max must lie",
    "1-5 (low, 5 high)": "'low' needs its number",
    "(a < b": "brackets don't match",
    'no < "yes': "a quotation mark is not closed",
    '"\\d" < b': "write \\\\ for a backslash",
    "no or yes": "declares no field",
    "2 a | 2 b": "must rise",
    "1-5 or 1 or 2 or 3 or 4": "two levels or more",
    "\ue000 < b": "private-use characters",
}


@pytest.mark.parametrize("spelling", REFUSED)
def test_what_is_no_field_is_refused_by_name(spelling: str) -> None:
    with pytest.raises(FormatError, match=r"outputs\.fields.*grade") as refused:
        OutputFormat.load({"fields": {"score": "1-5", "grade": spelling}})
    assert REFUSED[spelling] in str(refused.value)


def test_fields_come_in_one_text_or_one_on_each_line() -> None:
    whole = 'reasons: text; a.score: 1-5\nverdict: "a;b" < c;; parts: [x: text, y: no < yes, ] as z\n'
    assert fields_in(whole) == {
        "reasons": field_of("text"),
        "a.score": field_of("1-5"),
        "verdict": field_of('"a;b" < c'),
        "parts": field_of("[x: text, y: no < yes] as z"),
    }
    for bad, said in {"score 1-5": "is no NAME: SPELLING", "a: text; a: 1-5": "two fields are called 'a'"}.items():
        with pytest.raises(ValueError, match=said):
            fields_in(bad)


def test_random_text_is_refused_or_a_format_and_never_a_crash() -> None:
    draw = random.Random(7)
    pieces = ["text", "no", " as x", " or ", "by", *'15 -<|"[]:;,=.{']
    formats = 0
    for _ in range(1_000):
        spelling = "".join(draw.choices(pieces, k=draw.randint(1, 9)))
        try:
            OutputFormat.load(f"grade: {spelling}")
            formats += 1
        except FormatError:
            continue
    assert formats > 15


def test_a_last_line_follows_free_text() -> None:
    told = block_of("why: line; grade: I < C", ["GRADE: {grade}"])
    assert told == {"layout": "{why}\n\nGRADE: {grade}", "fields": "why: line; grade: I < C"}
    alone = block_of("grade: I < C", ["GRADE: {grade}"])
    assert alone == {"layout": "GRADE: {grade}", "fields": "grade: I < C"}
    parts = block_of("why: text; grade: I < C", ["<why>{why}</why>", "<grade>{grade}</grade>"])
    assert isinstance(parts, dict) and parts["layout"] == "<why>{why}</why>\n<grade>{grade}</grade>"
    for fields, line in (("a: text; b: text; c: 1-5", "{c}"), ("c: 1-5", "none"), ("c: 1-5", "{d}"), ("c: 1-5", "{")):
        with pytest.raises(ValueError, match="--line"):
            block_of(fields, [line])


@pytest.mark.parametrize("key", ["levels", "written", "choices"])
def test_words_that_yaml_reads_as_true_and_false_are_named(key: str) -> None:
    block: Any = [False, True] if key == "choices" else {0: False, 1: True}
    with pytest.raises(FormatError, match=rf"grade\.{key}: YAML reads yes, no, on and off"):
        OutputFormat.load({"fields": {"score": "1-5", "grade": {"type": "score", key: block}}})


def test_a_prompt_is_adopted_with_a_declaration(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run: Run = typing_in(tmp_path, monkeypatch, capsys)
    (tmp_path / "p.txt").write_text("Read {question} and {answer}. Say which of C, P or I fits, whatever form.\n")
    adopt = ("rubrics", "adopt", "p.txt", "--fields", "reasoning: text; grade: I < P < C or unclear")
    told = run(*adopt, "--line", "GRADE: {grade}", "-o", "p.prompty")
    assert told.code == 0, told.err
    rubric = load_rubric(str(tmp_path / "p.prompty"))
    assert list(rubric.inputs) == ["question", "answer"]
    assert rubric.format.scores["grade"].levels == {-1: "unclear", 0: "I", 1: "P", 2: "C"}
    assert rubric.format.outputs.layout == "{reasoning}\n\nGRADE: {grade}"
    how = "docs/rubrics.md lists how to spell a field"
    for declared, hint in (
        ("grade I < P", how),
        ("grade: banana", how),
        ("reason: text", "Declare at least one score"),
    ):
        refused = run("rubrics", "adopt", "p.txt", "--fields", declared, "-o", "x.prompty")
        assert refused.code == 2
        assert hint in refused.err
        assert not (tmp_path / "x.prompty").exists()
    lost = run("rubrics", "adopt", "p.txt", "--fields", "grade: 1-5", "--line", "\\boxed{grade}", "-o", "x.prompty")
    assert lost.code == 2 and r"write \boxed{{{grade}}}" in lost.err
    again = run("rubrics", "adopt", "p.prompty", "--fields", "score: 1-5", "-o", "x.prompty")
    assert again.code == 2 and "outputs already" in again.err


def test_the_page_opens_with_a_table_of_every_kind_and_each_spelling_of_it_means_that_kind() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert len(page.splitlines()) <= 220
    head = page.partition("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \| [^`|]", head, re.MULTILINE)
    assert {kind for kind, _ in rows} == KINDS
    for kind, spellings in rows:
        for spelling in re.findall(r"`([^`]+)`", spellings):
            assert field_of(spelling.replace("\\|", "|"))["type"] == kind, spelling
    replies = re.findall(r"^\| [^`|]+ \| `(--fields .*)` \|$", head, re.MULTILINE)
    assert len(replies) == 6
    for reply in replies:
        words = shlex.split(reply)
        lines = [line for flag, line in pairwise(words) if flag == "--line"]
        OutputFormat.load(block_of(words[1], lines))


@pytest.mark.parametrize(
    ("outputs", "said"),
    [
        ("{fields: {grade: {type: score, levels: {0: no, 1: yes}}}}", "YAML reads yes, no, on and off"),
        ("{fields: {grade: no}}", "YAML reads yes, no, on and off"),
        ("{fields: {s: 1-5, time: 12:30}}", "is no spelling of a field: put it in quotes"),
        ("{fields: {c: [a: text, v: no < yes] as share}}", "stands in quotes"),
        ("{scroe: 1-5}", "has neither fields nor a schema"),
        ('{fields: "s: 1-5", tokens: 5}', "outputs.tokens: unknown key"),
        ("{fields: {t: {type: text, token: 5}, s: 1-5}}", "token: unknown key"),
    ],
)
def test_yamls_own_traps_are_named_and_no_unknown_key_is_a_field(outputs: str, said: str) -> None:
    with pytest.raises(RubricError) as refused:
        parse_rubric(f"---\noutputs: {outputs}\ninputs: {{answer: {{}}}}\n---\nJudge {{{{ answer }}}}.\n", "mine")
    assert said in f"{refused.value} {refused.value.hint}" and "mine line 2" in str(refused.value)


def test_a_program_declares_a_format_by_a_line_or_a_pydantic_model() -> None:
    class Reply(BaseModel):
        why: str
        score: Annotated[int, Field(ge=1, le=5)]
        tone: Annotated[str, Field(json_schema_extra={"spelling": "rude < polite"})]

    class Vague(BaseModel):
        score: float

    rubric = pl.Rubric.from_text("Judge {answer}.", Reply, name="mine")
    assert rubric.inputs == ["answer"] and rubric.scores["tone"] == {0: "rude", 1: "polite"}
    assert list(rubric.scores["score"]) == [1, 2, 3, 4, 5]
    alone = pl.Rubric.from_text("Judge it.", "why: text; score: no < yes", name="mine", inputs=["answer"])
    assert alone.inputs == ["answer"] and alone.scores["score"] == {0: "no", 1: "yes"}
    with pytest.raises(pl.RubricError, match="score: a number needs minimum and maximum"):
        pl.Rubric.from_text("Judge {answer}.", Vague, name="mine")
