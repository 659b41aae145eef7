"""Every way a command can fail, drawn as a tree.

PathwayError                 a line says what is wrong, a hint says what to do
├── UsageError               exit 2: the command asks for something that can't be done
│   ├── UnknownName          no rubric, judge, column or field of that name
│   ├── NotKept              the run does not keep the metadata column that the command needs
│   └── OutputExists         the command would overwrite a file
├── RubricError              exit 2: a rubric file is wrong; names file and line
│   └── FormatError          its output format can't be written as a grammar
├── RegistryError            exit 2: a judge registry is wrong; names file and key
├── CasesError               exit 3: a cases file can't be read as cases
│   └── ColumnsError         its columns don't match what the rubrics need
├── RatingsError             exit 3: a file of ratings does not fit the run; names the lines
├── RunFileError             exit 4: a run file can't be used
│   ├── RunLocked            another process writes to it
│   ├── RunDamaged           it is damaged, or no run file
│   ├── TrailChanged         somebody changed its audit trail
│   ├── ContentChanged       somebody changed its outcomes
│   └── RaterChanged         it holds verdicts of another rater with this name
├── EngineError              exit 5: the judge can't be run
│   ├── WeightsMissing       its weights are not on this machine
│   ├── EngineMissing        this machine lacks the engine, or hardware that it needs
│   ├── OutOfMemory          the judge does not fit into memory
│   ├── SealError            this machine can't make the seal that the user requires
│   ├── EngineUnexplained    the engine did not start, and we know no remedy
│   └── EngineDied           the engine stopped answering
├── Stopped                  never leaves the loop: the user stopped the job while it waited for an engine
└── CaseError                never leaves the loop: becomes the failure of one case
    ├── MissingInput         the case lacks an input, or an input is empty that may not be
    ├── PromptTooLong        its prompt does not fit the judge's context
    ├── ReplyError           a reply does not have the rubric's format
    ├── ReplyUnfinished      a reply reached the end of the judge's context
    └── RequestRefused       the engine failed on this case alone
"""

from collections.abc import Iterable
from difflib import get_close_matches


class PathwayError(Exception):
    """A failure that a user can act on: `str(error)` says what is wrong, `hint` says what to do.

    Neither ever holds the text of a case.
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
        near = get_close_matches(name, names, n=len(names), cutoff=0.5)
        ordered = near + [other for other in names if other not in near]
        there = f"There are: {', '.join(ordered)}" if ordered else f"There is no {kind}"
        super().__init__(f"no {kind} is called {name!r}", f"{there}. {hint}".rstrip(". ") + ".")


class NotKept(UsageError):
    """The run does not keep the metadata column that the command needs."""

    def __init__(self, column: str) -> None:
        hint = f"Run judge again with --keep {column}: it only fills the column in."
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
    """The columns of a cases file don't match what the rubrics need."""


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
    """The run file is damaged, or the file is no run file."""


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


class TemplateLimit(EngineError):
    """The judge's chat template takes more time or memory than any sound one."""


class OutOfMemory(EngineError):
    """The judge does not fit into memory."""


class SealError(EngineError):
    """This machine can't make the seal that the user requires."""


class EngineUnexplained(EngineError):
    """The engine did not start, and we know no remedy."""


class EngineDied(EngineError):
    """The engine stopped answering."""


class Stopped(PathwayError):
    """The user stopped the job while it waited for an engine."""


class CaseError(PathwayError):
    """One case gets no verdict; `kind` is the kind of its failure in the run."""

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
