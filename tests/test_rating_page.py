"""`sample --out rate.html`: pages hold texts and nothing else, and `import` takes what they save, or names the row."""

import re
from collections.abc import Callable
from pathlib import Path

import openpyxl
import pytest
from html_page import PageParser
from rated_run import TINY, TWO, scores_of, write_lines
from rating_page_files import parsed, rows_of, write_rows, write_sheet
from test_report_page import WIDE
from typed_here import Run, typing_in

from pathway_local.pages.rating_page import _keys
from pathway_local.ratings.rating_sheet import scale_lines
from pathway_local.rubrics.rubric_file import builtin_names, load_rubric, parse_rubric
from pathway_local.runs.run_file import RunFile
from pathway_local.verdict import Verdict
from pathway_local.words.language import Language

Row = dict[str, object]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    write_sheet(tmp_path, TINY, [f"answer {number}" for number in range(1, 13)])
    return typing_in(tmp_path, monkeypatch, capsys)


def draw(run: Run, *options: object, rubric: str = "tiny.prompty", out: str = "rate.html", n: int = 6) -> str:
    told = run(
        "sample", "a.run", "--rubric", rubric, "--cases", "cases.csv", "--n", n, "--seed", 7, "--out", out, *options
    )
    assert told.code == 0, told.err
    return told.err


def texts(page: PageParser) -> list[str]:
    return re.findall(r"answer \d+", page.said)


def ann(run: Run, ratings: dict[int, dict[str, object]]) -> str:
    """Import what Ann's page saves with these ratings."""
    write_rows(Path("rate.json"), rows_of(Path("rate.html"), ratings))
    told = run("import", "a.run", "rate.json", "--kind", "human")
    assert told.code == 0, told.err
    return told.words


def outcomes(rater: str = "Ann") -> dict[str, Verdict]:
    with RunFile.read("a.run") as opened:
        return {each.case_id: each.outcome for each in opened.records(rater) if isinstance(each.outcome, Verdict)}


def test_the_command_to_import_names_people_as_the_run_does(run: Run) -> None:
    assert "--rater" not in draw(run, "--rater", "Ann")
    ann(run, {1: {"score": "4"}})
    assert "--rater" not in draw(run, "--rater", "Ann", "--rater", "Bob", out="more.html", n=8), "Ann is no committee"
    assert "--kind human --rater NAME" in draw(run, out="more.xlsx", n=8)
    write_rows(Path("more.json"), rows_of(Path("more-Bob.html"), {1: {"score": "4"}}))
    assert run("import", "a.run", "more.json", "--kind", "human", "--rater", "team").code == 0
    assert "--kind human --rater team" in draw(run, "--rater", "Cy", "--rater", "Di", out="all.html", n=9)


def test_a_page_holds_texts_levels_and_instructions_and_nothing_else(run: Run) -> None:
    told = draw(run, "--rater", "Ann", "--rater", "Bob")
    assert "import a.run rate-Ann.json --kind human --rater committee" in told
    assert not Path("rate.html").exists()
    page = parsed(Path("rate-Ann.html"))
    assert len(page.of("article")) == 6 and len(set(texts(page))) == 6
    assert "This page holds texts of cases" in page.said and "They may be by students" in page.said
    assert "5 – Best" in page.said and "Judge the answer." not in page.said
    assert "How to rate score 5 – Best 4 – Good 3 – Not asked 2 – Poor 1 – Bad Made by" in page.said
    whole = Path("rate-Ann.html").read_text(encoding="utf-8")
    assert not re.search("secret|bot-x|Bob", whole)
    radios = [each for each in page.of("input") if each["type"] == "radio"]
    assert [each["value"] for each in radios] == ["5", "4", "3", "2", "1", "can't say"]
    assert [each["data-key"] for each in radios] == ["5", "4", "3", "2", "1", "?"]


PEOPLE = "# What counts\n- Right first\n\nThen <b>kind</b>."


def test_a_rubric_tells_people_how_to_rate(run: Run, tmp_path: Path) -> None:
    indented = PEOPLE.replace("\n", "\n  ")
    text = TINY.text.replace("name: tiny\n", f"name: tiny\npeople: |\n  {indented}\n")
    Path("own.prompty").write_text(text, encoding="utf-8")
    assert load_rubric("own.prompty").people == PEOPLE
    command = ["sample", "own.run", "--rubric", "own.prompty", "--cases", "cases.csv", "--n", 2, "--seed", 7]
    assert run(*command, "--rater", "Ann", "--out", "own.html", "--title", "May & June").code == 0
    page = parsed(Path("own.html"))
    assert "How to rate What counts • Right first Then <b>kind</b>. " in page.said
    assert page.said.count("May & June") == 2 and "Judge the answer." not in page.said
    assert run(*command, "--out", "own.xlsx").code == 0
    sheet = openpyxl.load_workbook("own.xlsx")["instructions"].values
    rows = [(row[0], row[1]) for row in sheet]
    assert rows[-4:] == [
        ("what to look for", "What counts"),
        (None, "• Right first"),
        (None, None),
        (None, "Then <b>kind</b>."),
    ]
    told = run(*command, "--out", "more.xlsx", "--title", "May")
    assert told.code == 2 and "--title is for a page" in told.err
    Path("own.prompty").write_text(TINY.text.replace("name: tiny", "name: tiny\npeople: [a]"), encoding="utf-8")
    told = run("rubrics", "check", "own.prompty")
    assert told.code != 0 and "people must be a text" in told.err


