"""Tests the demo judge as `judges test` does, on held-out cases, and writes the results into its model card."""

from collections.abc import Sequence
from pathlib import Path

from demo_judge.card import options, write_card
from demo_judge.cases import write_cases
from demo_judge.self_test_card import write_results
from demo_judge.world import Split
from pathway_local.api.judging import LineProgress
from pathway_local.judging.plan import Plan
from pathway_local.judging.self_test import run_self_test
from pathway_local.output.plain import as_json
from pathway_local.probes.drawing import SelfTest, chosen_probes
from pathway_local.probes.subject import roles_of
from pathway_local.results.self_test import self_test_table
from pathway_local.rubrics.rubric_file import load_rubric
from pathway_local.runs.run_file import RunFile
from pathway_local.scores.scores import Scores
from pathway_local.words.language import ENGLISH, Language

RUBRICS = {"pathway-answer": "score", "gold-answer": "completeness_score"}
"""Those with an ideal answer, which most probes need, and the score of each."""

DRAWN_FROM = 5
"""Made-up cases for each case wanted: several have the same question."""


def tested(judge: str, models: Path | None, rubric: str, work: Path, size: int, seed: int) -> list[dict[str, object]]:
    """Return the table of results under one rubric; a test that was interrupted goes on."""
    work.mkdir(parents=True, exist_ok=True)
    cases, run = work / f"{rubric}.jsonl", work / f"{rubric}.run"
    write_cases(cases, rubric, Split.VALUES, DRAWN_FROM * size, seed)
    loaded = load_rubric(rubric)
    plan = Plan(cases, run, rubric=(loaded,), judge=(judge,), models=models, id="id")
    roles = roles_of(loaded, {})
    what = SelfTest(loaded, roles, RUBRICS[rubric], chosen_probes(roles, ()))
    run_self_test(plan, what, size, LineProgress(shown=True), ("self-test",))
    with RunFile.read(run, "self-test") as read:
        data = Scores(read)
        table = self_test_table(data, what, [judge], cases.name).with_cautions(data.labels)
    return as_json([table], Language(ENGLISH))


def main(arguments: Sequence[str] | None = None) -> None:
    """Test, then write the results and the card beside the weights."""
    given = options("self_test", __doc__, "demo-self-test", 100).parse_args(arguments)
    found = [tested(given.judge, given.models, each, given.work, given.n, given.seed) for each in RUBRICS]
    write_results(given.weights, found)
    write_card(given.weights)


if __name__ == "__main__":
    main()
