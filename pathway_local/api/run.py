"""A run as a Python program reads it: verdicts as rows or tables, and the summary."""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pathway_local.api.rubric import Name, in_python, path_text
from pathway_local.errors import PathwayError, UnknownName, UsageError
from pathway_local.output.export import VerdictTable
from pathway_local.output.plain import as_json
from pathway_local.results.analyses import ANALYSES
from pathway_local.results.analysis import found_by
from pathway_local.runs.run_file import RunFile
from pathway_local.scores.scores import Scores
from pathway_local.system.options import declared
from pathway_local.verdict import Value
from pathway_local.words.language import ENGLISH, Language

if TYPE_CHECKING:
    import pyarrow as pa


class Run:
    """A run file. Every call opens it, reads and closes it, so another process may judge into it meanwhile."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def open(cls, path: Name) -> "Run":
        """Return the run in this file. Raises RunFileError if it does not exist or is no run, UsageError."""
        file = Path(path_text(path))
        RunFile.read(file).close()
        return cls(file)

    def __repr__(self) -> str:
        return f"Run({str(self.path)!r})"

    @property
    def verdicts(self) -> list[dict[str, Value]]:
        """A row for each case, rater and rubric, with the columns of `pathway-local export`; a list of dicts."""
        columns, rows = self._table()
        return [{column: row.get(column) for column in columns} for row in rows]

    def to_arrow(self) -> "pa.Table":
        """Return the verdicts as an Arrow table."""
        from pathway_local.sheets.parquet import arrow_table

        return arrow_table(*self._table())

    def to_pandas(self) -> Any:
        """Return the verdicts as a pandas data frame. Raises UsageError if pandas is not installed."""
        table = self.to_arrow()
        try:
            return table.to_pandas()
        except ModuleNotFoundError:
            raise UsageError("pandas is not installed", "Run: pip install pandas. Or use to_arrow().") from None

    def tables(self, analysis: str, **options: object) -> list[dict[str, object]]:
        """Return what an analysis finds, such as "summary", "compare" or "agreement", as its `--json` prints it.

        `options` are those of the command, with `_` for `-`: `run.tables("compare", between="chatbot=v1,v2")`.
        Raises UnknownName and UsageError.
        """
        if analysis not in ANALYSES:
            raise UnknownName("analysis", analysis, ANALYSES)
        loaded = ANALYSES[analysis].load()
        names = declared(loaded.options)
        try:
            with closing(RunFile.read(self.path)) as read, read.database.snapshot():
                found = found_by(loaded, Scores(read), options)
        except PathwayError as error:
            error.args, error.hint = (in_python(str(error), names),), in_python(error.hint, names)
            raise
        tables: list[dict[str, Any]] = as_json(found, Language(ENGLISH))
        for note in (note for table in tables for note in table["notes"]):
            note["text"] = in_python(note["text"], names)
        return tables

    def summary(self, **options: object) -> list[dict[str, object]]:
        """Return what `pathway-local summary --json` prints: tables of scores, choices and failures."""
        return self.tables("summary", **options)

    def _table(self) -> tuple[Sequence[str], list[dict[str, Value]]]:
        with closing(RunFile.read(self.path)) as read, read.database.snapshot():
            table = VerdictTable(read)
            return table.columns, list(table.rows())
