"""Every way a command can fail: each class of errors, below the one whose exit code it shares."""

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from shlex import quote


class PathwayError(Exception):
    """A failure that a user can act on: `str(error)` says what is wrong, `hint` says what to do.

    Neither ever holds the text of a case. `exit_code` is that of the command; 2 stands for a wrong command, rubric or
    registry.
    """

    exit_code = 2

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class UsageError(PathwayError):
    """The command asks for something that can't be done."""


class UnknownName(UsageError):
    """No `kind` is called `name`; the hint lists the known names, most similar first."""

    def __init__(self, kind: str, name: str, known: Iterable[str], hint: str = "") -> None:
        names = list(known)
        near = get_close_matches(name, names, n=max(1, len(names)), cutoff=0.5)
        ordered = near + [other for other in names if other not in near]
        there = f"There are: {', '.join(ordered)}" if ordered else f"There is no {kind}"
        super().__init__(f"no {kind} is called {name!r}", f"{there}. {hint}".rstrip(". ") + ".")


class NotKept(UsageError):
    """The run does not keep the metadata column that the command needs."""

    def __init__(self, column: str, kept: Iterable[str] = ()) -> None:
        there = f"It keeps: {', '.join(kept)}. " if kept else ""
        hint = f"{there}Fill it in: `pathway-local runs keep RUN --cases FILE --column {quote(column)}`."
        super().__init__(f"the run does not keep the column {column!r}", hint)


class OutputExists(UsageError):
    """The command would overwrite a file."""

    def __init__(self, path: object) -> None:
        super().__init__(f"{path} exists already", "Name another file, or give --force to replace it.")


class RubricError(PathwayError):
    """A rubric file is wrong; the message names file and line."""


class FormatError(RubricError):
    """An output format can't be written as a grammar."""


class RegistryError(PathwayError):
    """A judge registry is wrong; the message names file and key."""


class CasesError(PathwayError):
    """A cases file can't be read as cases."""

    exit_code = 3


class ColumnsError(CasesError):
    """The columns of a cases file don't match what the rubrics need.

    `missing` has the inputs without a column, each with the columns that it may be.
    """

    def __init__(self, message: str, hint: str = "", missing: Mapping[str, Sequence[str]] | None = None) -> None:
        super().__init__(message, hint)
        self.missing = missing or {}


class UnclearHeader(CasesError):
    """The first row of a sheet looks like a title; `row` is the one that seems to name the columns."""

    def __init__(self, message: str, row: int) -> None:
        super().__init__(message, f"If row {row} names the columns, give --header-row {row}.")
        self.row = row


class RatingsError(PathwayError):
    """A file of ratings does not fit the run's cases; `problems` names each line and what is wrong there."""

    exit_code = 3

    def __init__(self, message: str, hint: str = "", problems: Iterable[str] = ()) -> None:
        super().__init__(message, hint)
        self.problems = tuple(problems)


class RunFileError(PathwayError):
    """A run file can't be used."""

    exit_code = 4


class RunLocked(RunFileError):
    """Another process writes to the run file."""


class RunDamaged(RunFileError):
    """The run file is damaged, or the file is not a run."""


class TrailChanged(RunFileError):
    """Somebody changed the run's audit trail."""


class ContentChanged(RunFileError):
    """Another program changed the run's outcomes, or the cases, raters or rubrics that belong to them."""


class RaterChanged(RunFileError):
    """The run holds verdicts of another rater with this name."""


class EngineError(PathwayError):
    """The judge can't be run."""

    exit_code = 5


class WeightsMissing(EngineError):
    """The judge's weights are not on this machine."""


class EngineMissing(EngineError):
    """This machine lacks the engine, or hardware that it needs."""


class TooCostly(EngineError):
    """The judge's chat template or tokenizer takes more time or memory than any sound one."""


class OutOfMemory(EngineError):
    """The judge does not fit into memory."""


class EngineDied(EngineError):
    """The engine stopped answering."""


class Stopped(PathwayError):
    """The user stopped the job while it waited for an engine; never leaves the loop."""


class CaseError(PathwayError):
    """One case gets no verdict; never leaves the loop, which stores a failure of this `kind`."""

    kind = "case"


class MissingInput(CaseError):
    """The case lacks an input, or an input is empty that may not be."""

    kind = "missing-input"


class PromptTooLong(CaseError):
    """The case's prompt does not fit the judge's context."""

    kind = "prompt-too-long"


class ReplyError(CaseError):
    """A reply does not have the rubric's format."""

    kind = "unreadable-reply"


class ReplyUnfinished(CaseError):
    """A reply reached the end of the judge's context."""

    kind = "unfinished-reply"


class RequestRefused(CaseError):
    """The engine failed on this case alone."""

    kind = "engine-error"
