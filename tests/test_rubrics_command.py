"""`pathway-local rubrics`, and every command of its page in the documentation."""

import json
import re
import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import typer
import yaml
from families import FAMILIES, write_tokenizer
from typed_here import Run, typing_in

from pathway_local.cli import adopt, rubrics, terminal
from pathway_local.cli.rubrics import GUIDES
from pathway_local.cli.terminal import Screen
from pathway_local.errors import EngineError
from pathway_local.rendering.prompt import Chat, PromptWriter
from pathway_local.rendering.rubric_check import LITTLE_ROOM, Inspection, inspect
from pathway_local.rendering.tokenizer import JudgeTokenizer
from pathway_local.rubrics.rubric_file import builtin_names, load_rubric, parse_rubric

ROOT = Path(__file__).parents[1]
OWN = Path(__file__).parent / "rubric_files"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """The command line in a folder of its own, on a wide terminal, with nobody there to ask."""
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "HF_HUB_CACHE"):
        monkeypatch.setenv(name, str(tmp_path / name))
    for module in (rubrics, adopt, terminal):
        monkeypatch.setattr(module, "data", Screen(markup=False, emoji=False, highlight=False, width=300))
    return typing_in(tmp_path, monkeypatch, capsys)


@pytest.fixture(scope="module")
def judge_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tokenizer and a config, which is all that a check looks at."""
    folder = write_tokenizer(FAMILIES[0], tmp_path_factory.mktemp("judge"))
    config = {"model_type": "qwen3", "max_position_embeddings": 8192, "num_hidden_layers": 2, "num_attention_heads": 2}
    (folder / "config.json").write_text(json.dumps({**config, "hidden_size": 64}))
    return folder


FIVE = "{type: score, min: 1, max: 5}"
BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def test_every_command_of_the_page_does_what_it_shows(run: Run, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "rubrics.md").read_text()
    ran = 0
    for kind, name, block in BLOCK.findall(page):
        if name:
            (tmp_path / name).write_text(block)
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:] if kind == "console" else ():
            command, *shown = part.splitlines()
            ran += 1
            if command.startswith("pathway-local judge "):
                continue  # with an engine, in test_criteria_for_each_row.py
            assert command.startswith("pathway-local rubrics "), command
            said = run(*shlex.split(command)[1:])
            failed = any(line.startswith("error:") for line in shown)
            assert (said.code != 0) is failed, (command, said)
            for line in shown:
                assert " ".join(line.split()) in said.words, (command, line, said.out, said.err)
    assert ran == page.count("\n$ ")
    for command in re.findall(r"`pathway-local rubrics (\w+)", page):
        assert command in {"list", "show", "new", "adopt", "check"}


def test_check_counts_as_the_judge_does(run: Run, judge_folder: Path) -> None:
    for name in builtin_names():
        said = run("rubrics", "check", name, "--judge", judge_folder)
        assert said.code == 0, said
        own, shared = (int(re.search(rf"{what} +([\d,]+)", said.out).group(1).replace(",", "")) for what in ("own text", "all prompts"))  # type: ignore[union-attr]  # noqa: E501  # fmt: skip
        assert 0.8 * own < shared < own
        assert "left for the case" in said.out
        assert "<|im_start|>system" in said.out
        assert "move it" not in said.err


def test_check_tells_what_breaks_the_prefix_cache(run: Run, tmp_path: Path, judge_folder: Path) -> None:
    body = (
        "user:\nJudge {{answer}}.\n" + "A long rubric comes behind the case. " * 60 + "Answer only with Pass or Fail.\n"
    )
    path = tmp_path / "late.prompty"
    path.write_text("---\ninputs: {answer: {}}\noutputs: 'verdict: Fail < Pass'\n---\n" + body)
    said = run("rubrics", "check", path, "--judge", judge_folder)
    found = re.search(r"the case's text starts at token (\d+) of ([\d,]+): move it behind the rubric", said.err)
    assert found is not None, said
    assert int(found.group(1)) < 20
    assert int(found.group(2).replace(",", "")) > 300


def test_a_condition_before_the_rubric_breaks_the_prefix_too(judge_folder: Path) -> None:
    text = (
        "---\ninputs: {context: {empty: judge}, answer: {}}\n"
        "outputs: {layout: '{score}', fields: {score: {type: score, min: 1, max: 5}}}\n---\n"
        "user:\n{% if context %}There is a context.{% else %}Nothing was found.{% endif %}\n"
        + "This is the rubric. " * 80
        + "\n{{context}}\n{{answer}}"
    )
    rubric = parse_rubric(text, "x.prompty")
    found = inspect(rubric, rubrics._writer(rubric, str(judge_folder), None))
    assert found.lengths is not None
    assert found.lengths.shared < 20
    assert any("starts at token" in said for said in found.advice)


def test_check_refuses_what_does_not_fit_the_context(judge_folder: Path) -> None:
    rubric = load_rubric("groundedness")
    writer = rubrics._writer(rubric, str(judge_folder), None)
    assert isinstance(writer, PromptWriter)
    lengths = inspect(rubric, writer).lengths
    assert lengths is not None
    needed = lengths.own + rubric.format.reply({}).form.reserve
    writer.context = needed + LITTLE_ROOM - 1
    assert any(f"only {LITTLE_ROOM - 1} of" in said for said in inspect(rubric, writer).advice)
    writer.context = needed
    with pytest.raises(EngineError, match=f"context of {needed:,} tokens is too short for the rubric groundedness"):
        inspect(rubric, writer)


def test_a_long_sample_takes_none_of_the_room(judge_folder: Path) -> None:
    tokenizer = JudgeTokenizer(judge_folder)

    def found(sample: str) -> Inspection:
        front = f"inputs: {{answer: {{sample: {sample!r}}}}}\noutputs: {{layout: '{{s}}', fields: {{s: {FIVE}}}}}"
        text = f"---\n{front}\n---\nuser:\nA rubric. {{{{answer}}}} Once more: {{{{answer}}}}"
        rubric = parse_rubric(text, "x.prompty")
        return inspect(rubric, PromptWriter(rubric, tokenizer, Chat(), context=300))

    long, none = found("words " * 500), found(" ")
    assert long.lengths == none.lengths
    assert long.example.count("words") == 1000
    assert none.example.count("(the case's answer)") == 2


def test_check_without_the_judges_weights_says_so(run: Run) -> None:
    said = run("rubrics", "check", "gold-answer", "--judge", "qwen3-8b")
    assert said.code == 0
    assert "checked without a judge" in said.err
    assert run("rubrics", "check", "gold-answer", "--judge", "qwen33").code == 2


def test_check_prints_grammar_and_schema_alone(run: Run) -> None:
    grammar = run("rubrics", "check", "pathway-answer", "--grammar").out
    assert grammar == load_rubric("pathway-answer").format.reply({}).form.grammar()
    schema = json.loads(run("rubrics", "check", "pathway-answer", "--schema").out)
    assert list(schema["properties"]) == ["analysis", "score", "justification"]


def test_check_shows_the_files_own_sample(run: Run, tmp_path: Path) -> None:
    text = (OWN / "tags.prompty").read_text().replace("---\n", "---\noutputs: 'score: 1-5'\n", 1)
    (tmp_path / "tags.prompty").write_text(text)
    said = run("rubrics", "check", "tags.prompty")
    assert "QUERY: When does the library open?" in said.out
    assert said.out.rstrip().endswith('{"score":')


def test_check_names_line_column_and_fix(run: Run) -> None:
    said = run("rubrics", "check", OWN / "mismatch.prompty")
    assert said.code == 2
    assert "mismatch.prompty line 10, column 11" in said.err
    assert "tool_definitions" in said.err.splitlines()[1]


def test_what_is_open_is_asked_and_what_is_not_found_is_a_line_to_complete(run: Run, tmp_path: Path) -> None:
    (tmp_path / "open.txt").write_text('Judge {answer}. Return JSON: {"clear_score": 0, "why": "<why>"}\n')
    said = run("rubrics", "adopt", "open.txt", "-o", "open.prompty", "--yes")
    assert said.code == 2
    assert "a yes does not complete clear_score" in said.err
    assert "rubrics adopt open.txt --fields 'clear_score: ?; why: text'" in said.words + said.err
    assert not (tmp_path / "open.prompty").exists()
    said = run("rubrics", "adopt", "open.txt", "-o", "open.prompty")
    assert said.code == 0 and "complete each ? in it" in said.err
    made = (tmp_path / "open.prompty").read_text()
    assert '# what is "clear_score"? I read no range' in made and "confirmed: false" in made
    said = run("rubrics", "check", "open.prompty")
    assert said.code == 2 and "clear_score: '?' declares no field" in said.err
    (tmp_path / "open.prompty").write_text(made.replace("'?'", "1-4").replace("confirmed: false\n", ""))
    assert load_rubric("open.prompty").format.scores["clear_score"].values == (1, 2, 3, 4)
    (tmp_path / "two.txt").write_text('Judge {answer}. Write <why>your reasons</why>, then JSON: {"clear_score": 0}\n')
    said = run("rubrics", "adopt", "two.txt", "-o", "two.prompty")
    assert said.code == 0 and "also shows why (tagged slots)" in said.err
    (tmp_path / "none.txt").write_text("Tell me what you think of {answer}.\n")
    said = run("rubrics", "adopt", "none.txt", "-o", "none.prompty")
    assert said.code == 2 and "I could not find the reply's format; declare it" in said.err
    (tmp_path / "bare.txt").write_text("Is the summary of the article right? Say yes or no only.\n")
    said = run("rubrics", "adopt", "bare.txt", "-o", "bare.prompty")
    assert said.code == 2 and "bare.txt --inputs '?, ?'" in said.err
    said = run("rubrics", "adopt", "bare.txt", "--inputs", "?, ?", "-o", "bare.prompty")
    assert said.code == 2 and "'?' is no name of an input" in said.err
    assert run("rubrics", "adopt", "bare.txt", "-o", "bare.prompty", "--inputs", "question, reply", "--yes").code == 0
    assert list(load_rubric("bare.prompty").inputs) == ["question", "reply"]


def test_inputs_by_name_settle_no_question_about_the_reply(run: Run, tmp_path: Path) -> None:
    (tmp_path / "bare.txt").write_text("Question: {}\nReply: {}\nIs it right? Answer only with Yes or No.\n")
    said = run("rubrics", "adopt", "bare.txt", "-o", "bare.prompty", "--inputs", "question, reply")
    assert said.code == 0 and "does the judge write one of the words Yes, No" in said.err
    assert "is {} the mark of an input?" in said.err and "confirmed: false" in said.err
    declared = ("--fields", "verdict: No < Yes", "--line", "{verdict}", "--force")
    said = run("rubrics", "adopt", "bare.txt", "-o", "bare.prompty", "--inputs", "question, reply", *declared)
    assert "is {} the mark of an input?" in said.err and "does the judge write" not in said.err


def test_inputs_replaces_those_of_the_front_matter(run: Run, tmp_path: Path) -> None:
    head = "---\nname: mine\ninputs:\n  query: {type: string}\n---\n"
    (tmp_path / "named.prompty").write_text(
        f"{head}system:\n{{{{question}}}} {{{{reply}}}} Answer only with Yes or No.\n"
    )
    given = ("rubrics", "adopt", "named.prompty", "-o", "new.prompty", "--inputs", "question, reply", "--yes")
    assert run(*given).code == 0
    assert list(load_rubric("new.prompty").inputs) == ["question", "reply"]


def test_a_proposal_is_refused_until_somebody_confirms_it(run: Run, tmp_path: Path) -> None:
    (tmp_path / "p.txt").write_text("Is {answer} right? Answer only with Yes or No.\n")
    said = run("rubrics", "adopt", "p.txt", "-o", "p.prompty")
    assert said.code == 0 and "confirmed: false" in said.err
    assert "line 1: Is {answer} right? Answer only with Yes or No." in said.words
    assert "--fields 'verdict: No < Yes'" in said.out and "Example of a reply Yes" in said.words
    assert run("rubrics", "check", "p.prompty").code == 2
    assert run("rubrics", "adopt", "p.txt", "-o", "p.prompty", "--yes", "--force").code == 0
    assert run("rubrics", "check", "p.prompty").code == 0


def test_a_declared_score_whose_direction_the_prompt_turns_is_written_unconfirmed(run: Run, tmp_path: Path) -> None:
    (tmp_path / "turned.txt").write_text("Grade {essay} from 1 (very good) to 6. End with one line: Grade: X\n")
    declared = ("--fields", "grade: 1-6", "--line", "Grade: {grade}", "-o", "turned.prompty")
    said = run("rubrics", "adopt", "turned.txt", *declared)
    assert said.code == 0 and 'line 1 says "1 (very good"' in said.err and "confirmed: false" in said.err
    assert "# 6 is taken as better" in (tmp_path / "turned.prompty").read_text()


def test_a_comparison_whose_inputs_have_other_names_asks_which_they_are(run: Run, tmp_path: Path) -> None:
    (tmp_path / "two.txt").write_text(
        'Which of the two answers is better?\nA: {one_text}\nB: {another}\nAnswer only with "A" or "B".\n'
    )
    said = run("rubrics", "adopt", "two.txt", "--fields", "verdict: prefer A > B", "--line", "{verdict}")
    assert said.code == 2 and "which inputs hold response A and response B?" in said.err
    declared = ("--fields", "verdict: prefer A > B", "--line", "{verdict}", "--swap", "one_text:another")
    assert run("rubrics", "adopt", "two.txt", "-o", "two.prompty", *declared).code == 0
    assert load_rubric("two.prompty").pair.swap == {"one_text": "another"}  # type: ignore[union-attr]


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """Answers the questions of a terminal in turn; returns those that are asked."""
    asked: list[str] = []

    def answers(*given: str) -> list[str]:
        left = iter(given)
        for stream in (sys.stdin, sys.stderr):
            monkeypatch.setattr(stream, "isatty", lambda: True)
        monkeypatch.setattr(typer, "prompt", lambda question, **_: asked.append(question) or next(left))
        return asked

    monkeypatch.setattr(typer, "confirm", lambda question, **_: True)
    return answers


def test_a_terminal_is_asked_behind_the_table_until_an_answer_can_be_read(
    run: Run, tmp_path: Path, typed: Callable[..., list[str]]
) -> None:
    keys = '{"clear_score": 0, "tone_score": 0, "fluency_score": <0.0-10.0>, "why": "<why>"}'
    (tmp_path / "open.txt").write_text(f"Judge {{answer}}. Return JSON: {keys}\n")
    wrong = ("", "five", "1-5; 1-4; 1-3", '1-5; "more": text', "?", "a < ?")
    asked = typed(*wrong, "0-10", "0,5", "0.5", "no/folder.prompty", "open.prompty")
    said = run("rubrics", "adopt", "open.txt")
    assert said.code == 0
    assert "Proposed from" in said.words and "write decimals with a point" in said.err
    assert asked[0].startswith('1. what are "clear_score", "tone_score"?') and "one answer for all" in asked[0]
    assert asked[len(wrong) + 1].startswith('2. how fine is "fluency_score"?') and len(asked) == len(wrong) + 5
    rubric = load_rubric("open.prompty")
    assert rubric.confirmed
    sizes = {name: len(score.values) for name, score in rubric.format.scores.items()}
    assert sizes == {"clear_score": 11, "tone_score": 11, "fluency_score": 21}


def test_a_terminal_is_asked_for_what_no_recogniser_found(
    run: Run, tmp_path: Path, typed: Callable[..., list[str]]
) -> None:
    (tmp_path / "bare.txt").write_text("Which of them is better?\n")
    pair = ("one, other", "verdict: prefer A > B", "one", "one:other", "-")
    assert len(typed(*pair)) == 0
    said = run("rubrics", "adopt", "bare.txt")
    assert said.code == 0 and "compares one (A) with other (B)" in said.out and "nothing was written" in said.err


def test_adopt_overwrites_nothing_unless_told(run: Run, tmp_path: Path) -> None:
    (tmp_path / "there.prompty").write_text("mine")
    assert run("rubrics", "adopt", OWN / "labels.txt", "-o", "there.prompty").code == 2
    assert (tmp_path / "there.prompty").read_text() == "mine"
    assert run("rubrics", "adopt", OWN / "labels.txt", "-o", "there.prompty", "--force", "--yes").code == 0
    assert load_rubric("there.prompty").format.scores


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("adopt", "gone.txt"), "can't be read"),
        (("adopt", OWN / "levels.yaml"), "is a rubric already"),
        (("adopt", OWN / "labels.txt", "-o", "nowhere/x.prompty"), "there is no folder nowhere"),
        (("adopt", "/dev/zero"), "are too long for a prompt"),
        (("check", "/dev/null"), "no rubric is called"),
        (("adopt", "/dev/null"), "the file is empty"),
        (("show", "gold-anser"), "gold-answer"),
    ],
)
def test_what_can_not_be_done_is_told(run: Run, arguments: tuple[object, ...], said: str) -> None:
    found = run("rubrics", *arguments)
    assert found.code == 2
    assert said in found.err
    assert "Traceback" not in found.err


def test_a_file_that_declares_no_outputs_is_told_to_be_adopted(run: Run) -> None:
    said = run("rubrics", "check", OWN / "tags.prompty")
    assert said.code == 2 and "nothing declares the reply's format" in said.err and "rubrics adopt" in said.err


@pytest.mark.parametrize("name", builtin_names())
def test_show_begins_with_one_screen(run: Run, name: str) -> None:
    said = run("rubrics", "show", name).out
    assert len(said.splitlines()) < 60
    for words in ("For whom: ", "Languages: ", "For your own institution", f"rubrics show {name} --full"):
        assert words in said
    [copied] = [line.strip() for line in said.splitlines() if line.strip().startswith("cp ")]
    source, target = shlex.split(copied)[1:]
    shutil.copy(source, target)
    assert run("rubrics", "show", target).code == 0
    whole = run("rubrics", "show", name, "--full").out
    assert "Output" in whole and "system turn" in whole
    assert "system turn" not in said


def test_every_built_in_rubric_has_a_guide() -> None:
    read = yaml.safe_load(GUIDES.read_text(encoding="utf-8"))
    assert sorted(read) == sorted([*builtin_names(), "languages"])
