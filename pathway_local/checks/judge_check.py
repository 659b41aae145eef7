"""Checks that a judge is ready, without loading it and without a network: `pathway-local judges check`.

A check of the chat template renders it with words that occur nowhere else, and looks for their places in the result.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial
from itertools import islice
from pathlib import Path

from pathway_local.check import Check, checked
from pathway_local.errors import EngineError, TooCostly
from pathway_local.judges.chat_template import ANSWER, MARKS, NEXT, SYSTEM, USER
from pathway_local.judges.engine_settings import file_checks
from pathway_local.judges.judge_spec import FOLDER, JudgeSpec, chat_of
from pathway_local.judges.model_config import text_config, whole
from pathway_local.judges.weights import read_json
from pathway_local.rendering.prompt import PromptWriter
from pathway_local.rendering.rubric_check import (
    LITTLE_ROOM,
    check_grammars,
    check_room,
    example_inputs,
    example_prompt,
)
from pathway_local.rendering.tokenizer import NO_TEMPLATE, JudgeTokenizer
from pathway_local.rubrics.rubric_file import builtin_names, load_rubric
from pathway_local.system.machine import Machine

SYSTEM_TURN = "system turn"
NATIVE, FOLDED = [("system", SYSTEM), ("user", USER)], [("user", f"{SYSTEM}\n\n{USER}")]
Switches = Mapping[str, object]

_SWITCHES = "Correct thinking.off_by and on_by in its entry: the switches that its chat template asks for."
_DATES = ("%Y-%m-%d", "%d %b %Y", "%d %B %Y", "%B %d, %Y", "%b %d, %Y")


def chat_checks(spec: JudgeSpec, tokenizer: JudgeTokenizer) -> Iterator[Check]:
    """Check the chat template; if it is missing or takes no turns, its other checks are left out."""
    if not tokenizer.template:
        yield Check("chat template", "problem", "the judge has none", NO_TEMPLATE)
        return
    system = checked(SYSTEM_TURN, lambda: _system(spec, tokenizer))
    yield system
    if system.status != "problem":
        yield checked("chat template", lambda: _template(spec, tokenizer))
        yield checked("thinking", lambda: _thinking(spec, tokenizer))
    yield checked("end of turn", lambda: _end_of_turn(spec, tokenizer))


def _off(spec: JudgeSpec) -> Switches:
    """Return the chat template's switches that keep the judge from thinking."""
    return spec.thinking.off_by if spec.thinking else {}


def _prompt(spec: JudgeSpec, tokenizer: JudgeTokenizer, switches: Switches) -> str:
    return tokenizer.chat(FOLDED if spec.system == "fold" else NATIVE, switches)


def _template(spec: JudgeSpec, tokenizer: JudgeTokenizer) -> Check:
    text, size = _prompt(spec, tokenizer, _off(spec)), f"{len(tokenizer.template):,} characters"
    if any(date.today().strftime(form) in text for form in _DATES):
        return Check("chat template", "note", f"{size}; it puts today's date into every prompt, so days differ")
    return Check("chat template", "ok", size)


def _system(spec: JudgeSpec, tokenizer: JudgeTokenizer) -> Check:
    native, folded = (_refusal(tokenizer, turns, _off(spec)) for turns in (NATIVE, FOLDED))
    if spec.system == "fold":
        said, refused, other = "folded into the user turn", folded, "native"
        also = "" if native else "; its template would take a system turn, too"
    else:
        said, refused, other, also = "native", native, "fold", ""
    if not refused:
        return Check(SYSTEM_TURN, "ok", f"{said}{also}")
    if native and folded:
        return Check(SYSTEM_TURN, "problem", refused, "Use another chat template: this one takes no user turn.")
    return Check(SYSTEM_TURN, "problem", refused, _edit(spec, f"system: {other}"))


def _edit(spec: JudgeSpec, key: str) -> str:
    if spec.origin == FOLDER:
        return f"Give it an entry in your models.yaml: `mine: {{source: {spec.source}, {key}}}`."
    return f"Put `{key}` into its entry in models.yaml."


def _refusal(tokenizer: JudgeTokenizer, turns: Sequence[tuple[str, str]], switches: Switches) -> str:
    """Return why the judge can't take these turns; empty if it can. Raises TooCostly."""
    try:
        text = tokenizer.chat(turns, switches)
    except TooCostly:
        raise
    except EngineError as error:
        return str(error)
    return "" if text.find(SYSTEM) < text.find(USER) else "the chat template puts the system turn behind the user turn"


def _thinking(spec: JudgeSpec, tokenizer: JudgeTokenizer) -> Check:
    how = spec.thinking
    if how is None:
        return _no_thinking(spec, tokenizer)
    off, on = (_prompt(spec, tokenizer, switches) for switches in (how.off_by, how.on_by))
    opening = how.start.strip() or _opening(how.end)
    opens_off, opens_on = (_open(prompt, opening, how.end) for prompt in (off, on))
    if len(tokenizer.encode(how.end)) != 1:
        said = f"its end {how.end!r} is not one token, so nothing would stop it"
        return Check("thinking", "problem", said, "Correct thinking.end in its entry.")
    if how.off_by != how.on_by and off == on:
        said = "its switch changes nothing: off_by and on_by give the same prompt"
        return Check("thinking", "problem", said, _SWITCHES)
    if opens_off and not how.skip:
        said = f"switched off, the prompt still opens it with {opening!r}"
        return Check("thinking", "problem", said, _SWITCHES)
    if opens_on and how.start:
        said = f"the template opens it with {opening!r}, and the entry's start would open it again"
        return Check("thinking", "problem", said, "Leave thinking.start out of its entry.")
    if opening and not (opens_on or how.start):
        said = f"switched on, the prompt does not open it with {opening!r}: the judge must do so itself"
        return Check("thinking", "note", said, f"Set thinking.start to {opening!r} in its entry.")
    off, on = off.rpartition(USER)[2] + how.skip, on.rpartition(USER)[2] + how.start
    return Check("thinking", "ok", f"off: the prompt ends {off[-40:]!r}, on: {on[-40:]!r}")


