"""`pathway-local start`: from a file of cases to its scores in one dialog, which types the other commands."""

import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer

from pathway_local.cli.case_files import example, first_rows, read_privately
from pathway_local.cli.command_help import App
from pathway_local.cli.command_line import app as every_command
from pathway_local.cli.options import Lang, Models
from pathway_local.cli.show import terminal_words
from pathway_local.cli.terminal import SOME_FAILED, complain, data, talk
from pathway_local.errors import ColumnsError, PathwayError, UnclearHeader, WeightsMissing
from pathway_local.judges.judge_card import JudgeCard, judge_cards
from pathway_local.judges.registry import load_registry
from pathway_local.judging.plan import default_run
from pathway_local.rubrics.criteria import phrases
from pathway_local.rubrics.rubric_file import builtin_names, load_rubric
from pathway_local.runs.run_cases import cases_of
from pathway_local.sheets.cases_file import CasesFile
from pathway_local.sheets.columns import columns_present, folded, is_row_of_texts, names_of
from pathway_local.sheets.kinds import Sheet, kind_of, open_sheet
from pathway_local.system.machine import this_machine
from pathway_local.system.visible import visible
from pathway_local.words.language import Language

NO_WAY_BACK = ("which_sheet", "is_header", "write")
"""Questions before which there is none to go back to."""

FETCHABLE = 3
"""Judges shown that fit this machine and are not on its disk."""

app = App()


@app.with_examples("pathway-local start answers.xlsx", "pathway-local start respostas.csv --lang pt")
def start(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Cases: .csv, .tsv, .jsonl, .json, .parquet or .xlsx.")],
    lang: Lang = "en",
    models: Models = None,
) -> None:
    """Ask what to judge and how, then judge and write the results; every step shows the command that does the same.

    Nothing is judged before you say so. Without a terminal, it prints the commands that it would propose.
    """
    say = terminal_words(lang)
    read_privately(file)
    choices = Choices(file, lang, models)
    if not (sys.stdin.isatty() and talk.is_terminal):
        choices.propose()
        for command in (choices.judging(), *choices.results()):
            data.say(shlex.join(command))
        return
    try:
        Dialog(choices, say).hold()
    except typer.Abort:
        talk.say("")
        talk.say(say.text("start", "stopped", {"command": shlex.join(choices.starting())}))
        raise typer.Exit(1) from None  # without click's own "Aborted!"


@dataclass
class Choices:
    """What was chosen so far. `map` has the columns that a person confirmed, `columns` each input's column."""

    file: Path
    lang: str
    models: Path | None
    title: str = ""
    header_row: int | None = None
    rubric: str = ""
    map: dict[str, str] = field(default_factory=dict)
    columns: dict[str, str] = field(default_factory=dict)
    id: str | None = None
    keep: list[str] = field(default_factory=list)
    by: str = ""
    judge: str = ""

    @property
    def run(self) -> Path:
        """The run file: that of `judge` without --run."""
        return default_run(self.file, None)

    def sheet(self) -> Sheet:
        """Return the file as a sheet, whose header is where it seems to be: the person is asked."""
        try:
            return open_sheet(self.file, header_row=self.header_row, title=self.title)
        except UnclearHeader as error:
            self.header_row = error.row
            return self.sheet()

    def cases(self) -> CasesFile:
        """Return the file as cases of the rubric. Raises ColumnsError."""
        found = cases_of(self.sheet(), [load_rubric(self.rubric)], None, self.id, self.map)
        self.columns = dict(found.inputs)
        return found

    def best_rubric(self) -> str:
        """Return the built-in rubric with the largest share, then number, of inputs whose columns are named so."""
        columns = self.sheet().columns

        def fit(name: str) -> tuple[float, int]:
            inputs = list(load_rubric(name).inputs)
            found = len(columns_present(inputs, columns, {}))
            return found / len(inputs), found

        return max(builtin_names(), key=fit)

    def cards(self) -> tuple[list[JudgeCard], list[JudgeCard]]:
        """Return the judges that can run here, real ones first, and some that could once they are fetched."""
        fitting = [card for card in judge_cards(load_registry(self.models), this_machine()) if not card.why_not]
        here = sorted((card for card in fitting if card.folder), key=lambda card: bool(card.spec.label))
        if not here:
            raise WeightsMissing("no judge can run on this machine", "See `pathway-local judges list`.")
        return here, [card for card in fitting if not card.folder][:FETCHABLE]

    def propose(self) -> None:
        """Choose what the dialog would propose. Raises PathwayError."""
        self.rubric = self.best_rubric()
        columns, chatbots = self.others()
        self.keep, self.by = chatbots, next(iter(chatbots), "")
        self.id = self.numbered(columns)
        self.judge = self.cards()[0][0].spec.name

    def others(self) -> tuple[list[str], list[str]]:
        """Return the columns that are neither inputs nor ids, and those of them that are called like chatbots.

        What a workbook hides is in neither.
        """
        cases = self.cases()
        columns = [name for name in cases.metadata if name not in cases.sheet.hidden]
        return columns, [name for name in columns if folded(name) in names_of("chatbots")]

    def numbered(self, columns: Sequence[str]) -> str | None:
        """Return the column that is called like a number, if none is called like ids."""
        if self.cases().id_column is not None:
            return None
        return next((name for name in columns if folded(name) in names_of("number")), None)

    def starting(self) -> list[str]:
        """Return the command that opens this dialog."""
        given = ["--models", str(self.models)] if self.models else []
        return ["pathway-local", "start", str(self.file), *self.in_language, *given]

    @property
    def in_language(self) -> list[str]:
        """The option by which other commands speak this language as well."""
        return ["--lang", self.lang] if self.lang != "en" else []

    def judging(self) -> list[str]:
        """Return the command that judges."""
        options = [("--rubric", self.rubric), ("--judge", self.judge), ("--id", self.id or "")]
        options += [
            ("--sheet", self.title),
            ("--header-row", str(self.header_row or "")),
            ("--models", str(self.models or "")),
        ]
        options += [("--map", f"{name}={column}") for name, column in self.map.items()]
        options += [("--keep", column) for column in self.keep]
        given = [word for name, value in options if value for word in (name, value)]
        return ["pathway-local", "judge", str(self.file), *given, "--run", str(self.run), *self.in_language]

    def results(self) -> list[list[str]]:
        """Return the commands that show and write what was judged."""
        run, stem = str(self.run), self.file.stem
        by = ["--by", self.by] if self.by else []
        kind = kind_of(self.file)
        onto = ["--onto", str(self.file)] if kind and kind.copy else []
        scored = f"{stem}-scored{self.file.suffix if onto else '.csv'}"
        return [
            *([["pathway-local", "summary", run, *by, *self.in_language]] if by else []),
            ["pathway-local", "export", run, *onto, "--out", scored],
            ["pathway-local", "report", run, *by, *self.in_language, "--out", f"{stem}-report.html"],
        ]


