"""The form of a run file: another release's is refused."""

import sqlite3
from pathlib import Path

import pytest
from sample_run import new_run

from pathway_local.errors import RunFileError
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.schema import FORM


@pytest.mark.parametrize("form", [FORM - 1, FORM + 1])
@pytest.mark.parametrize("opened", [RunFile.open, RunFile.read])
def test_a_run_of_another_release_is_refused(tmp_path: Path, form: int, opened: object) -> None:
    path = tmp_path / "may.run"
    new_run(path)[0].close()
    db = sqlite3.connect(path)
    db.execute(f"PRAGMA user_version = {form}")
    db.close()
    assert callable(opened)
    with pytest.raises(RunFileError, match=f"another release .*form {form}, this one reads {FORM}") as refused:
        opened(path)
    assert refused.value.hint == "Open it with that release."