def _no_thinking(spec: JudgeSpec, tokenizer: JudgeTokenizer) -> Check:
    prompt = _prompt(spec, tokenizer, {})
    opening = next((each for mark in MARKS if _open(prompt, each := mark.start.strip(), mark.end)), "")
    if opening and spec.thinks == "never":
        said = f"the chat template opens thinking with {opening}, but its entry says never"
        return Check("thinking", "problem", said, "Leave `thinking` out of its entry: the template shows it.")
    if spec.thinks == "not known":
        said = "not known: the chat template speaks of thinking, and does not show how it is switched or ended"
        fix = "It judges without --think. If it thinks, describe that under `thinking` in its entry: docs/judges.md."
        return Check("thinking", "note", said, fix)
    return Check("thinking", "ok", "never")


def _opening(end: str) -> str:
    """Return the tag that opens a span that `end` closes; empty if `end` is no closing tag."""
    for closing, opening in (("</", "<"), ("[/", "[")):
        if end.startswith(closing):
            return opening + end.removeprefix(closing)
    return ""


def _open(prompt: str, opening: str, end: str) -> bool:
    """Return whether the prompt ends within a thought that this begins."""
    tail = prompt.rpartition(USER)[2]
    return bool(opening) and tail.rfind(opening) > tail.rfind(end)


def _end_of_turn(spec: JudgeSpec, tokenizer: JudgeTokenizer) -> Check:
    """Check that the token behind a reply in the chat template ends a reply; otherwise the judge never stops."""
    known = {tokenizer.eos_id, *tokenizer.end_ids}
    names = ", ".join(tokenizer.tokenizer.id_to_token(token) for token in sorted(known))
    after = list(_behind_an_answer(tokenizer))
    if any(ids[0] in known for ids in after):
        return Check("end of turn", "ok", names)
    special = tokenizer.tokenizer.get_added_tokens_decoder()
    ends = dict.fromkeys(ids[0] for ids in after if ids[0] in special)
    if not ends:
        return Check("end of turn", "note", f"{names}; the chat template does not show what ends a reply")
    wanted = ", ".join(f'"{tokenizer.tokenizer.id_to_token(token)}"' for token in ends)
    said = f"the chat template ends a reply with {wanted}, and only {names} would end one here"
    return Check("end of turn", "problem", said, _edit(spec, f"end_of_turn: [{wanted}]"))


def _behind_an_answer(tokenizer: JudgeTokenizer) -> Iterator[tuple[int, ...]]:
    """Yield the ids behind a reply at the end of a conversation, and behind a reply before another user turn."""
    said = [("user", USER), ("assistant", ANSWER)]
    for turns in (said, [*said, ("user", NEXT)]):
        try:
            rest = tokenizer.chat(turns, {}, reply=False).rpartition(ANSWER)[2].lstrip()
        except EngineError:
            continue  # a template may refuse a conversation that ends with a reply
        if ids := tokenizer.encode(rest):
            yield ids


@dataclass(frozen=True, slots=True)
class JudgeReport:
    """The checks of a judge, and the prompt of a sample case as the judge would get it."""

    checks: tuple[Check, ...]
    prompt: str = ""

    @property
    def ready(self) -> bool:
        """Whether no check found a problem."""
        return all(check.status != "problem" for check in self.checks)


def check_judge(spec: JudgeSpec, folder: Path, machine: Machine) -> JudgeReport:
    """Check everything that a run needs of a judge whose weights are in `folder`; no check raises."""
    checks, tokenizer = _checks(spec, folder, file_checks(spec, folder, machine))
    prompts: list[str] = []
    # If the judge takes no conversation at all, each rubric would only repeat that.
    if tokenizer and any(check.name == SYSTEM_TURN and check.status != "problem" for check in checks):
        checks += [checked(f"rubric {w.rubric.name}", partial(_rubric, w, prompts)) for w in _writers(spec, tokenizer)]
    return JudgeReport(tuple(checks), prompts[0] if prompts else "")


def refusal(spec: JudgeSpec, folder: Path, machine: Machine) -> EngineError | None:
    """Return why `judge` would refuse a judge whose weights are in `folder`; None if it would not.

    The hash is left out: it reads every byte.
    """
    checks, _ = _checks(spec, folder, islice(file_checks(spec, folder, machine), 3))
    problem = next((check for check in checks if check.status == "problem"), None)
    return EngineError(f"{problem.name}: {problem.found}", problem.fix) if problem else None


def _checks(spec: JudgeSpec, folder: Path, files: Iterable[Check]) -> tuple[list[Check], JudgeTokenizer | None]:
    """Return checks of a judge, those of its files first, and its tokenizer if that can be loaded."""
    checks = list(files)
    try:
        tokenizer = JudgeTokenizer(folder, spec.end_of_turn)
    except EngineError as error:
        return [*checks, Check("tokenizer", "problem", str(error), error.hint)], None
    vocabulary = checked("vocabulary", lambda: _vocabulary(tokenizer, folder))
    return [*checks, vocabulary, *chat_checks(spec, tokenizer)], tokenizer


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
