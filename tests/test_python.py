"""`import pathway_local`: every block of its page works, rows are checked as files are, and its names are pinned."""

import ast
import datetime
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from decimal import Decimal
from enum import IntEnum
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pyarrow as pa
import pytest
from instant import instant_replies, write_reply
from pydantic import BaseModel, Field

import pathway_local as pl
from benchmark import instant_engine
from pathway_local.errors import CasesError, UsageError
from pathway_local.runs.run_file import RunFile
from pathway_local.sheets.cases_file import CasesFile
from pathway_local.sheets.in_memory import InMemorySheet, sheet_or_path

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
ROW = {"id": "a", "question": "Why?", "ideal_answer": "So.", "retrieved_content": "So it is.", "ai_answer": "So."}


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A working folder in which the demo judge's engine gives one reply to every case, at once."""
    reply = "\nRight.\n\n**Score:** 4\n\n**Justification:**\nGood."
    with instant_replies(tmp_path_factory.mktemp("python"), reply) as folder:
        yield folder


@pytest.fixture(scope="module")
def engine() -> Iterator[pl.Engine]:
    with pl.Engine() as engine:
        yield engine


def test_every_block_of_the_page(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    assert len(blocks) == 6
    names: dict[str, Any] = {}
    for block in blocks:
        exec(block, names)  # the page's own code
    out = capsys.readouterr().out
    assert out.startswith("1 4\n")
    assert "the cases are empty Give one row or more." in out
    assert not Path("none.run").exists()
    frame = names["frame"]
    assert list(frame["score"]) == [4, 4] and list(frame["bot"]) == ["v1", "v2"]
    assert names["table"].num_rows == 2
    assert names["run"].summary()[0]["rows"][0]["cases"] == 2
    assert names["kept"][0]["rubric"] == "Kept"
    assert names["first"].verdicts[0]["case"] == "1"


def test_all_that_is_public_is_listed_typed_and_documented() -> None:
    assert list(pl.PUBLIC) == [
        *("judge", "Engine", "Run", "Rubric", "make_private"),
        *("PathwayError", "UsageError", "CasesError", "RubricError", "RunFileError", "EngineError"),
    ]
    stub = ast.parse((ROOT / "pathway_local" / "__init__.pyi").read_text())
    typed = {
        each.asname: node.module for node in ast.walk(stub) if isinstance(node, ast.ImportFrom) for each in node.names
    }
    assert typed == pl.PUBLIC
    documented = re.findall(r"`(\w+)`", PAGE[PAGE.index("## What is public") :])
    assert documented == list(pl.PUBLIC)
    for name in pl.PUBLIC:
        assert getattr(pl, name).__doc__ and name in dir(pl)
    with pytest.raises(AttributeError, match="no attribute 'Runs'"):
        pl.Runs  # type: ignore[attr-defined]  # noqa: B018


def test_importing_it_imports_nothing() -> None:
    code = "import sys; before = set(sys.modules); import pathway_local; print(*sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {name.partition(".")[0] for name in done.stdout.split()} <= {"pathway_local", "importlib", "warnings"}


def test_the_package_runs_as_the_command() -> None:
    done = subprocess.run([sys.executable, "-m", "pathway_local", "--version"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, f"pathway-local {pl.__version__}\n")


def test_a_program_can_turn_core_dumps_off() -> None:
    code = "import resource as r, pathway_local as pl; pl.make_private(); print(max(r.getrlimit(r.RLIMIT_CORE)))"
    command = ["prlimit", "--core=unlimited:unlimited", sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert int(done.stdout) <= 1


@pytest.mark.parametrize("load", [pl.Run.open, pl.Rubric.load])
def test_what_can_be_no_path_is_refused(load: Callable[[Any], object]) -> None:
    for given, said in ((5, "is of type int"), (None, "is of type NoneType")):
        with pytest.raises(pl.UsageError, match=said):
            load(given)


def arrow() -> pa.Table:
    return pa.Table.from_pylist([ROW, ROW | {"id": "b"}])


def frame() -> Any:
    return pytest.importorskip("pandas").DataFrame([ROW, ROW | {"id": "b"}], index=[7, 9])


@pytest.mark.parametrize(
    "made", [arrow, frame, lambda: iter([ROW, ROW | {"id": "b"}]), lambda: arrow().to_batches()[0]]
)
def test_tables_and_generators_are_judged_alike(made: Any, tmp_path: Path, engine: pl.Engine) -> None:
    run = pl.judge(made(), "pathway-answer", run=tmp_path / "a.run", engine=engine, progress=False)
    assert [(row["case"], row["score"]) for row in run.verdicts] == [("a", 4), ("b", 4)]
    again = pl.judge([ROW], run=tmp_path / "a.run", engine=engine, progress=False)
    with RunFile.read(again.path) as read:
        counts = [job.counts for job in read.jobs.all()]
    assert counts == [{"judged": 2, "skipped": 0, "failed": 0}, {"judged": 0, "skipped": 1, "failed": 0}]


def test_a_path_is_judged_as_the_command_judges_it(
    tmp_path: Path, engine: pl.Engine, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "cases.jsonl"
    file.write_text(json.dumps(ROW) + "\n")
    monkeypatch.setattr("pathway_local.system.private_file.exposed_to", lambda path: "every user")
    run = pl.judge(str(file), pl.Rubric.load("pathway-answer"), run=tmp_path / "a.run", engine=engine)
    assert f"{file} can be read by every user: chmod 600" in capsys.readouterr().err
    assert run.verdicts[0]["case"] == "a"
    assert repr(run) == f"Run({str(tmp_path / 'a.run')!r})"


class Undocumented(BaseModel):
    score: Literal[1, 2]


class Odd:
    def __str__(self) -> str:
        raise AssertionError("no object is asked for its text")


def test_values_become_the_texts_that_files_would_hold() -> None:
    recursive: list[Any] = []
    recursive.append(recursive)
    values = {
        "5": [5, 5.0, np.int64(5), np.float32(5), Decimal(5)],
        "": [None, float("nan"), ""],
        "true": [True, np.bool_(True)],
        "2026-01-02": [datetime.date(2026, 1, 2), datetime.datetime(2026, 1, 2)],
        '[1,"ä"]': [[1, "ä"], (1, "ä"), [np.int64(1), "ä"]],
    }
    for text, alike in values.items():
        for value in alike:
            [row] = InMemorySheet([{"a": value}]).rows()
            assert row.cells == {"a": text}, value
    for bad in (Odd(), [Odd()], {1, 2}, recursive, b"5", [float("nan")], 10**5000):
        [row] = InMemorySheet([{"a": bad, "b": ""}]).rows()
        assert "that is no text" in row.bad_cells["a"]


def test_a_data_frame_s_named_index_is_the_id() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"question": ["q", "r"], "answer": ["a", "b"], "id": ["x", "x"]}, index=["k1", "k2"])
    needed = {"r": ("question", "answer")}
    assert CasesFile(sheet_or_path(frame), needed).id_column == "id"  # type: ignore[arg-type]
    frame.index.name = "case"
    assert [case.id for case in CasesFile(sheet_or_path(frame), needed)] == ["k1", "k2"]  # type: ignore[arg-type]
    frame.index.name = "id"
    with pytest.raises(CasesError, match="an index of the name of a column"):
        sheet_or_path(frame)


@pytest.mark.parametrize("kind", ["Interval", "Period", "set", "bytes"])
def test_a_column_that_can_not_be_kept_is_refused_by_name(kind: str) -> None:
    pandas = pytest.importorskip("pandas")
    value = {"Interval": pandas.Interval(0, 1), "Period": pandas.Period("2026-01"), "set": {1}, "bytes": b"5"}[kind]
    sheet = InMemorySheet([{"question": "q", "answer": "a", "at": value}])
    cases = CasesFile(sheet, {"r": ("question", "answer")})
    with pytest.raises(UsageError, match=f"at holds a value of type {kind} that is no text"):
        cases.metadata_column("at")


def test_missing_values_of_pandas_are_empty() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": ["x", pandas.NA], "b": [pandas.NaT, pandas.Timestamp("2026-01-02")]})
    sheet = sheet_or_path(frame)
    assert isinstance(sheet, InMemorySheet)
    assert [dict(row.cells) for row in sheet.rows()] == [{"a": "x", "b": ""}, {"a": "", "b": "2026-01-02"}]


def test_a_hostile_row_fails_alone(tmp_path: Path, engine: pl.Engine) -> None:
    own = ROW | {"id": "b"}
    texts = [own | {"question": bad} for bad in (Odd(), "\x00", "\ud800")]
    shapes = [{"id": "b"}, own | {5: "x"}, own | {"x\x00": "x"}, ROW, ("b", "Why?"), None]
    for row in (*texts, *shapes, dict.fromkeys(map(str, range(3000)), "x")):
        run = pl.judge([ROW, row], "pathway-answer", run=tmp_path / "a.run", engine=engine, progress=False)
        first, second = run.verdicts
        assert first["score"] == 4 and second["score"] is None and str(second["failure"]), row
        assert "Why" not in str(second["failure"])
        run.path.unlink()


@pytest.mark.parametrize(
    ("arguments", "kind", "said"),
    [
        ({"cases": ROW}, pl.UsageError, "the cases are a dict"),
        ({"cases": []}, pl.CasesError, "the cases are empty"),
        ({"cases": ["Why?"]}, pl.CasesError, "no item of the cases is a dict"),
        ({"cases": "none.csv"}, pl.CasesError, "none.csv does not exist"),
        ({"cases": [{"x\x00": "y"}]}, pl.CasesError, "no item of the cases is a dict"),
        ({"cases": [{"id": "a"}]}, pl.CasesError, "question"),
        ({"rubric": "pathway-answr"}, pl.UsageError, "no rubric is called"),
        ({"rubric": ()}, pl.UsageError, "no rubric is named"),
        ({"judge": "none"}, pl.UsageError, "no judge is called 'none'"),
        ({"detail": "all"}, pl.UsageError, "detail 'all': must be 'full'"),
        ({"samples": 0}, pl.UsageError, "samples 0: must be at least 1"),
        ({"temperature": float("nan")}, pl.UsageError, "temperature nan: must be"),
        ({"map": {"question": 5}}, pl.UsageError, "map (a dict): must be"),
        ({"judge": [5]}, pl.UsageError, "judge (a list): must be"),
        ({"cluster": "nowhere"}, pl.UsageError, "a cluster is for the command judge"),
        ({"truncate": "none"}, pl.UsageError, "truncate names 'none'"),
        ({"rubric": 5}, pl.UsageError, "a rubric is a int"),
        ({"rubric": Undocumented}, pl.RubricError, "the model Undocumented has no docstring"),
        ({"sed": 3}, pl.UsageError, "no option is called 'sed'"),
        ({"run": 5}, pl.UsageError, "a name or path is of type int"),
        ({"run": "/proc/a.run"}, pl.RunFileError, "/proc/a.run"),
        ({"map": "answer"}, pl.UsageError, "map answer is not INPUT=COLUMN"),
        ({"header_row": 2}, pl.UsageError, "encoding, header_row or sheet is for a file, and the cases are rows"),
        ({"think": "auto"}, pl.UsageError, "judge 'demo' never thinks"),
    ],
)
def test_wrong_arguments_are_told_with_a_hint(
    arguments: dict[str, Any], kind: type[pl.PathwayError], said: str, tmp_path: Path, engine: pl.Engine
) -> None:
    given: dict[str, Any] = {"cases": [ROW], "rubric": "pathway-answer", "run": tmp_path / "a.run"} | arguments
    with pytest.raises(kind, match=re.escape(said)) as refused:
        pl.judge(**given, engine=engine, progress=False)
    assert refused.value.hint or isinstance(refused.value, pl.CasesError)
    assert not (tmp_path / "a.run").exists()


def test_hints_name_arguments_as_python_has_them(tmp_path: Path, engine: pl.Engine) -> None:
    row = {"id": "a", "questons": "Why?", "ideal_answer": "", "retrieved_content": "", "Ai answer 1": "So."}
    with pytest.raises(pl.CasesError) as refused:
        pl.judge([row], "pathway-answer", engine=engine, progress=False)
    assert "For example: map={'question': 'COLUMN', 'ai_answer': 'COLUMN'}. pathway" in refused.value.hint
    with pytest.raises(pl.UsageError) as refused:
        pl.judge([ROW], "pathway-answer", samples=3, engine=engine, progress=False)
    assert refused.value.hint == "Give temperature, such as 0.7."


class Verdict(BaseModel):
    """Does the answer keep to the text? {{answer}}, {{context}}"""

    score: Annotated[int, Field(ge=1, le=5)]


def test_a_pydantic_model_is_a_rubric(engine: pl.Engine, monkeypatch: pytest.MonkeyPatch, mark: Path) -> None:
    write_reply(mark, " 4}")
    monkeypatch.setenv(instant_engine.REPLY, str(mark))
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"answer": ["So."], "context": ["So it is."]})
    run = pl.judge(frame, Verdict, progress=False)
    assert [(row["rubric"], row["score"]) for row in run.verdicts] == [("Verdict", 4)]


