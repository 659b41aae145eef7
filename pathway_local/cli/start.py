"""`pathway-local start`: from a file of cases to its scores in one dialog, in the person's language throughout."""

import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from pathway_local.cli.case_files import choose, choose_columns, close_off, example, first_rows, opening
from pathway_local.cli.command_line import command_of
from pathway_local.cli.judge import JobProgress, heeded
from pathway_local.cli.new_rubric import new
from pathway_local.cli.options import App, Lang, options_of
from pathway_local.cli.show import terminal_words
from pathway_local.cli.terminal import SOME_FAILED, complain, talk
from pathway_local.errors import ColumnsError, PathwayError, UnclearHeader, UsageError, WeightsMissing
from pathway_local.judges.placement import judge_card
from pathway_local.judges.registry import load_registry
from pathway_local.judging.dry_run import dry_run
from pathway_local.judging.job import run_job
from pathway_local.judging.loop import Tally
from pathway_local.judging.plan import Plan, default_run, read_plan
from pathway_local.judging.progress import Progress, Watcher
from pathway_local.rubrics.rubric_file import builtin_names, load_rubric
from pathway_local.runs.run_cases import cases_of
from pathway_local.sheets.cases_file import CasesFile
from pathway_local.sheets.columns import folded, is_row_of_texts, names_of
from pathway_local.sheets.kinds import Sheet, kind_of, open_sheet
from pathway_local.system.machine import this_machine
from pathway_local.system.options import flag
from pathway_local.system.private_file import closing_command, exposures
from pathway_local.system.private_process import INTERRUPTED
from pathway_local.words.language import ENGLISH, Language

FETCHABLE = 3
"""Judges shown that fit this machine and are not on its disk."""

app = App()


@app.with_examples("pathway-local start respostas.xlsx --lang pt", given=options_of(Plan, "encoding", "models"))
def start(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Cases: .csv, .tsv, .jsonl, .json, .parquet or .xlsx.")],
    given: dict[str, Any],
    lang: Lang = "en",
) -> None:
    """Ask what to judge and how, then judge and write the results; every step shows the command that does the same.

    Nothing is judged before you say so.
    """
    if not (sys.stdin.isatty() and talk.is_terminal):
        raise UsageError("start asks questions, and nobody is at a terminal", "Use `pathway-local judge`.")
    talk.errors_only = True  # other commands' notes are English; those that matter here, the dialog says itself
    again, say = shlex.join(["pathway-local", *sys.argv[1:]]), terminal_words(lang)
    try:
        Dialog(file, say, given).hold()
    except PathwayError:
        _announce_english(say)
        raise
    except (typer.Abort, typer.Exit) as ended:
        code = getattr(ended, "exit_code", SOME_FAILED)  # without click's own "Aborted!"
        if code in (SOME_FAILED, INTERRUPTED):
            talk.say("")
            talk.say(say.text("start", "stopped", {"command": again}))
        raise typer.Exit(code) from None


class _Count(JobProgress):
    """Counts cases without a word, which would be English."""

    def notice(self, message: str) -> None:
        """Leave it out."""

    def loading(self, judge: str) -> None:
        """Show that a judge is being loaded."""
        self._write(f"{judge} …")

    def stop(self, number: int) -> None:
        """End the job; `start` says so."""
        self.signal = number

    def line(self, rater: str, tally: Tally, total: int, seconds: float) -> str:
        """Return the count alone."""
        return f"{rater}: {tally.done} / {total}"

    def _write(self, text: str, *, whole: bool = False) -> None:
        Progress._write(self, text, whole=whole)


