"""Checks that a judge is ready, without loading it and without a network: `pathway-local judges check`."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

from pathway_local.check import Check, checked
from pathway_local.errors import EngineError
from pathway_local.judges.architecture import text_config, whole
from pathway_local.judges.judge_spec import JudgeSpec, chat_of
from pathway_local.judges.placement import sure_context
from pathway_local.judges.weights import read_json
from pathway_local.judges.weights_check import file_checks
from pathway_local.prompty.rubric_file import builtin_names, load_rubric
from pathway_local.rendering.chat_check import SYSTEM_TURN, chat_checks
from pathway_local.rendering.prompt import PromptWriter
from pathway_local.rendering.rubric_check import (
    LITTLE_ROOM,
    check_grammars,
    check_room,
    example_inputs,
    example_prompt,
)
from pathway_local.rendering.tokenizer import JudgeTokenizer
from pathway_local.system.machine import Machine


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
        yield PromptWriter(load_rubric(name), tokenizer, chat, context=sure_context(spec))


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
