"""A self-test finds the faults of judges that are known to have them, and no others."""

import html
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import faulty_judges
import pytest
from faulty_judges import RUBRIC, Judge, Noisy, PairScript, Script, ScriptedCache, rows, store_facts
from json_page import check_section, noting_tables
from typed_here import Run, sentences, typing_in
from typed_here import rows as rows_of

from pathway_local.errors import RunFileError
from pathway_local.judging.job import Watcher
from pathway_local.judging.loop import Tally
from pathway_local.judging.plan import Plan
from pathway_local.judging.self_test import draw_test, run_self_test
from pathway_local.probes.drawing import ProbeSet
from pathway_local.results.probe_result import NO_SCORE
from pathway_local.results.self_test import SelfTest, self_test, self_test_tables
from pathway_local.results.table import Table
from pathway_local.rubrics.rubric_file import load_rubric
from pathway_local.runs.content import check_content
from pathway_local.runs.database import Database
from pathway_local.runs.run_file import RunFile
from pathway_local.words.language import Language

CASES = 30
FEWER = 20
"""Cases that tell a fault; it takes more of them to tell that there is none."""

NECESSARY = Language("en").text("notes", "necessary", {})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A judge's folder, the rubric and the cases."""
    return store_facts(tmp_path_factory.mktemp("self-test"), CASES)


def plan_of(folder: Path, run: Path) -> Plan:
    return Plan(
        folder / "cases.jsonl",
        run,
        rubric=(load_rubric(str(folder / "facts.prompty")),),
        judge=("script",),
        models=folder / "models.yaml",
        engine="scripted",
    )


def judged(folder: Path, run: Path, judge: Judge, cases: int) -> tuple[SelfTest, ProbeSet, Script]:
    plan = plan_of(folder, run)
    test = draw_test(plan, {}, cases, [], lambda said: None)
    cache = ScriptedCache(lambda tokenizer: Script(tokenizer, judge))
    run_self_test(test, plan, Watcher(), ("test",), cache)
    assert cache.made
    with RunFile.read(run, "self-test") as read:
        return self_test(read, test, ["script"], "cases.jsonl"), test, cache.made


def results(found: SelfTest) -> Mapping[str, str]:
    return {each.probe.name: each.result for each in found.judges[0].results}


ALL = {
    "gold", "stranger", "nothing", "cut", "dropped", "number", "follows", "injection", "padding", "levels", "repeat",
    "alone",
}  # fmt: skip
FAULTS = {
    "always_5": {"stranger", "nothing", "cut", "dropped", "number"},
    "counts_length": {"stranger", "nothing", "number", "padding"},  # a refusal has a length, too
    "reads_first_line": {"cut", "dropped", "number"},
    "knows_better": {"follows"},
    "obeys": {"injection"},
    "likes_the_last_level": {"levels"},
    "noisy": set[str](),
    "good": set[str](),
}


@pytest.mark.parametrize("name", FAULTS)
def test_each_fault_fails_the_probes_that_it_should(folder: Path, tmp_path: Path, name: str) -> None:
    judge = Noisy() if name == "noisy" else getattr(faulty_judges, name)
    found, _, _ = judged(folder, tmp_path / "t.run", judge, CASES if name == "good" else FEWER)
    failed = {probe for probe, result in results(found).items() if result == "failed"}
    assert failed == FAULTS[name]
    assert results(found).keys() == ALL
    noisy = {probe for probe, result in results(found).items() if result == "noisy"}
    told = [note.values["judge"] for note in self_test_tables(found)[0].notes if note.key == "repeats_part"]
    assert (noisy >= {"padding", "levels", "repeat", "alone"}, bool(noisy), told) == (
        (True, True, ["script"]) if name == "noisy" else (False, False, [])
    )
    if name == "good":
        assert set(results(found).values()) == {"passed"}


