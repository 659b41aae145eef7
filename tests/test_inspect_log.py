"""Logs of Inspect, archives in each way of packing, are read as cases without its library."""

import json
import zipfile
from pathlib import Path

import pytest
from inspect_files import SAMPLES, log

from pathway_local.case import BadRow, Case
from pathway_local.errors import CasesError, UsageError
from pathway_local.sheets import inspect_log
from pathway_local.sheets.cases_file import CasesFile
from pathway_local.sheets.tables import add_columns, check_table

NEEDED = {"r": ("question", "ideal_answer", "answer")}
MAP = {"question": "input", "ideal_answer": "target", "answer": "output.completion"}


def inputs(path: Path) -> list[tuple[str, dict[str, str]]]:
    return [(case.id, dict(case.inputs)) for case in CasesFile(path, NEEDED, MAP, "uuid") if isinstance(case, Case)]


DUPLICATE = "duplicate id 1: sample 1 already has it"
WANTED = [
    (f"u{epoch}", {"question": "May I?", "ideal_answer": "Yes\n\nOn weekdays", "answer": f"Yes {epoch}"})
    for epoch in (1, 2)
]


@pytest.mark.parametrize("packing", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, inspect_log.ZSTANDARD])
def test_samples_of_an_archive_are_cases(tmp_path: Path, packing: int) -> None:
    path = log(tmp_path / "log.eval", packing)
    assert inputs(path) == WANTED
    assert "a blank line between" in CasesFile(path, NEEDED, MAP, "uuid").notes[0]
    _, twice = CasesFile(path, NEEDED, MAP)
    assert isinstance(twice, BadRow) and twice.reason == f"{DUPLICATE}; --id uuid tells epochs apart"


def test_a_damaged_sample_is_a_bad_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspect_log, "_LIMIT", 4_001)
    monkeypatch.setattr("pathway_local.sheets.json_lines.ROW_LIMIT", 1_000)
    good = json.dumps(SAMPLES[0]).encode()
    bomb = b'{"input": "' + b" " * 10**7 + b'"}'
    path = log(tmp_path / "log.eval", inspect_log.ZSTANDARD, [good, b"{", b"\xff", b"[]", bomb])
    first, *others = CasesFile(path, NEEDED, MAP, "uuid")
    assert isinstance(first, Case)
    reasons = [each.reason for each in others if isinstance(each, BadRow)]
    assert [reason.partition(":")[0] for reason in reasons] == [
        "broken JSON at character 2",
        "it has bytes that are not UTF-8",
        "it is not a JSON object",
        "it has more than 1,000 characters",
    ]


@pytest.mark.parametrize("packing", [zipfile.ZIP_DEFLATED, inspect_log.ZSTANDARD])
def test_the_limit_of_a_sample_counts_characters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packing: int) -> None:
    monkeypatch.setattr("pathway_local.sheets.json_lines.ROW_LIMIT", limit := 1_000)
    monkeypatch.setattr(inspect_log, "_LIMIT", 4 * limit + 1)
    texts = ["ä" * 700, "😀" * 980, "ä" * 1_001, "😀" * 5_000]
    parts = [json.dumps({"input": text}, ensure_ascii=False).encode() for text in texts]
    path = log(tmp_path / "log.eval", packing, parts)
    found = list(CasesFile(path, {"r": ("question",)}, {"question": "input"}))
    assert [each.inputs["question"] for each in found[:2] if isinstance(each, Case)] == texts[:2]
    assert [each.reason for each in found[2:] if isinstance(each, BadRow)] == ["it has more than 1,000 characters"] * 2


def test_a_log_without_samples_is_told_to_be_unfinished(tmp_path: Path) -> None:
    path = log(tmp_path / "log.eval", zipfile.ZIP_STORED, [])
    with pytest.raises(CasesError, match="has no samples yet") as told:
        CasesFile(path, NEEDED, MAP)
    assert told.value.hint == "Judge it when its evaluation has ended."


@pytest.mark.parametrize("packing", [inspect_log.ZSTANDARD, zipfile.ZIP_LZMA])
def test_damaged_archives_are_refused_without_a_traceback(tmp_path: Path, packing: int) -> None:
    whole = log(tmp_path / "log.eval", packing).read_bytes()
    path = tmp_path / "damaged.eval"
    for at in range(0, len(whole), 7):
        for damaged in (whole[:at], whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :]):
            path.write_bytes(damaged)
            try:
                list(CasesFile(path, NEEDED, MAP, "uuid"))
            except CasesError as error:
                assert "May I" not in f"{error}{error.hint}"
            except UsageError:  # a damaged key is a column that is missing
                pass


def test_an_archive_is_neither_written_nor_copied(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"out\.eval is not a kind of table"):
        check_table(tmp_path / "out.eval", force=False)
    path = log(tmp_path / "log.eval", inspect_log.ZSTANDARD)
    with pytest.raises(UsageError, match=r"columns can't be added to \.eval files"):
        add_columns(CasesFile(path, NEEDED, MAP, "uuid"), tmp_path / "new.eval", ["score"], lambda case: {})


def test_a_log_in_json_names_the_command_that_converts_it(tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    path.write_text('{"version": 2, "samples": [{"id": 1}]}')
    with pytest.raises(CasesError) as refused:
        CasesFile(path, NEEDED, MAP)
    assert "--to eval" in refused.value.hint
