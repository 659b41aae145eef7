"""docs/json.md names every key that `--json` prints, and no other."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from agreement_run import answers_run
from compared_run import compared_run
from handed_run import handed_run
from rated_run import add, cases, judged_run, said, several_run, store_draw
from typed_here import Run, typing_in

from pathway_local.results.panel import make_panel
from pathway_local.statistics.coefficients import COEFFICIENTS
from pathway_local.verdict import Score, Verdict

PAGE = (Path(__file__).parents[1] / "docs" / "json.md").read_text(encoding="utf-8")
AGAIN = ("--drift", "question_id", "--twice", "committee/Ann=committee/Bob", "--cluster", "student")
BOTS = ("--between", "chatbot=v1,v2", "--pair-by", "question_id")
COMMANDS = {
    "summary": (
        ("answers.run", "--by", "audience"),
        ("answers.run", "--cluster", "student"),
        ("small.run",),
        ("pairs.run",),
    ),
    "agreement": (
        ("answers.run", "--by", "audience", "--level", "document=student", *AGAIN),
        ("small.run",),
        ("drawn.run",),
    ),
    "plan": (
        ("answers.run", *BOTS, "--half-width", "0.001", "--labels"),
        ("answers.run", *BOTS, "--half-width", "0.3", "--cluster", "student"),
        ("answers.run", "--against", "committee", "--half-width", "0.3"),
        ("handed.run", "--stand-in"),
    ),
    "compare": (
        ("answers.run", *BOTS),
        ("answers.run", *BOTS, "--min-group", "1000"),
        ("answers.run", *BOTS, "--cluster", "student", "--rater", "committee"),
        ("several.run", "--between", "bot", "--cluster", "bot"),
        ("pairs.run", "--pairs", "bot_a,bot_b"),
        ("pairs.run", "--pairs", "bot_a,bot_b", "--min-group", "1000"),
    ),
    "handover": (
        ("handed.run", "--against", "committee", "--error", "0.1", "--cluster", "bot"),
        ("rated.run", "--against", "committee", "--error", "0.1"),
    ),
    "read --by disagreement": (("small.run",),),
}


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    answers_run(tmp_path / "answers.run").close()
    with judged_run(tmp_path / "small.run") as made:
        marked = {"s-1": Verdict({"score": Score(1)}, {"notes": "short"}, ("format:rest",))}
        add(made, "ann", said(1, 4, 3, 5) | marked, kind="human")
        add(made, "bob", said(0, 4), kind="human")
        make_panel(made, "both", ["ann", "bob"], "mean", [])
        made.commit()
    ids = [f"s-{number}" for number in range(1, 25)]
    with judged_run(tmp_path / "drawn.run", rows=cases(ids=ids)) as made:
        store_draw(made, cases(ids=ids), range(16))
        add(made, "demo", said(*[1, 4, 3, 5] * 6, ids=ids), rows=cases(ids=ids))
        add(made, "ann", said(*[1, 4, 3, 4] * 4, ids=ids[:16]), kind="human", rows=cases(ids=ids), sheet=True)
    several_run(tmp_path / "several.run", labelled=True)
    compared_run(tmp_path / "pairs.run").close()
    handed_run(tmp_path / "handed.run")
    handed_run(tmp_path / "rated.run", later=True)
    return typing_in(tmp_path, monkeypatch, capsys)


def documented(section: str) -> set[str]:
    text = re.search(rf"^## {section}$(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE)
    assert text, section
    rows = re.findall(r"^\| (`.*?) \|", text[1], re.MULTILINE)
    return {key for row in rows for key in re.findall(r"`(.*?)`", row)}


def of_table(found: dict[str, Any]) -> Iterator[str]:
    """The keys of a table of an analysis, but for those that every table or figure has."""
    for key in found:
        if key not in ("table", "rows", "notes", "readings"):
            yield f"{found['table']}.{key}"
    yield from (f"{found['table']}.{key}" for row in found["rows"] for key in row)


def in_short(key: str) -> str:
    """The key as the page has it where tables come for each score: names of coefficients and raters in capitals."""
    table, _, name = key.partition(".")
    if name in ("rubric", "score", "cluster") and key != "words.score":
        return f"TABLE.{name}"
    if name.startswith("scores."):
        return f"{table}.scores.RATER"
    free = name in COEFFICIENTS and table in ("pairs", "special", "twice", "level", "together")
    return f"{table}.FIGURE" if free else key


def test_the_page_names_the_keys_that_are_printed_and_no_others(run: Run) -> None:
    for command, every in COMMANDS.items():
        found: list[dict[str, Any]] = []
        for options in every:
            said = run(*command.split(), *options, "--json")
            assert said.code == 0, said
            found += json.loads(said.out)
        keys = {path for each in found for path in of_table(each)}
        of_scores = command in ("agreement", "read --by disagreement")
        assert (set(map(in_short, keys)) if of_scores else keys) == documented(command), command
