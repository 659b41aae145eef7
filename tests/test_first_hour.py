"""Every command on the page of the first hour works on its files; only the judge's model is a stand-in."""

import re
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import openpyxl
import pytest
from typed_here import typing_in

from pathway_local.case import Case, fingerprint
from pathway_local.judging.loop import Tally
from pathway_local.judging.plan import Plan
from pathway_local.judging.planned_rater import planned_rubrics
from pathway_local.rater import Rater
from pathway_local.runs.run_cases import cases_of, remember
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.run_rubrics import store_rubric
from pathway_local.verdict import Score, Verdict

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "first-hour.md").read_text(encoding="utf-8")


def judge(plan: Plan, watcher: object, command: Sequence[str]) -> list[Tally]:
    """Give every case of the file a 3."""
    (rubric,) = planned_rubrics(plan, None).values()
    cases = cases_of(plan.cases, [rubric], None, plan.id, plan.map, header_row=plan.header_row)
    with RunFile.create(plan.run) as run:
        store_rubric(run, rubric)
        rater = run.add_rater(Rater("demo", "judge", rubric.name, {"judge": "demo"}))
        run.set_setting("label:demo", "a demonstration judge")
        remember(run, cases, plan.map)
        keep = [cases.column(name) for name in plan.keep or ()]
        for case in cases:
            assert isinstance(case, Case)
            verdict = Verdict({"score": Score(3.0, {3.0: 0.75, 4.0: 0.25})}, {"reasons": "because"})
            run.put(rater, case.ref(fingerprint(run.key, rubric.texts_of(case))), verdict, keep=keep)
    return []


def test_every_command_of_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("pathway_local.cli.judge.run_job", judge)
    run = typing_in(tmp_path, monkeypatch, capsys)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    commands = [line for block in re.findall(r"```\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines()]
    assert {line.split()[1] for line in commands} == {
        "start", "rubrics", "judge", "summary", "export", "import", "agreement", "compare", "sample", "read", "report",
        "runs",
    }  # fmt: skip
    said = [(line, run(*shlex.split(line)[1:])) for line in commands]
    failed = {line.split()[-1]: found.code for line, found in said if found.code}
    # `start` needs a terminal, and one of the hosted judge's replies is unreadable.
    assert failed == {"pt": 2, "externo": 1}
    out = {" ".join(line.split()[1:3]): found.words for line, found in reversed(said)}
    summaries = [found.words for line, found in said if " summary " in line]
    for chatbot in ("EduBot", "Lince", "Guia"):
        assert re.search(rf"{chatbot}( demo)? 12 ", summaries[0]) and re.search(rf"{chatbot} demo 10 ", summaries[1])
    ana, rui, hosted = (found for line, found in said if " import " in line)
    assert "juri/Ana 36" in ana.words and "juri/Rui 36" in rui.words
    assert "1 unreadable-reply" in hosted.out
    assert "Krippendorff's alpha" in out["agreement primeira.run"], "half points are levels of the scale"
    book = openpyxl.load_workbook(tmp_path / "primeira.xlsx")
    assert book.sheetnames == ["verdicts"]
    scored = openpyxl.load_workbook(tmp_path / "pontuada.xlsx").worksheets[0]
    assert str(scored["A1"].value).startswith("Avaliação dos chatbots")
    heads = [cell.value for cell in scored[4]]
    assert heads[:3] == ["Nº", "Aluno", "Chatbot"] and "demo.correcao.score" in heads
    assert "juri/Ana.correcao.notes" in heads and "demo.correcao.score_p3" not in heads
    assert "Lince" in (tmp_path / "relatorio.html").read_text()
    assert "biblioteca" in (tmp_path / "ler.html").read_text()
    with RunFile.read(tmp_path / "primeira.run") as left:
        assert {record.metadata["Aluno"] for record in left.records()} == {"a01", "a02", "a04", "a05", "a06"}


def test_the_page_s_pictures_are_there_small_and_load_nothing() -> None:
    pictures = [ROOT / "docs" / name for name in re.findall(r"!\[[^]]+\]\(([^)]+)\)", PAGE)]
    assert {picture.suffix for picture in pictures} == {".svg"}
    assert sorted(pictures) == sorted((ROOT / "docs" / "pictures").glob("first-hour-*"))
    assert sum(picture.stat().st_size for picture in pictures) < 300_000
    drawn = "".join(picture.read_text(encoding="utf-8") for picture in pictures)
    assert not re.search(r"url\((?!#)|@import|href|<script", drawn)
    assert "stand in for these people" in drawn.replace("&#160;", " ")


@pytest.mark.parametrize("page", ["README.md", "docs/first-hour.md"])
def test_files_that_its_commands_write_into_a_clone_are_not_committed(tmp_path: Path, page: str) -> None:
    shutil.copy(ROOT / ".gitignore", tmp_path)
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    commands = [line for line in (ROOT / page).read_text().splitlines() if line.startswith("pathway-local ")]
    written = {name for line in commands for name in re.findall(r"--(?:out|run) (\S+)", line)}
    assert {Path(name).suffix for name in written} >= {".xlsx", ".html"}
    for name in written:
        subprocess.run(["git", "check-ignore", "-q", name], cwd=tmp_path, check=True)
