"""Whether a judge is ready to use, told without loading it and without a network: `pathway-local judges check`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import get_args

from pathway_local.case import Case
from pathway_local.chat import chat_of
from pathway_local.checks.chat_check import SYSTEM_TURN, chat_checks
from pathway_local.checks.check import Check, checked
from pathway_local.checks.weights_check import file_checks
from pathway_local.errors import CaseError, EngineError, PromptTooLong
from pathway_local.judges.architecture import text_config, whole
from pathway_local.judges.judge_spec import JudgeSpec
from pathway_local.judges.machine import Machine
from pathway_local.judges.weights import read_json
from pathway_local.prompt import Prompt, PromptWriter
from pathway_local.rubrics.output_format import Detail
from pathway_local.rubrics.rubric import Rubric, builtin_names, load_rubric
from pathway_local.tokenizer import JudgeTokenizer

UNBOUNDED = 1 << 30
LITTLE_ROOM = 1000
"""Tokens for a case's own texts below which a judge's context is called small."""


@dataclass(frozen=True, slots=True)
class JudgeReport:
    """What was found of a judge: a check each, and the prompt of a sample case as the judge would get it."""

    judge: str
    folder: Path
    checks: tuple[Check, ...]
    prompt: str = ""

    @property
    def ready(self) -> bool:
        """Whether no check found a problem."""
        return all(check.status != "problem" for check in self.checks)


def check_judge(spec: JudgeSpec, folder: Path, machine: Machine) -> JudgeReport:
    """Look at everything that a run would need of a judge whose weights lie in `folder`; no check raises."""
    checks = list(file_checks(spec, folder, machine))
    tokenizer, found = _tokenizer(spec, folder)
    checks += found
    if tokenizer is None:
        return JudgeReport(spec.name, folder, tuple(checks))
    talk = list(chat_checks(spec, folder, tokenizer))
    prompts: list[str] = []
    # Where no conversation can be put to it at all, each rubric would only say so once more.
    if any(check.name == SYSTEM_TURN and check.status != "problem" for check in talk):
        talk += [checked(f"rubric {w.rubric.name}", partial(_rubric, w, prompts)) for w in _writers(spec, tokenizer)]
    return JudgeReport(spec.name, folder, (*checks, *talk), prompts[0] if prompts else "")


def sample_case(rubric: Rubric) -> Case:
    """A case whose inputs only say what they are."""
    return Case("sample", {name: f"(the case's {name})" for name in rubric.inputs})


def check_room(writer: PromptWriter) -> Prompt:
    """The prompt of a sample case. Raises EngineError where the judge's context holds no case of this rubric."""
    [written] = writer.write([sample_case(writer.rubric)])
    if isinstance(written, PromptTooLong):
        said = f"the judge's context of {writer.context:,} tokens is too short for the rubric {writer.rubric.name}"
        raise EngineError(f"{said}: {written}", "Take a judge with a longer context, or give less --detail.")
    if isinstance(written, CaseError):
        raise written
    return written


def _tokenizer(spec: JudgeSpec, folder: Path) -> tuple[JudgeTokenizer | None, list[Check]]:
    """The tokenizer, and what is to be said of it; one that lacks an end-of-turn token can still be looked at."""
    found: list[Check] = []
    try:
        tokenizer = _load(folder, spec.end_of_turn)
    except EngineError as error:
        fix = error.hint or "Correct end_of_turn in its entry, or fetch or copy the folder again."
        found = [Check("tokenizer", "problem", str(error), fix)]
        try:
            tokenizer = _load(folder, ())
        except EngineError:
            return None, found
    return tokenizer, [*found, checked("vocabulary", lambda: _vocabulary(tokenizer, folder))]


def _load(folder: Path, end_of_turn: Sequence[str]) -> JudgeTokenizer:
    try:
        return JudgeTokenizer(folder, end_of_turn)
    except EngineError:
        raise
    except Exception as error:  # noqa: BLE001  the library that reads it raises bare exceptions, among others
        raise EngineError(f"the tokenizer in {folder} can't be read ({type(error).__name__})") from None


def _vocabulary(tokenizer: JudgeTokenizer, folder: Path) -> Check:
    largest = max(tokenizer.tokenizer.get_vocab().values())
    rows = whole(text_config(read_json(folder / "config.json")), "vocab_size")
    if rows is not None and largest >= rows:
        said = f"it has ids up to {largest:,}, and the model's table has {rows:,} rows: they are not of one model"
        return Check("vocabulary", "problem", said, "Fetch or copy tokenizer and config again, from one source.")
    return Check("vocabulary", "ok", f"{largest + 1:,} tokens")


def _writers(spec: JudgeSpec, tokenizer: JudgeTokenizer) -> Iterator[PromptWriter]:
    chat = chat_of(spec, 0)
    for name in builtin_names():
        yield PromptWriter(load_rubric(name), tokenizer, chat, context=spec.context or UNBOUNDED)


def _rubric(writer: PromptWriter, prompts: list[str]) -> Check:
    """Whether a sample case can be put to the judge; its prompt, read back from its ids, joins `prompts`."""
    name = f"rubric {writer.rubric.name}"
    prompt = check_room(writer)
    prompts.append(str(writer.tokenizer.tokenizer.decode(prompt.ids)))
    for grammar in _grammars(writer.rubric, writer.tokenizer):
        _check_grammar(grammar, writer.tokenizer)
    said = f"prompt of {len(prompt.ids):,} tokens before the case's texts, {prompt.reply.plan:,} for the verdict"
    room = writer.context - len(prompt.ids) - prompt.reply.plan
    if room < LITTLE_ROOM:
        return Check(name, "note", f"{said}: only {room:,} are left for a case; --detail score needs fewer")
    return Check(name, "ok", f"{said}; its grammars compile")


def _grammars(rubric: Rubric, tokenizer: JudgeTokenizer) -> Iterator[str]:
    inputs = dict(sample_case(rubric).inputs)
    for detail in get_args(Detail):
        yield rubric.format.reply(inputs, detail).grammar(tokenizer.end_ids)


def _check_grammar(grammar: str, tokenizer: JudgeTokenizer) -> None:
    matcher = tokenizer.matcher(grammar)
    error = matcher.get_error()
    if error or not tokenizer.legal_ids(matcher):
        reason = str(error or "no token may come first").splitlines()[0][:200]
        raise EngineError(f"its grammar does not compile for this tokenizer: {reason}")
