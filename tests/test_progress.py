"""What is told while a job runs."""

import pytest

from pathway_local.cli.judge import JobProgress
from pathway_local.cli.start import _Count
from pathway_local.judging.loop import Tally
from pathway_local.judging.progress import FIRST_LINE, duration
from pathway_local.verdict import Tokens


def test_the_pace_is_that_of_judging_not_of_loading(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = [0.0]
    monkeypatch.setattr("pathway_local.judging.progress.time.monotonic", lambda: clock[0])
    progress = JobProgress()
    progress.begin("tiny", 50)
    tally = Tally(skipped=5)
    tally.failures["bad-row"] = 3
    progress.watch(tally)
    clock[0] = 100.0
    progress.ready()
    clock[0] += FIRST_LINE
    tally.judged, tally.tokens = 20, Tokens(1000, 500, 200)
    progress.watch(tally)
    assert (
        "tiny: 28 of 50 done, 2.0 cases/s, 120 tokens/s, cache 50%, 3 failed, about 11 s left"
        in capsys.readouterr().err
    )


def test_lines_without_a_terminal_come_at_growing_distances(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = [0.0]
    monkeypatch.setattr("pathway_local.judging.progress.time.monotonic", lambda: clock[0])
    progress = JobProgress()
    progress.begin("tiny", 36_000)
    progress.loading("tiny")
    progress.ready()
    for second in range(0, 36_001, 5):
        clock[0] = float(second)
        progress.watch(Tally(judged=second))
    progress.end()
    loading, *lines = capsys.readouterr().err.splitlines()
    assert loading == "loading tiny"
    done = [int(line.split()[1]) for line in lines]
    assert done[:4] == [10, 30, 70, 150]
    assert done[-1] == 36_000
    assert len(done) < 40
    assert "about 10 h left" in lines[0]


def test_a_note_is_broken_between_words_and_a_command_stays_whole(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    progress = JobProgress()
    progress._changes = True
    progress.begin("tiny", 65)
    progress.watch(Tally(judged=60))
    said = "the memory is enough for prompt and reply of 4,096 tokens together"
    progress.notice(said)
    *_, note = capsys.readouterr().err.split("\r")
    assert (note.split(), max(map(len, note.splitlines())) < 40) == (["note:", *said.split()], True)
    progress.notice("what was merged is stored; `pathway-local judge cases.csv` goes on with the rest")
    assert capsys.readouterr().err.count("\n") == 1
    monkeypatch.setenv("COLUMNS", "1")
    progress.notice("no room")
    assert capsys.readouterr().err.endswith("\rnote:\nno\nroom\n")


def test_a_signal_is_told_on_a_line_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    progress = JobProgress()
    progress._changes = True
    progress.begin("tiny", 65)
    progress.watch(Tally(judged=60))
    progress.stop(2)
    *_, last = capsys.readouterr().err.split("\r")
    assert last.startswith("stopping: ")
    assert last.endswith("\n")
    assert progress.stopped()


def test_the_dialog_tells_a_signal_in_its_own_words(capsys: pytest.CaptureFixture[str]) -> None:
    progress = _Count()
    progress.stop(2)
    assert capsys.readouterr().err == ""
    assert progress.stopped()


@pytest.mark.parametrize(
    ("seconds", "said"), [(0.2, "1 s"), (89, "89 s"), (90, "2 min"), (3600, "1 h"), (12_000, "3 h 20 min")]
)
def test_an_estimate_of_time_has_few_digits(seconds: float, said: str) -> None:
    assert duration(seconds) == said
