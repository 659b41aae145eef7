"""A mistyped command is refused; another kind of file is told what it is."""

from pathlib import Path

import pytest
from typed_here import Run

from pathway_local.errors import RunDamaged
from pathway_local.runs.run_file import RunFile


def test_a_command_that_does_not_exist(run: Run) -> None:
    said = run("sumary", "a.csv")
    assert said.code == 2 and "No such command 'sumary'" in said.err


def test_a_file_of_another_kind_is_no_run(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("question,answer\n" * 50)
    with pytest.raises(RunDamaged, match="not a run file, or its beginning is damaged") as caught:
        RunFile.read(tmp_path / "a.csv")
    assert "Name the run that `judge` wrote" in caught.value.hint
