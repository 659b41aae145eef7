"""Checks that a judge is ready, without loading it and without a network: `pathway-local judges check`."""

from collections.abc import Iterator, Mapping
from datetime import date
from functools import partial
from pathlib import Path

from pathway_local.check import Check, checked
from pathway_local.errors import EngineError, TooCostly
from pathway_local.judges.chat_template import SYSTEM, USER, TemplateReading, read_template
from pathway_local.judges.engine_settings import file_checks
from pathway_local.judges.judge_spec import UNKNOWN_THINKING, JudgeSpec, ThinkingSpec, chat_of, say_how
from pathway_local.judges.model_config import text_config, whole
from pathway_local.judges.weights import read_json
from pathway_local.rendering.prompt import PromptWriter
from pathway_local.rendering.rubric_check import check_grammars, check_room, example_inputs, example_prompt
from pathway_local.rendering.tokenizer import NO_TEMPLATE, JudgeTokenizer
from pathway_local.rubrics.rubric_file import builtin_names, load_rubric

SYSTEM_TURN = "system turn"
TURNS = {"native": [("system", SYSTEM), ("user", USER)], "fold": [("user", f"{SYSTEM}\n\n{USER}")]}

_SWITCHES = "Correct thinking.off_by, on_by and skip in its entry: the switches that its chat template asks for."
_DATES = ("%Y-%m-%d", "%d %b %Y", "%d %B %Y", "%B %d, %Y", "%b %d, %Y")

LITTLE_ROOM = 1000
"""With fewer tokens left for a case's texts, we advise a shorter reply."""


def chat_checks(spec: JudgeSpec, folder: Path, tokenizer: JudgeTokenizer) -> Iterator[Check]:
    """Check the chat template; if it is missing or takes no turns, its other checks are left out."""
    if not tokenizer.template:
        yield Check("chat template", "problem", "the judge has none", NO_TEMPLATE)
        return
    found = read_template(folder)
    system = checked(SYSTEM_TURN, lambda: _system(spec, tokenizer, found))
    yield system
    if system.status != "problem":
        yield checked("chat template", lambda: _template(spec, tokenizer))
        yield checked("thinking", lambda: _thinking(spec, tokenizer))
    yield checked("end of turn", lambda: _end_of_turn(spec, tokenizer, found))


def _prompt(spec: JudgeSpec, tokenizer: JudgeTokenizer, switches: Mapping[str, object]) -> str:
    return tokenizer.chat(TURNS[spec.system], switches)


def _template(spec: JudgeSpec, tokenizer: JudgeTokenizer) -> Check:
    text, size = _prompt(spec, tokenizer, {}), f"{len(tokenizer.template):,} characters"
    if any(date.today().strftime(form) in text for form in _DATES):
        return Check("chat template", "note", f"{size}; it puts today's date into every prompt, so days differ")
    return Check("chat template", "ok", size)


def _system(spec: JudgeSpec, tokenizer: JudgeTokenizer, found: TemplateReading) -> Check:
    """Check that the judge takes its turns as its entry says. Raises TooCostly."""
    try:
        text = _prompt(spec, tokenizer, spec.thinking.off_by if spec.thinking else {})
    except TooCostly:
        raise
    except EngineError as error:
        said = str(error)
    else:
        if text.find(SYSTEM) < text.find(USER):
            return Check(SYSTEM_TURN, "ok", "folded into the user turn" if spec.system == "fold" else "native")
        said = "the chat template puts the system turn behind the user turn"
    if found.system == spec.system:
        return Check(SYSTEM_TURN, "problem", said, "Use another chat template: this one takes no such turns.")
    return Check(SYSTEM_TURN, "problem", said, _add(spec, f"system: {found.system}"))


def _add(spec: JudgeSpec, keys: str) -> str:
    return f"Put {spec.to_add(keys)} into your models.yaml."