def test_a_rubric_is_read_from_its_text() -> None:
    text = (ROOT / "prompts" / "groundedness.prompty").read_text(encoding="utf-8")
    read, loaded = pl.Rubric.from_text(text), pl.Rubric.load("groundedness")
    assert (read.name, read.inputs, read.scores) == (loaded.name, loaded.inputs, loaded.scores)


def test_a_preference_needs_the_inputs_that_it_compares() -> None:
    prompt, spelled = "Which is better?\nA: {{one}}\nB: {{other}}", 'choice: prefer x as "[[A]]" > y as "[[B]]"'
    with pytest.raises(pl.RubricError, match="choice prefers one of two responses, and nothing says which inputs"):
        pl.Rubric.from_text(prompt, spelled)
    compared = pl.Rubric.from_text(prompt, spelled, swap={"one": "other"}).read.pair
    assert compared and dict(compared.swap) == {"one": "other"}
    with pytest.raises(pl.RubricError, match="swap names 'two', which is not an input"):
        pl.Rubric.from_text(prompt, spelled, swap={"one": "two"})
    with pytest.raises(pl.UsageError, match="swap needs outputs"):
        pl.Rubric.from_text("---\nname: a\n---\n", swap={"one": "other"})
    assert pl.Rubric.from_text(prompt, "choice: x | y").scores == {"choice": {1: "x", 2: "y"}}
    assert pl.Rubric.from_text("Rate {{answer}}", "score: 1-5", inputs="answer").inputs == ["answer"]


