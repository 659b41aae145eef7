"""Adopts a prompt as the command does with --yes."""

from collections.abc import Mapping, Sequence

from pathway_local.declare.prompt import Proposal, propose, read_prompt, rubric_text
from pathway_local.rubrics.rubric import Rubric
from pathway_local.rubrics.rubric_file import parse_rubric
from pathway_local.rubrics.spelling import block_of


def proposed(prompt: str | bytes, where: str = "mine.txt", inputs: Sequence[str] = ()) -> Proposal:
    """Return what the prompt shows."""
    read = read_prompt(prompt if isinstance(prompt, str) else prompt.decode(), where, inputs)
    return propose(read)


def adopted_text(
    prompt: str | bytes,
    where: str = "mine.txt",
    declared: str = "",
    lines: Sequence[str] | None = None,
    inputs: Sequence[str] = (),
    swap: Mapping[str, str] | None = None,
) -> str:
    """Return the rubric's file, with the fields that are declared in place of those that were read, all whole."""
    read = read_prompt(prompt if isinstance(prompt, str) else prompt.decode(), where, inputs)
    found = propose(read)
    declared, lines = declared or found.declared, found.lines if lines is None else lines
    assert read.inputs and (declared != found.declared or not found.open), found
    return rubric_text(read, block_of(declared, lines), where, swap or {})


def adopted(prompt: str | bytes, where: str = "mine.txt", declared: str = "") -> Rubric:
    """Return the rubric, whose fields must all be whole."""
    return parse_rubric(adopted_text(prompt, where, declared), "mine.prompty")