def _thinking(spec: JudgeSpec, tokenizer: JudgeTokenizer) -> Check:
    how = spec.thinking
    if spec.thinks == "not known":
        return Check("thinking", "problem", UNKNOWN_THINKING, say_how(spec))
    prompts = [_prompt(spec, tokenizer, switches) for switches in ((how.off_by, how.on_by) if how else ({}, {}))]
    off, on = (prompt.rpartition(USER)[2] for prompt in prompts)
    if how is None:
        return Check("thinking", "ok", f"never: the prompt ends {off[-40:]!r}")
    said = ""
    if len(tokenizer.encode(how.end)) != 1:
        said = f"its end {how.end!r} is not one token, so nothing would stop it"
    elif how.off_by != how.on_by and len(set(prompts)) == 1:
        said = "its switch changes nothing: off_by and on_by give the same prompt"
    elif not how.skip and _is_open(off, how):
        said = "switched off, the prompt still opens it"
    elif off + how.skip == on + how.start:
        said = "switched off or on, a reply begins alike"
    elif _is_open(on, how):
        said = "switched on, the template opens it, and the entry's start would open it again"
    if said:
        return Check("thinking", "problem", said, _SWITCHES)
    return Check("thinking", "ok", f"off: the prompt ends {(off + how.skip)[-40:]!r}, on: {(on + how.start)[-40:]!r}")


def _is_open(tail: str, how: ThinkingSpec) -> bool:
    """Return whether the end of a prompt is within a thought that the entry's start would open."""
    start = how.start.strip()
    return bool(start) and tail.rfind(start) > tail.rfind(how.end)


def _end_of_turn(spec: JudgeSpec, tokenizer: JudgeTokenizer, found: TemplateReading) -> Check:
    """Check that the token behind a reply in the chat template ends a reply; otherwise the judge never stops."""
    known = (tokenizer.eos_id, *tokenizer.end_ids)
    names = ", ".join(map(str, map(tokenizer.tokenizer.id_to_token, sorted(known))))
    if not found.ends or set(found.ends) & set(spec.end_of_turn):
        return Check("end of turn", "ok", names)
    wanted = ", ".join(f'"{token}"' for token in found.ends)
    said = f"the chat template ends a reply with {wanted}, and only {names} would end one here"
    return Check("end of turn", "problem", said, _add(spec, f"end_of_turn: [{wanted}]"))


def check_judge(spec: JudgeSpec, folder: Path) -> tuple[list[Check], str]:
    """Return checks of all that a run needs of a judge whose weights are in `folder`, and the prompt of a sample case.

    No check raises. The prompt is empty if the judge can't get one.
    """
    checks, prompts = list(file_checks(spec, folder)), list[str]()
    try:
        tokenizer = JudgeTokenizer(folder, spec.end_of_turn)
    except EngineError as error:
        return [*checks, Check("tokenizer", "problem", str(error), error.hint)], ""
    checks.append(checked("vocabulary", lambda: _vocabulary(tokenizer, folder)))
    checks += chat_checks(spec, folder, tokenizer)
    # If the judge takes no conversation at all, each rubric would only repeat that.
    if any(check.name == SYSTEM_TURN and check.status != "problem" for check in checks):
        checks += [checked(f"rubric {w.rubric.name}", partial(_rubric, w, prompts)) for w in _writers(spec, tokenizer)]
    return checks, prompts[0] if prompts else ""


def _vocabulary(tokenizer: JudgeTokenizer, folder: Path) -> Check:
    largest = max(tokenizer.tokenizer.get_vocab().values())
    rows = whole(text_config(read_json(folder / "config.json")), "vocab_size")
    if rows is not None and largest >= rows:
        said = f"it has ids up to {largest:,}, but the model's table has {rows:,} rows: they belong to different models"
        return Check("vocabulary", "problem", said, "Fetch or copy tokenizer and config again, from one source.")
    return Check("vocabulary", "ok", f"{largest + 1:,} tokens")


def _writers(spec: JudgeSpec, tokenizer: JudgeTokenizer) -> Iterator[PromptWriter]:
    chat = chat_of(spec, 0)
    for name in builtin_names():
        yield PromptWriter(load_rubric(name), tokenizer, chat, context=spec.most_tokens)


def _rubric(writer: PromptWriter, prompts: list[str]) -> Check:
    """Check that the judge can get the rubric's example; add its prompt to `prompts`."""
    rubric, name = writer.rubric, f"rubric {writer.rubric.name}"
    lengths = check_room(writer)
    prompts.append(example_prompt(writer))
    check_grammars(rubric.format, example_inputs(rubric), writer.tokenizer)
    said = f"prompt of {lengths.own:,} tokens before the case's texts, {lengths.reply:,} for the verdict"
    if lengths.room < LITTLE_ROOM:
        return Check(name, "note", f"{said}: only {lengths.room:,} are left for a case; --detail score needs fewer")
    return Check(name, "ok", f"{said}; its grammars compile")
