"""The label of a demonstration judge stands wherever a person reads its verdicts, in each language of the pages."""

import json
from pathlib import Path

import pytest
from html_page import PageParser
from rated_run import IDS, add, cases, said, write_lines
from typed_here import Run, typing_in
from viewed import viewing

from pathway_local.rater import LABEL
from pathway_local.runs.run_file import RunFile
from pathway_local.verdict import Score, Verdict
from pathway_local.words import languages
from pathway_local.words.language import Language

SAYS = "a demonstration judge whose scores mean nothing"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """The command line, beside a run in which a labelled judge and a person have scored all cases."""
    with RunFile.create(tmp_path / "a.run") as made:
        sure = {name: Verdict({"score": Score(5, {5: 0.999})}, {"reason": "so"}) for name in IDS}
        add(made, "demo", sure)
        add(made, "ann", said(1, 2, 4, 5), kind="human")
        made.set_setting(f"{LABEL}demo", SAYS)
    write_lines(tmp_path / "cases.jsonl", [{"id": case.id, **case.inputs} for case in cases()]).chmod(0o600)
    return typing_in(tmp_path, monkeypatch, capsys)


@pytest.mark.parametrize("lang", languages())
def test_pages_say_it_beside_each_verdict(lang: str, run: Run, tmp_path: Path) -> None:
    sentence = " ".join(Language(lang)("label_warning", rater="demo", label=SAYS).split())
    for by, count in (("score", 4 + 1), ("disagreement", 3 + 3)):  # beside each verdict, and above each table
        given = ("--cases", "cases.jsonl", "--out", f"{by}.html", "--lang", lang)
        assert run("read", "a.run", "--by", by, *given).code == 0
        page = PageParser(Path(f"{by}.html").read_text()).said
        judged = page.count("demo " + Language(lang)("kind_judge"))
        assert page.count(sentence) == judged == count
    with viewing(tmp_path / "a.run", None, lang=lang) as desk:
        answer = desk.get("/table/0")
        assert len(answer.table) == 4 and answer.said.count(sentence) == 1
        for link in [each["href"] for each in answer.page.of("a") if "/case/" in each["href"]]:
            assert desk.ask("GET", link).said.count(sentence) == 1
        assert sentence in desk.chosen(rater="ann").said  # whose row shows the judge as well


def test_the_terminal_and_json_say_it(run: Run) -> None:
    assert f"Warning: demo: {SAYS}" in run("read", "a.run", "--by", "disagreement").words
    tables = json.loads(run("read", "a.run", "--by", "disagreement", "--json").out)
    assert [note["text"] for each in tables for note in each["notes"] if note["key"] == "caution"] == [f"demo: {SAYS}"]
