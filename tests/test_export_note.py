"""Whatever a command writes of a run to a file stands in its audit trail, or the user is told that it could not."""

import fcntl
import select
from pathlib import Path

import pytest
from agreement_run import answers_run
from typed import Desk
from typed_here import typing_in

from pathway_local.runs.audit import AuditTrail, file_facts
from pathway_local.runs.run_file import RunFile


@pytest.mark.parametrize(
    "command",
    [
        ["agreement"],
        ["compare", "--between", "audience=guest,staff", "--pair-by", "chatbot"],
        ["export"],
        ["report"],
    ],
)
def test_a_file_of_figures_is_an_export(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answers_run(tmp_path / "answers.run")
    out = "out.html" if command == ["report"] else "out.csv"
    said = typing_in(tmp_path, monkeypatch, capsys)(command[0], "answers.run", *command[1:], "--out", out)
    assert said.code == 0, said
    with RunFile.read(tmp_path / "answers.run") as run:
        entry, key = AuditTrail(run.database).entries()[-1], run.key
    assert entry.event == "export"
    assert file_facts(tmp_path / out, key).items() <= entry.facts.items()
    assert "guest" not in str(entry.facts)


def test_it_is_told_that_an_export_is_not_in_the_trail(tmp_path: Path, tiny_judge: Path) -> None:
    desk = Desk(tmp_path / "d", tiny_judge)
    desk.typed(*desk.judging(desk.cases(100)))
    with desk.begun("export", "may.run", "--out", "-") as process:
        assert process.stdout
        fcntl.fcntl(process.stdout, fcntl.F_SETPIPE_SZ, 4096)
        # What it writes fills the pipe: until that is read, it is not done, and the run can go away under it.
        assert select.select([process.stdout], [], [], 120)[0]
        for file in desk.work.glob("may.run*"):
            file.rename(file.with_name(f"away.{file.name}"))
        _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert "may.run is read-only, so its audit trail does not record this export" in err
