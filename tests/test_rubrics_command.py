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
from families import FAMILIES, write_tokenizer
from typed_here import Run, typing_in

from pathway_local.cli import new_rubric, rubrics, terminal
from pathway_local.cli.terminal import Screen
from pathway_local.errors import EngineError
from pathway_local.rendering.prompt import PromptWriter
from pathway_local.rendering.rubric_check import check_grammars, example_inputs, inspect
from pathway_local.rubrics.criteria import phrases
from pathway_local.rubrics.rubric_file import builtin_names, load_rubric

ROOT = Path(__file__).parents[1]
OWN = Path(__file__).parent / "rubric_files"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """The command line in a folder of its own, on a wide terminal, with nobody there to ask."""
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "HF_HUB_CACHE"):
        monkeypatch.setenv(name, str(tmp_path / name))
    for module in (rubrics, new_rubric, terminal):
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


def test_check_refuses_what_does_not_fit_the_context(judge_folder: Path) -> None:
    rubric = load_rubric("groundedness")
    writer = rubrics._writer(rubric, str(judge_folder), None)
    assert isinstance(writer, PromptWriter)
    lengths = inspect(rubric, writer).lengths
    assert lengths is not None
    needed = lengths.own + rubric.format.reply({}).form.reserve
    writer.context = needed + 1
    assert inspect(rubric, writer).lengths.room == 1  # type: ignore[union-attr]
    writer.context = needed
    with pytest.raises(EngineError, match=f"context of {needed:,} tokens is too short for the rubric groundedness"):
        inspect(rubric, writer)


def test_check_without_the_judges_weights_says_so(run: Run) -> None:
    said = run("rubrics", "check", "gold-answer", "--judge", "qwen3-8b")
    assert said.code == 0
    assert "checked without a judge" in said.err
    assert run("rubrics", "check", "gold-answer", "--judge", "qwen33").code == 2


def test_check_tells_of_an_example_with_a_score(run: Run, tmp_path: Path) -> None:
    head = '---\nname: mine\noutputs: "why: text; score: 1-5"\n---\nuser:\nJudge {{answer}}. Write: '
    for shown, told in (('{"why": "It is so.", "score": 4}', "score 4"), ('{"why": "<why>", "score": <1-5>}', "")):
        (tmp_path / "mine.prompty").write_text(f"{head}{shown}\n")
        said = run("rubrics", "check", "mine.prompty")
        assert said.code == 0 and ("the prompt shows an example with" in said.err) is bool(told) and told in said.err
    text = head.replace(
        '"why: text; score: 1-5"', '{layout: "{why}\\n\\nScore: {score}", fields: "why: text; score: no < yes"}'
    )
    (tmp_path / "mine.prompty").write_text(f"{text}\nScore: no\n")
    assert "an example with score no" in run("rubrics", "check", "mine.prompty").err


def test_what_the_prompt_leaves_open_is_a_line_to_complete(run: Run, tmp_path: Path) -> None:
    (tmp_path / "open.txt").write_text('Judge {answer}. Return JSON: {"clear_score": 0, "why": "<why>"}\n')
    for sure in ((), ("--yes",)):
        said = run("rubrics", "adopt", "open.txt", "-o", "open.prompty", *sure)
        assert said.code == 2 and not (tmp_path / "open.prompty").exists()
        assert "adopt open.txt --fields 'clear_score: ?; why: text'" in said.words + said.err
    said = run("rubrics", "adopt", "open.txt", "--fields", "clear_score: 1-4; why: text", "-o", "open.prompty")
    assert said.code == 0 and load_rubric("open.prompty").format.scores["clear_score"].values == (1, 2, 3, 4)
    (tmp_path / "none.txt").write_text("Tell me what you think of {answer}.\n")
    said = run("rubrics", "adopt", "none.txt", "-o", "none.prompty")
    assert said.code == 2 and "--fields 'reasons: ?; score: ?'" in said.err
    (tmp_path / "bare.txt").write_text("Is the summary of the article right?\n<verdict>Yes or No</verdict>\n")
    said = run("rubrics", "adopt", "bare.txt", "-o", "bare.prompty")
    assert said.code == 2 and "bare.txt --inputs '?, ?'" in said.err
    said = run("rubrics", "adopt", "bare.txt", "--inputs", "?, ?", "-o", "bare.prompty")
    assert said.code == 2 and "'?' is no name of an input" in said.err
    said = run("rubrics", "adopt", "bare.txt", "--inputs", "question, reply", "-o", "bare.prompty")
    line = "--inputs 'question, reply' --fields 'reasons: ?; verdict: No < Yes' --line '<verdict>{verdict}</verdict>'"
    assert said.code == 2 and line in said.err


