"""`pathway-local rubrics align`: makes a rubric with examples of cases that people have scored."""

import shlex
from pathlib import Path
from typing import Annotated, Any

from pathway_local.case import Case
from pathway_local.cli.case_files import read_privately, sheet_of
from pathway_local.cli.options import CasesOption, Force, Run, option, options_of
from pathway_local.cli.show import note_export
from pathway_local.cli.terminal import check_new, notice, talk
from pathway_local.errors import CasesError, UsageError
from pathway_local.results.alignment import AlignOptions, Labelled, chosen_examples
from pathway_local.rubrics.examples import shortened
from pathway_local.rubrics.rubric import Rubric
from pathway_local.rubrics.rubric_file import parse_rubric, taught_text
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.run_rubrics import rubric_of
from pathway_local.scores.scores import Scores
from pathway_local.sheets.cases_file import CasesFile
from pathway_local.system.options import checked
from pathway_local.system.private_file import output_file

ALIGN = options_of(AlignOptions)


def align(
    run: Run,
    cases: CasesOption,
    out: Annotated[Path, option("FILE", "The rubric file to write; its name becomes the rubric's.", "--out", "-o")],
    given: dict[str, Any],
    force: Force = False,
) -> None:
    """Make a rubric with examples of cases that people have scored.

    They are chosen among one third of the cases, whose labels are then never compared with the new rubric's judges:
    first one for each level, then those on which the judge errs most.
    """
    options = checked(AlignOptions, {name: given.pop(name) for name in ALIGN if name in given})
    check_new(out, force=force)
    read_privately(cases, run)
    with RunFile.read(run) as opened, opened.database.snapshot():
        data, own = Scores(opened), rubric_of(opened, options.rubric or None)
        if out.stem == own.name:
            raise UsageError(f"the run has a rubric {own.name!r} already", "Name another file with -o.")
        chosen = chosen_examples(data, own, options)
        text = taught_text(own, out.stem, list(_written(data, own, chosen, sheet_of(opened, cases, [own], given))))
    parse_rubric(text, str(out))
    with output_file(out, force=force) as file:
        file.write(text.encode())
    note_export(run, out)
    if len(chosen) < options.examples:
        notice(f"only {len(chosen)} labelled cases of different questions and groups are set aside for examples")
    notice(f"{out} holds texts of cases: nobody else may be able to read it")
    talk.say(f"wrote {out}: {len(chosen)} examples. To see whether they help:")
    again = ["judge", str(cases), "--rubric", str(out), "--run", str(run)]
    talk.say(f"pathway-local {shlex.join(again)}", indent=2)
    proof = ["agreement", str(run), "--between", f"{own.name},{out.stem}", "--against", options.against]
    proof += ["--cluster", options.cluster] if options.cluster else []
    talk.say(f"pathway-local {shlex.join(proof)}", indent=2)


def _written(data: Scores, rubric: Rubric, chosen: list[Labelled], sheet: CasesFile) -> list[dict[str, object]]:
    """Return the examples as the file has them, with their texts. Raises CasesError for texts that are not there."""
    wanted, found = {each.case for each in chosen}, dict[str, Case]()
    for item in sheet:
        if isinstance(item, Case) and item.id in wanted:
            found[item.id] = item
    for each in chosen:
        case = found.get(each.case)
        if case is None or data.hash_of(rubric.texts_of(case)) != each.hash:
            said = f"{sheet.path.name} lacks a labelled case, or has other texts than those that were judged"
            raise CasesError(said, "Name the file that the run was made from.")
    return [
        {
            "case": each.case,
            "inputs": {name: shortened(text) for name, text in rubric.inputs_of(found[each.case]).items()},
            "scores": dict(each.scores),
            **({"notes": shortened(each.notes)} if each.notes else {}),
        }
        for each in chosen
    ]
