"""Asks the user about the points that a prompt leaves open."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from pathway_local.adopt.declaration import Declared
from pathway_local.adopt.finding import Finding
from pathway_local.adopt.formats import FoundFormat
from pathway_local.adopt.inputs import FoundInput
from pathway_local.adopt.scales import range_in

Ask = Callable[[str, str], str]
"""Asks the user a question, proposes an answer, and returns the user's answer."""


def asked_inputs(inputs: Sequence[FoundInput], ask: Ask) -> list[FoundInput]:
    """Return the inputs after the user's answers: asks for all names if none was found, else about each doubt."""
    if all(found.doubt and found.row < 0 for found in inputs):
        proposed = ", ".join(found.name for found in inputs)
        answer = ask("Which inputs is the judge given? Separate names with commas", proposed)
        names = [name for name in re.split(r"[\s,]+", answer) if name]
        if names and all(re.fullmatch(r"[A-Za-z_]\w*", name) for name in names):
            return [FoundInput(name, "", -1, False) for name in dict.fromkeys(names)]
        return list(inputs)
    return [_asked_input(found, ask) for found in inputs]


def asked_format(found: FoundFormat, ask: Ask) -> FoundFormat:
    """Return the format after the user's answers: asks for a scale, and for anything else whether to keep it."""
    fields = {name: _asked_field(name, declared, ask) for name, declared in found.fields.items()}
    doubts = tuple(said for said in found.doubts if not _agrees(f"{said}. Keep the format that was found?", ask))
    settled = replace(found, fields=fields, doubts=doubts)
    return replace(settled, findings=tuple(_told(finding, found, settled) for finding in found.findings))


def _asked_input(found: FoundInput, ask: Ask) -> FoundInput:
    settled = found.doubt and _agrees(f"{found.doubt}. Is {found.name} an input?", ask)
    return replace(found, doubt="") if settled else found


def _asked_field(name: str, declared: Declared, ask: Ask) -> Declared:
    if not declared.doubt:
        return declared
    field = declared.field
    if field["type"] == "score" and "min" in field:
        scale = range_in(ask(f"What is the scale of {name}?", f"{field['min']}-{field['max']}"))
        if not scale:
            return declared
        settled = {**field, "min": scale[0], "max": scale[1]}
        return replace(declared, field=settled, said=f"{scale[0]} to {scale[1]}", doubt="")
    return replace(declared, doubt="") if _agrees(f"{name}: {declared.doubt}. Keep {declared.said}?", ask) else declared


def _told(finding: Finding, before: FoundFormat, now: FoundFormat) -> Finding:
    """Return the row of the table of findings after the user's answers."""
    if finding.what == "format":
        return replace(finding, doubt="; ".join(now.doubts))
    for name, declared in before.fields.items():
        if finding.value.startswith(f"{name}: {declared.said}"):
            value = f"{name}: {now.fields[name].said}{finding.value.removeprefix(f'{name}: {declared.said}')}"
            return replace(finding, value=value, doubt=now.fields[name].doubt)
    return finding


def _agrees(question: str, ask: Ask) -> bool:
    return ask(f"{question} y or n", "y").strip().lower() in ("y", "yes")
