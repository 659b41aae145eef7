"""A mistyped command or file is answered with the one that was probably meant; another kind of file with what it is."""

from pathlib import Path

import pytest
from typed_here import Run

from pathway_local.errors import RunDamaged
from pathway_local.runs.run_file import RunFile


@pytest.mark.parametrize(
    ("typed", "hint"),
    [
        ("sumary", "Did you mean `pathway-local summary`?"),
        ("adopt", "Did you mean `pathway-local rubrics adopt`?"),
        ("check", "Did you mean `pathway-local rubrics check` or `pathway-local judges check`?"),
        ("xyzzy", "See `pathway-local --help` for all commands."),
    ],
)
def test_a_command_that_does_not_exist(run: Run, typed: str, hint: str) -> None:
    said = run(typed, "a.csv")
    assert said.code == 2
    assert said.err.splitlines() == [f"error: no command is called {typed!r}", f"       {hint}"]


def test_a_file_of_another_kind_is_no_run(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("question,answer\n" * 50)
    with pytest.raises(RunDamaged, match="not a run file, or its beginning is damaged") as caught:
        RunFile.read(tmp_path / "a.csv")
    assert "Name the run that `judge` wrote" in caught.value.hint
