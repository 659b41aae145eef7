"""`pathway-local hosted`: writes batch files for hosted judges, without a connection."""

import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

from pathway_local.cli.case_files import cases_given, read_privately
from pathway_local.cli.options import MATCHING, App, CasesOption, Force, RubricIfSeveral, RunToBe, Yes, option
from pathway_local.cli.terminal import need_consent, notice, talk
from pathway_local.ratings.cases_given import CasesGiven
from pathway_local.ratings.hosted_requests import HostedRequests, Service
from pathway_local.system.visible import visible

NAMES = {"openai": "OpenAI", "azure": "Microsoft Azure", "anthropic": "Anthropic"}

EXAMPLES = (
    "pathway-local hosted export my.run --cases examples/pathway-answer.csv \\",
    "    --service openai --model their-model --out requests.jsonl",
)

app = App(
    "Write a run's prompts as a batch file for a hosted judge. The program itself never connects to one.", *EXAMPLES
)


@app.with_examples(*EXAMPLES, given=MATCHING)
def export(
    run: RunToBe,
    cases: CasesOption,
    service: Annotated[
        Service,
        option("SERVICE", "Format of the batch file: openai (also for `vllm run-batch`), azure or anthropic."),
    ],
    model: Annotated[str, option("NAME", "What the service calls the model; on Azure, the deployment.")],
    out: Annotated[Path, option("FILE", "The batch file, e.g. requests.jsonl.")],
    given: dict[str, Any],
    rubric: RubricIfSeveral = None,
    temperature: Annotated[
        float | None,
        option("X", "Temperature, if the model takes one (default: its own).", min=0, max=2),
    ] = None,
    yes: Yes = False,
    force: Force = False,
) -> None:
    """Write a judge's exact prompts as a batch file that you can send to a hosted judge yourself.

    Cases get random ids. The run stores which case each one is, so that `import` can read the results.
    """
    read_privately(cases, run)
    with CasesGiven.open(cases_given(run, cases, rubric, given)) as asked:
        requests = HostedRequests(asked, service, model, out, temperature, force=force)
        _warn(requests, service)
        if not yes:
            question = "Write these texts to a file that is meant to leave your institution?"
            need_consent(question, "nothing was written", "Give --yes if these texts may leave.")
        requests.write(sys.argv)
    talk.say(f"written: {out}")
    talk.say(f"To import the results: pathway-local import {shlex.quote(str(run))} FILE --kind hosted --rater NAME")


def _warn(requests: HostedRequests, service: Service) -> None:
    given = requests.given
    name = NAMES[service]
    for note in (*given.file.notes, *given.file.remarks):
        notice(note)
    lines = [
        f"{requests.out} will hold the texts of {requests.cases:,} cases ({requests.characters:,} characters) in "
        "clear:",
        f"  each case's {', '.join(given.rubric.inputs)}, and the rubric {given.rubric.name}"
        + (", in both orders of the two responses." if len(requests.orders) > 1 else "."),
        f"  Sent to {name}, they leave your institution and are under {name}'s terms, not yours.",
        "  Names, ids or student records inside a text leave too. Case ids and other columns do not.",
    ]
    if requests.echoed:
        lines.append(
            f"  {', '.join(requests.echoed)}: also in the schema, which a service may keep longer than a request."
        )
    if given.left_out:
        lines.append(f"  Cases that can't be judged, and are left out: {given.left_out:,}.")
    cold = f"temperature {requests.temperature:g}" if requests.temperature is not None else "the model's own sampling"
    lines.append(f"  The judge: {requests.model}, {cold}.")
    talk.say("\n".join(map(visible, lines)), "bold yellow", label="warning: ", lines=True)