WRONG: list[tuple[tuple[Any, ...], dict[str, Any], str]] = [
    (("Rate {{ answer | trim }} by {{question}}.", "score: 1-5"), {}, "the prompt of own line 1: filter 'trim' is not"),
    (("Rate:\n{{answer}} {{othr}}", "score: 1-5"), {"inputs": ["answer"]}, "own: the prompt uses 'othr'"),
    (("Rate {{answer}}", {"properties": {"score": {"type": "integer"}}}), {}, r"own: score: .*\(ge and le in Pydantic"),
    ((5, "score: 1-5"), {}, "text is of type int"),
    (("Rate {{answer}}", dict), {}, "outputs is of type type"),
    (("Rate {{answer}}", "score: 1-5"), {"swap": 5}, "swap is of type int"),
    (("Rate {{answer}}", "score: 1-5 by 0,5"), {}, ".*: write decimals with a point, such as 0.5"),
]


@pytest.mark.parametrize(("given", "more", "said"), WRONG)
def test_an_error_about_a_prompt_from_a_program_names_the_argument(
    given: tuple[Any, ...], more: dict[str, Any], said: str
) -> None:
    with pytest.raises(pl.PathwayError, match=f"^{said}") as raised:
        pl.Rubric.from_text(*given, name="own", **more)
    assert raised.value.hint


