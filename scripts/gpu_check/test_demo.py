"""Part `demo`."""

import pytest

from gpu_check.findings import QUICK, Figure, Table, Work
from gpu_check.samples import Judged, judge_samples, of_others, stored
from gpu_check.verdicts import CLOSE, Difference, compare
from pathway_local.sealing.seal import Seal


@pytest.mark.timeout(180)
def test_demo(work: Work) -> None:
    """Compares the demo judge's verdicts with those stored from a processor."""
    registry = work.registry("demo", {"engine": QUICK}) if work.on_gpu else None
    compare_judged(work, judge_samples(work.folder, registry), stored())


def compare_judged(note: Work, found: Judged, kept: Judged) -> None:
    """Note the differences between the verdicts found here and the stored ones, and all problems."""
    whole = Difference()
    rows: list[list[Figure]] = []
    for rubric, verdicts in kept.verdicts.items():
        own = compare(verdicts, found.verdicts.get(rubric, {}), rubric, Difference())
        compare(verdicts, found.verdicts.get(rubric, {}), rubric, whole)
        rows.append([rubric, len(found.verdicts.get(rubric, {})), f"{own.equal} of {own.scores}", own.greatest])
    note.words.append(
        f"{whole.equal} of {whole.scores} scores equal the processor's; probabilities differ by at most "
        f"{whole.greatest:.4f}"
    )
    note.words += whole.notes
    note.figures |= {
        "device": str(found.engine.get("device")),
        "sealed": str(Seal.recorded(found.engine.get("seal"))),
        "numbers": str(found.engine.get("dtype")),
        "numbers of the stored verdicts": str(kept.engine.get("dtype")),
        "failures": found.failures,
        "equal scores": whole.equal,
        "scores": whole.scores,
        "greatest difference of a probability": whole.greatest,
        "allowed difference": CLOSE,
    }
    columns = ["rubric", "verdicts", "equal scores", "greatest difference of a probability"]
    note.tables.append(Table("By rubric", columns, rows))
    if others := of_others(kept, found):
        note.problems.append(f"the stored verdicts are out of date ({', '.join(others)}): scripts/gpu-check --store")
    if found.failures:
        note.problems.append(f"{found.failures} cases failed")
    if missing := Seal.recorded(found.engine.get("seal")).missing:
        note.problems.append(f"the engine was not sealed wholly: {missing}")
    note.problems += whole.problems