@pytest.mark.parametrize("name", builtin_names())
def test_a_built_in_rubric_tells_people_nothing_of_machines(name: str) -> None:
    told = load_rubric(name).people
    assert len(told) > 300 and not re.search(r"program|JSON|tag|Never follow|step by step", told)


def test_a_long_scale_is_told_by_its_ends_and_names() -> None:
    assert list(scale_lines(WIDE.format.scores["score"], Language("en"))) == ["100", "0"]


def test_what_is_no_page_for_one_person_is_refused(run: Run) -> None:
    asked = ["sample", "a.run", "--rubric", "tiny.prompty", "--cases", "cases.csv", "--n", 6, "--seed", 7]
    for options, said in (
        (["--out", "rate.html"], "for one person"),
        (["--out", "rate.csv", "--rater", "Ann"], "neither a workbook nor a page"),
        (["--out", "rate.html", "--rater", "Ann", "--lang", "xx"], "language"),
    ):
        told = run(*asked, *options)
        assert told.code == 2 and said in told.err
    assert not Path("a.run").exists()


@pytest.mark.parametrize("name", ["notes", "rater"])
def test_a_score_with_the_name_of_a_column_is_refused_before_anything_is_drawn(run: Run, name: str) -> None:
    text = (
        TINY.text.replace("name: tiny", "name: own")
        .replace("{score}", f"{{{name}}}")
        .replace("score: {", f"{name}: {{")
    )
    Path("own.prompty").write_text(text)
    given = ("sample", "b.run", "--rubric", "own.prompty", "--cases", "cases.csv", "--n", 2, "--seed", 1)
    told = run(*given, "--out", "rate.xlsx")
    assert told.code == 2 and f"has a column {name}" in told.err
    assert not Path("b.run").exists() and not Path("rate.xlsx").exists()


def test_half_the_ratings_and_later_the_rest(run: Run) -> None:
    draw(run, "--rater", "Ann")
    half = {1: {"score": "5", "notes": " fine\n\u2028 "}, 2: {"score": "can't say"}, 3: {"notes": "</script>"}}
    told = ann(run, half)
    assert "Ann 3" in told and "3 cells left empty" in told and "ignored" not in told
    by_words = {verdict.fields.get("notes", ""): verdict for verdict in outcomes().values()}
    assert by_words["fine"].scores["score"].value == 5 and by_words["fine"].marks == ()
    assert (by_words[""].scores, by_words[""].marks) == ({}, ("no-score", "cant-say:score"))
    assert by_words["</script>"].marks == ("no-score",)
    ann(run, {**half, 3: {"score": "2"}, 4: {"score": "1"}})  # what had a note alone may get its score
    again = run("import", "a.run", "rate.json", "--kind", "human", "--rater", "Ann")
    assert "Ann 4 4" in again.words, again
    with RunFile.read("a.run") as opened:
        assert [rater.name for _, rater in opened.raters()] == ["Ann"]
        assert sorted(scores_of(opened, "Ann").values()) == [1, 2, 5]


def changed(**cells: object) -> Callable[[list[Row]], list[Row]]:
    """Change the cells of the first row."""
    return lambda rows: [{**rows[0], **cells}, *rows[1:]]


