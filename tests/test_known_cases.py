"""A rating finds its case: whatever texts the file holds must be that case's, or the file is refused as a whole."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import openpyxl
import pytest
from rated_run import TINY, add, judged_run, said, scores_of

from pathway_local.case import Case
from pathway_local.errors import RatingsError
from pathway_local.ratings.import_ratings import Imported, import_ratings
from pathway_local.ratings.rating_rows import RatingsFile
from pathway_local.ratings.samples import hand_out, store_handouts
from pathway_local.runs.run_cases import SETTING
from pathway_local.runs.run_file import RunFile

COUNT = 24
CASES = [
    Case(
        f"c-{row}",
        {"question": f"What is rule {row % 6}?\nIn short.", "answer": f"Rule {row % 6} says that part {row} ends."},
        row=row,
    )
    for row in range(1, COUNT + 1)
]
Rows = Sequence[Sequence[object]]


@pytest.fixture
def run(tmp_path: Path) -> Iterator[RunFile]:
    with judged_run(tmp_path / "may.run", rows=CASES) as run:
        yield run


def sheet(folder: Path, header: Sequence[str], rows: Rows) -> Path:
    """A workbook whose first two rows are blank, as Excel's own row numbers then count them."""
    book = openpyxl.Workbook()
    page = book.worksheets[0]
    for line, row in enumerate([header, *rows], 3):
        for column, value in enumerate(row, 1):
            page.cell(line, column).value = value  # type: ignore[assignment]
    book.save(folder / "people.xlsx")
    return folder / "people.xlsx"


def load(run: RunFile, path: Path, kind: str = "human") -> Imported:
    return import_ratings(run, RatingsFile(path, kind, "Ann"), ["import"])  # type: ignore[arg-type]


def refused(run: RunFile, path: Path, kind: str = "human") -> RatingsError:
    with pytest.raises(RatingsError) as caught:
        load(run, path, kind)
    assert "Ann" not in [rater.name for _, rater in run.raters()]
    return caught.value


def rated(texts: Sequence[str] = ("question", "answer"), moved: Sequence[int] = ()) -> list[list[object]]:
    """Rows of id, texts and score; the ids of the `moved` rows are those of the rows above them."""
    return [
        [CASES[row - (row in moved)].id, *(case.inputs[name] for name in texts), 4] for row, case in enumerate(CASES)
    ]


