"""Makes a command of each analysis: its options, and its tables on the terminal, as JSON, and as a table file."""

from collections.abc import Mapping, Sequence
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
        _analyse(analysis, run, given, out=out, full=full, as_json=as_json, force=force)

    def in_languages(
        run: Run, given: dict[str, Any], out: Out = None, full: Full = False, as_json: AsJson = False,
        force: Force = False, lang: Lang = ENGLISH,
    ) -> None:  # fmt: skip
        if full and lang != ENGLISH:
            raise UsageError("--full is in English", "Leave out --full or --lang.")
        _analyse(analysis, run, given, out=out, full=full, as_json=as_json, force=force, lang=lang)

    app = App()
    # `start` shows a summary, so it is in the languages of a report; statistics beyond a report are in English.
    made = in_languages if name == "summary" else command
    made.__doc__, made.__name__ = analysis.says, name
    app.with_examples(*analysis.examples, given=options_of(analysis.options))(made)
    return app


def _analyse(analysis: Analysis[Any], run: Path, given: Mapping[str, Any], **how: Any) -> None:
    check_out(how["out"], force=how["force"])
    with RunFile.read(run) as read, read.database.snapshot():
        data = Scores(read)
        tables = found_by(analysis, data, given)
    deliver(data, tables, run, **how)


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
