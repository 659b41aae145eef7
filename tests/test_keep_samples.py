"""`--keep-samples`: what each of several samples says stands beside their average."""

import csv

import pytest
from msgspec.structs import replace
from typed import Desk

from pathway_local.judging.pool import Completion
from pathway_local.judging.reply_reading import drawn_fields, drawn_scores, verdict_of
from pathway_local.rubrics.form import Reading
from pathway_local.rubrics.output_format import OutputFormat
from pathway_local.verdict import Verdict

SCORE = {"type": "score", "min": 1, "max": 5}
SAMPLES = ("--samples", 3, "--temperature", 0.7)


def _rows(desk: Desk) -> list[dict[str, str]]:
    desk.typed("export", "may.run", "--out", "all.csv", "--force")
    with (desk.work / "all.csv").open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def test_every_draw_is_exported_and_the_average_is_theirs(desk: Desk) -> None:
    desk.typed(*desk.judging(desk.cases(12), *SAMPLES, "--keep-samples"))
    rows = _rows(desk)
    assert len(rows) == 12
    for row in rows:
        draws = [row[f"draw{number}.score"] for number in (1, 2, 3)]
        assert all(draw in {"1", "2", "3", "4", "5"} for draw in draws), "whole numbers"
        chosen = draws.index(row["score"]) + 1 if row["score"] in draws else 1
        assert row["reason"] == row[f"draw{chosen}.reason"]
        assert "draw4.score" not in row


def test_each_draw_keeps_its_own_values() -> None:
    outputs = {"layout": "{reason} {score}", "fields": {"reason": {"type": "text", "tokens": 9}, "score": SCORE}}
    output_format = OutputFormat.load(outputs)
    said = [("short", 2, ("reason",)), ("good", 5, ()), ("also good", 5, ())]
    completions = [
        Completion(str(number), Reading({"reason": reason, "score": score}, {}), cut=cut)
        for number, (reason, score, cut) in enumerate(said)
    ]
    fields = drawn_fields(completions, output_format)
    assert fields == {
        f"draw{number}.{name}": value
        for number, (reason, score, _) in enumerate(said, 1)
        for name, value in (("reason", reason), ("score", score))
    }
    average = verdict_of(completions, output_format, ())
    assert isinstance(average, Verdict)
    assert (average.scores["score"].value, average.fields["reason"]) == (5, "good")
    assert drawn_scores(replace(average, fields=fields)) == {"draw1.score": 2, "draw2.score": 5, "draw3.score": 5}


@pytest.mark.parametrize(
    ("shares", "chosen"), [([0.9, 0.8, 0.85, 0.7, 0.95], 0.85), ([-1, 0.9, 0.8], 0.8), ([-1, -1, 0.9], -1), ([1, 0], 0)]
)
def test_the_share_of_several_samples_is_the_middle_one(shares: list[float], chosen: float) -> None:
    level = {"type": "score", "levels": {0: "no", 1: "yes"}}
    claims = {"type": "verdicts", "score": "share", "members": {"claim": {"type": "text", "tokens": 8}, "right": level}}
    output_format = OutputFormat.load({"layout": "json", "fields": {"claims": claims}})
    completions = [
        Completion(str(share), Reading({"claims": [{"claim": str(share), "right": 1}], "share": share}, {}))
        for share in shares
    ]
    found = verdict_of(completions, output_format, ())
    assert isinstance(found, Verdict)
    assert (found.scores["share"].value, found.fields["claims"]) == (chosen, [{"claim": str(chosen), "right": 1}])


def test_a_later_command_keeps_draws_as_well_and_without_text_their_scores_alone(desk: Desk) -> None:
    desk.typed(*desk.judging(desk.cases(2), *SAMPLES, "--keep-samples", "--without-text"))
    desk.cases(4)
    desk.typed("judge", "cases.jsonl", "--run", "may.run", "--models", "models.yaml")
    rows = _rows(desk)
    assert len(rows) == 4
    assert all(row["draw3.score"] for row in rows)
    assert not [name for name in rows[0] if "reason" in name]


def test_one_reply_for_each_case_has_no_draws_to_keep(desk: Desk) -> None:
    assert "one reply is drawn" in desk.typed(*desk.judging(desk.cases(2), "--keep-samples"), code=2).stderr
    assert not (desk.work / "may.run").exists()
