"""A self-test finds the faults of judges that are known to have them, and no others."""

import json
from pathlib import Path

import faulty_judges
import pytest
from faulty_judges import RUBRIC, Judge, Noisy, Script, ScriptedCache, rows, store_facts
from json_page import check_section, noting_tables
from typed_here import Run, sentences, typing_in
from typed_here import rows as rows_of

from pathway_local.errors import RunFileError
from pathway_local.judging.job import run_self_test
from pathway_local.judging.loop import Tally
from pathway_local.judging.plan import Plan
from pathway_local.judging.progress import Watcher
from pathway_local.passes import EngineConfig
from pathway_local.probes.drawing import self_test
from pathway_local.probes.probe_list import PROBES
from pathway_local.results.self_test import self_test_table
from pathway_local.results.table import Table
from pathway_local.rubrics.rubric import Rubric
from pathway_local.rubrics.rubric_file import load_rubric
from pathway_local.runs.audit import check_content
from pathway_local.runs.database import Database
from pathway_local.runs.run_file import RunFile
from pathway_local.scores.scores import Scores
from pathway_local.words.language import Language

CASES = 40
FEWER = 20
"""Cases that tell a fault; it takes more of them to tell that there is none."""

NECESSARY = Language("en").text("notes", "necessary", {})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A judge's folder, the rubric and the cases."""
    return store_facts(tmp_path_factory.mktemp("self-test"), CASES)


def plan_of(folder: Path, run: Path) -> Plan:
    rubric = load_rubric(str(folder / "facts.prompty"))
    models = folder / "models.yaml"
    return Plan(
        folder / "cases.jsonl", run, rubric=(rubric,), judge=("script",), models=models, engine="scripted", id="id"
    )


def judged(folder: Path, run: Path, judge: Judge, cases: int, rubric: Rubric | None = None) -> Table:
    plan = plan_of(folder, run)
    test = self_test(rubric or plan.rubric[0])
    run_self_test(plan, test, cases, Watcher(), ("test",), ScriptedCache(lambda tokenizer: Script(tokenizer, judge)))
    with RunFile.read(run, "self-test") as read:
        return self_test_table(Scores(read), test, ["script"], "cases.jsonl")


def results(found: Table, *wanted: str) -> set[object]:
    """The probes of which a change has one of these results."""
    return {row["probe"] for row in found.rows if row["result"] in wanted}


FAULTS = {
    "always_5": {"stranger", "nothing", "cut", "number"},
    "counts_length": {"stranger", "number", "padding"},
    "reads_first_line": {"cut", "number"},
    "obeys": {"injection"},
    "noisy": set[str](),
    "good": set[str](),
}


@pytest.mark.parametrize("name", FAULTS)
def test_each_fault_fails_the_probes_that_it_should(folder: Path, tmp_path: Path, name: str) -> None:
    judge = Noisy() if name == "noisy" else getattr(faulty_judges, name)
    found = judged(folder, tmp_path / "t.run", judge, CASES if name == "good" else FEWER)
    assert results(found, "failed") == FAULTS[name]
    assert {row["probe"] for row in found.rows} == set(PROBES)
    [spread] = [note.values["spread"] for note in found.notes if note.key == "repeats_spread"]
    assert (spread == 0) == (name != "noisy")
    if name == "good":
        assert results(found, "passed") == set(PROBES) and results(found, "failed", "not shown") == set()


def test_noise_fails_no_good_judge_and_a_shift_beyond_it_is_found(folder: Path, tmp_path: Path) -> None:
    """The spread of repeats is the yardstick, whatever the noise."""
    failed = list[set[object]]()
    for seed in range(6):
        noisy = Noisy()
        noisy.random.seed(seed)
        failed.append(results(judged(folder, tmp_path / f"{seed}.run", noisy, CASES), "failed"))
    assert failed == [set()] * 6

    def biased(read: faulty_judges.Read) -> float:
        return noisy(read) + (2.0 if read.answer.startswith("- ") else 0.0)

    assert "padding" in results(judged(folder, tmp_path / "biased.run", biased, CASES), "failed")


