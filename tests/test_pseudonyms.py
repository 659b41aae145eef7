"""Minimal runs: pseudonyms by a key that stays apart, verdicts without words, and files that others can't read."""

import csv
import json
import os
import stat
from pathlib import Path

import pytest
from typed import Desk

from pathway_local.errors import UsageError
from pathway_local.sheets.pseudonyms import Pseudonyms
from pathway_local.system.private_file import exposed_to

WORDS = ("case-0", "case-1", "COHORTGNU")


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_one_key_one_pseudonym(tmp_path: Path) -> None:
    key = tmp_path / "sub" / "key"
    made = Pseudonyms.at(key, make=True)
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    again = Pseudonyms.of_file(key)
    ids = [f"student {number}" for number in range(2000)]
    names = [made.of(each) for each in ids]
    assert names == [again.of(each) for each in ids]
    assert len(set(names)) == 2000
    assert all(name.isalnum() and len(name) == 26 for name in names)
    other = Pseudonyms.at(tmp_path / "other", make=True)
    assert other.of(ids[0]) != names[0]
    assert other.mark != made.mark
    assert made.of("\ud800") != made.of("?")
    assert Pseudonyms.at(key, make=True).mark == made.mark
    with pytest.raises(UsageError, match="can't be written"):
        Pseudonyms.at(key / "under a file", make=True)


@pytest.mark.parametrize("text", ["", "abc", "zz" * 32, "00" * 31, "\udcff", "00" * 40])
def test_a_file_without_a_key_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "key"
    path.write_text(text, errors="surrogateescape")
    path.chmod(0o600)
    with pytest.raises(UsageError, match="holds no key"):
        Pseudonyms.of_file(path)


def test_a_key_that_others_can_read_is_refused(tmp_path: Path) -> None:
    open_to_all = tmp_path
    while open_to_all != open_to_all.parent:
        open_to_all.chmod(open_to_all.stat().st_mode | 0o055) if os.access(open_to_all, os.W_OK) else None
        open_to_all = open_to_all.parent
    key = tmp_path / "key"
    Pseudonyms.at(key, make=True)
    key.chmod(0o644)
    if not exposed_to(key):
        pytest.skip("a folder above the temporary one keeps others out")
    with pytest.raises(UsageError, match="other users of this machine"):
        Pseudonyms.of_file(key)


def test_a_run_with_pseudonyms_and_without_text_tells_neither(desk: Desk) -> None:
    cases = desk.cases(4, group="COHORTGNU")
    said = desk.typed(*desk.judging(cases, "--pseudonyms", "key", "--without-text")).stderr
    desk.typed("export", "may.run", "--out", "verdicts.jsonl")
    assert "key: a new key" in said
    assert stat.S_IMODE((desk.work / "key").stat().st_mode) == 0o600
    stored = (desk.work / "may.run").read_bytes() + (desk.work / "verdicts.jsonl").read_bytes()
    assert not any(word.encode() in stored for word in WORDS)
    rows = [json.loads(line) for line in (desk.work / "verdicts.jsonl").read_text().splitlines()]
    key = Pseudonyms.of_file(desk.work / "key")
    assert [row["case"] for row in rows] == [key.of(f"case-{number}") for number in range(4)]
    assert all(row["score"] and row["score_confidence"] and not row.get("reason") for row in rows)

    again = desk.typed(*desk.judging(cases, "--pseudonyms", "key"))
    assert json.loads(desk.typed("runs", "audit", "may.run", "--json").stdout)["entries"][-1]["facts"]["skipped"] == 4
    assert "judged again" not in again.stderr
    desk.typed("export", "may.run", "--onto", cases.name, "--pseudonyms", "key", "--out", "onto.jsonl")
    onto = [json.loads(line) for line in (desk.work / "onto.jsonl").read_text().splitlines()]
    assert [(row["id"], row["small.score"]) for row in onto] == [
        (f"case-{number}", rows[number]["score"]) for number in range(4)
    ]
    assert "Give --pseudonyms" in desk.typed(*desk.judging(cases), code=2).stderr
    Pseudonyms.at(desk.work / "other", make=True)
    assert "another key" in desk.typed(*desk.judging(cases, "--pseudonyms", "other"), code=2).stderr
    assert "can't be read" in desk.typed(*desk.judging(cases, "--pseudonyms", "nokey"), code=2).stderr
    assert not (desk.work / "nokey").exists()