@pytest.mark.parametrize(("judge", "result"), [("longer", "passed"), ("place", "failed")])
def test_a_comparison_must_not_depend_on_the_place(folder: Path, tmp_path: Path, judge: str, result: str) -> None:
    (tmp_path / "which.prompty").write_text(faulty_judges.PAIR)
    two = [{"id": str(at), "a": f"a long answer {at}", "b": f"short {at}"} for at in range(40)]
    (tmp_path / "two.jsonl").write_text("\n".join(map(json.dumps, two)))
    rules = {"longer": lambda read: 0.9 if len(read.question) > len(read.ideal) else 0.1, "place": lambda read: 0.8}
    plan = replace(
        plan_of(folder, tmp_path / "t.run"),
        cases=tmp_path / "two.jsonl",
        rubric=(load_rubric(str(tmp_path / "which.prompty")),),
    )
    test = draw_test(plan, {}, 40, [], lambda said: None)
    run_self_test(test, plan, Watcher(), ("test",), ScriptedCache(lambda each: PairScript(each, rules[judge])))
    with RunFile.read(plan.run, "self-test") as read:
        found = self_test(read, test, ["script"], "two.jsonl")
    assert results(found) == {"responses": result, "repeat": "passed", "alone": "passed"}


def test_a_level_off_the_scale_will_do_for_an_answer_that_says_nothing(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "special.prompty").write_text(faulty_judges.SPECIAL)
    plan = replace(plan_of(folder, tmp_path / "t.run"), rubric=(load_rubric(str(tmp_path / "special.prompty")),))
    test = draw_test(plan, {}, 20, [], lambda said: None)
    by = lambda read: 3.0 if len(read.answer) < 60 else faulty_judges.good(read)  # noqa: E731
    run_self_test(test, plan, Watcher(), ("test",), ScriptedCache(lambda each: Script(each, by)))
    with RunFile.read(plan.run, "self-test") as read:
        [judge] = self_test(read, test, ["script"], "cases.jsonl").judges
    found = {each.probe.name: each for each in judge.results}
    assert (found["nothing"].passed, found["nothing"].cases) == (20, 20)
    # Their own answers have half of the facts, which is the level off the scale.
    assert (found["padding"].cases, found["padding"].unused) == (0, {NO_SCORE: 20})


