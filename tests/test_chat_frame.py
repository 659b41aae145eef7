"""A judge's chat template is rendered by itself, within limits, from hashed files; the result fits every case."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from families import FAMILIES, Family, write_tokenizer
from stored_judge import spec_of, store_judge

from pathway_local.checks.judge_check import check_judge
from pathway_local.errors import EngineError
from pathway_local.rendering.chat_frame import ChatFrame, chat_frame
from pathway_local.rendering.template_process import SECONDS
from pathway_local.rendering.tokenizer import JudgeTokenizer
from pathway_local.system.machine import Machine

COMMAND = Path(sys.executable).with_name("pathway-local")
PLAIN = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
ENDLESS = "{% for a in range(99999) %}" * 4 + "{% endfor %}" * 4


def frame(template: str, **variables: object) -> ChatFrame:
    return chat_frame(template, ["system", "user"], variables)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
@pytest.mark.parametrize("reply", [True, False])
def test_the_text_is_that_of_transformers(family: Family, reply: bool, tmp_path: Path) -> None:
    tokenizer = JudgeTokenizer(write_tokenizer(family, tmp_path))
    turns = [("user", " What's <b>this</b>?\n\n"), ("assistant", '\t"It" & {{ more }}'), ("user", "Thanks\\n. ")]
    turns = turns if family.folds_system else [("system", "\nJudge. "), *turns]
    messages = [{"role": role, "content": words} for role, words in turns]
    for switches in ({}, {"enable_thinking": True}, {"enable_thinking": False}, {"reasoning_effort": "high"}):
        wanted = tokenizer.tokenizer.apply_chat_template(
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


def test_extensions_filters_and_variables_are_those_of_transformers(tmp_path: Path) -> None:
    write_tokenizer(FAMILIES[0], tmp_path)
    (tmp_path / "chat_template.jinja").write_text(TOOLS)
    tokenizer = JudgeTokenizer(tmp_path)
    messages = [{"role": "system", "content": "a"}, {"role": "user", "content": " b\n"}]
    wanted = tokenizer.tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    assert "SYSTEM: a\n" in wanted
    assert tokenizer.chat([("system", "a"), ("user", " b\n")], {}) == wanted


HOSTILE = {
    "{{ '%0999999999d' | format(1) }}": "the chat template needs over 512 MB of memory",
    "{{ 'a' * 10**10 }}": "the chat template needs over 512 MB of memory",
    "{{ 'a' * 10**7 }}": "the chat template writes over 1,000,000 characters",
    ENDLESS: f"takes over {SECONDS} seconds to render",
    "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}": "maximum recursion depth exceeded",
    "{{ ''.__class__.__mro__ }}": "access to attribute '__class__' of 'str' object is unsafe",
    "{{ raise_exception('no\x1b[2J turns\nat all') }}": "the chat template fails: no?[2J turns",
    "{{ raise_exception('') }}": "the chat template fails: TemplateError",
    "{% for m in messages %}": "Unexpected end of template",
}


@pytest.mark.parametrize("template", HOSTILE)
def test_a_template_that_takes_too_much_or_fails_is_one_line(template: str) -> None:
    with pytest.raises(EngineError) as error:
        frame(template)
    assert HOSTILE[template] in str(error.value)
    assert len(str(error.value).splitlines()) == 1


@pytest.mark.parametrize("change", ["m.content | upper", "m.content | tojson", "m.content | e", "m.content[:200]"])
def test_a_template_that_changes_a_text_is_refused(change: str) -> None:
    with pytest.raises(EngineError, match="changes the text of a turn"):
        frame(PLAIN.replace("m.content", change))


def test_blanks_that_a_template_trims_are_trimmed_in_every_case() -> None:
    assert frame(PLAIN).filled([" s ", " u\n"]) == "<system> s <user> u\n"
    assert frame(PLAIN.replace("m.content", "m.content | trim")).filled([" s ", " u\n"]) == "<system>s<user>u"
    one_side = PLAIN.replace("m.content", "m.content.rstrip() if m.role == 'user' else m.content.lstrip()")
    assert frame(one_side).filled([" s ", " u\n"]) == "<system>s <user> u"


def test_a_check_of_such_a_judge_asks_for_another_copy(tmp_path: Path) -> None:
    folder = store_judge(tmp_path / "judge")
    (folder / "chat_template.jinja").write_text("{{ 'a' * 10**10 }}")
    checks = {each.name: each for each in check_judge(spec_of(folder), folder, Machine((), 10**10)).checks}
    found = checks["system turn"]
    assert (found.status, found.found) == ("problem", "the chat template needs over 512 MB of memory")
    assert found.fix.startswith("Fetch or copy the judge's folder again")


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
            if b"template_process" in Path(f"/proc/{child}/cmdline").read_bytes():
                time.sleep(0.3)
                return int(child)
        time.sleep(0.1)
    os.kill(parent, signal.SIGKILL)
    raise AssertionError("nothing was rendered")