def test_what_a_model_asks_is_kept_or_refused_by_name() -> None:
    class Level(IntEnum):
        low = 1
        high = 2

    class Clarity(BaseModel):
        level: Level
        parts: Annotated[list[str], Field(max_length=3)]

    class Kept(BaseModel):
        """Rate {{answer}}"""

        clarity: Clarity
        why: str
        more: str | None = None
        kind: Literal["a", "b"]
        score: Annotated[int, Field(ge=1, le=3)] | None

    rubric = pl.Rubric.of_model(Kept)
    assert rubric.check() == []
    fields = rubric.read.format.outputs.fields
    assert {name: field.type for name, field in fields.items()} == {
        "clarity.level": "score", "clarity.parts": "list", "why": "text", "more": "text", "kind": "choice",
        "score": "score",
    }  # fmt: skip
    assert fields["score"].special == (0,) and fields["clarity.parts"].items == 3  # type: ignore[union-attr]

    class Dated(BaseModel):
        """Rate {{answer}}"""

        day: datetime.date
        score: Literal[1, 2]

    with pytest.raises(pl.RubricError, match="day: a value of type string: format is no keyword"):
        pl.Rubric.of_model(Dated)


def test_an_analysis_names_the_option_that_it_can_not_take(engine: pl.Engine) -> None:
    run = pl.judge([ROW], "pathway-answer", engine=engine, progress=False)
    for analysis, options, said in (
        ("handover", {}, "^against is missing$"),
        ("summary", {"bx": 1}, "^no option is called 'bx'$"),
        ("plan", {"half_width": "x"}, "^half_width 'x': must be a number"),
        ("agreement", {"rater": "nobody"}, "no rater is called 'nobody'"),
    ):
        with pytest.raises(pl.PathwayError, match=said):
            run.tables(analysis, **options)