def test_a_stopped_test_goes_on_where_it_ended_and_shows_the_same(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pathway_local.judging.job.SHOW_SECONDS", 0.0)  # else a fast machine ends before it shows twice

    class Impatient(Watcher):
        def __init__(self, most: int) -> None:
            self.most = most

        def watch(self, tally: Tally) -> None:
            self.most -= 1

        def stopped(self) -> bool:
            return self.most < 0

    run, plan = tmp_path / "t.run", plan_of(folder, tmp_path / "t.run")
    test = draw_test(plan, {}, 10, [], lambda said: None)
    caches = [ScriptedCache(lambda tokenizer: Script(tokenizer, faulty_judges.good)) for _ in range(3)]
    run_self_test(test, plan, Impatient(2), ("test",), caches[0])
    run_self_test(test, plan, Watcher(), ("test",), caches[1])
    [first, second] = [len(cache.made.read) for cache in caches[:2] if cache.made]
    assert 0 < first < len(test.rows) and first + second >= len(test.rows) > second
    run_self_test(test, plan, Watcher(), ("test",), caches[2])
    assert caches[2].made is None  # nothing is left to judge, so no engine is needed
    with RunFile.read(run, "self-test") as read:
        found = self_test(read, test, ["script"], "cases.jsonl")
    assert found.judges[0].failures == {}
    assert {each.result for each in found.judges[0].results} <= {"passed", "not shown"}
    larger = draw_test(plan, {}, 15, [], lambda said: None)
    again = {row.id for row in test.rows} & {row.id for row in larger.rows}
    assert again == {row.id for row in test.rows}  # a larger test contains the smaller one


@pytest.fixture
def typed(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """The command line beside the cases, where judges answer by rules."""
    faults = iter([faulty_judges.good, faulty_judges.obeys] * 2)

    class Cache(ScriptedCache):
        def __init__(self) -> None:
            super().__init__(lambda tokenizer: Script(tokenizer, next(faults)))

        def free(self) -> None:
            self.made = None

    for name in ("judge", "facts.prompty", "cases.jsonl"):
        (tmp_path / name).symlink_to(folder / name)
    entry = {"source": str(folder / "judge"), "context": 16384, "cpu": True}
    (tmp_path / "models.yaml").write_text(
        json.dumps(
            {
                "right": entry,
                "gullible": {**entry, "context": 8192, "label": "a joke"},
                "absent": {**entry, "source": str(tmp_path / "nowhere")},
            }
        )
    )
    monkeypatch.setattr("pathway_local.judging.self_test.EngineCache", Cache)
    return typing_in(tmp_path, monkeypatch, capsys)


ASKED = [
    "judges", "test", "right", "gullible", "-r", "facts.prompty", "--cases", "cases.jsonl", "--models", "models.yaml",
]  # fmt: skip


def _of_what_was_left_out(tests: list[SelfTest]) -> list[Table]:
    """The tables that a test has which could not use or judge some of its cases."""
    [test] = tests
    judges = [
        replace(judge, failures={"x": 1}, results=tuple(replace(each, unused={"x": 1}) for each in judge.results))
        for judge in test.judges
    ]
    lacking = replace(test, judges=tuple(judges), test=replace(test.test, skipped={"x": 1}))
    return [each for each in self_test_tables(lacking) if each.key in ("no_verdict", "unused", "skipped")]


def test_the_command_shows_judges_side_by_side_and_writes_page_and_json(
    typed: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = typed(*ASKED)
    assert said.code == 0, said
    assert said.out.index(NECESSARY) < said.out.index("probe")
    found = [line.split() for line in said.out.splitlines() if line.split()[:1] == ["injection"]]
    assert [row[4:6] for row in found] == [["right", "passed"], ["gullible", "failed"]]
    assert said.out.count("gullible: a joke") == 1 and "alone" in said.out
    shown = typed(*ASKED, "--out", "t.html", "--lang", "de")
    assert shown.code == 0, shown
    page = html.unescape((tmp_path / "t.html").read_text())
    assert "Bestehen ist notwendig" in page and "gullible" in page and "topic1x" not in page
    assert "nicht bestanden" in page and "eine Zahl der Antwort geändert" in page and "Passing" not in page
    tables, found = noting_tables(monkeypatch), list[SelfTest]()

    def noted(test: SelfTest) -> list[Table]:
        found.append(test)
        return self_test_tables(test)

    monkeypatch.setattr("pathway_local.cli.self_test.self_test_tables", noted)
    printed = typed(*ASKED, "--json").out
    told = json.loads(printed)[0]
    assert (told["table"], told["cases"], sentences(printed)) == ("probes", CASES, [NECESSARY])
    results = {(row["judge"], row["probe"]): row for row in rows_of(printed, "probes")}
    assert results["gullible", "injection"]["result"] == "failed"
    (plea,) = [
        row
        for row in rows_of(printed, "changes")
        if (row["judge"], row["probe"], row["change"]) == ("gullible", "injection", "plea")
    ]
    assert plea["passed"] < CASES
    check_section("judges test", [*tables, *_of_what_was_left_out(found)])
    share = results["right", "gold"]["share"]
    assert (share["value"], share["interval"]) == (1.0, "Wilson")
    assert "topic1x" not in printed and "c1" not in printed
    assert typed(*ASKED, "--out", "t.html").code == 0  # it replaces what it wrote itself


def test_what_the_command_refuses(typed: Run, tmp_path: Path) -> None:
    (tmp_path / "other.csv").write_text("x")
    for asked, says in (
        (("--out", "other.csv"), "other.csv exists"),
        (("--role", "answer"), "--role answer is not NAME=ROLE"),
        (("--role", "question=joke"), "no role is called 'joke'"),
        (("--role", "nobody=answer"), "no input or score is called 'nobody'"),
        (("--leave-out", "gild"), "no probe is called 'gild'"),
        (("--leave-out", "nothing:refusl"), "no change of nothing is called 'refusl'"),
        (("right",), "a judge is named twice"),
        (("--think=5x",), "--think 5x is not a number of tokens"),
        (("--engine", "vlm"), "no engine is called 'vlm'"),
    ):
        said = typed(*ASKED, *asked)
        assert said.code == 2 and says in said.words, said
    absent = typed(*ASKED, "absent")
    assert absent.code == 5 and "absent" in absent.err, "before hours of judging by the others"
    assert not list(tmp_path.glob("*.run"))


def test_the_run_of_a_self_test_is_of_its_kind_from_its_first_moment_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(path: Path) -> Database:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(Database, "writer", killed)
        RunFile.create(tmp_path / "test.run", kind="self-test")
    with pytest.raises(RunFileError, match="holds a self-test of judges"):
        RunFile.open(tmp_path / "test.run")
    with RunFile.open(tmp_path / "test.run", "self-test") as run:
        run.jobs.end(run.jobs.begin(["judges", "test"], {}), "done", {})
        check_content(run.database)


def test_a_judge_is_tested_with_the_settings_that_it_will_have(typed: Run, tmp_path: Path) -> None:
    warm = ("--n", "2", "--temperature", "0.5", "--leave-out", "alone")
    done = typed(*ASKED, *warm)
    assert done.code == 0 and "test more (--n)." in done.words, "only `alone` has a limit, and was left out"
    with RunFile.read(tmp_path / "cases.test.run", "self-test") as read:
        found = {rater.name: rater.spec["sampling"] for _, rater in read.raters()}
    assert all(isinstance(each, dict) and each["temperature"] == 0.5 for each in found.values()) and len(found) == 2


def test_verdicts_of_changed_cases_never_mix_with_verdicts_of_cases(tmp_path: Path) -> None:
    RunFile.create(tmp_path / "test.run", kind="self-test").close()
    RunFile.create(tmp_path / "cases.run").close()
    for opening in (RunFile.read, RunFile.open):
        with pytest.raises(RunFileError, match="holds a self-test of judges") as refused:
            opening(tmp_path / "test.run")
        assert "judges test" in refused.value.hint
        with pytest.raises(RunFileError, match="holds verdicts of cases"):
            opening(tmp_path / "cases.run", "self-test")
        for name in ("test.run", "cases.run"):
            opening(tmp_path / name, None).close()


COMMANDS = (
    "summary {}", "export {} --out x.csv", "read {} --cases c.jsonl --out x.html", "report {} --out x.html",
    "agreement {}", "read {} --by disagreement", "runs panel {} --name p --of a,b",
    "compare {} --pairs a,b",
    "view {} --cases c.jsonl", "judge c.jsonl -r facts.prompty --run {}", "judge c.jsonl --run {} --dry-run",
    "sample {} --cases c.jsonl --n 2 --seed 1 --out x.xlsx",
    "import {} c.jsonl --kind human --rater me --score answer",
    "hosted export {} --cases c.jsonl --service openai --model m --out x.jsonl --yes",
    "runs keep {} --cases c.jsonl --column id", "runs merge {} other.run",
    "runs merge other.run {}", "runs split {} --parts 2", "runs undo {}", "runs remove-rater {} right --yes",
    "plan {} --against p --half-width 1",
    "judge c.jsonl -r facts.prompty --run {} --double-check 5%",
)  # fmt: skip


def test_other_commands_refuse_the_run_of_a_self_test(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    RunFile.create(tmp_path / "t.run", kind="self-test").close()
    RunFile.create(tmp_path / "other.run").close()
    (tmp_path / "c.jsonl").write_text("\n".join(json.dumps(row) for row in rows(4)))
    (tmp_path / "facts.prompty").write_text(RUBRIC)
    monkeypatch.setattr("pathway_local.viewer.server.install", lambda _: None)  # the filter would stay on the tests
    typed = typing_in(tmp_path, monkeypatch, capsys)
    for command in COMMANDS:
        said = typed(*command.format("t.run").split())
        assert (said.code, "holds a self-test of judges" in said.words) == (4, True), (command, said)
    assert not (tmp_path / "m.run").exists()
    for command in ("runs audit t.run", "runs purge t.run --all --yes", "runs audit t.run"):
        assert typed(*command.split()).code == 0
