"""Which of a run's rubrics a command is about."""

from pathway_local.errors import UnknownName, UsageError
from pathway_local.rubric import Rubric, load_rubric, parse_rubric
from pathway_local.run_file import RunFile


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


def added_rubric(run: RunFile, name: str | None) -> Rubric:
    """Like `rubric_of`, but a rubric that the run does not have yet is loaded by its name or path, and added."""
    if name is None or name in run.rubrics():
        return rubric_of(run, name)
    rubric = load_rubric(name)
    run.add_rubric(rubric.name, rubric.text)
    return rubric
