"""Tests the demo judge as `judges test` does, on held-out cases, and writes the results into its model card."""

from collections.abc import Sequence
from pathlib import Path

from demo_judge.card import options, write_card
from demo_judge.cases import write_cases
from demo_judge.self_test_card import write_results
from demo_judge.world import Split
from pathway_local.api.judging import LineProgress
from pathway_local.judging.plan import Plan
from pathway_local.judging.self_test import draw_test, run_self_test
from pathway_local.output.plain import as_json
from pathway_local.results.self_test import self_test, self_test_tables
from pathway_local.rubrics.rubric_file import load_rubric
from pathway_local.runs.run_file import RunFile
from pathway_local.scores.scores import labels_of
from pathway_local.words.language import ENGLISH, Language

RUBRICS = ("pathway-answer", "gold-answer")
"""Those with an ideal answer, which most probes need."""

DRAWN_FROM = 5
"""Made-up cases for each case wanted: several have the same question."""


def tested(judge: str, models: Path | None, rubric: str, work: Path, size: int, seed: int) -> list[dict[str, object]]:
    """Return the tables of results under one rubric; a test that was interrupted goes on."""
    work.mkdir(parents=True, exist_ok=True)
    cases, run = work / f"{rubric}.jsonl", work / f"{rubric}.run"
    write_cases(cases, rubric, Split.VALUES, DRAWN_FROM * size, seed)
    plan = Plan(cases, run, rubric=(load_rubric(rubric),), judge=(judge,), models=models, id="id")
    watcher = LineProgress(shown=True)
    test = draw_test(plan, {}, size, (), watcher.notice)
    run_self_test(test, plan, watcher, ("self-test",))
    with RunFile.read(run, "self-test") as read:
        found, labels = self_test(read, test, [judge], cases.name), labels_of(read)
    return as_json([each.with_cautions(labels) for each in self_test_tables(found)], Language(ENGLISH))


def main(arguments: Sequence[str] | None = None) -> None:
    """Test, then write the results and the card beside the weights."""
    given = options("self_test", __doc__, "demo-self-test", 100).parse_args(arguments)
    found = [tested(given.judge, given.models, each, given.work, given.n, given.seed) for each in RUBRICS]
    write_results(given.weights, found)
    write_card(given.weights)


if __name__ == "__main__":
    main()
