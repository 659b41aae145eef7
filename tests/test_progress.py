"""What is told while a job runs."""

import pytest

from pathway_local.cli.progress import PLAIN_SECONDS, JobProgress
from pathway_local.judging.loop import Tally
from pathway_local.verdict import Tokens


def test_the_pace_is_that_of_judging_not_of_loading(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = [0.0]
    monkeypatch.setattr("pathway_local.cli.progress.time.monotonic", lambda: clock[0])
    progress = JobProgress()
    progress.begin("tiny", 50)
    tally = Tally(skipped=5)
    tally.failures["bad-row"] = 3
    progress.watch(tally)
    clock[0] = 100.0
    progress.ready()
    clock[0] += PLAIN_SECONDS
    tally.judged, tally.tokens = 20, Tokens(1000, 500, 200)
    progress.watch(tally)
    assert "tiny: 28 of 50 done, 2.0 cases/s, 120 tokens/s, cache 50%, 3 failed" in capsys.readouterr().err
