"""The label of a demonstration judge stands wherever a person reads its verdicts, in each language of the pages."""

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
    sentence = " ".join(Language(lang).text("notes", "caution", {"rater": "demo", "label": SAYS}).split())
    assert run("read", "a.run", "--cases", "cases.jsonl", "--out", "read.html", "--lang", lang).code == 0
    page = PageParser(Path("read.html").read_text()).said
    assert page.count(sentence) == page.count("demo " + Language(lang).word("judge")) == 4 + 1  # one above the table


def test_a_report_says_it_before_other_warnings(run: Run, tmp_path: Path) -> None:
    """A report's first page has room for three warnings alone."""
    assert run("report", "a.run", "--out", "report.html").code == 0
    said, other = PageParser(Path("report.html").read_text()).said, "People have rated only 4 cases"
    assert 0 < said.find(f"demo: {SAYS}") < said.find(other), said


def test_the_viewer_says_it_beside_each_verdict(run: Run, tmp_path: Path) -> None:
    sentence = f"demo: {SAYS}"
    with viewing(tmp_path / "a.run", None) as desk:
        answer = desk.get("/table/0")
        assert len(answer.table) == 4 and answer.said.count(sentence) == 1
        for link in [each["href"] for each in answer.page.of("a") if "/case/" in each["href"]]:
            assert desk.ask("GET", link).said.count(sentence) == 1
        assert sentence in desk.chosen(rater="ann").said  # whose row shows the judge as well
