"""Adopts a prompt as the command does with --yes."""

from dataclasses import replace

from pathway_local.adopt.adoption import Proposal, propose, rubric_text
from pathway_local.adopt.prompt import read_prompt
from pathway_local.adopt.questions import doubts
from pathway_local.rubrics.rubric import Rubric
from pathway_local.rubrics.rubric_file import parse_rubric


def proposed(prompt: str | bytes, where: str = "mine.txt") -> Proposal:
    """Return what the recognisers propose."""
    return propose(read_prompt(prompt.encode() if isinstance(prompt, str) else prompt, where))


def adopted_text(prompt: str | bytes, where: str = "mine.txt", declared: str = "") -> str:
    """Return the rubric's file, with the fields that are declared in place of those that were read, all whole."""
    read = read_prompt(prompt.encode() if isinstance(prompt, str) else prompt, where)
    found = propose(read)
    if declared:
        named = (field.partition(": ") for field in declared.split("; "))
        found = replace(found, fields={name: spelling for name, _, spelling in named})
    assert found.fields and not found.open and found.inputs.said, found
    return rubric_text(read, found, where, confirmed=True)


def adopted(prompt: str | bytes, where: str = "mine.txt") -> Rubric:
    """Return the rubric, whose fields must all be whole."""
    return parse_rubric(adopted_text(prompt, where), "mine.prompty")


def doubted(prompt: str, declared: str = "") -> str:
    """Return what is asked about the direction of the scores, and about replies that they can't have."""
    read = read_prompt(prompt.encode(), "mine.txt")
    return " ".join(doubts(read.source, parse_rubric(adopted_text(prompt, declared=declared), "mine.prompty")))