def test_a_mark_of_another_tool_is_told(run: Run, tmp_path: Path) -> None:
    (tmp_path / "p.txt").write_text("Q: {question}\nA: %s\n")
    said = run("rubrics", "adopt", "p.txt", "--fields", "score: 1-5")
    assert said.code == 0 and "is there the mark of an input in 'A: %s'?" in said.err


def test_nothing_is_written_without_a_yes(run: Run, tmp_path: Path) -> None:
    (tmp_path / "p.txt").write_text('Is {answer} right? {"why": "<why>", "verdict": "yes" or "no"}\n')
    said = run("rubrics", "adopt", "p.txt", "-o", "p.prompty")
    assert said.code == 2 and "nothing was written without a yes" in said.err
    assert not (tmp_path / "p.prompty").exists()
    assert "--fields 'why: text; verdict: no < yes'" in said.out and '{"why": "(why)", "verdict": "yes"}' in said.words
    assert run("rubrics", "adopt", "p.txt", "-o", "p.prompty", "--yes").code == 0
    assert run("rubrics", "check", "p.prompty").code == 0


def test_a_comparison_must_say_which_inputs_it_compares(run: Run, tmp_path: Path) -> None:
    (tmp_path / "two.txt").write_text(
        'Which of the two answers is better?\nA: {one_text}\nB: {another}\nAnswer only with "A" or "B".\n'
    )
    said = run("rubrics", "adopt", "two.txt", "--fields", "verdict: prefer A > B", "--line", "{verdict}")
    assert (
        said.code == 2 and "nothing says which inputs hold them" in said.err and "--swap of rubrics adopt" in said.err
    )
    declared = ("--fields", "verdict: prefer A > B", "--line", "{verdict}", "--swap")
    said = run("rubrics", "adopt", "two.txt", *declared, "one_text:other")
    assert said.code == 2 and "There are: one_text, another" in said.err and "line" not in said.err
    declared += ("one_text:another",)
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


def test_a_terminal_is_asked_until_the_line_can_be_read(
    run: Run, tmp_path: Path, typed: Callable[..., list[str]]
) -> None:
    (tmp_path / "open.txt").write_text('Judge it. Return JSON: {"clear_score": 0, "why": "<why>"}\n')
    wrong = ("my answer!", "answer", "clear_score: ?; why: text", "clear_score: 0,5", "why: text")
    asked = typed(*wrong, "clear_score: 0-10 by 0.5; why: text")
    said = run("rubrics", "adopt", "open.txt", "-o", "open.prompty")
    assert said.code == 0 and "write decimals with a point" in said.err
    assert asked[0].startswith("The prompt marks no inputs") and asked[2].startswith("Complete each ?")
    rubric = load_rubric("open.prompty")
    assert len(rubric.format.scores["clear_score"].values) == 21 and list(rubric.inputs) == ["answer"]