@pytest.mark.parametrize("kind", ["human", "hosted"])
@pytest.mark.parametrize(
    ("header", "texts"),
    [
        (("id", "question", "answer", "score"), ("question", "answer")),
        (("id", "Response", "score"), ("answer",)),
        (("id", "question", "score"), ("question",)),
    ],
)
@pytest.mark.parametrize("moved", [range(COUNT), range(COUNT // 2)])
def test_moved_rows_are_named_as_excel_does(
    run: RunFile, tmp_path: Path, header: Sequence[str], texts: Sequence[str], moved: range, kind: str
) -> None:
    error = refused(run, sheet(tmp_path, header, rated(texts, moved)), kind)
    [problem] = error.problems
    assert problem.startswith(f"row 4, row 5, row 6 and {len(moved) - 3} more: its id is that of one case")
    assert "Put each id beside its own texts" in error.hint
    assert not any(case.inputs["answer"] in str(error.problems) for case in CASES)
    in_place = load(run, sheet(tmp_path, header, rated(texts)), kind)
    assert len(scores_of(run, "Ann")) == COUNT
    assert not any("ids alone" in notice for notice in in_place.notices)


def test_the_runs_own_columns_are_compared(run: RunFile, tmp_path: Path) -> None:
    run.set_setting(SETTING, {"mapping": {"answer": "Was gesagt wurde"}, "id": "id"})
    changed = [[case.id, "Something else.", 4] for case in CASES]
    error = refused(run, sheet(tmp_path, ("id", "was_gesagt_wurde", "score"), changed))
    assert f"and {COUNT - 3} more: its answer differs" in error.problems[0]
    assert "remove their columns" in error.hint
    other = load(run, sheet(tmp_path, ("id", "answer", "score"), changed))
    assert any(notice.startswith("found no column with the texts of question, answer") for notice in other.notices)


def test_it_is_said_which_texts_were_compared(run: RunFile, tmp_path: Path) -> None:
    some = load(run, sheet(tmp_path, ("id", "answer", "score"), rated(("answer",))))
    assert "found no column with the texts of question, so only answer is compared with the run's texts" in some.notices
    none = load(run, sheet(tmp_path, ("id", "KI sagt", "score"), rated(("answer",))))
    assert "columns ignored: KI sagt" in none.notices and any("ids alone" in notice for notice in none.notices)


def test_texts_that_a_spreadsheet_rewrote_are_the_cases_own(run: RunFile, tmp_path: Path) -> None:
    rewritten = [
        [c.id, f" {c.inputs['question']} ".replace("\n", "_x000D_\n"), c.inputs["answer"].replace(" ", "\u00a0"), 4]
        for c in CASES
    ]
    rewritten[0][1:3] = ["", ""]  # below the first row of a merged area
    load(run, sheet(tmp_path, ("id", "question", "answer", "score"), rewritten))
    assert len(scores_of(run, "Ann")) == COUNT
    records = {(record.rater, record.case_id): record.case_hash for record in run.records()}
    assert all(records["Ann", case.id] == records["demo", case.id] for case in CASES)


def test_a_truncated_text_is_refused_unless_the_cell_is_full(run: RunFile, tmp_path: Path) -> None:
    rows = rated()
    rows[5][2] = str(rows[5][2])[:10]
    error = refused(run, sheet(tmp_path, ("id", "question", "answer", "score"), rows))
    assert error.problems == ("row 9: its answer differs from that of the run's case with this id",)
    long = Case("long", {"question": "What?", "answer": "word " * 8_000}, row=1)
    with judged_run(tmp_path / "long.run", rows=[long]) as other:
        load(other, sheet(tmp_path, ("id", "answer", "score"), [["long", long.inputs["answer"][:32_767], 4]]))
        assert scores_of(other, "Ann") == {"long": 4}


def test_random_ids_moved_beside_other_texts_are_found(run: RunFile, tmp_path: Path) -> None:
    run.set_setting(SETTING, {"mapping": {"answer": "Was gesagt wurde"}, "id": "id"})
    made = [hand_out(run.key, TINY, case, "Ann") for case in CASES]
    store_handouts(run, run.jobs.begin(["x"], {}), made)
    ids = [each.custom_id for each in made]
    header = ("rating_id", "question", "answer", "score")
    rows = [[own, *case.inputs.values(), 4] for own, case in zip(ids[1:] + ids[:1], CASES, strict=True)]
    assert f"and {COUNT - 3} more" in refused(run, sheet(tmp_path, header, rows)).problems[0]
    rows = [[own, "as the prompt shows it", case.inputs["answer"], 4] for own, case in zip(ids, CASES, strict=True)]
    load(run, sheet(tmp_path, header, rows))
    assert len(scores_of(run, "Ann")) == COUNT


def test_texts_that_changed_between_raters_must_be_told_apart(run: RunFile, tmp_path: Path) -> None:
    first = CASES[0]
    new = Case(first.id, {**first.inputs, "answer": "new"}, row=1)
    add(run, "later", said(2, ids=[first.id]), rows=[new])
    error = refused(run, sheet(tmp_path, ("id", "score"), [[first.id, 4]]))
    assert error.problems == ("row 4: raters saw different texts of its case, and the file does not hold its texts",)
    load(run, sheet(tmp_path, ("id", "answer", "score"), [[first.id, "new", 4], [CASES[1].id, "", 5]]))
    [record] = [each for each in run.records("Ann") if each.case_id == first.id]
    assert record.case_hash == next(run.records("later")).case_hash
