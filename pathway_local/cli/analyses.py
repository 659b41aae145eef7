"""Makes a command of each analysis: its options, and its tables on the terminal, as JSON, and as a table file."""

from collections.abc import Sequence
from inspect import Parameter
from pathlib import Path
from typing import Any

from pathway_local.cli.options import App, AsJson, Force, Full, Lang, Out, Run, options_of
from pathway_local.cli.show import note_export, show, terminal_words
from pathway_local.cli.terminal import notice, print_json, talk
from pathway_local.errors import UsageError
from pathway_local.output.plain import as_json as plain
from pathway_local.output.plain import write_tables
from pathway_local.results.analyses import ANALYSES
from pathway_local.results.analysis import Analysis, found_by
from pathway_local.results.table import Table
from pathway_local.runs.run_file import RunFile
from pathway_local.scores.scores import Scores
from pathway_local.sheets.tables import check_table
from pathway_local.words.language import ENGLISH


def app_of(name: str) -> App:
    """Return the command of an analysis."""
    analysis: Analysis[Any] = ANALYSES[name].load()

    def command(
        run: Run, given: dict[str, Any], out: Out = None, full: Full = False, as_json: AsJson = False,
        force: Force = False,
    ) -> None:  # fmt: skip
        lang = given.pop("lang", ENGLISH)
        if full and lang != ENGLISH:
            raise UsageError("--full is in English", "Leave out --full or --lang.")
        check_out(out, force=force)
        with RunFile.read(run) as read, read.database.snapshot():
            data = Scores(read)
            tables = found_by(analysis, data, given)
        deliver(data, tables, run, out=out, full=full, as_json=as_json, force=force, lang=lang)

    app, options = App(), options_of(analysis.options)
    if (
        name == "summary"
    ):  # `start` shows it, so it is in the languages of a report; statistics beyond it are in English
        options["lang"] = Parameter("lang", Parameter.KEYWORD_ONLY, annotation=Lang, default=ENGLISH)
    command.__doc__, command.__name__ = analysis.says, name
    app.with_examples(*analysis.examples, given=options)(command)
    return app


def check_out(out: Path | None, *, force: bool) -> None:
    """Raise the errors that `deliver` would raise for this file, before any work is done."""
    if out:
        check_table(out, force=force)


def deliver(
    data: Scores, tables: Sequence[Table], run: Path, *, out: Path | None, full: bool, as_json: bool, force: bool,
    lang: str = ENGLISH,
) -> None:  # fmt: skip
    """Write tables to a file, if given, and print them or their JSON."""
    for said in data.notices:
        notice(terminal_words().note(said))
    if out:
        write_tables(out, tables, data.labels, force=force)
        note_export(run, out)
        talk.say(f"written: {out}")
    if as_json:
        print_json(plain(tables, terminal_words()))
    else:
        show(tables, terminal_words(lang), full=full if lang == ENGLISH else None)
