"""A run's rubrics: all of them, or those that a command is about."""

from pathway_local.errors import UnknownName, UsageError
from pathway_local.rubrics.rubric import Rubric, parse_rubric
from pathway_local.runs.run_file import RunFile


def rubrics_of(run: RunFile) -> dict[str, Rubric]:
    """The rubrics of a run by name, from the texts that it keeps."""
    return {name: parse_rubric(text, name) for name, text in run.rubrics().items()}


def rubrics_named(run: RunFile, name: str | None) -> list[Rubric]:
    """The run's rubric of that name; without a name, all of them. Raises UnknownName."""
    return [rubric_of(run, name)] if name else list(rubrics_of(run).values())


def rubric_of(run: RunFile, name: str | None) -> Rubric:
    """The run's rubric of that name; without a name, its only one. Raises UsageError."""
    texts = run.rubrics()
    if name is None and len(texts) == 1:
        name = next(iter(texts))
    if name is None:
        said = f"has several rubrics: {', '.join(texts)}" if texts else "has no rubric yet"
        raise UsageError(f"{run.path.name} {said}", "Name one with --rubric.")
    if name not in texts:
        raise UnknownName("rubric", name, texts, f"These are the rubrics of {run.path.name}")
    return parse_rubric(texts[name], name)
