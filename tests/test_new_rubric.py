"""`rubrics new` writes a rubric that judges, by options or by a dialog in a terminal, in five languages."""

import os
import pty
import sys
from pathlib import Path

import pytest
from typed_here import typing_in

from pathway_local.rendering.rubric_check import check_grammars, example_inputs
from pathway_local.rubrics.criteria import phrases
from pathway_local.rubrics.rubric_file import load_rubric

COMMAND = Path(sys.executable).with_name("pathway-local")


def on_a_terminal(folder: Path, arguments: list[str], typed: list[str]) -> tuple[int, str]:
    """What a command says on a pseudo-terminal to somebody who types these lines, and its exit status."""
    child, terminal = pty.fork()
    if not child:
        os.chdir(folder)
        os.execv(COMMAND, [str(COMMAND), *arguments])
    said = b""
    os.write(terminal, "".join(f"{line}\n" for line in typed).encode())
    while True:
        try:
            more = os.read(terminal, 4096)
        except OSError:  # how Linux says that the other end is closed
            break
        if not more:
            break
        said += more
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), said.decode()


@pytest.mark.timeout(300)
@pytest.mark.parametrize("language", sorted(phrases()))
def test_a_dialog_makes_a_rubric_in_each_language(language: str, tmp_path: Path) -> None:
    answers = [
        "Is it {% polite %}?",
        "question, answer",
        "why: text; score: one",
        "why: text; score: 1-3; ok: no < yes",
    ]
    meanings = ["rude", "", "polite", "", ""]
    command = ["rubrics", "new", "mine.prompty", "--language", language]
    letters = phrases()[language]["letters"]
    code, said = on_a_terminal(tmp_path, command, [*answers, *meanings, "?", letters[0]])
    assert code == 0, said
    for key in ("ask_criterion", "ask_inputs", "ask_fields", "ask_yes"):
        assert phrases()[language][key] in " ".join(said.split())
    assert said.count(f"({letters[0]}/{letters[1]})") == 2
    assert "declares no field" in said  # a field that can't be read is asked for again
    rubric = load_rubric(str(tmp_path / "mine.prompty"))
    assert list(rubric.inputs) == ["question", "answer"]
    assert rubric.format.scores["score"].levels == {1: "rude", 3: "polite"}
    system, user = (turn.render(example_inputs(rubric)) for turn in rubric.turns)
    assert phrases()[language]["opening"] in system and "Is it {% polite %}?" in system and "score 3: polite" in system
    assert '{"why": "<why>", "score": <1-3>, "ok": "<no | yes>"}' in system
    assert "(the case's answer)" in user
    check_grammars(rubric.format, example_inputs(rubric), None)


def test_one_line_of_options_makes_a_rubric(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = typing_in(tmp_path, monkeypatch, capsys)
    given = ["--criterion", "Is it polite?", "--inputs", "answer", "--fields", "polite: no < yes or N/A"]
    said = run("rubrics", "new", "mine.prompty", *given, "--line", "Polite: {polite}")
    assert said.code == 0 and "Example of a reply Polite: yes" in said.words
    rubric = load_rubric(str(tmp_path / "mine.prompty"))
    assert "Polite: <no | yes | N/A>" in rubric.turns[0].template
    assert run("rubrics", "new", "other.prompty", *given[:4]).err.startswith("error: --fields is missing")
    assert run("rubrics", "new", "other.prompty", *given, "--language", "xx").code == 2
    assert run("rubrics", "new", "other.prompty", *given[:2], "--inputs", "my answer!", *given[4:]).code == 2
    assert run("rubrics", "new", "mine.prompty", *given).code == 2  # it is there already
    columns = "Pergunta do estudante, resposta,"
    assert run("rubrics", "new", "blanks.prompty", *given[:2], "--inputs", columns, *given[4:]).code == 0
    assert list(load_rubric(str(tmp_path / "blanks.prompty")).inputs) == ["Pergunta_do_estudante", "resposta"]
