"""A judge's chat template is rendered by itself, within limits, from hashed files; the result fits every case."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from families import FAMILIES, Family, of_transformers, write_tokenizer
from stored_judge import spec_of, store_judge
from typed import Desk

from pathway_local.checks.judge_check import check_judge
from pathway_local.errors import EngineError
from pathway_local.judges.chat_template import chat_frame, ends
from pathway_local.judges.limited_process import LIMITS
from pathway_local.rendering.tokenizer import JudgeTokenizer

COMMAND = Path(sys.executable).with_name("pathway-local")
PLAIN = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
ENDLESS = "{% for a in range(99999) %}" * 4 + "{% endfor %}" * 4


def chat(template: str, system: str = "s", user: str = "u") -> str:
    return chat_frame(template, [("system", ends(system)), ("user", ends(user))], {}).filled([system, user])


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
@pytest.mark.parametrize("reply", [True, False])
def test_the_text_is_that_of_transformers(family: Family, reply: bool, tmp_path: Path) -> None:
    tokenizer = JudgeTokenizer(write_tokenizer(family, tmp_path))
    turns = [("user", " What's <b>this</b>?\n\n"), ("assistant", '\t"It" & {{ more }}'), ("user", "Thanks\\n. ")]
    turns = turns if family.folds_system else [("system", "\nJudge. "), *turns]
    messages = [{"role": role, "content": words} for role, words in turns]
    for switches in ({}, {"enable_thinking": True}, {"enable_thinking": False}, {"reasoning_effort": "high"}):
        wanted = of_transformers(tmp_path).apply_chat_template(
            messages, tokenize=False, add_generation_prompt=reply, **switches
        )
        assert tokenizer.chat(turns, switches, reply=reply) == wanted


TOOLS = """{%- set ns = namespace(n=0) -%}
{% for m in messages %}
  {% generation %}
{{ m.role | upper }}: {{ m.content | trim }}
  {% endgeneration %}
  {% if loop.index > 5 %}{% break %}{% endif %}
{% endfor %}
{{ {"ä": ["<", eos_token]} | tojson }} {{ strftime_now("%Y") }}{{ tools }}{% if add_generation_prompt %}!{% endif %}
"""


@pytest.mark.usefixtures("own_process")
def test_extensions_filters_and_variables_are_those_of_transformers(tmp_path: Path) -> None:
    write_tokenizer(FAMILIES[0], tmp_path)
    (tmp_path / "chat_template.jinja").write_text(TOOLS)
    tokenizer = JudgeTokenizer(tmp_path)
    messages = [{"role": "system", "content": "a"}, {"role": "user", "content": " b\n"}]
    wanted = of_transformers(tmp_path).apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    assert "SYSTEM: a\n" in wanted
    assert tokenizer.chat([("system", "a"), ("user", " b\n")], {}) == wanted


HOSTILE = {
    "{{ '%0999999999d' | format(1) }}": "the chat template needs over 512 MB of memory",
    "{{ 'a' * 10**10 }}": "the chat template needs over 512 MB of memory",
    "{{ 'a' * 10**7 }}": "the chat template writes over 1,000,000 characters",
    ENDLESS: f"takes over {LIMITS['chat template'][0]} seconds",
    "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}": "maximum recursion depth exceeded",
    "{{ ''.__class__.__mro__ }}": "access to attribute '__class__' of 'str' object is unsafe",
    "{{ raise_exception('no\x1b[2J turns\nat all') }}": "the chat template fails: no?[2J turns",
    "{{ raise_exception('') }}": "the chat template fails: TemplateError",
    "{% for m in messages %}": "Unexpected end of template",
}


@pytest.mark.usefixtures("own_process")
@pytest.mark.parametrize("template", HOSTILE)
def test_a_template_that_takes_too_much_or_fails_is_one_line(template: str) -> None:
    with pytest.raises(EngineError) as error:
        chat(template)
    assert HOSTILE[template] in str(error.value)
    assert len(str(error.value).splitlines()) == 1


@pytest.mark.parametrize(
    "change",
    [
        "m.content | upper",
        "m.content | tojson",
        "m.content | e",
        "m.content[:200]",
        "m.content[:40]",
        "m.content.strip('\"')",
        "m.content ~ m.content.replace('-0-', '-9-').replace('-1-', '-9-')",
    ],
)
def test_a_template_that_changes_a_text_is_refused(change: str) -> None:
    with pytest.raises(EngineError, match=r"changes the text of a turn|drops the system turn"):
        chat(PLAIN.replace("m.content", change))


LATER = """---
name: later
inputs: {answer: {type: string}}
outputs: "score: 1-5"
---
user:
{{answer}}
system:
1 is bad, 5 is good.
"""
FEW = LATER.replace("{{answer}}", 'Example: hello\nassistant:\n{"score": 3}\nuser:\n{{answer}}')
LOSES = {
    "a system turn that comes later": "{% for m in messages if m.role != 'system' or m == messages[0] %}",
    "all but the last turn": "{% for m in messages[-1:] %}",
    "no turn, but the last comes twice": "{% for m in messages + messages[-1:] %}",
}


@pytest.mark.parametrize("rubric", [LATER, FEW], ids=["two turns", "an example first"])
@pytest.mark.parametrize("loses", LOSES)
def test_a_template_that_loses_or_doubles_a_turn_is_refused_before_anything_is_judged(
    loses: str, rubric: str, tiny_judge: Path, tmp_path: Path
) -> None:
    judge = Path(shutil.copytree(tiny_judge, tmp_path / "judge"))
    config = json.loads((judge / "tokenizer_config.json").read_text())
    turns = f"{LOSES[loses]}<|im_start|>{{{{ m.role }}}}\n{{{{ m.content }}}}<|im_end|>\n{{% endfor %}}"
    (judge / "tokenizer_config.json").write_text(json.dumps(config | {"chat_template": turns}))
    desk = Desk(tmp_path / "desk", judge)
    (desk.work / "small.prompty").write_text(rubric)
    judging = desk.judging(desk.cases(2))
    check = ("rubrics", "check", "small.prompty", "--judge", "scripted", "--models", "models.yaml")
    for command in (check, (*judging, "--dry-run"), judging):
        said = " ".join(desk.typed(*command, code=5).stderr.split())
        assert re.search(r"chat template (drops|doubles) the (system|user) turn, number \d of \d", said), said
    assert not (desk.work / "may.run").exists()


TRIMS = [
    "m.content.strip('\\n')",
    "m.content.lstrip('\\n').rstrip('\\t')",
    "m.content.removesuffix('\\n')",
    "m.content | trim",
]


@pytest.mark.parametrize("said", ["m.content", *TRIMS])
@pytest.mark.parametrize("given", ["", "{% if m.content %}", "{% if m.content | trim %}"])
def test_blanks_and_texts_without_words_are_treated_as_transformers_does(said: str, given: str, tmp_path: Path) -> None:
    write_tokenizer(FAMILIES[0], tmp_path)
    turn = f"{given}<{{{{ m.role }}}}>{{{{ {said} }}}}{'{% endif %}' if given else ''}"
    (tmp_path / "chat_template.jinja").write_text(f"{{% for m in messages %}}{turn}{{% endfor %}}")
    tokenizer, transformers = JudgeTokenizer(tmp_path), of_transformers(tmp_path)
    for system in ("", " \n", "s", "\n\n s \n\n", "\ts\t\n", "\u3000s\r\n"):
        turns = [("system", system), ("user", "\nu\n u\t")]
        messages = [{"role": role, "content": words} for role, words in turns]
        assert tokenizer.chat(turns, {}) == transformers.apply_chat_template(messages, tokenize=False)


@pytest.mark.parametrize("turns", [42, 1000])
def test_a_conversation_may_have_many_turns(turns: int) -> None:
    frame = chat_frame(PLAIN, [("user", ends("u"))] * turns, {})
    assert frame.filled(["u"] * turns) == "<user>u" * turns


@pytest.mark.usefixtures("own_process")
def test_a_template_may_print_the_time_to_the_microsecond() -> None:
    assert chat("{{ strftime_now('%f') }}" + PLAIN)[6:] == "<system>s<user>u"


@pytest.mark.usefixtures("own_process")
def test_a_check_of_such_a_judge_asks_for_another_copy(tmp_path: Path) -> None:
    folder = store_judge(tmp_path / "judge")
    (folder / "chat_template.jinja").write_text("{{ 'a' * 10**10 }}")
    checks = {each.name: each for each in check_judge(spec_of(folder), folder)[0]}
    found = checks["system turn"]
    assert (found.status, found.found) == ("problem", "the chat template needs over 512 MB of memory")
    assert found.fix.startswith("Fetch or copy the judge's folder again")


@pytest.mark.soak
def test_an_interrupt_ends_a_command_that_renders_an_endless_template(tmp_path: Path) -> None:
    folder = store_judge(tmp_path / "judge")
    (folder / "chat_template.jinja").write_text(ENDLESS)
    command = [str(COMMAND), "rubrics", "check", "pathway-answer", "--judge", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        child = _child_of(process.pid)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "takes over" not in said and "Traceback" not in said
    left = Path(f"/proc/{child}/cmdline")  # empty if the process has ended and nobody took note of it yet
    assert not left.exists() or not left.read_bytes()


def _child_of(parent: int) -> int:
    """Wait until the process renders, and return the id of the process that it renders in."""
    for _ in range(600):
        children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
        for child in children:
            if b"limited_process" in Path(f"/proc/{child}/cmdline").read_bytes():
                time.sleep(0.3)
                return int(child)
        time.sleep(0.1)
    os.kill(parent, signal.SIGKILL)
    raise AssertionError("nothing was rendered")
