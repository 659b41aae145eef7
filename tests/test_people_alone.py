"""Ratings of cases that nobody judged, in a run without a local judge: figures, groups and comparisons work."""

from pathlib import Path

import pytest
from rated_run import TINY, cases, scores_of
from typed_here import Run, typing_in

from pathway_local.runs.audit import AuditTrail, check_content
from pathway_local.runs.run_file import RunFile

NAMES = tuple(f"s-{number}" for number in range(1, 41))


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    (tmp_path / "tiny.prompty").write_text(TINY.text)
    rows = [
        f"{case.id},{case.inputs['question']},{case.inputs['answer']},{'AB'[place % 2]},q{place // 2}\n"
        for place, case in enumerate(cases(ids=NAMES))
    ]
    (tmp_path / "cases.csv").write_text("Nr.,question,answer,Chatbot,pair\n" + "".join(rows))
    lines = [f"{name},{(1, 2, 4, 5)[place % 4]},{(1, 2, 4, 4, 5)[place % 5]}\n" for place, name in enumerate(NAMES)]
    (tmp_path / "rated.csv").write_text("Nr.,Ann,Bob\n" + "".join(lines))
    return typing_in(tmp_path, monkeypatch, capsys)


GIVEN = ("--cases", "cases.csv", "--rubric", "tiny.prompty", "--id", "Nr.")
PEOPLE = ("--kind", "human", "--score", "Ann", "--rater", "all/Ann")
BOB = ("--kind", "human", "--score", "Bob", "--rater", "all/Bob")


def test_people_alone_agree_in_groups_and_compare(tmp_path: Path, run: Run) -> None:
    assert run("import", "new.run", "rated.csv", *GIVEN, *PEOPLE).code == 0
    assert run("import", "new.run", "rated.csv", "--id", "Nr.", *BOB).code == 0
    lacking = run("summary", "new.run", "--by", "chatbot")
    assert lacking.code == 2 and "runs keep RUN --cases FILE --column chatbot" in lacking.err
    kept = run("runs", "keep", "new.run", "--cases", "cases.csv", "--column", "chatbot", "--column", "pair")
    assert "kept: Chatbot, pair of 40 cases" in kept.err
    assert run("agreement", "new.run", "--by", "chatbot", "--cluster", "pair").code == 0
    shown = run("summary", "new.run", "--by", "chatbot").out
    assert "all/Ann" in shown and "Chatbot" in shown
    assert "all/Bob" in run("compare", "new.run", "--between", "chatbot=A,B", "--pair-by", "pair").out
    with RunFile.read(tmp_path / "new.run") as read:
        assert len(scores_of(read, "all/Ann")) == 40
        assert AuditTrail(read.database).check() == 0
        check_content(read.database)
        assert b"the answer of s-1" not in (tmp_path / "new.run").read_bytes()


def test_a_hosted_judge_alone(tmp_path: Path, run: Run) -> None:
    (tmp_path / "replies.csv").write_text(
        "Nr.,reply\n" + "".join(f'{name},"Reason: so.\nScore: 4"\n' for name in NAMES)
    )
    done = run("import", "new.run", "replies.csv", *GIVEN, "--kind", "hosted", "--rater", "gpt")
    assert done.code == 0
    with RunFile.read(tmp_path / "new.run") as read:
        assert set(scores_of(read, "gpt").values()) == {4}


def test_a_refused_import_leaves_no_run(tmp_path: Path, run: Run) -> None:
    (tmp_path / "bad.csv").write_text("Nr.,score\ns-1,9\n")
    refused = run("import", "new.run", "bad.csv", *GIVEN, "--kind", "human", "--rater", "ann")
    assert refused.code == 3
    assert list(tmp_path.glob("new.run*")) == []
    mapped = run("import", "new.run", "bad.csv", "--kind", "human", "--map", "answer=Text")
    assert mapped.code == 2 and "--cases" in mapped.err
    unnamed = run("import", "new.run", "bad.csv", "--cases", "cases.csv", "--kind", "human", "--rater", "ann")
    assert unnamed.code == 2 and "--rubric" in unnamed.err


def test_a_refused_import_leaves_no_rubric_in_a_run_that_was_there(tmp_path: Path, run: Run) -> None:
    assert run("import", "new.run", "rated.csv", *GIVEN, *PEOPLE).code == 0
    (tmp_path / "other.prompty").write_text(TINY.text.replace("name: tiny", "name: other"))
    (tmp_path / "bad.csv").write_text("Nr.,score\ns-1,9\n")
    other = ("--cases", "cases.csv", "--rubric", "other.prompty", "--kind", "human", "--rater", "ann")
    assert run("import", "new.run", "bad.csv", *other).code == 3
    with RunFile.read(tmp_path / "new.run") as read:
        assert list(read.rubrics()) == ["tiny"]
        check_content(read.database)
    (tmp_path / "good.csv").write_text("Nr.,score\ns-1,2\n")
    assert run("import", "new.run", "good.csv", *other).code == 0


def test_only_the_texts_that_were_rated_get_columns(tmp_path: Path, run: Run) -> None:
    run("import", "new.run", "rated.csv", *GIVEN, *PEOPLE)
    sheet = tmp_path / "cases.csv"
    sheet.write_text(sheet.read_text().replace("the answer of s-7,", "another answer,"))
    kept = run("runs", "keep", "new.run", "--cases", "cases.csv", "--column", "pair")
    assert "kept: pair of 39 cases" in kept.err and "one case of the run is not in cases.csv" in kept.err
    for column, what in (("answer", "an input of the rubric"), ("Nr.", "the column of the ids")):
        refused = run("runs", "keep", "new.run", "--cases", "cases.csv", "--column", column)
        assert refused.code == 2 and f"{column} is {what}" in refused.err


def test_a_judged_run_takes_ratings_of_further_cases(tmp_path: Path, run: Run) -> None:
    some = "".join((tmp_path / "rated.csv").read_text().splitlines(keepends=True)[:11])
    (tmp_path / "first.csv").write_text(some)
    assert run("import", "new.run", "first.csv", *GIVEN, *PEOPLE).code == 0
    refused = run("import", "new.run", "rated.csv", *PEOPLE)
    assert refused.code == 3 and "matches no case" in refused.err
    assert run("import", "new.run", "rated.csv", "--cases", "cases.csv", *PEOPLE).code == 0
    with RunFile.read(tmp_path / "new.run") as read:
        assert len(scores_of(read, "all/Ann")) == 40
