"""`pathway-local summary`: scores, confidence and failures of a run."""

from typing import Annotated

from pathway_local.cli.command_help import App, option
from pathway_local.cli.figures import draw, kept_columns
from pathway_local.cli.options import AsJson, Cluster, MinGroup, Run
from pathway_local.cli.terminal import notice, print_json, talk
from pathway_local.results.summary import Summary, summarize
from pathway_local.results.views.summary import group_remarks, summary_view
from pathway_local.results.views.view import hidden_groups
from pathway_local.runs.purge import purged
from pathway_local.runs.run_file import RunFile

app = App()


@app.with_examples("pathway-local summary my.run", "pathway-local summary my.run --by chatbot --min-group 5")
def summary(
    run: Run,
    by: Annotated[str, option("COLUMN", "One row for each value of this column of the run.")] = "",
    min_group: MinGroup = None,
    cluster: Cluster = "",
    as_json: AsJson = False,
) -> None:
    """Show the scores, confidence and failures of a run."""
    with RunFile.read(run) as read:
        by, cluster = kept_columns(read, by, cluster)
        found = summarize(read, by, min_group or 1, cluster)
        removed = None if found.groups else purged(read)
    if found.hidden and min_group:
        notice(hidden_groups(found.hidden, by, min_group))
    if as_json:
        said = [group_remarks(group, found).as_json() for group in found.groups]
        # Last the group again: its own column may be called like a remark's key.
        print_json([each | remarks | each for each, remarks in zip(found.as_json(), said, strict=True)])
    elif removed:
        talk.say(f"the run holds no outcomes: they were purged at {removed[0]} UTC")
    else:
        show(found)


def show(found: Summary) -> None:
    """Print a table of the scores, the levels' names, and warnings."""
    if found.groups:
        draw(summary_view(found))
    elif not found.hidden:
        talk.say("the run holds no outcomes yet")
    else:
        talk.say(f"no table: every group of {found.by} is left out")
