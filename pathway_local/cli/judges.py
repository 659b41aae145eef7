"""`pathway-local judges`: list, show, check, test and fetch judges."""

import os
import shlex
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from pathway_local.cli.options import MATCHING, App, AsJson, CasesOption, Force, Full, Models, Out, option, options_of
from pathway_local.cli.terminal import data, notice, print_json, print_text, show_check, talk
from pathway_local.errors import EngineError
from pathway_local.judges.judge_spec import FOLDER
from pathway_local.judges.placement import JudgeCard, judge_card
from pathway_local.judges.registry import load_registry, weights_folder
from pathway_local.judging.plan import Plan, read_plan
from pathway_local.rubrics.rubric_file import load_rubric
from pathway_local.runs.run_file import RunFile
from pathway_local.system.machine import this_machine
from pathway_local.system.private_process import INTERRUPTED

app = App("List, show, check, test and fetch judges.", "pathway-local judges list")

Name = Annotated[str, typer.Argument(metavar="JUDGE", help="A judge's name, or a folder with a model.")]


@app.with_examples("pathway-local judges list", name="list")
def list_judges(models: Models = None) -> None:
    """List the known judges, and say which of them are on this disk and fit this machine."""
    machine = this_machine()
    rows = [_row(judge_card(entry, machine)) for entry in load_registry(models)]
    data.show_table("", ["judge", "licence", "thinks", "here", "fits", "GB"], rows, left=5)
    talk.say(f"This machine: {machine.described()}. GB: memory that the weights take.")
    talk.say("`pathway-local judges show JUDGE` shows its size, its context and the smallest GPU for it.")


def _row(card: JudgeCard) -> list[str]:
    spec = card.spec
    licence = spec.licence + (", gated" if spec.gated else "")
    size = f"{spec.weights_gb:.1f}" if spec.weights_gb else "–"
    return [spec.name, licence, spec.thinks, "yes" if card.folder else "–", card.fits, size]


@app.with_examples("pathway-local judges show qwen3-8b", "pathway-local judges show /models/my-judge")
def show(name: Name, models: Models = None) -> None:
    """Show a judge's entry and what its folder adds."""
    spec = load_registry(models).get(name)
    if spec.origin == FOLDER:
        weights_folder(spec)
    card = judge_card(spec, this_machine())
    data.say(yaml.safe_dump({spec.name: card.entry}, sort_keys=False, allow_unicode=True, width=110), lines=True)
    if spec.gated:
        data.say(
            "Gated: before `judges fetch`, accept its terms on its page of the hub and log in with `hf auth login`."
        )
    data.say(f"Weights: {card.folder or 'not on this disk'}")
    here = card.placed
    data.say(
        f"On this machine: {f'{here}. {here.hint}' if isinstance(here, EngineError) else f'it runs {here.where}.'}"
    )


@app.with_examples("pathway-local judges check demo", "pathway-local judges check /models/my-judge")
def check(
    name: Name,
    models: Models = None,
    as_json: AsJson = False,
) -> None:
    """Check that a judge is complete and ready, without loading it; show the prompt of a sample case."""
    # Imported here: transformers takes seconds to import, and the other commands don't need it.
    from pathway_local.checks.judge_check import check_judge

    spec = load_registry(models).get(name)
    folder = weights_folder(spec)
    talk.say(f"checking {folder}")
    checks, prompt = check_judge(spec, folder)
    if as_json:
        told = list(map(asdict, checks))
        print_json({"judge": spec.name, "folder": str(folder), "checks": told, "prompt": prompt})
    for each in [] if as_json else checks:
        show_check(each)
    if prompt and not as_json:
        print_text("The prompt of a sample case, as the judge gets it", prompt)
    if any(each.status == "problem" for each in checks):
        raise typer.Exit(EngineError.exit_code)


@app.with_examples(
    "pathway-local judges test demo -r gold-answer --n 10 \\",
    "    --cases examples/gold-answer.jsonl",
    given=MATCHING | options_of(Plan, "models", "engine", "detail", "temperature", "think"),
)
def test(
    judges: Annotated[list[str], typer.Argument(metavar="JUDGE", help="Judges' names or folders.")],
    rubric: Annotated[str, option("RUBRIC", "The rubric's name or file.", "--rubric", "-r")],
    cases: CasesOption,
    given: dict[str, Any],
    n: Annotated[int, option("N", "Cases to draw at random.", "--n", min=2, max=10_000)] = 100,
    score: Annotated[str, option("NAME", "The score to test; needed if the rubric has several.")] = "",
    run: Annotated[Path | None, option("RUN", "The test's run file; an existing one is continued.")] = None,
    out: Out = None,
    full: Full = False,
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Show whether judges react to what they should, and to nothing else. No labels are needed.

    Each probe changes cases by program and compares the scores before and after.
    """
    # Imported here: the other commands of this group need none of it.
    from pathway_local.cli.case_files import read_privately
    from pathway_local.cli.judge import watched
    from pathway_local.cli.results import check_out, deliver
    from pathway_local.judging.job import run_self_test
    from pathway_local.probes.drawing import self_test
    from pathway_local.results.self_test import self_test_table
    from pathway_local.scores.scores import Scores

    given |= {"rubric": (load_rubric(rubric),), "judge": judges}
    plan = read_plan(cases, run or Path(f"{cases.stem}.test.run"), given)
    tested, registry = self_test(plan.rubric[0], score), load_registry(plan.models)
    check_out(out, force=force)
    names = [registry.get(judge).name for judge in judges]
    read_privately(cases, plan.run)
    watched(plan, lambda plan, progress: run_self_test(plan, tested, n, progress, sys.argv))
    with RunFile.read(plan.run, "self-test") as read:
        found = Scores(read)
        tables = [self_test_table(found, tested, names, cases.name).with_cautions(found.labels)]
    talk.say(f"run: {plan.run}")
    deliver(found, tables, plan.run, out=out, full=full, as_json=as_json, force=force)


@app.with_examples("pathway-local judges fetch qwen3-8b")
def fetch(name: Name, models: Models = None) -> None:
    """Fetch a judge's weights from the model hub. This is the only command that uses the network.

    It takes the entry's revision: safetensors, and the files that describe model, tokenizer and chat template. If it
    is interrupted, run it again to fetch the rest.
    """
    # The hub's client reads this when it is imported, and then tells the hub less about this machine.
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    from pathway_local.judges.fetch import check_source
    from pathway_local.judges.fetch import fetch as take

    spec = load_registry(models).get(name)
    check_source(spec)
    if spec.revision is None:
        notice(f"the entry of {spec.name} names no revision: fetching the newest")
    talk.say(f"fetching {spec.source}; licence: {spec.licence}{f'; notes: {spec.notes}' if spec.notes else ''}")
    try:
        folder, line = take(spec)
    except KeyboardInterrupt:
        talk.say(f"stopped. To continue: {shlex.join(['pathway-local', *sys.argv[1:]])}")
        raise typer.Exit(INTERRUPTED) from None
    talk.say(f"fetched: {folder}")
    if not spec.sha256:
        talk.say("the registry has no hash of these files: this fetch trusts their source")
    talk.say("To accept only these exact files, put this into your models.yaml:")
    data.say(line)
