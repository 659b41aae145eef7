"""rubrics align: which labelled cases become examples, whether they help, and who can read them."""

import json
import re
import shlex
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from shared_vllm import type_with
from taught_run import rows, rubric, taught, taught_run
from test_help import parse
from test_prompt import HOSTILE
from typed import Desk
from typed_here import sentences

from pathway_local.engines.engines import Engines
from pathway_local.errors import PathwayError, UsageError
from pathway_local.rendering.tokenizer import JudgeTokenizer
from pathway_local.results.agreement_tables import ANALYSIS
from pathway_local.results.alignment import AlignOptions, Labelled, chosen_examples
from pathway_local.results.analysis import found_by
from pathway_local.rubrics.examples import LONGEST, examples_text, is_set_aside, shortened
from pathway_local.rubrics.rubric_file import builtin_names, load_rubric, parse_rubric, taught_text
from pathway_local.runs.run_file import RunFile
from pathway_local.scores.scores import Scores
from pathway_local.system.options import checked
from pathway_local.verdict import storable

COUNT = 120
SECRET = "ZEBRAQUAGGA"


def choose(path: Path, count: int = 8, **options: str) -> list[Labelled]:
    with RunFile.read(path) as run:
        data = Scores(run)
        given = {"against": "Ann", "examples": count, **options}
        return chosen_examples(data, data.rubrics["plain"], checked(AlignOptions, given))


def scores(seed: int, count: int = COUNT) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    people = rng.integers(1, 6, count).astype(float)
    return people, np.clip(people + rng.integers(-2, 3, count), 1, 5)


def test_every_level_comes_first_and_then_the_largest_errors_of_different_questions(tmp_path: Path) -> None:
    people, judge = scores(1)
    people[[at for at in range(COUNT) if people[at] == 5][3:]] = 2
    path = taught_run(tmp_path / "a.run", {"Ann": people}, [(rubric(), judge)])
    for column, key in (("", "question"), ("student", "student")):
        found = choose(path, cluster=column)
        places = [int(each.case[2:]) for each in found]
        labelled = [at for at in range(COUNT) if is_set_aside(f"c-{at:03}")]
        assert {each.scores["score"] for each in found} == {people[at] for at in labelled}
        assert all(is_set_aside(each.case) for each in found) and len(found) == 8
        assert all(each.scores["score"] == people[at] and each.notes == "Ann says so" for each, at in
                   zip(found, places, strict=True))  # fmt: skip
        shared = [rows(COUNT)[at].metadata["student"] if column else at // 2 for at in places]
        assert max(Counter(shared).values()) == 1, key
        assert found == choose(path, cluster=column)
    # No case that was left out errs more than the least of those beyond the levels, unless its question was taken.
    errors = {at: abs(people[at] - judge[at]) for at in labelled}
    taken, least = {at // 2 for at in places}, sorted((errors[at] for at in places), reverse=True)[3]
    assert all(errors[at] <= least for at in labelled if at not in places and at // 2 not in taken)


def test_several_people_are_one_label_and_a_mean_between_levels_is_none(tmp_path: Path) -> None:
    people, judge = scores(2)
    other = people.copy()
    other[0::7] = np.clip(people[0::7] + 1, 1, 5)
    path = taught_run(tmp_path / "a.run", {"c/Ann": people, "c/Bob": other}, [(rubric(), judge)])
    for each in choose(path, against="c"):
        assert each.scores["score"] == people[int(each.case[2:])]
        assert each.notes == "c/Ann says so\nc/Bob says so"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"against": "demo"}, "demo is no person"),
        ({"judge": "gpt"}, "one judge must be named"),
        ({"against": "Few"}, "labelled cases can be examples, and 4 are needed"),
        ({"cluster": "nothing"}, "nothing"),
    ],
)
def test_a_choice_that_can_not_be_made_is_refused(tmp_path: Path, options: dict[str, str], says: str) -> None:
    people, judge = scores(3)
    few = np.where(np.arange(COUNT) < 6, people, np.nan)
    path = taught_run(tmp_path / "a.run", {"Ann": people, "Few": few}, [(rubric(), judge)])
    with pytest.raises(PathwayError, match=says):
        choose(path, **options)


def test_a_taught_rubric_is_not_taught_again(tmp_path: Path) -> None:
    people, judge = scores(3)
    path = taught_run(
        tmp_path / "a.run", {"Ann": people}, [(taught(["c-001"], "plain"), judge)], of=taught(["c-001"], "plain")
    )
    with pytest.raises(UsageError, match="plain has examples already"):
        choose(path)