def test_one_map_may_be_a_text_and_no_thinking_is_the_default(engine: pl.Engine) -> None:
    row = {**{name: text for name, text in ROW.items() if name != "ai_answer"}, "said": "So."}
    run = pl.judge([row], "pathway-answer", engine=engine, progress=False, map="ai_answer=said", think=0)
    assert run.verdicts[0]["score"] == 4


def test_a_column_alone_is_no_table() -> None:
    pandas = pytest.importorskip("pandas")
    with pytest.raises(pl.UsageError, match="the cases are a Series that can't be read"):
        pl.judge(pandas.Series(["a"], name="question"), "pathway-answer")


def test_without_a_run_rows_are_judged_into_a_private_file_that_goes_with_the_run(
    engine: pl.Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    run = pl.judge([ROW], "pathway-answer", engine=engine, progress=False)
    folder = run.path.parent
    assert run.verdicts[0]["score"] == 4 and folder.stat().st_mode & 0o777 == 0o700
    del run
    assert not folder.exists()
    with pytest.raises(pl.UsageError):
        pl.judge([ROW], "pathway-answer", seed=-1, engine=engine, progress=False)
    assert not list(tmp_path.iterdir())
    Path("cases.jsonl").write_text(json.dumps(ROW) + "\n")
    assert pl.judge("cases.jsonl", "pathway-answer", engine=engine, progress=False).path == Path("cases.run")


def test_an_existing_run_takes_no_argument_that_would_make_another_rater(tmp_path: Path, engine: pl.Engine) -> None:
    pl.judge([ROW], "pathway-answer", run=tmp_path / "a.run", engine=engine, progress=False)
    with pytest.raises(pl.UsageError, match="seed would define a new rater"):
        pl.judge([ROW], run=tmp_path / "a.run", seed=3, engine=engine, progress=False)
    with pytest.raises(pl.UsageError, match="gpus 0: "), pl.Engine(gpus=0) as none:
        pl.judge([ROW], "pathway-answer", run=tmp_path / "b.run", engine=none, progress=False)


def test_progress_is_one_line_in_a_notebook_and_notes_stand_above_it(
    tmp_path: Path, engine: pl.Engine, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pl.judge([ROW], "pathway-answer", run=tmp_path / "a.run", engine=engine)
    err = capsys.readouterr().err
    assert "note: column 'id' is read as the case's id" in err and "\r" not in err
    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    pl.judge([ROW], "pathway-answer", run=tmp_path / "b.run", engine=engine)
    *_, last = capsys.readouterr().err.rstrip("\n").split("\r")
    assert last.startswith("demo: 1 of 1 done")
    pl.judge([ROW], "pathway-answer", run=tmp_path / "c.run", engine=engine, progress=False)
    assert capsys.readouterr().err == ""


def test_an_engine_stays_until_the_block_ends() -> None:
    with pl.Engine() as engine:
        assert engine.cache._engine is None
        for name in ("one", "two"):
            pl.judge([ROW], "pathway-answer", run=f"{name}.run", engine=engine, progress=False)
        loaded = engine.cache._engine
        assert loaded is not None
    assert engine.cache._engine is None