class Dialog:
    """Asks one question after the other; `given` are the options of `judge` as far as they are known."""

    def __init__(self, file: Path, say: Language, given: Mapping[str, Any]) -> None:
        self.file, self.run, self._say = file, default_run(file), say
        self._given: dict[str, Any] = {"rubric": [], "judge": [], **given, "map": {}, "keep": []}

    def hold(self) -> None:
        """Ask everything, judge, and show the results. Raises PathwayError, typer.Abort, typer.Exit."""
        for path, _ in exposures([self.file]):
            self._tell("exposed", file=path.name, command=closing_command(path))
        close_off()
        self._ask_sheet()
        self._ask_header()
        self._ask_rubric()
        self._ask_columns()
        self._ask_by()
        self._ask_judge()
        self._judge_all()
        (summary, *results), failed = self.results(), 0
        talk.say(f"$ {shlex.join(summary)}", "bold")
        _do(summary)
        for command in results:
            if "--onto" in command and self._given.get("encoding") and self._sheet().notes:
                self._tell("copy_is_utf8", file=self.file.name)
            try:
                if self._agreed("write", command):
                    _do(command)
            except PathwayError as error:  # the other results are still there to be written
                self._complain(error)
                failed = failed or error.exit_code
        self._tell("done", run=str(self.run), file=str(self.file))
        if failed:
            raise typer.Exit(failed)

    def results(self) -> list[list[str]]:
        """Return the commands that show and write the results."""
        kind, run = kind_of(self.file), str(self.run)
        onto = self.file if kind and kind.copy else None
        scored = Path(f"{self.file.stem}-scored{self.file.suffix if onto else '.csv'}")
        told = _typed({"by": self._given["keep"], "lang": "" if self._say.name == ENGLISH else self._say.name})
        written = {"onto": onto, "out": scored, "encoding": self._given.get("encoding") if onto else ""}
        return [
            ["pathway-local", "summary", run, *told],
            ["pathway-local", "export", run, *_typed(written)],
            ["pathway-local", "report", run, *told, "--out", f"{self.file.stem}-report.html"],
        ]

    def _sheet(self) -> Sheet:
        """Return the file as a sheet, whose header is where it seems to be: the person is asked."""
        try:
            return open_sheet(self.file, **opening(dict(self._given)))
        except UnclearHeader as error:
            self._given["header_row"] = error.row
            return self._sheet()

    def _cases(self) -> CasesFile:
        """Return the file as cases of the rubric. Raises ColumnsError."""
        return cases_of(self._sheet(), list(map(load_rubric, self._given["rubric"])), None, None, self._given["map"])

    def _ask_sheet(self) -> None:
        sheet = self._sheet()
        if sheet.others:
            titles = [sheet.title, *sheet.others]
            self._given["sheet"] = titles[self._choose("which_sheet", titles, 1) - 1]
            self._given.pop("header_row", None)

    def _ask_header(self) -> None:
        """Show the columns; ask in which row their names are if others stand above them, or if they may be texts."""
        while True:
            sheet = self._sheet()
            rows = first_rows(sheet)
            self._tell("sheet", file=self.file.name, columns=len(sheet.columns))
            for column in sheet.columns:
                talk.say(example(column, rows), indent=5)
            if not sheet.header_row:
                return
            if self._choose("is_header", [self._told("accept"), self._told("other_row")], 1, row=sheet.header_row) == 1:
                if is_row_of_texts(sheet.columns):
                    self._given["header_row"] = sheet.header_row
                return
            self._given["header_row"] = max(typer.prompt(self._told("which_row"), type=int, err=True), 1)

    def _ask_rubric(self) -> None:
        names = builtin_names()
        shown = [f"{name}: {load_rubric(name).description}" for name in names]
        if self._say.name != ENGLISH:
            self._tell("rubrics_in_english")
        chosen = self._choose("rubric", [*shown, self._told("new"), self._told("own")])
        rubric, is_new = [*names, "", ""][chosen - 1], chosen == len(names) + 1
        while not rubric:
            path = Path(typer.prompt(self._told("new_file" if is_new else "own_file"), err=True).strip())
            try:
                if is_new:
                    path = path.with_suffix(".prompty")
                    new(path, language=self._say.name)
                load_rubric(str(path))
                rubric = str(path)
            except PathwayError as error:  # a name that can't be used costs none of the answers
                self._complain(error)
        self._given["rubric"] = [rubric]

    def _ask_columns(self) -> None:
        rows = first_rows(self._sheet())
        while True:
            try:
                cases = self._cases()
            except ColumnsError as error:
                if not error.missing:
                    raise
                taken = self._given["map"].values()
                self._given["map"] |= choose_columns(self._say, error.missing, rows, taken)
                continue
            self._tell("reads", rubric=self._given["rubric"][0])
            for name, column in cases.inputs.items():
                talk.say(f"{name} ← {example(column, rows[:1])}", indent=5)
            inputs = list(cases.inputs)
            others = [self._told("change", input=name) for name in inputs]
            chosen = self._choose("right", [self._told("accept"), *others], 1)
            if chosen == 1:
                return
            picked = choose_columns(self._say, {inputs[chosen - 2]: cases.sheet.columns}, rows)
            kept = {name: column for name, column in self._given["map"].items() if column not in picked.values()}
            self._given["map"] = kept | picked

    def _ask_by(self) -> None:
        """Ask for the column to compare by: one that is called like chatbots is proposed, a hidden one never shown."""
        cases = self._cases()
        rows = first_rows(cases.sheet)
        seen = [name for name in cases.metadata if name not in cases.sheet.hidden]
        offered = sorted(seen, key=lambda name: folded(name) not in names_of("chatbots"))
        if offered:
            shown = [*(example(name, rows) for name in offered), self._told("no_groups")]
            chosen = self._choose("by", shown, 1 if folded(offered[0]) in names_of("chatbots") else len(shown))
            self._given["keep"] = offered[chosen - 1 : chosen]

    def _ask_judge(self) -> None:
        """Ask for a judge that is here, real ones first; name some that could be fetched."""
        cards = (judge_card(entry, this_machine()) for entry in load_registry(self._given.get("models")))
        fitting = [card for card in cards if card.fits == "yes"]
        here = sorted((card.spec for card in fitting if card.folder), key=lambda spec: bool(spec.label))
        if not here:
            raise WeightsMissing("no judge can run on this machine", "See `pathway-local judges list`.")
        for card in [card for card in fitting if not card.folder][:FETCHABLE]:
            self._tell("judge_away", name=card.spec.name, gb=card.spec.weights_gb or 0)
        shown = [f"{spec.name}: {self._say.word(spec.label)}" if spec.label else spec.name for spec in here]
        self._given["judge"] = [here[self._choose("judge", shown, 1) - 1].name]

    def _judge_all(self) -> None:
        """Tell how many cases would be judged and which rows would fail; after a yes, judge."""
        maps = [f"{name}={column}" for name, column in self._given["map"].items()]
        command = ["pathway-local", "judge", str(self.file), *_typed(self._given | {"map": maps, "run": self.run})]
        plan = read_plan(self.file, self.run, self._given | {"rubric": list(map(load_rubric, self._given["rubric"]))})
        for rater in (rater for judge in dry_run(plan, Watcher()) for rater in judge.raters):
            self._tell("to_judge", count=rater.to_judge)
            for kind, count in rater.failures.items():
                self._tell("would_fail", count=count, kind=kind)
            for place, _ in rater.first_failures:
                talk.say(self._say("row", row=place.split()[-1]), indent=5)
        if not self._agreed("judge_now", command):
            self._tell("later", command=shlex.join(command))
            raise typer.Exit
        sys.argv = command  # the run's audit trail records it, and a job that is stopped says how to continue
        heeded(plan, lambda plan, progress: run_job(plan, progress, command), _Count())

    def _agreed(self, question: str, command: Sequence[str]) -> bool:
        answers = [self._told("accept"), self._told("decline")]
        return self._choose(question, answers, 1, command=shlex.join(command)) == 1

    def _choose(self, question: str, options: Sequence[str], usual: int | None = None, **values: object) -> int:
        talk.say("")
        return choose(self._say, self._told(question, **values), options, usual)

    def _complain(self, error: PathwayError) -> None:
        _announce_english(self._say)
        complain(error)

    def _tell(self, key: str, **values: object) -> None:
        talk.say(self._told(key, **values), "bold")

    def _told(self, key: str, **values: object) -> str:
        return self._say.text("start", key, values)


def _announce_english(say: Language) -> None:
    """Say in another language that an error follows in English."""
    if say.name != ENGLISH:
        talk.say(say.text("start", "error_in_english", {}))


def _do(command: list[str]) -> None:
    """Do what a person would type, whose words the run's audit trail records. Raises PathwayError."""
    sys.argv = command
    command_of(command[1])(command[2:], standalone_mode=False)


def _typed(options: Mapping[str, object]) -> list[str]:
    """Return options as a person types them."""
    several = {name: value if isinstance(value, list) else [value] for name, value in options.items()}
    return [word for name, given in several.items() for each in given if each for word in (flag(name), str(each))]
