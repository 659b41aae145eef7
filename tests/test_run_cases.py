"""Whether the ids of a run's cases are their row numbers: said once, by the first cases."""

from pathlib import Path

import pytest
from rated_run import TINY, add, cases, said

from pathway_local.errors import RunFileError
from pathway_local.runs.run_cases import cases_of, remember, rows_are_ids
from pathway_local.runs.run_file import RunFile


def test_a_run_with_row_numbers_takes_no_other_ids_but_a_stopped_command_binds_nobody(tmp_path: Path) -> None:
    by_row, by_id = tmp_path / "rows.csv", tmp_path / "ids.csv"
    by_row.write_text("question,answer\nq,a\n")
    by_id.write_text("id,question,answer\nx,q,a\n")
    with RunFile.create(tmp_path / "a.run") as run:
        remember(run, cases_of(by_row, [TINY], run), {})
        assert rows_are_ids(run) is None, "before its first case"
        cases_of(by_id, [TINY], run)
        add(run, "ann", said(4, ids=["2"]), rows=cases(by_row=True))
        assert rows_are_ids(run)
        with pytest.raises(RunFileError, match="row numbers as ids"):
            cases_of(by_id, [TINY], run)
    with RunFile.create(tmp_path / "b.run") as run:
        remember(run, cases_of(by_id, [TINY], run), {})
        add(run, "ann", said(4))
        assert rows_are_ids(run) is False


def test_a_named_header_is_remembered_for_the_file_of_that_name(tmp_path: Path) -> None:
    sheet, other = tmp_path / "a.csv", tmp_path / "b.csv"
    for path in (sheet, other):
        path.write_text("question,answer\nquery,answer\nWo?,Da.\n")
    with RunFile.create(tmp_path / "a.run") as run:
        remember(run, cases_of(sheet, [TINY], run, header_row=2), {})
        assert [len(list(cases_of(path, [TINY], run))) for path in (sheet, other)] == [1, 2]
