"""Copies of a run that went on apart: merged, they hold what was added to either, and nothing that was removed."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from rated_run import TINY, cases, judged_run, scores_of
from typed_here import Run, Said, typing_in

from pathway_local.case import CaseRef, fingerprint
from pathway_local.ratings.adjudication import adjudicate
from pathway_local.ratings.samples import Inclusion, Sample, inclusions, samples, store_sample
from pathway_local.results.panel import make_panel
from pathway_local.runs.audit import AuditTrail
from pathway_local.runs.content import check_content
from pathway_local.runs.jobs import Job
from pathway_local.runs.merged_rows import MergedRows
from pathway_local.runs.purge import purge, purged
from pathway_local.runs.run_cases import remember_kept
from pathway_local.runs.run_file import RunFile
from pathway_local.verdict import Value


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    judged_run(tmp_path / "a.run").close()
    return typing_in(tmp_path, monkeypatch, capsys)


@pytest.fixture
def rate(tmp_path: Path, run: Run) -> Callable[..., None]:
    def rated(target: str, rater: str, *scores: int) -> None:
        name = tmp_path / f"{rater}.csv"
        name.write_text("id,score,reason\n" + "".join(f"s-{at},{score},so\n" for at, score in enumerate(scores, 1)))
        assert run("import", target, name, "--kind", "human", "--rater", rater).code == 0

    return rated


def merged(run: Run, path: Path, *runs: str) -> Said:
    (path / "all.run").unlink(missing_ok=True)
    said = run("runs", "merge", *runs, "--out", "all.run")
    assert said.code == 0, said
    with RunFile.read(path / "all.run") as read:
        check_content(read.database)
        assert AuditTrail(read.database).check() == 0
    return said


def refused(run: Run, path: Path, *runs: str) -> str:
    said = run("runs", "merge", *runs, "--out", "all.run")
    assert said.code == 4 and not (path / "all.run").exists(), said
    return said.words


BOTH = [("a.run", "b.run"), ("b.run", "a.run")]


@pytest.mark.parametrize("order", BOTH)
def test_ratings_taken_back_in_one_copy_do_not_return(
    order: tuple[str, str], tmp_path: Path, run: Run, rate: Callable[..., None]
) -> None:
    rate("a.run", "ann", 1, 2)
    rate("a.run", "bob", 5, 5)
    shutil.copy(tmp_path / "a.run", tmp_path / "b.run")
    run("runs", "undo", "a.run")
    assert "b.run still holds ratings of bob that were removed from a.run" in refused(run, tmp_path, *order)
    run("runs", "undo", "b.run")
    merged(run, tmp_path, *order)
    assert "removed: 2 ratings of ann" in run("runs", "undo", "all.run").err


def test_a_page_taken_back_does_not_return_from_a_run_merged_before(
    tmp_path: Path, run: Run, rate: Callable[..., None]
) -> None:
    shutil.copy(tmp_path / "a.run", tmp_path / "b.run")
    rate("b.run", "ann", 1, 2)  # an earlier job, which shifts the others' numbers in the merged run
    with RunFile.open(tmp_path / "a.run") as opened:
        page = opened.jobs.begin(["rate"], {"handouts": 1})
        opened.jobs.end(page, "done", {})
    rate("a.run", "bob", 5, 5)
    with RunFile.open(tmp_path / "a.run") as opened:
        job = opened.jobs.all()[-1]
        told = job.facts["import"]
        assert isinstance(told, dict)
        change = opened.jobs.begin(["change"], {})
        opened.jobs.learn(job.id, {"import": {**told, "page": page}})
        opened.jobs.end(change, "done", {})
    merged(run, tmp_path, "b.run", "a.run")
    with RunFile.read(tmp_path / "all.run") as read:
        imports = [each for job in read.jobs.all() if isinstance(each := job.facts.get("import"), dict)]
        [told] = [each for each in imports if "page" in each]
        assert told["page"] != page
    (tmp_path / "all.run").rename(tmp_path / "both.run")
    merged(run, tmp_path, "both.run", "a.run")
    with RunFile.read(tmp_path / "all.run") as read:
        assert len([job for job in read.jobs.all() if job.facts.get("import")]) == 2, "each import once"
    run("runs", "undo", "a.run")
    (tmp_path / "all.run").unlink()
    for order in (("both.run", "a.run"), ("a.run", "both.run")):
        assert "both.run still holds ratings of bob that were removed from a.run" in refused(run, tmp_path, *order)


@pytest.mark.parametrize("order", BOTH)
def test_a_removed_rater_does_not_return(
    order: tuple[str, str], tmp_path: Path, run: Run, rate: Callable[..., None]
) -> None:
    rate("a.run", "ann", 1, 2)
    shutil.copy(tmp_path / "a.run", tmp_path / "b.run")
    run("runs", "remove-rater", "a.run", "ann", "--yes")
    assert "b.run still holds ratings of ann that were removed from a.run" in refused(run, tmp_path, *order)
    shutil.copy(tmp_path / "a.run", tmp_path / "b.run")
    rate("b.run", "ann", 4, 4)
    merged(run, tmp_path, *order)
    with RunFile.read(tmp_path / "all.run") as read:
        assert scores_of(read, "ann") == {"s-1": 4, "s-2": 4}


@pytest.mark.parametrize("order", BOTH)
def test_purged_texts_do_not_return(
    order: tuple[str, str], tmp_path: Path, run: Run, rate: Callable[..., None]
) -> None:
    rate("a.run", "ann", 1, 2)
    shutil.copy(tmp_path / "a.run", tmp_path / "b.run")
    purge(tmp_path / "a.run", "text", ["purge"])
    said = refused(run, tmp_path, *order)
    assert (
        "a.run was purged of texts, and b.run still holds texts" in said
        and "pathway-local runs purge b.run --text`" in said
    )
    shutil.copy(tmp_path / "a.run", tmp_path / "c.run")
    rate("a.run", "cara", 5)
    refused(run, tmp_path, *order)
    purge(tmp_path / "b.run", "text", ["purge"])
    merged(run, tmp_path, *order)
    with RunFile.read(tmp_path / "all.run") as read:
        assert purged(read) is None, "cara's texts are there"
    merged(run, tmp_path, "b.run", "c.run")
    with RunFile.read(tmp_path / "all.run") as read:
        assert purged(read) is not None


def agree(path: Path, score: int) -> None:
    with RunFile.read(path) as run:
        ref = CaseRef("s-1", 1, hash=next(record.case_hash for record in run.records(cases=["s-1"])))
    adjudicate(path, "tiny", ref, "ann", {"score": score}, "", ["view"])


@pytest.mark.parametrize("order", BOTH)
def test_a_correction_in_a_newer_copy_counts(order: tuple[str, str], tmp_path: Path, run: Run) -> None:
    agree(tmp_path / "a.run", 2)
    shutil.copy(tmp_path / "a.run", tmp_path / "b.run")
    agree(tmp_path / "b.run", 4)
    merged(run, tmp_path, *order)
    with RunFile.read(tmp_path / "all.run") as read:
        assert scores_of(read, "adjudicated/ann") == {"s-1": 4}
        assert read.database.rows("SELECT COUNT(*) FROM outcomes WHERE superseded = 1") == [(1,)]
    assert "restored: 1 earlier" in run("runs", "undo", "all.run").err
    agree(tmp_path / "a.run", 1)
    (tmp_path / "all.run").unlink()
    assert "one case has another verdict" in refused(run, tmp_path, *order)


def draw(path: Path, seed: int, size: int) -> None:
    with RunFile.open(path) as run:
        job = run.jobs.begin(["sample"], {"sample": {"size": size, "seed": seed, "strata": ""}})
        every = [
            Inclusion(case.id, fingerprint(run.key, TINY.texts_of(case)), case.row, 0, size / 4, at < size)
            for at, case in enumerate(cases())
        ]
        store_sample(run, job, Sample(0, "tiny", seed, "", 4, size), every)
        run.jobs.end(job, "done", {})


@pytest.mark.parametrize("order", BOTH)
def test_one_seed_has_one_sample(order: tuple[str, str], tmp_path: Path, run: Run) -> None:
    draw(tmp_path / "a.run", 1, 2)
    shutil.copy(tmp_path / "a.run", tmp_path / "b.run")
    draw(tmp_path / "b.run", 1, 3)
    merged(run, tmp_path, *order)
    with RunFile.read(tmp_path / "all.run") as read:
        [found] = samples(read, "tiny")
        assert found.drawn == 3 and sum(each.drawn for each in inclusions(read, found.id)) == 3
        assert read.database.rows("SELECT COUNT(*) FROM inclusions") == [(4,)]
    draw(tmp_path / "a.run", 7, 2)
    draw(tmp_path / "b.run", 7, 3)
    (tmp_path / "all.run").unlink()
    assert f"{order[1]} and an earlier run each drew a sample with seed 7" in refused(run, tmp_path, *order)


def test_samples_are_listed_by_their_draw(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(tmp_path / "a.run", tmp_path / "b.run")
    for at, (name, seed) in enumerate((("b.run", 2), ("a.run", 1))):
        monkeypatch.setattr("pathway_local.runs.jobs.now", lambda at=at: f"2026-01-0{at + 1}T00:00:00+00:00")
        draw(tmp_path / name, seed, 2)
    merged(run, tmp_path, "a.run", "b.run")
    with RunFile.read(tmp_path / "all.run") as read:
        assert [each.seed for each in samples(read, "tiny")] == [2, 1]


def test_panels_lack_the_cases_of_both_copies(tmp_path: Path, run: Run, rate: Callable[..., None]) -> None:
    rate("a.run", "ann", 1, 2)
    with RunFile.open(tmp_path / "a.run") as opened:
        make_panel(opened, "both", ["demo", "ann"], "mean", [])
    shutil.copy(tmp_path / "a.run", tmp_path / "b.run")
    rate("b.run", "cara", 4, 2)
    again = "runs panel all.run --name both --of demo,ann --rule mean"
    assert f"make it again: pathway-local {again}" in merged(run, tmp_path, "a.run", "b.run").words
    with RunFile.read(tmp_path / "all.run") as read:
        assert [rater.name for _, rater in read.raters()] == ["demo", "ann", "cara"]
    assert run(*again.split()).code == 0


def test_equal_jobs_of_one_run_stay_apart(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pathway_local.runs.jobs.now", lambda: "2026-01-01T00:00:00+00:00")
    with RunFile.open(tmp_path / "a.run") as opened:
        for _ in range(2):
            opened.jobs.end(opened.jobs.begin(["adjudicate"], {"import": {"file": ""}}), "done", {})
    shutil.copy(tmp_path / "a.run", tmp_path / "b.run")
    merged(run, tmp_path, "a.run", "b.run")
    with RunFile.read(tmp_path / "all.run") as read:
        assert [job.id for job in read.jobs.all()] == [1, 2]


@pytest.mark.parametrize(
    ("given", "kept"), [((["bot"], ["bot", "year"]), ["bot", "year"]), ((["bot"], None), "all"), ((), None)]
)
def test_a_merged_run_goes_on_keeping_the_columns(
    given: tuple[list[str] | None, ...], kept: object, tmp_path: Path, run: Run
) -> None:
    shutil.copy(tmp_path / "a.run", tmp_path / "b.run")
    for name, columns in zip(("a.run", "b.run"), given, strict=False):
        with RunFile.open(tmp_path / name) as opened:
            remember_kept(opened, columns)
            opened.jobs.end(opened.jobs.begin(["keep"], {}), "done", {})
    merged(run, tmp_path, "a.run", "b.run")
    with RunFile.read(tmp_path / "all.run") as read:
        assert read.get_setting("keep") == kept


@pytest.mark.parametrize(
    ("file", "hint"),
    [
        ("my cases.csv", "Add --cases 'my cases.csv': the merged run"),
        ("cases", "Write the rows to a file and give it with --cases."),
    ],
)
def test_the_hint_names_the_file_that_was_judged(file: str, hint: str, tmp_path: Path, run: Run) -> None:
    with judged_run(tmp_path / "b.run") as other:
        other.jobs.end(other.jobs.begin(["judge"], {"cases": {"file": file}}), "done", {})
    said = run("runs", "merge", "a.run", "b.run", "--out", "all.run")
    assert said.code == 2 and hint in said.words


def test_an_import_names_the_job_of_its_page_even_if_the_clock_was_set_back(tmp_path: Path) -> None:
    def job(id: int, started: str, facts: dict[str, Value]) -> Job:
        return Job(id, ("x", str(id)), facts, started, None, None, None)

    one = [job(1, "2026-01-01T10:00:09Z", {}), job(2, "2026-01-01T10:00:05Z", {"import": {"page": 1}})]
    other = [job(1, "2026-01-01T09:00:00Z", {})]
    with RunFile.create(tmp_path / "all.run") as run:
        assert MergedRows(run, set()).add_jobs([one, other]) == [{1: 2, 2: 3}, {1: 1}]
        assert [each.facts for each in run.jobs.all()] == [{}, {}, {"import": {"page": 2}}]
