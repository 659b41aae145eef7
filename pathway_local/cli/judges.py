"""`pathway-local judges`: list, show, check and fetch judges."""

import os
import shlex
import sys
from typing import Annotated

import typer
import yaml

from pathway_local.cli.judges_test import test
from pathway_local.cli.options import MATCHING, App, AsJson, Models, options_of
from pathway_local.cli.terminal import data, notice, print_json, talk
from pathway_local.errors import EngineError
from pathway_local.judges.judge_spec import FOLDER
from pathway_local.judges.placement import JudgeCard, judge_card
from pathway_local.judges.registry import load_registry, weights_folder
from pathway_local.judging.plan import Plan
from pathway_local.system.machine import this_machine
from pathway_local.system.private_process import INTERRUPTED

app = App("List, show, check, test and fetch judges.", "pathway-local judges list")

Name = Annotated[str, typer.Argument(metavar="JUDGE", help="A judge's name, or a folder with a model.")]


@app.with_examples("pathway-local judges list", name="list")
def list_judges(models: Models = None, as_json: AsJson = False) -> None:
    """List the known judges, and say which of them are on this disk and fit this machine."""
    machine = this_machine()
    cards = [judge_card(entry, machine) for entry in load_registry(models)]
    if as_json:
        print_json([card.as_json() for card in cards])
        return
    columns = ["judge", "licence", "thinks", "here", "fits", "GB"]
    data.show_table("", columns, [_row(card) for card in cards], left=5)
    talk.say(f"This machine: {machine.described()}. GB: memory that the weights take.")
    talk.say("`pathway-local judges show JUDGE` shows its size, its context and the smallest GPU for it.")


def _row(card: JudgeCard) -> list[str]:
    spec = card.spec
    return [
        spec.name,
        spec.licence + (", gated" if spec.gated else ""),
        spec.thinks,
        "yes" if card.folder else "–",
        card.fits,
        f"{spec.weights_gb:.1f}" if spec.weights_gb else "–",
    ]


@app.with_examples("pathway-local judges show qwen3-8b", "pathway-local judges show /models/my-judge")
def show(name: Name, models: Models = None, as_json: AsJson = False) -> None:
    """Show a judge's entry and what its folder adds."""
    spec = load_registry(models).get(name)
    if spec.origin == FOLDER:
        weights_folder(spec)
    card = judge_card(spec, this_machine())
    print_json(card.as_json()) if as_json else _show(card)


def _show(card: JudgeCard) -> None:
    spec = card.spec
    data.say(yaml.safe_dump({spec.name: card.entry}, sort_keys=False, allow_unicode=True, width=110), lines=True)
    for line in _remarks(card):
        data.say(line)


def _remarks(card: JudgeCard) -> list[str]:
    spec, here = card.spec, card.placed
    gate = "Gated: before `judges fetch`, accept its terms on its page of the hub and log in with `hf auth login`."
    return [
        *([gate] if spec.gated else []),
        f"Weights: {card.folder}" if card.folder else "Weights: not on this disk",
        f"On this machine: {f'{here}. {here.hint}' if isinstance(here, EngineError) else f'it runs {here.where}.'}",
    ]


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
        told = [{"check": c.name, "status": c.status, "found": c.found, "fix": c.fix} for c in checks]
        print_json({"judge": spec.name, "folder": str(folder), "checks": told, "prompt": prompt})
    else:
        data.show_table(spec.name, ["check", "", "found"], [[c.name, c.status, c.found] for c in checks], left=3)
        # Below the table, not in it: a command broken over lines can't be pasted.
        for c in checks:
            if c.fix:
                data.say(f"{c.name}: {c.fix}")
        if prompt:
            data.say("The prompt of a sample case, as the judge gets it", "bold")
            data.say(prompt, lines=True)
    if any(c.status == "problem" for c in checks):
        raise typer.Exit(EngineError.exit_code)


app.with_examples(
    "pathway-local judges test demo -r gold-answer --n 10 \\",
    "    --cases examples/gold-answer.jsonl",
    given=MATCHING | options_of(Plan, "models", "engine", "detail", "temperature", "think"),
)(test)


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