class _Back(Exception):
    """The person wants to see the question before this one."""


class Dialog:
    """Asks one question after the other; 0 goes back to the one before."""

    def __init__(self, choices: Choices, say: Language) -> None:
        self.choices, self._say = choices, say
        self._rows = first_rows(choices.sheet())
        self._place, self._asked = 0, {0}

    def hold(self) -> None:
        """Ask everything, judge, and show the results. Raises typer.Abort, and typer.Exit if one was not written."""
        steps = [self._sheet, self._header, self._rubric, self._columns, self._groups, self._judge, self._judging]
        while self._place < len(steps):
            try:
                steps[self._place]()
                self._place += 1
            except _Back:
                self._place = max((place for place in self._asked if place < self._place), default=0)
            except PathwayError as error:
                complain(error)
                self._place = max(place for place in self._asked if place <= self._place)
        failed = 0
        for command in self.choices.results():
            try:
                if command[1] == "summary" or self._agreed("write", command):
                    self._type(command)
            except PathwayError as error:  # the other results are still there to be written
                complain(error)
                failed = failed or error.exit_code
        self._tell("done", run=str(self.choices.run), file=str(self.choices.file))
        if failed:
            raise typer.Exit(failed)

    def _sheet(self) -> None:
        sheet = self.choices.sheet()
        if sheet.others:
            titles = [sheet.title, *sheet.others]
            self.choices.title = titles[self._choose("which_sheet", titles, 1) - 1]
            self.choices.header_row = None

    def _header(self) -> None:
        while True:
            sheet = self.choices.sheet()
            self._rows = first_rows(sheet)
            for said in sheet.notes:
                talk.say(said)
            self._tell("sheet", file=self.choices.file.name, columns=len(sheet.columns))
            for column in sheet.columns:
                talk.say(example(column, self._rows), indent=5)
            if not sheet.header_row:
                return
            if self._choose("is_header", [self._told("accept"), self._told("other_row")], 1, row=sheet.header_row) == 1:
                if is_row_of_texts(sheet.columns):
                    self.choices.header_row = sheet.header_row
                return
            row = max(typer.prompt(self._told("which_row"), type=int, err=True), 1)
            open_sheet(self.choices.file, header_row=row, title=self.choices.title)
            self.choices.header_row = row

    def _rubric(self) -> None:
        names, best = builtin_names(), self.choices.best_rubric()
        shown = [f"{name}: {load_rubric(name).description}" for name in names]
        if self.choices.lang != "en":
            self._tell("rubrics_in_english")
        chosen = self._choose("rubric", [*shown, self._told("new"), self._told("own")], names.index(best) + 1)
        self.choices.map = {}
        if chosen <= len(names):
            self.choices.rubric = names[chosen - 1]
            return
        new = chosen == len(names) + 1
        path = Path(typer.prompt(self._told("new_file" if new else "own_file"), err=True).strip())
        if new:
            path, known = path.with_suffix(".prompty"), list(phrases())
            usual = known.index(self.choices.lang) + 1 if self.choices.lang in known else 1
            language = known[self._choose("language", known, usual) - 1]
            self._type(["pathway-local", "rubrics", "new", str(path), "--language", language])
        else:
            path = self._adopted(path)
        load_rubric(str(path))
        self.choices.rubric = str(path)

    def _adopted(self, path: Path) -> Path:
        """Return the rubric's file; of a prompt that declares no format, the rubric that `adopt` makes of it."""
        try:
            load_rubric(str(path))
        except PathwayError:
            adopted = path.with_name(f"{path.stem}-rubric.prompty")
            self._type(["pathway-local", "rubrics", "adopt", str(path), "--out", str(adopted)])
            return adopted
        return path

    def _columns(self) -> None:
        while True:
            try:
                self.choices.cases()
            except ColumnsError as error:
                if not error.missing:
                    raise
                for name, free in error.missing.items():
                    self._ask(name, [each for each in free if each not in self.choices.map.values()])
                continue
            self._tell("reads", rubric=self.choices.rubric)
            for name, column in self.choices.columns.items():
                talk.say(f"{name} ← {example(column, self._rows[:1])}", indent=5)
            inputs = list(self.choices.columns)
            others = [self._told("change", input=name) for name in inputs]
            chosen = self._choose("right", [self._told("accept"), *others], 1)
            if chosen == 1:
                return
            self._ask(inputs[chosen - 2], self.choices.sheet().columns)

    def _ask(self, name: str, columns: Sequence[str]) -> None:
        chosen = self._choose("column", [example(column, self._rows) for column in columns], 0, input=name)
        self.choices.map[name] = columns[chosen - 1]

    def _groups(self) -> None:
        self.choices.id, self.choices.keep, self.choices.by = None, [], ""
        columns, chatbots = self.choices.others()
        if number := self.choices.numbered(columns):
            chosen = self._choose("id", [self._told("row_numbers"), example(number, self._rows)], 2)
            self.choices.id = number if chosen > 1 else None
        offered = [*chatbots, *(name for name in columns if name not in (*chatbots, self.choices.id))]
        if offered:
            shown = [*(example(name, self._rows) for name in offered), self._told("no_groups")]
            chosen = self._choose("by", shown, 1 if chatbots else len(shown))
            self.choices.keep = offered[chosen - 1 : chosen]
            self.choices.by = next(iter(self.choices.keep), "")

    def _judge(self) -> None:
        here, others = self.choices.cards()
        shown = [self._told("judge_here", name=each.spec.name, room=self._room(each)) for each in here]
        shown += [self._told("judge_away", name=each.spec.name, gb=each.spec.weights_gb or 0) for each in others]
        while (chosen := self._choose("judge", shown, 1)) > len(here):
            self._tell("fetch", command=f"pathway-local judges fetch {others[chosen - len(here) - 1].spec.name}")
        self.choices.judge = here[chosen - 1].spec.name

    def _room(self, card: JudgeCard) -> str:
        """Where a judge runs here; of a judge with a label, what that says."""
        if card.spec.label:
            return self._say.word(card.spec.label)
        gpus = card.placement.gpus if card.placement else 0
        return self._told("on_gpus", count=gpus) if gpus else self._told("without_gpu")

    def _judging(self) -> None:
        command = self.choices.judging()
        self._type([*command, "--dry-run", "--quiet"])
        if not self._agreed("judge_now", command):
            self._tell("later", command=shlex.join(command))
            raise typer.Exit
        self._type(command)

    def _agreed(self, question: str, command: Sequence[str]) -> bool:
        answers = [self._told("accept"), self._told("decline")]
        return self._choose(question, answers, 1, command=shlex.join(command)) == 1

    def _type(self, command: list[str]) -> None:
        """Show a command and run it here. Raises what it raises, and typer.Exit if it ends with an error."""
        talk.say(f"$ {shlex.join(command)}", "bold")
        sys.argv = command
        code = every_command(command[1:], prog_name="pathway-local", standalone_mode=False)
        if code not in (None, 0, SOME_FAILED):
            raise typer.Exit(code)

    def _choose(self, question: str, options: Sequence[str], usual: int, **values: object) -> int:
        """Return the number of the option that the person chooses; Enter takes the usual one. Raises _Back at 0."""
        self._asked.add(self._place)
        talk.say("")
        talk.say(self._told(question, **values), "bold")
        for number, each in enumerate(options, 1):
            talk.say(visible(each), label=f"{number:3}  ", hang=5)
        if question not in NO_WAY_BACK:
            talk.say(self._told("back"), label="  0  ")
        while True:
            typed = typer.prompt(self._told("number"), default=str(usual), err=True).strip()
            if typed == "0" and question not in NO_WAY_BACK:
                raise _Back
            if typed.isdecimal() and 0 < int(typed) <= len(options):
                return int(typed)
            talk.say(self._told("not_a_number", last=len(options)))

    def _tell(self, key: str, **values: object) -> None:
        talk.say(self._told(key, **values), "bold")

    def _told(self, key: str, **values: object) -> str:
        return self._say.text("start", key, values)