def test_people_rate_by_ids_and_the_run_knows_pseudonyms(desk: Desk) -> None:
    cases = desk.cases(4)
    desk.typed(*desk.judging(cases, "--pseudonyms", "key"))
    ratings = "".join(f"case-{number},anna,{number + 1}\n" for number in range(4))
    (desk.work / "anna.csv").write_text("id,rater,score\n" + ratings)
    given = ["import", "may.run", "anna.csv", "--kind", "human"]
    assert "its id matches no case" in desk.typed(*given, code=3).stderr
    desk.typed(*given, "--pseudonyms", "key")
    desk.typed("export", "may.run", "--out", "all.csv")
    key = Pseudonyms.of_file(desk.work / "key")
    hers = {row["case"]: row["score"] for row in _rows(desk.work / "all.csv") if row["rater"] == "anna"}
    assert hers == {key.of(f"case-{number}"): str(number + 1) for number in range(4)}
    assert b"case-1" not in (desk.work / "may.run").read_bytes()


def test_a_run_stays_without_text_and_plain_ids_stay_plain(desk: Desk) -> None:
    cases = desk.cases(2)
    desk.typed(*desk.judging(cases, "--without-text"))
    desk.typed(*desk.judging(desk.cases(4)))
    desk.typed("export", "may.run", "--out", "verdicts.csv")
    assert [row.get("reason", "") for row in _rows(desk.work / "verdicts.csv")] == [""] * 4
    Pseudonyms.at(desk.work / "key", make=True)
    assert "are not pseudonyms" in desk.typed(*desk.judging(cases, "--pseudonyms", "key"), code=2).stderr


@pytest.mark.parametrize("begun", ["sample", "hosted"])
def test_ids_that_were_given_away_stay_plain(desk: Desk, begun: str) -> None:
    cases = desk.cases(4)
    _begin(desk, begun, cases)
    Pseudonyms.at(desk.work / "key", make=True)
    before = (desk.work / "may.run").read_bytes()
    assert "are not pseudonyms" in desk.typed(*desk.judging(cases, "--pseudonyms", "key"), code=2).stderr
    assert (desk.work / "may.run").read_bytes() == before
    desk.typed(*desk.judging(cases))


@pytest.mark.parametrize("begun", ["sample", "hosted"])
def test_cases_that_were_given_away_by_row_number_keep_it(desk: Desk, begun: str) -> None:
    cases = desk.sheet([{"nr": f"n-{i}", "question": f"What is {i}?", "answer": f"It is {i}."} for i in range(4)])
    _begin(desk, begun, cases)
    before = (desk.work / "may.run").read_bytes()
    for more in (("--id", "nr"), ("--id", "nr", "--pseudonyms", "key")):
        Pseudonyms.at(desk.work / "key", make=True) if "key" in more else None
        refused = desk.typed(*desk.judging(cases, *more), code=4).stderr
        assert "its cases have row numbers as ids, these have ids from a column" in refused
    assert (desk.work / "may.run").read_bytes() == before
    desk.typed(*desk.judging(cases))


def _begin(desk: Desk, command: str, cases: Path) -> None:
    """Make `may.run` by giving cases away."""
    given = ["may.run", "--cases", cases.name, "--rubric", "small.prompty"]
    if command == "sample":
        desk.typed("sample", *given, "--n", 2, "--seed", 1, "--out", "rate.xlsx")
    else:
        service = ["--service", "openai", "--model", "m"]
        desk.typed("hosted", "export", *given, *service, "--out", "ask.jsonl", "--yes")


def test_a_cases_file_that_others_can_read_is_told_or_refused(desk: Desk, tmp_path: Path) -> None:
    cases = desk.cases(1)
    assert "can be read by" not in desk.typed(*desk.judging(cases)).stderr
    for folder in (desk.work, *desk.work.parents):
        if os.access(folder, os.W_OK):
            folder.chmod(folder.stat().st_mode | 0o055)
        if folder == tmp_path.parents[1]:
            break
    cases.chmod(0o644)
    if not exposed_to(cases):
        pytest.skip("a folder above the temporary one keeps others out")
    assert f"chmod 600 {cases.name}" in desk.typed(*desk.judging(cases)).stderr
    refused = desk.typed(*desk.judging(cases, "--strict-permissions"), code=3)
    assert "other users of this machine" in refused.stderr