def test_adopt_overwrites_nothing_unless_told(run: Run, tmp_path: Path) -> None:
    (tmp_path / "there.prompty").write_text("mine")
    assert run("rubrics", "adopt", OWN / "labels.txt", "-o", "there.prompty").code == 2
    assert (tmp_path / "there.prompty").read_text() == "mine"
    assert run("rubrics", "adopt", OWN / "labels.txt", "-o", "there.prompty", "--force", "--yes").code == 2
    named = ("--inputs", "question, answer, reference", "--force", "--yes")
    assert run("rubrics", "adopt", OWN / "labels.txt", "-o", "there.prompty", *named).code == 0
    assert load_rubric("there.prompty").format.scores


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("adopt", "gone.txt"), "can't be read"),
        (("adopt", OWN / "labels.txt", "-o", "nowhere/x.prompty"), "there is no folder nowhere"),
        (("adopt", "/dev/zero"), "are too long for a prompt"),
        (("check", "/dev/null"), "no rubric is called"),
        (("check", "./gone.prompty"), "./gone.prompty: there is no such file"),
        (("adopt", "/dev/null"), "the file is empty"),
        (("show", "gold-anser"), "gold-answer"),
    ],
)
def test_what_can_not_be_done_is_told(run: Run, arguments: tuple[object, ...], said: str) -> None:
    found = run("rubrics", *arguments)
    assert found.code == 2
    assert said in found.err
    assert "Traceback" not in found.err


@pytest.mark.parametrize("language", sorted(phrases()))
def test_a_dialog_makes_a_rubric_in_each_language(run: Run, typed: Callable[..., list[str]], language: str) -> None:
    words = phrases()[language]
    fields = ("why: text; score: one", "why: text; score: 1-3; ok: no < yes")
    meanings = ("rude", "", "polite", "", "")
    asked = typed("Is it {% polite %}?", "question, answer", *fields, *meanings, "?", words["letters"][0])
    said = run("rubrics", "new", "mine.prompty", "--language", language)
    assert said.code == 0 and "declares no field" in said.err, "a field that can't be read is asked for again"
    assert [asked[at] for at in (0, 1, 2, 3)] == [
        words[f"ask_{key}"] for key in ("criterion", "inputs", *["fields"] * 2)
    ]
    assert asked[-2:] == [f"{words['ask_yes']} ({'/'.join(words['letters'])})"] * 2
    rubric = load_rubric("mine.prompty")
    assert list(rubric.inputs) == ["question", "answer"]
    assert rubric.format.scores["score"].levels == {1: "rude", 3: "polite"}
    system, user = (turn.render(example_inputs(rubric)) for turn in rubric.turns)
    assert words["opening"] in system and "Is it {% polite %}?" in system and "score 3: polite" in system
    assert '{"why": "<why>", "score": <1-3>, "ok": "<no | yes>"}' in system
    assert "(the case's answer)" in user
    check_grammars(rubric.format, example_inputs(rubric), None)


def test_one_line_of_options_makes_a_rubric(run: Run) -> None:
    given = ["--criterion", "Is it polite?", "--inputs", "answer", "--fields", "polite: no < yes or N/A"]
    said = run("rubrics", "new", "mine.prompty", *given, "--line", "Polite: {polite}")
    assert said.code == 0 and "Example of a reply Polite: yes" in said.words
    assert "Polite: <no | yes | N/A>" in load_rubric("mine.prompty").turns[0].template
    assert run("rubrics", "new", "other.prompty", *given[:4]).err.startswith("error: --fields is missing")
    assert run("rubrics", "new", "other.prompty", *given, "--language", "xx").code == 2
    assert run("rubrics", "new", "other.prompty", *given[:2], "--inputs", "my answer!", *given[4:]).code == 2
    assert run("rubrics", "new", "mine.prompty", *given).code == 2  # it is there already
    columns = "Pergunta do estudante, resposta,"
    assert run("rubrics", "new", "blanks.prompty", *given[:2], "--inputs", columns, *given[4:]).code == 0
    assert list(load_rubric("blanks.prompty").inputs) == ["Pergunta_do_estudante", "resposta"]


@pytest.mark.parametrize("name", builtin_names())
def test_show_begins_with_one_screen(run: Run, name: str) -> None:
    said = run("rubrics", "show", name).out
    assert len(said.splitlines()) < 60
    assert "For your own institution" in said and f"rubrics show {name} --full" in said
    [copied] = [line.strip() for line in said.splitlines() if line.strip().startswith("cp ")]
    source, target = shlex.split(copied)[1:]
    shutil.copy(source, target)
    assert run("rubrics", "show", target).code == 0
    whole = run("rubrics", "show", name, "--full").out
    assert whole.strip() == Path(source).read_text().strip() and "\nsystem:\n" not in said
