"""`pathway-local view`: a run in the browser, on this machine alone."""

import sys
from pathlib import Path
from typing import Annotated, Any

from pathway_local.cli.case_files import sheet_of, tell_exposed
from pathway_local.cli.options import READING, App, Run, option
from pathway_local.cli.terminal import data, notice, talk, tell, tell_fault
from pathway_local.runs.run_file import RunFile
from pathway_local.viewer.app import Viewer
from pathway_local.viewer.server import open_door, serve
from pathway_local.viewer.verdicts import CaseTexts, Verdicts

app = App()


@app.with_examples("pathway-local view my.run --cases examples/pathway-answer.csv", given=READING)
def view(
    run: Run,
    given: dict[str, Any],
    cases: Annotated[Path | None, option("FILE", "The cases file; without it, texts are not shown.")] = None,
) -> None:
    """Look through a run in the browser: filter, sort and search verdicts, and read cases.

    Prints one address of this machine that lets one browser in, once. Ctrl-C ends the viewer. The run may be judged
    meanwhile; `runs remove-rater` and `runs purge` need the viewer to have ended.
    """
    tell_exposed(run, *([cases] if cases else []))
    door, unfiltered = open_door()
    if unfiltered:
        notice(f"this process could not be filtered: {unfiltered}; only our own code keeps it from connecting")
    with door, RunFile.read(run) as opened:
        sheet = sheet_of(opened, cases, opened.rubrics().values(), given) if cases else None
        if sheet is None:
            notice("without --cases FILE the viewer shows verdicts without texts")
        tell(f"reading {run}")
        verdicts = Verdicts(opened, CaseTexts(sheet) if sheet else None)
        serve(door, Viewer(verdicts, tell_fault), _tell_address)
    talk.say("ended")


def _tell_address(address: str) -> None:
    talk.say("Open this address in a browser on this machine. It works once. Ctrl-C ends the viewer.")
    data.say(address)
    sys.stdout.flush()
