"""Writes the report of the check, as Markdown to read and as JSON."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

from gpu_check.findings import Figure, Work
from pathway_local.system.private_file import whole_file

Status = Literal["ok", "failed", "not run", "… to come"]


@dataclass
class Part:
    """A part of the check: how it ended, and what it found."""

    name: str
    title: str
    status: Status = "… to come"
    seconds: float = 0.0
    why: list[str] = field(default_factory=list)
    """Why it was not run, or the error that ended it."""

    output: list[str] = field(default_factory=list)
    """The last lines of output, if it failed."""

    work: Work | None = None


def write_report(folder: Path, machine: Mapping[str, str], parts: Sequence[Part]) -> None:
    """Write gpu-check.md and gpu-check.json."""
    folder.mkdir(parents=True, exist_ok=True)
    told = {"machine": machine, "parts": [asdict(part) for part in parts]}
    for name, text in (("json", json.dumps(told, indent=2, default=str) + "\n"), ("md", markdown(machine, parts))):
        with whole_file(folder / f"gpu-check.{name}", replace=True) as file:
            file.write(text.encode())


def markdown(machine: Mapping[str, str], parts: Sequence[Part]) -> str:
    """Return the report as Markdown."""
    word = "Problems found" if any(part.status == "failed" for part in parts) else "No problems"
    rows = [[part.name, part.title, part.status, f"{part.seconds:.0f} s"] for part in parts]
    pieces = [
        "# GPU check",
        f"**{word}**. {sum(part.seconds for part in parts):.0f} seconds in all.",
        _table(["machine", ""], [[name, value] for name, value in machine.items()]),
        _table(["part", "what it does", "status", "time"], rows),
        *(piece for part in parts if part.status != "… to come" for piece in _section(part)),
    ]
    return "\n\n".join(pieces) + "\n"


def _section(part: Part) -> list[str]:
    pieces, work = [f"## {part.name}: {part.status}"], part.work
    said = [*(f"**Problem:** {each}" for each in (work.problems if work else ())), *part.why]
    if said := [*said, *(work.words if work else ())]:
        pieces.append("\n".join("- " + "\n  ".join(each.splitlines()) for each in said))
    if work and work.figures:
        pieces.append(_table(["figure", "value"], [[name, value] for name, value in work.figures.items()]))
    for table in work.tables if work else ():
        pieces += [f"{table.title}:", _table(table.columns, table.rows)]
    lines = (*((work.commands, work.printed) if work else ()), part.output)
    return [*pieces, *("\n".join(["```", *each, "```"]) for each in lines if each)]


def _table(columns: Sequence[str], rows: Sequence[Sequence[Figure]]) -> str:
    lines = [columns, ["---"] * len(columns), *([_cell(value) for value in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(value: Figure) -> str:
    if value is None or isinstance(value, bool):
        return {None: "", True: "yes", False: "no"}[value]
    if isinstance(value, float):
        return f"{value:,.4g}"
    return f"{value:,}" if isinstance(value, int) else value.replace("|", "\\|").replace("\n", " ")
