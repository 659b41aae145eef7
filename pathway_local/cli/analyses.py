"""Makes a command of each analysis: its options, and its tables on the terminal, as JSON, and as a table file."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from inspect import Parameter, Signature
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

from pathway_local.cli.command_help import App, option
from pathway_local.cli.options import AsJson, Force, Full, Kinds, Lang, Out, Run, keyword
from pathway_local.cli.show import note_export, show, terminal_words
from pathway_local.cli.terminal import notice, print_json, talk
from pathway_local.errors import UsageError
from pathway_local.judging.plan import flag
from pathway_local.output.plain import as_json as plain
from pathway_local.output.plain import write_tables
from pathway_local.results.analyses import ANALYSES
from pathway_local.results.analysis import Analysis, Options, Says, found_by
from pathway_local.results.table import Table
from pathway_local.runs.run_file import RunFile
from pathway_local.scores.scores import Scores
from pathway_local.sheets.tables import check_table
from pathway_local.words.language import ENGLISH, Spelled

SHARED: Kinds = {
    "out": (Out, None),
    "full": (Full, False),
    "as_json": (AsJson, False),
    "force": (Force, False),
}
"""Options of every analysis with their defaults."""

SPOKEN = {"summary"}
"""Analyses in the languages of a report, since `start` shows them; statistics beyond a report are in English."""


Found = tuple[Scores, list[Table]]
"""The ratings that an analysis read, and its tables."""


def app_of(
    name: str,
    more: Kinds = MappingProxyType({}),
    find: Callable[[Path, Mapping[str, Any], Mapping[str, Any]], AbstractContextManager[Found]] | None = None,
) -> App:
    """The command of an analysis; one that has `more` options than these finds by itself what it shows.

    It gets the run, the analysis's options and its own, and ends once its tables are shown.
    """
    analysis: Analysis[Any] = ANALYSES[name].load()
    common: Kinds = {**SHARED, "lang": (Lang, ENGLISH)} if name in SPOKEN else SHARED

    def command(run: Path, **given: Any) -> None:
        shared = {each: given.pop(each) for each in common}
        own = {each: given.pop(each) for each in more} | {"force": shared["force"]}
        if shared["full"] and shared.get("lang", ENGLISH) != ENGLISH:
            raise UsageError("--full is in English", "Leave out --full or --lang.")
        check_out(shared["out"], force=shared["force"])
        with find(run, given, own) if find else _found(analysis, run, given) as (data, tables):
            for said in data.notices:
                notice(terminal_words().note(said))
            deliver(tables, data.labels, run, **shared)

    command.__doc__ = analysis.says.format_map(Spelled(flag))
    command.__name__ = name
    parameters = [Parameter("run", Parameter.POSITIONAL_OR_KEYWORD, annotation=Run)]
    parameters += [keyword(each, *kind) for each, kind in {**kinds_of(analysis.options), **more, **common}.items()]
    command.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.annotation for each in parameters}
    app = App()
    app.with_examples(*analysis.examples)(command)
    return app


def kinds_of(options: type[Options]) -> Kinds:
    """The command line's form of an analysis's options; pydantic checks their values."""
    found = {}
    for name, declared in options.model_fields.items():
        says = next(each for each in declared.metadata if isinstance(each, Says))
        kind: Any = list[str] if declared.annotation == tuple[str, ...] else declared.annotation
        names = [flag(name)] if declared.annotation is bool else []
        shown = Annotated[kind, option(says.value, says.text.format_map(Spelled(flag)), *names)]
        default = list(declared.default) if kind == list[str] else declared.default
        found[name] = shown, Parameter.empty if declared.is_required() else default
    return found


@contextmanager
def _found(analysis: Analysis[Any], run: Path, given: Mapping[str, Any]) -> Iterator[Found]:
    """Analyse a run. Raises PathwayError."""
    with RunFile.read(run) as read, read.database.snapshot():
        data = Scores(read)
        found = found_by(analysis, data, given, flag)
    yield data, found


def check_out(out: Path | None, *, force: bool) -> None:
    """Raise the errors that `deliver` would raise for this file, before any work is done."""
    if out:
        check_table(out, force=force)


def deliver(
    tables: Sequence[Table], labels: Mapping[str, str], run: Path, *, out: Path | None, full: bool, as_json: bool,
    force: bool, lang: str = ENGLISH,
) -> None:  # fmt: skip
    """Write tables to a file, if given, and print them or their JSON."""
    if out:
        write_tables(out, tables, labels, force=force)
        note_export(run, out)
        talk.say(f"written: {out}")
    if as_json:
        print_json(plain(tables, terminal_words()))
    else:
        show(tables, terminal_words(lang), full=full if lang == ENGLISH else None)
