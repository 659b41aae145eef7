"""Marks of texts without content: a copied placeholder, a text that repeats itself; honest texts get none."""

import csv
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from pathway_local.judging.reply_reading import WINDOW, filler_marks
from pathway_local.rubrics.pair import verdict_of_orders
from pathway_local.rubrics.rubric_file import builtin_names, load_rubric
from pathway_local.verdict import Score, Value, Verdict

PROMPT = (
    "Judge {{ answer }}. Reply:\n<S1>[why this score]</S1>\nErrors: <an error or inaccuracy>\n[A] <score> <reasons>",
)
SAMPLES = Path(__file__).parent / "hand_written_samples"


def marks(text: Value, name: str = "reason") -> tuple[str, ...]:
    return filler_marks({name: text}, PROMPT)


@pytest.mark.parametrize(
    "text",
    [
        "[why this score]",
        "Why this\n score.",
        "It is right, see [Why  this score] above.",
        ["The fee is wrong.", "[an error or inaccuracy"],
        {"claim": "<an error or inaccuracy>"},
        "<reasons>",
        "Reasons.",
    ],
)
def test_a_copied_placeholder_is_marked(text: Value) -> None:
    assert marks(text) == ("copied:reason",)


@pytest.mark.parametrize(
    "text",
    [
        "The answer says why this score [of the exam] counts.",
        "It gives [A] as the grade and <score> as a tag.",
        "There is an error or inaccuracy in the fee.",
        ["", "[]"],
        None,
        3,
    ],
)
def test_words_that_a_placeholder_has_too_are_no_copy(text: Value) -> None:
    assert marks(text) == ()


EXAMPLE = (
    'Example:\n{\n  "score": 4,\n  "why": "The steps follow each other.",\n  "tone": "calm"\n}\nJudge {{ answer }}.',
)


@pytest.mark.parametrize(
    ("reply", "copied"),
    [
        ('"score": 4, "why": "The steps follow each other.", "tone": "calm"}', ("copied:why",)),
        ('"score": 3, "why": "The steps follow each other.", "tone": "calm"}', ()),
        ('"score": 4, "why": "The steps follow each other well.", "tone": "calm"}', ()),
    ],
)
def test_an_example_that_is_copied_whole_with_its_score_is_marked(reply: str, copied: tuple[str, ...]) -> None:
    said = {"why": "The steps follow each other.", "tone": "calm"}
    assert filler_marks(said, EXAMPLE, reply) == copied
    assert filler_marks(said, ("Judge {{ answer }}.",), reply) == ()


@pytest.mark.parametrize(
    "text",
    [
        "The answer is right. " * 12,
        "no, " * 30,
        "".join(f"{n}. The answer does not say what the fee is.\n" for n in range(1, 20)),
        "The programme costs $300 and the deposit is $50, as the page says. " * 2 + "It is correct. " * 60,
        [" ".join(["same"] * 40)],
    ],
)
def test_a_loop_is_marked(text: Value) -> None:
    assert marks(text, "thinking") == ("loop:thinking",)


def _honest() -> dict[str, str]:
    texts: dict[str, str] = {}
    for path in SAMPLES.glob("*.csv"):
        with path.open(encoding="utf-8", newline="") as stream:
            texts |= {f"{row['id']} {name}": text for row in csv.DictReader(stream) for name, text in row.items()}
    return texts


def test_honest_texts_of_any_length_are_not_marked() -> None:
    """People's short texts, all of them in one long text, the rubrics themselves, and a list of claims."""
    texts: Mapping[str, Value] = {
        **_honest(),
        "all": "\n".join(dict.fromkeys(_honest().values())),
        **{name: "\n".join(turn.template for turn in load_rubric(name).turns) for name in builtin_names()},
        "claims": "".join(
            f"On {what}: response {n}, context {n}: same. " for n, what in enumerate(("fees", "dates", "rooms"))
        ),
    }
    assert len(str(texts["all"])) > 5 * WINDOW
    assert filler_marks(texts, ()) == ()


@pytest.mark.parametrize("name", builtin_names())
def test_our_rubrics_show_a_scale_as_a_range_and_texts_as_placeholders_that_are_found(name: str) -> None:
    rubric = load_rubric(name)
    text = "\n".join(turn.template for turn in rubric.turns)
    assert "1 to 5]" not in text, "a judge copies [1 to 5] as a list"
    shown = re.findall(r"\[[a-z][^][]* [^][]*]", text)
    assert shown and all(filler_marks({"x": each}, (text,)) == ("copied:x",) for each in shown), shown


def test_marks_of_the_swapped_order_name_its_own_texts() -> None:
    pair = load_rubric("pair-answer")
    assert pair.pair
    verdict = Verdict({pair.pair.score: Score(0)}, {}, ("cut:x", "copied:x", "loop:x", "rule:cut"))
    found = verdict_of_orders({"ab": verdict, "ba": verdict}, pair.pair, pair.format)
    swapped = ("cut:swapped.x", "copied:swapped.x", "loop:swapped.x")
    assert found.marks == (*verdict.marks, *swapped)