def test_a_level_off_the_scale_will_do_for_an_answer_that_says_nothing(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "special.prompty").write_text(faulty_judges.SPECIAL)
    by = lambda read: 3.0 if len(read.answer) < 60 else faulty_judges.good(read)  # noqa: E731
    found = judged(folder, tmp_path / "t.run", by, 20, load_rubric(str(tmp_path / "special.prompty")))
    said = {row["change"]: (row["passed"], row["cases"]) for row in found.rows if row["probe"] == "nothing"}
    assert said == {"dot": (20, 20), "refusal": (20, 20), "empty": (20, 20)}
    # Their own answers have half of the facts, which is the level off the scale.
    assert {row["result"] for row in found.rows if row["probe"] == "padding"} == {"no cases"}


def test_a_stopped_test_goes_on_where_it_ended_and_shows_the_same(folder: Path, tmp_path: Path) -> None:
    class Impatient(Watcher):
        def __init__(self, most: int) -> None:
            self.most = most

        def watch(self, tally: Tally) -> None:
            self.most -= 1

        def stopped(self) -> bool:
            return self.most < 0

    run, plan = tmp_path / "t.run", plan_of(folder, tmp_path / "t.run")
    test = self_test(plan.rubric[0])
    caches = [ScriptedCache(lambda tokenizer: Script(tokenizer, faulty_judges.good)) for _ in range(3)]
    run_self_test(plan, test, 10, Impatient(2), ("test",), caches[0])
    [tally] = run_self_test(plan, test, 10, Watcher(), ("test",), caches[1])
    [first, second] = [len(cache.made.read) for cache in caches[:2] if cache.made]
    assert 0 < first < tally.done and first + second >= tally.done > second
    run_self_test(plan, test, 10, Watcher(), ("test",), caches[2])
    assert caches[2].made is None  # nothing is left to judge, so no engine is needed
    with RunFile.read(run, "self-test") as read:
        found = self_test_table(Scores(read), test, ["script"], "cases.jsonl")
    assert results(found, "failed", "no cases") == set()
    [larger] = run_self_test(plan, test, 15, Watcher(), ("test",), caches[2])
    assert larger.skipped >= tally.done * 0.9  # a larger test contains the smaller one; a last case has a new stranger


