"""Writing in one piece: nothing of it is on the disk before the end, and nothing is left when it fails."""

from pathlib import Path

import pytest
from sample_run import VERDICT, case, new_run, stored

from pathway_local.errors import RunFileError
from pathway_local.rater import Rater
from pathway_local.runs.run_file import RunFile

COUNT = "SELECT (SELECT count(*) FROM outcomes), (SELECT count(*) FROM raters)"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "may.run"


def test_others_see_all_of_it_or_nothing(path: Path) -> None:
    run, rater = new_run(path)
    with run:
        run.put(rater, case("before"), VERDICT)
        with run.together():
            second = run.add_rater(Rater("ann", "human", "grounded", {}))
            for number in range(20):
                run.put(second, case(f"c{number}", number), VERDICT)
            assert stored(path, COUNT) == [(1, 1)]
        assert stored(path, COUNT) == [(21, 2)]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, RunFileError])
def test_a_block_that_fails_is_undone_and_the_run_goes_on(path: Path, error: type[BaseException]) -> None:
    run, rater = new_run(path)
    with run:
        with pytest.raises(error), run.together():
            run.add_rater(Rater("ann", "human", "grounded", {}))
            run.put(rater, case("a"), VERDICT)
            raise error("stop")
        assert list(run.records()) == []
        run.put(rater, case("b"), VERDICT)
    assert stored(path, COUNT) == [(1, 1)]
    with RunFile.read(path) as read:
        assert [record.case_id for record in read.records()] == ["b"]
