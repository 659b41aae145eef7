"""Part `demo`: the demo judge on the sample cases, sealed, beside the verdicts stored from a processor."""

from gpu_check.findings import Figure, Table
from gpu_check.samples import Judged, judge_samples, of_others, stored
from gpu_check.verdicts import CLOSE, Difference, compare
from gpu_check.work import QUICK, Work


def run(work: Work) -> None:
    """Judge and compare."""
    registry = work.registry("demo", {"engine": QUICK}) if work.on_gpu else None
    compare_judged(work, judge_samples(work.folder, registry), stored())


def compare_judged(work: Work, found: Judged, kept: Judged) -> None:
    """Note how what was judged here differs from what was kept, and what is wrong with either."""
    note, whole = work.found, Difference()
    rows: list[list[Figure]] = []
    for rubric, verdicts in kept.verdicts.items():
        own = compare(verdicts, found.verdicts.get(rubric, {}), rubric, Difference())
        compare(verdicts, found.verdicts.get(rubric, {}), rubric, whole)
        rows.append([rubric, len(found.verdicts.get(rubric, {})), f"{own.equal} of {own.scores}", own.greatest])
    note.words.append(
        f"{whole.equal} of {whole.scores} scores are those of the processor, and probabilities differ by "
        f"{whole.greatest:.4f} at most"
    )
    note.figures |= {
        "device": str(found.engine.get("device")),
        "sealed": str(found.engine.get("seal")),
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
        note.problems.append(f"the stored verdicts are of others: {', '.join(others)}; `scripts/gpu-check --store`")
    if found.failures:
        note.problems.append(f"{found.failures} cases failed")
    if "filter" not in str(found.engine.get("seal")) and "namespace" not in str(found.engine.get("seal")):
        note.problems.append(f"the engine was not sealed: {found.engine.get('seal')}")
    note.problems += whole.problems