def test_a_judge_that_ignores_examples_shows_no_change_in_95_of_100_files(tmp_path: Path) -> None:
    """Its noise is drawn anew: had its own errors on the other labels been thinned out, it would look worse."""
    keys = Counter[str]()
    for seed in range(100):
        people, _ = scores(seed, 90)
        rng = np.random.default_rng([seed, 9])
        judges = [np.clip(np.round(people + rng.normal(0.3, 1.1, len(people))), 1, 5) for _ in range(2)]
        path = taught_run(tmp_path / f"{seed}.run", {"Ann": people}, [(rubric(), judges[0])])
        examples = [each.case for each in choose(path, 12)]
        again = taught_run(
            tmp_path / f"{seed}b.run", {"Ann": people}, [(rubric(), judges[0]), (taught(examples), judges[1])]
        )
        with RunFile.read(again) as run:
            [table] = found_by(ANALYSIS, Scores(run), {"between": "plain,taught", "against": "Ann"})
        keys[table.notes[0].key] += 1
    assert keys["between_none"] >= 91, keys
    assert keys["between_gain"] <= 6 and keys["between_loss"] <= 6, keys


def test_a_file_holds_any_text_and_is_otherwise_the_rubric_that_it_was_made_of() -> None:
    for name in builtin_names():
        own = load_rubric(name)
        if own.pair:
            continue
        values = {each: field.values[0] for each, field in own.format.given.items()}
        texts = [storable(text) for text in (*HOSTILE, "---\n---", " \t", "- a: b\n# c", "x\r\ny\x85z", "'\"")]
        some = [{"case": f"{at}", "inputs": dict.fromkeys(own.inputs, f"x{text}"), "scores": values, "notes": text}
                for at, text in enumerate(texts[:12])]  # fmt: skip
        made = parse_rubric(taught_text(own, "mine", some), "mine")
        assert [dict(each.inputs) for each in made.examples] == [each["inputs"] for each in some]
        assert (made.name, made.rated_as, made.turns, made.inputs) == ("mine", name, own.turns, own.inputs)
        assert made.format.outputs == own.format.outputs and made.rules == own.rules and made.notes == own.notes


def test_a_long_text_is_cut_and_says_so() -> None:
    assert shortened("x" * LONGEST) == "x" * LONGEST
    assert shortened("x" * (LONGEST + 1)) == f"{'x' * LONGEST} [cut]"


