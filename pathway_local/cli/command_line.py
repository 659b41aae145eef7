"""The command line as a whole: its commands, its help, and how each way to fail ends it."""

import sys
import warnings
from importlib import import_module
from io import TextIOWrapper
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from pathway_local import __version__
from pathway_local.cli.options import App
from pathway_local.cli.terminal import FAULT, FULL, complain, discard, keep_texts_out_of_tracebacks, tell_fault
from pathway_local.errors import OutOfMemory, PathwayError, UsageError
from pathway_local.results.analyses import ANALYSES
from pathway_local.system.private_process import INTERRUPTED, end_like_an_interrupt, make_private
from pathway_local.system.safe_yaml import plain

COMMANDS = {
    "start": ("start", "Ask what to judge and how, then judge and write the results: the easiest way in."),
    "judge": ("judge", "Judge the cases of a file under one or more rubrics."),
    **{name: ("results", analysis.says) for name, analysis in ANALYSES.items()},
    "handover": ("handover", ANALYSES["handover"].says),
    "export": ("results", "Write a run's verdicts to a file, or into a copy of the cases file."),
    "read": ("results", "Show the cases to read first and where raters disagree, with everyone's words."),
    "report": ("results", "Write a run's results as one page to send."),
    "view": ("results", "Look through a run in the browser, on this machine alone."),
    "rubrics": ("rubrics", "List, show, adopt and check rubrics."),
    "judges": ("judges", "List, show, check, test and fetch judges."),
    "import": ("ratings", "Import what people or a hosted judge said about a run's cases."),
    "sample": ("ratings", "Draw a random sample of cases for people to rate."),
    "hosted": ("ratings", "Write a run's prompts as a batch file for a hosted judge."),
    "runs": ("runs", "Check, split, merge and purge runs, or take ratings out again."),
    "doctor": ("doctor", "Check this machine, a run or a cases file, and say how to fix problems."),
}
"""The commands in the order of the help, each with its module and what it does."""


def command_of(name: str) -> Any:
    """Return the command or group of commands of this name, whose module is imported."""
    module = import_module(f"pathway_local.cli.{COMMANDS[name][0]}")
    made: Any = typer.main.get_command(module.app_of(name) if hasattr(module, "app_of") else module.app)
    return made.commands.get(name, made)


class _Commands(TyperGroup):
    """Imports a command's module only when the command runs, so that help appears at once."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [*COMMANDS]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return TyperCommand(cmd_name, short_help=COMMANDS[cmd_name][1]) if cmd_name in COMMANDS else None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, command, rest = super().resolve_command(ctx, args)
        return name, command and command_of(str(name)), rest

    def invoke(self, ctx: Any) -> Any:
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except typer.BadParameter as error:  # Typer reads values with pydantic, and tells its words
            error.message = plain(error.message)
            raise
        except BrokenPipeError:  # the reader of a pipe, such as `head`, has closed it
            discard(sys.stdout)
            sys.exit(0)
        return result


EXIT_CODES = {
    0: "all judged",
    1: "some cases failed, or an import has a reply that can't be read",
    2: "usage or rubric",
    3: "cases file",
    4: "run file",
    5: "judge or engine",
    70: "a bug in the program",
    130: "interrupted",
}

app = App(
    "Score chatbot answers on your own machine with an open-weight judge.\n\nExit codes: "
    + ", ".join(f"{code} {says}" for code, says in EXIT_CODES.items())
    + ".",
    "pathway-local judge examples/pathway-answer.csv -r pathway-answer --run my.run",
    "pathway-local summary my.run",
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"pathway-local {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Show the version."),
) -> None:
    pass


def run() -> None:
    """Parse the arguments and run their command. An error becomes one line, a hint and an exit code."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    make_private()
    end_like_an_interrupt()
    if not sys.warnoptions:
        warnings.simplefilter("ignore")  # Python shows each with a path and a line of our source
    keep_texts_out_of_tracebacks()
    try:
        app(prog_name="pathway-local")
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except Exception as error:  # noqa: BLE001  any exception's message may quote a case
        if isinstance(error.__cause__, KeyboardInterrupt):
            sys.exit(INTERRUPTED)  # Python 3.11 wraps an interrupt in RuntimeError if a class was being made
        told = _told(error)
        complain(told) if told else tell_fault(error)
        sys.exit(told.exit_code if told else FAULT)


def _told(error: Exception) -> PathwayError | None:
    """Return the error as a user is told of it; None for a bug."""
    if isinstance(error, MemoryError) or str(error) == "can't start new thread":
        hint = "Stop other programs, or raise this shell's limits (ulimit -v, ulimit -u)."
        return OutOfMemory("memory ran out, or this user may start no more threads", hint)
    if isinstance(error, OSError) and error.errno in FULL:
        # Files that a command writes tell this by themselves: this one is where the shell sends its output.
        discard(sys.stdout)
        hint = "Free some space where its output goes, or send it elsewhere."
        return UsageError(f"what this command prints can't be written: {error.strerror}", hint)
    return error if isinstance(error, PathwayError) else None
