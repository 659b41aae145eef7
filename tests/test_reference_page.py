"""docs/reference.md has every command, option, column and exit code; with WRITE_PAGES=1 this test writes them anew."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from command_tree import COMMANDS, CONTEXT
from typer.core import TyperGroup

from pathway_local.cli.command_line import EXIT_CODES
from pathway_local.output.export_columns import CASE_COLUMNS, END_COLUMNS, SCORE_COLUMNS

PAGE = Path(__file__).parents[1] / "docs" / "reference.md"
SHARED = {"--help", "--version"}


def _table(heads: Sequence[str], rows: Iterator[tuple[str, ...]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _columns() -> Iterator[tuple[str, ...]]:
    yield from ((f"`{column.name}`", column.meaning) for column in CASE_COLUMNS)
    yield "`score`", "the value that was given"
    yield from ((f"`score{column.suffix}`", column.meaning) for column in SCORE_COLUMNS)
    yield "`score_p1` …", "the probability of each value"
    yield from ((f"`{column.name}`", column.meaning) for column in END_COLUMNS)


def _options(command: Any) -> Iterator[tuple[str, ...]]:
    for param in command.get_params(CONTEXT(command)):
        if param.param_type_name == "argument":
            yield f"`{param.metavar}`", param.help
        elif SHARED.isdisjoint(param.opts):
            value = "" if param.is_flag else f" {param.metavar}"
            remark = " Required." if param.required else ""
            yield f"`{', '.join(sorted(param.opts, key=len))}{value}`", param.help.replace("|", "\\|") + remark


def _command(words: str, command: Any) -> str:
    says = " ".join(command.help.partition("\n\n")[0].split())
    return f"### {words}\n\n{says}\n\n{_table(['option', 'meaning'], _options(command))}\n"


def _written() -> str:
    """Return the page as it should be, with the sentences that people wrote."""
    page = PAGE.read_text(encoding="utf-8")
    columns = _table(["column", "meaning"], _columns())
    codes = _table(["code", "meaning"], ((str(code), says) for code, says in EXIT_CODES.items()))
    for heading, table in (("## Columns of an export", columns), ("## Exit codes", codes)):
        head, _, after = page.partition(f"{heading}\n\n")
        page = "\n\n".join([head + heading, table, after.partition("\n\n")[2]])
    before = page.partition("\n## Commands\n")[0].rstrip()
    made = "\n".join(_command(*each) for each in COMMANDS.items() if not isinstance(each[1], TyperGroup))
    return f"{before}\n\n## Commands\n\n`-h` or `--help` behind any of them shows its options.\n\n{made}"


def test_the_page_is_that_of_the_code() -> None:
    made = _written()
    if os.environ.get("WRITE_PAGES"):
        PAGE.write_text(made, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == made, "docs/reference.md is stale: write it with WRITE_PAGES=1"
