"""`pathway-local runs panel`: combine several raters into one."""

import sys
from typing import Annotated

from pathway_local.cli.command_help import option
from pathway_local.cli.options import Run
from pathway_local.cli.terminal import data
from pathway_local.rater import PanelRule
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.run_rubrics import rubrics_of


def panel(
    run: Run,
    name: Annotated[str, option("NAME", "Name of the new rater.")],
    of: Annotated[str, option("NAMES", "Raters to combine, separated by commas.")],
    rule: Annotated[PanelRule, option("RULE", "mean, median or majority of their scores.")] = "mean",
) -> None:
    """Combine several raters into one: their mean, median or majority on each case, with the spread.

    Give the same command again to bring the panel up to date with its members.
    """
    # Imported here: numpy takes a while, and the other commands about a run don't need it.
    from pathway_local.cli.show import terminal_words
    from pathway_local.results.alike_people import alike
    from pathway_local.results.panel import make_panel
    from pathway_local.results.ratings_matrix import ratings_matrices

    members = [member.strip() for member in of.split(",") if member.strip()]
    with RunFile.open(run) as opened:
        found = make_panel(opened, name, members, rule, sys.argv)
        rubrics = rubrics_of(opened)
        matrices = [each for part in found for each in ratings_matrices(opened, rubrics[part.rubric])]
        warnings = [note for each in matrices for note in alike(each, each.places(members))]
    rows = [
        [each.rubric, str(each.verdicts), str(each.partial or ""), str(each.failures.total() or "")] for each in found
    ]
    data.show_table(f"{name}: the {rule} of {', '.join(members)}", ["rubric", "verdicts", "partial", "failed"], rows)
    for each in found:
        for kind, count in sorted(each.failures.items()):
            data.say(f"{each.rubric}: {count} failed ({kind})")
        if each.partial:
            data.say(f"{each.rubric}: {each.partial} verdicts lack a member or a vote")
    say = terminal_words()
    for line in dict.fromkeys(map(say.note, warnings)):
        data.say(say("warning", text=line))