def test_from_labels_to_a_better_rubric(tmp_path: Path, tiny_judge: Path) -> None:
    """A judge that reads the examples shows the gain; the run never holds their texts, and needs the file to go on."""
    desk = Desk(tmp_path / "d", tiny_judge, "learner")
    worth = [at * 7 % 5 + 1 for at in range(60)]
    made = [
        {"id": f"case-{at}", "question": f"{SECRET} {at}", "answer": f"worth {own}"} for at, own in enumerate(worth)
    ]
    cases = desk.sheet(made)
    desk.typed(*desk.judging(cases))
    labels = "".join(f"case-{at},{own},{SECRET} note {at}\n" for at, own in enumerate(worth))
    (desk.work / "people.csv").write_text(f"id,score,notes\n{labels}")
    (desk.work / "people.csv").chmod(0o600)
    desk.typed("import", "may.run", "people.csv", "--rater", "Ann", "--kind", "human")
    aligning = ["rubrics", "align", "may.run", "--against", "Ann", "--cases", cases.name, "-o"]
    assert "small" in desk.typed(*aligning, "small.prompty", code=2).stderr
    told = desk.typed(*aligning, "mine.prompty").stderr
    path = desk.work / "mine.prompty"
    assert path.stat().st_mode & 0o777 == 0o600 and path.read_text().splitlines()[1].startswith(
        "# This file holds texts"
    )
    examples = load_rubric(str(path)).examples
    assert len(examples) == 8 and "8 examples" in told and all(SECRET in each.notes for each in examples)
    commands = [line.split()[1:] for line in told.splitlines() if line.strip().startswith("pathway-local")]
    scripted = ["-j", "scripted", "--models", "models.yaml", "--engine", "scripted"]
    assert "mine.prompty" in commands[0] and "small,mine" in commands[1]
    desk.typed(*commands[0], *scripted)
    [said] = sentences(desk.typed(*commands[1], "--json").stdout)
    assert said.startswith("scripted is closer to Ann under mine: 0.00 points from their scores on average")
    aside = sum(is_set_aside(f"case-{at}") for at in range(60))
    assert f"on {60 - aside} labelled cases" in said
    noted = desk.typed("summary", "may.run", "--rubric", "mine", code=None)
    assert "Traceback" not in noted.stderr
    run = (desk.work / "may.run").read_bytes()
    assert not any(text.encode() in run for each in examples for text in each.inputs.values() if SECRET in text)
    refused = desk.typed("judge", cases.name, "--run", "may.run", "--models", "models.yaml", code=2).stderr
    assert "does not keep the texts of the examples in mine" in refused
    assert "judged before: 60" in desk.typed(*commands[0], *scripted, "--dry-run").stdout
    path.chmod(0o644)
    assert "chmod 600 mine.prompty" in desk.typed(*commands[0], *scripted, code=2).stderr
    path.chmod(0o600)
    hosted = ["hosted", "export", "new.run", "--cases", cases.name, "--rubric", "mine.prompty", "--yes", "--service"]
    assert "stay on this machine" in desk.typed(*hosted, "openai", "--model", "m", "--out", "b.jsonl", code=2).stderr
    for page in ("report", "read"):
        more = ["--cases", cases.name] if page == "read" else []
        desk.typed(page, "may.run", *more, "--out", f"{page}.html")
    desk.typed("export", "may.run", "--out", "verdicts.jsonl")
    shown = (desk.work / "report.html").read_text() + (desk.work / "verdicts.jsonl").read_text()
    assert not any(text in shown for each in examples for text in each.inputs.values())
    purging = ["runs", "purge", "may.run", "--yes"]
    assert (
        "mine"
        not in desk.typed(*purging, "--case", next(f"case-{at}" for at in range(60) if not is_set_aside(f"case-{at}")))
        .stderr.split("as examples")[-1]
        .splitlines()[0]
    )
    assert "as examples: mine" in desk.typed(*purging, "--case", examples[0].case).stderr
    assert "as examples: mine" in desk.typed(*purging, "--text").stderr
    assert "as examples: mine" in desk.typed(*purging, "--all").stderr
    assert json.dumps(examples[1].case).encode() not in (desk.work / "may.run").read_bytes()


def test_real_vllm_reads_the_examples_once_and_the_sentence_is_honest(
    tmp_path: Path, tiny_judge: Path, vllm_host: Engines
) -> None:
    """A judge of random weights gains nothing; from the second case on, the examples come from the cache."""
    desk = Desk(tmp_path / "d", tiny_judge)
    made = [{"id": f"case-{at}", "question": f"What is {at}?", "answer": f"It is {at}."} for at in range(40)]
    cases = desk.sheet(made)
    path = desk.work / "mine.prompty"
    some = [{"inputs": {"question": f"{at}?", "answer": "So. " * 40}, "scores": {"score": at}} for at in range(1, 6)]
    path.write_text(taught_text(load_rubric(str(desk.work / "small.prompty")), "mine", some))
    judging = desk.judging(cases, "--detail", "score", engine="vllm")
    for name in ("small.prompty", "mine.prompty"):
        said = type_with(vllm_host, desk.work, *(name if each == "small.prompty" else each for each in judging))
        assert said.code == 0, said
    (desk.work / "people.csv").write_text("id,score\n" + "".join(f"case-{at},{at % 5 + 1}\n" for at in range(40)))
    (desk.work / "people.csv").chmod(0o600)
    desk.typed("import", "may.run", "people.csv", "--rater", "Ann", "--kind", "human", "--rubric", "small")
    tokens = len(JudgeTokenizer(tiny_judge).encode_cases([examples_text(load_rubric(str(path)))])[0])
    with RunFile.read(desk.work / "may.run") as run:
        taken = [record.tokens for record in run.records(rubric="mine") if record.rater == "tiny"]
    assert len(taken) == 40 and min(each.prompt for each in taken) > tokens
    assert sum(each.cached >= tokens - 64 for each in taken) >= 39
    [told] = sentences(
        desk.typed("agreement", "may.run", "--between", "small,mine", "--against", "Ann", "--json").stdout
    )
    assert "on 40 labelled cases" in told


def test_the_page_s_commands_have_the_options_that_it_names_and_its_examples_load() -> None:
    page = (Path(__file__).parents[1] / "docs" / "align.md").read_text()
    commands = re.findall(r"^ *pathway-local (.+)$", page, re.MULTILINE)
    assert len(commands) == 6
    for command in commands:
        parse(shlex.split(command))
    [block] = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    assert rubric("mine", block).examples[0].notes == "Only enrolled students may."