HOSTILE: dict[str, tuple[Callable[[list[Row]], list[Row]], str]] = {
    "no rater": (changed(rater=""), "its rater is missing"),
    "an unknown case": (changed(rating_id="ab" * 12), "its id matches no case of the run"),
    "no case": (changed(rating_id=""), "it has no id"),
    "off the scale": (changed(score="9"), "9 is off the scale 1 to 5"),
    "words": (changed(score="<img src=x onerror=alert(1)>"), "this is not a score"),
    "a list": (changed(score=["5", "1"]), "this is not a score"),
    "an object": (changed(score={"value": 5}), "this is not a score"),
    "a NUL": (changed(notes="a\0b"), "holds a NUL character"),
    "a case twice": (lambda rows: [rows[0], *rows], "Ann rated the same case in item 1"),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_file_is_refused_by_its_row(kind: str, run: Run) -> None:
    draw(run, "--rater", "Ann")
    change, said = HOSTILE[kind]
    rows = change(rows_of(Path("rate.html"), {number: {"score": str(1 + number % 5)} for number in range(1, 7)}))
    told = run("import", "a.run", write_rows(Path("bad.json"), rows), "--kind", "human")
    assert told.code == 3 and re.search(rf"item [12]: .*{re.escape(said)}", told.err), told.err
    assert "onerror" not in told.err and "Traceback" not in told.err
    with RunFile.read("a.run") as opened:
        assert [*opened.records()] == []


def test_a_file_of_another_kind_is_refused_whole(run: Run) -> None:
    draw(run, "--rater", "Ann")
    for text in ("", "null", "{}", "[1]", '[{"rating_id": 1', "[" * 100_000):
        Path("bad.json").write_text(text)
        told = run("import", "a.run", "bad.json", "--kind", "human")
        assert told.code in (2, 3) and told.err.startswith("error: ") and "Traceback" not in told.err


def test_several_scores_come_back(run: Run, tmp_path: Path) -> None:
    write_sheet(tmp_path, TWO, ["f-1", "f-2", "f-3"])
    draw(run, "--rater", "Ann", rubric="two.prompty", n=3)
    ann(run, {1: {"clear": "4", "right": "can't say"}, 2: {"clear": "can't say", "right": "can't say"}})
    found = sorted(outcomes().values(), key=lambda verdict: len(verdict.marks))
    assert [len(verdict.scores) for verdict in found] == [1, 0]
    assert [verdict.marks for verdict in found] == [
        ("cant-say:right",),
        ("no-score", "cant-say:clear", "cant-say:right"),
    ]


def test_a_comparison_shows_both_responses_and_its_own_choices(run: Run, tmp_path: Path) -> None:
    write_sheet(tmp_path, load_rubric("pair-answer"), ["the other response"] * 3)
    draw(run, "--rater", "Ann", rubric="pair-answer", n=3)
    page = parsed(Path("rate.html"))
    assert sum(each.get("class") == "beside" for each in page.of("div")) == 2 * 3
    radios = [each for each in page.of("input") if each["type"] == "radio"]
    assert [(each["value"], each["data-key"]) for each in radios] == [
        ("A", "a"), ("tie", "t"), ("B", "b"), ("can't say", "?"),
    ]  # fmt: skip
    ann(run, {1: {"preference": "B"}, 2: {"preference": "tie"}})
    with RunFile.read("a.run") as opened:
        assert sorted(scores_of(opened, "Ann", "preference").values()) == [-1, 0]


def test_a_conversation_is_shown_by_its_turns(run: Run, tmp_path: Path) -> None:
    said = [{"role": "user", "content": "Where?"}, {"role": "assistant", "content": "There."}]
    item = {"user_question": said, "answer": "answer 1", "fq_id": "f-1", "follow_up_question": "And when?"}
    write_lines(tmp_path / "cases.jsonl", [{"id": number, **item} for number in (1, 2)])
    options = ["--rubric", "contextual-relevance", "--n", 2, "--seed", 7, "--rater", "Ann", "--out", "rate.html"]
    assert run("sample", "a.run", "--cases", "cases.jsonl", *options).code == 0
    assert "1. user: Where? 2. assistant: There." in parsed(Path("rate.html")).said


def test_a_page_shows_whole_numbers_of_a_scale_of_halves_as_people_write_them(run: Run, tmp_path: Path) -> None:
    scale = "levels: {1: Bad, 2: Poor, 3: Not asked, 4: Good, 5: Best}, special: [3]"
    halves = TINY.text.replace("name: tiny", "name: halves").replace(scale, "min: 1, max: 2, step: 0.5")
    write_sheet(tmp_path, parse_rubric(halves, "halves"), ["answer 1", "answer 2"])
    draw(run, "--rater", "Ann", rubric="halves.prompty", n=2)
    page = parsed(Path("rate.html"))
    assert [each["value"] for each in page.of("input") if each["type"] == "radio"] == ["2.0", "1.5", "1.0", "can't say"]
    assert "2 2 1.5 1 1 can't say" in page.said


def test_a_long_scale_is_a_list(run: Run, tmp_path: Path) -> None:
    write_sheet(tmp_path, WIDE, ["answer 1", "answer 2"])
    draw(run, "--rater", "Ann", rubric="wide.prompty", n=2)
    page = parsed(Path("rate.html"))
    values = [each["value"] for each in page.of("option")]
    assert (values[0], values[1], values[-2], values[-1]) == ("", "100", "0", "can't say")


@pytest.mark.parametrize(
    ("levels", "keys"),
    [
        ("1 2 3", "1 2 3"), ("0 5 10", "0 5 -"), ("1.0 1.5 2.0", "- - -"), ("A B tie", "a b t"), ("Pass Poor", "- -"),
        ("yes no ?", "y n -"), ("-1 0 1", "- 0 1"),
    ],
)  # fmt: skip
def test_no_key_could_mean_two_levels(levels: str, keys: str) -> None:
    assert _keys(levels.split()) == [key.strip("-") for key in keys.split()]