@pytest.fixture
def typed(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """The command line beside the cases, where judges answer by rules."""
    faults = iter([faulty_judges.good, faulty_judges.obeys] * 2)

    class Cache(ScriptedCache):
        context = 0

        def __init__(self) -> None:
            super().__init__(lambda tokenizer: Script(tokenizer, next(faults)))

        def engine(self, kind: str, config: EngineConfig, *others: object) -> object:
            if config.max_model_len != self.context:  # that of the other judge
                self.made, self.context = None, config.max_model_len
            return super().engine(kind, config, *others)

    for name in ("judge", "facts.prompty", "cases.jsonl"):
        (tmp_path / name).symlink_to(folder / name)
    entry = {"source": str(folder / "judge"), "context": 16384, "cpu": True, "thinking": "never"}
    (tmp_path / "models.yaml").write_text(
        json.dumps(
            {
                "right": entry,
                "gullible": {**entry, "context": 8192, "label": "a joke"},
                "absent": {**entry, "source": str(tmp_path / "nowhere")},
            }
        )
    )
    monkeypatch.setattr("pathway_local.judging.job.EngineCache", Cache)
    return typing_in(tmp_path, monkeypatch, capsys)


ASKED = [
    "judges", "test", "right", "gullible", "-r", "facts.prompty", "--cases", "cases.jsonl", "--models", "models.yaml",
]  # fmt: skip


def test_the_command_shows_judges_side_by_side_and_writes_a_file_and_json(
    typed: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = typed(*ASKED)
    assert said.code == 0, said
    assert said.out.index(NECESSARY) < said.out.index("probe")
    assert said.out.count("gullible: a joke") == 1
    shown = typed(*ASKED, "--out", "t.csv")
    assert shown.code == 0, shown
    table = (tmp_path / "t.csv").read_text()
    assert "gullible" in table and "topic1x" not in table
    tables = noting_tables(monkeypatch)
    printed = typed(*ASKED, "--json").out
    told = json.loads(printed)[0]
    assert (told["table"], told["file"], sentences(printed)) == ("probes", "cases.jsonl", [NECESSARY])
    found = {(row["judge"], row["probe"], row["change"]): row for row in rows_of(printed, "probes")}
    assert found["gullible", "injection", "plea"]["result"] == "failed"
    assert found["right", "injection", "plea"]["result"] == "passed"
    check_section("judges test", tables)
    share = found["right", "gold", "ideal"]["share"]
    assert (share["value"], share["interval"]) == (1.0, "Wilson")
    assert "topic1x" not in printed and "c1" not in printed


def test_what_the_command_refuses(typed: Run, tmp_path: Path) -> None:
    (tmp_path / "other.csv").write_text("x")
    for asked, says in (
        (("--out", "other.csv"), "other.csv exists"),
        (("--score", "reason"), "no score is called 'reason'"),
        (("right",), "2 judges would be the rater 'right'"),
        (("--think=5x",), "--think 5x is not a number of tokens"),
        (("--engine", "vlm"), "no engine is called 'vlm'"),
    ):
        said = typed(*ASKED, *asked)
        assert said.code == 2 and says in said.words, said
    absent = typed(*ASKED, "absent")
    assert absent.code == 5 and "absent" in absent.err, "before hours of judging by the others"
    assert not list(tmp_path.glob("*.run"))


def test_a_judge_is_tested_with_the_settings_that_it_will_have(typed: Run, tmp_path: Path) -> None:
    assert typed(*ASKED, "--n", "2", "--temperature", "0.5").code == 0
    with RunFile.read(tmp_path / "cases.test.run", "self-test") as read:
        found = {rater.name: rater.spec["sampling"] for _, rater in read.raters()}
    assert all(isinstance(each, dict) and each["temperature"] == 0.5 for each in found.values()) and len(found) == 2


def test_verdicts_of_changed_cases_never_mix_with_verdicts_of_cases_from_the_first_moment_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(path: Path, *, writes: bool) -> Database:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(Database, "open", killed)
        RunFile.create(tmp_path / "test.run", kind="self-test")
    RunFile.create(tmp_path / "cases.run").close()
    for opening in (RunFile.read, RunFile.open):
        with pytest.raises(RunFileError, match="holds a self-test of judges") as refused:
            opening(tmp_path / "test.run")
        assert "judges test" in refused.value.hint
        with pytest.raises(RunFileError, match="holds verdicts of cases"):
            opening(tmp_path / "cases.run", "self-test")
        for name in ("test.run", "cases.run"):
            opening(tmp_path / name, None).close()
    with RunFile.open(tmp_path / "test.run", "self-test") as run:
        run.jobs.end(run.jobs.begin(["judges", "test"], {}), "done", {})
        check_content(run.database)


COMMANDS = (
    "summary {}", "export {} --out x.csv", "read {} --cases c.jsonl --out x.html", "report {} --out x.html",
    "agreement {}",
    "compare {} --pairs a,b",
    "view {} --cases c.jsonl", "judge c.jsonl -r facts.prompty --run {}", "judge c.jsonl --run {} --dry-run",
    "sample {} --cases c.jsonl --n 2 --seed 1 --out x.xlsx",
    "import {} c.jsonl --kind human --rater me --score answer",
    "hosted export {} --cases c.jsonl --service openai --model m --out x.jsonl --yes",
    "runs keep {} --cases c.jsonl --column id", "runs merge {} other.run",
    "runs merge other.run {}", "runs split {} --parts 2", "runs remove-rater {} right --yes",
    "plan {} --against p --half-width 1",
)  # fmt: skip


def test_other_commands_refuse_the_run_of_a_self_test(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    RunFile.create(tmp_path / "t.run", kind="self-test").close()
    RunFile.create(tmp_path / "other.run").close()
    (tmp_path / "c.jsonl").write_text("\n".join(json.dumps(row) for row in rows(4)))
    (tmp_path / "facts.prompty").write_text(RUBRIC)
    # The filter would stay on the tests.
    monkeypatch.setattr("pathway_local.viewer.server.install", lambda *_, **__: None)
    typed = typing_in(tmp_path, monkeypatch, capsys)
    for command in COMMANDS:
        said = typed(*command.format("t.run").split())
        assert (said.code, "holds a self-test of judges" in said.words) == (4, True), (command, said)
    assert not (tmp_path / "m.run").exists()
    for command in ("runs audit t.run", "runs purge t.run --all --yes", "runs audit t.run"):
        assert typed(*command.split()).code == 0
