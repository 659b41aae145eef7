"""Writes the report, as Markdown to read and as JSON."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from gpu_check.findings import Figure, Table, replace_text
from gpu_check.part import Outcome, Part

MARKS = {"ok": "ok", "failed": "**failed**", "not run": "not run", "timed out": "**timed out**"}


def failed(outcomes: Sequence[Outcome]) -> bool:
    """Return whether any part failed or took too long."""
    return any(each.status in ("failed", "timed out") for each in outcomes)


def write_report(
    folder: Path, machine: Mapping[str, str], outcomes: Sequence[Outcome], left: Sequence[Part], seconds: float
) -> None:
    """Write gpu-check.md and gpu-check.json; the parts in `left` are still to come."""
    parts = [
        {
            "name": each.part.name,
            "status": each.status,
            "seconds": round(each.seconds, 1),
            "limit": each.part.limit,
            **asdict(each.findings),
            "log": list(each.log),
        }
        for each in outcomes
    ]
    told = {"machine": machine, "seconds": round(seconds, 1), "parts": parts, "left": [part.name for part in left]}
    replace_text(folder / "gpu-check.json", json.dumps(told, indent=2) + "\n")
    replace_text(folder / "gpu-check.md", markdown(machine, outcomes, left, seconds))


def markdown(machine: Mapping[str, str], outcomes: Sequence[Outcome], left: Sequence[Part], seconds: float) -> str:
    """Return the report as Markdown."""
    rows: list[list[Figure]] = [
        [each.part.name, each.part.title, MARKS[each.status], f"{each.seconds:.0f} s", _short(each)]
        for each in outcomes
    ]
    rows += [[part.name, part.title, "… to come", "", ""] for part in left]
    pieces = [
        "# GPU check",
        _verdict(outcomes, left, seconds),
        _table(["machine", ""], [[name, value] for name, value in machine.items()]),
        _table(["part", "what it does", "status", "time", "result"], rows),
        *(piece for each in outcomes for piece in _section(each)),
    ]
    return "\n\n".join(pieces) + "\n"


def _verdict(outcomes: Sequence[Outcome], left: Sequence[Part], seconds: float) -> str:
    counts = [
        f"{sum(each.status == status for each in outcomes)} {status}"
        for status in MARKS
        if any(each.status == status for each in outcomes)
    ]
    rest = f", {len(left)} still to come" if left else ""
    word = "Problems found" if failed(outcomes) else "No problems so far" if left else "No problems"
    return f"**{word}**: {', '.join(counts) or 'no part has run'}{rest}. {seconds:.0f} seconds in all."


def _short(outcome: Outcome) -> str:
    """Return the most important finding in one line."""
    found = outcome.findings
    said = [*found.problems, *filter(None, [found.not_run]), *found.words]
    return said[0].partition("\n")[0] if said else ""


def _section(outcome: Outcome) -> list[str]:
    found = outcome.findings
    pieces = [f"## {outcome.part.name}: {outcome.status}"]
    if found.problems:
        pieces.append("\n".join(_bullet(f"**Problem:** {each}") for each in found.problems))
    said = [f"Not run: {found.not_run}"] if found.not_run else []
    if said or found.words:
        pieces.append("\n".join(_bullet(each) for each in [*said, *found.words]))
    if found.figures:
        pieces.append(_table(["figure", "value"], [[name, value] for name, value in found.figures.items()]))
    for table in found.tables:
        pieces += [f"{table.title}:", _of(table)]
    if found.commands:
        pieces.append(_fenced(found.commands))
    if outcome.log:
        pieces += ["Its last output:", _fenced(outcome.log)]
    return pieces


def _bullet(text: str) -> str:
    first, *rest = text.splitlines() or [""]
    quoted = ["", "  ```", *(f"  {line}" for line in rest), "  ```"] if rest else []
    return "\n".join([f"- {first}", *quoted])


def _fenced(lines: Sequence[str]) -> str:
    return "\n".join(["```", *lines, "```"])


def _of(table: Table) -> str:
    return _table(table.columns, table.rows)


def _table(columns: Sequence[str], rows: Sequence[Sequence[Figure]]) -> str:
    lines = [columns, ["---"] * len(columns), *([_cell(value) for value in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(value: Figure) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.4g}"
    return f"{value:,}" if isinstance(value, int) else value.replace("|", "\\|").replace("\n", " ")
