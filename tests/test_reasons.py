"""Each file of words says why a figure is missing, with a sentence for each reason in the code, and names figures."""

import ast
from collections.abc import Iterator
from pathlib import Path
from string import Formatter

import pytest

import pathway_local
from pathway_local.statistics.effect import SAME
from pathway_local.statistics.figure import Reason, Undefined, with_names
from pathway_local.words import languages
from pathway_local.words.language import ENGLISH, Language

ROOMS = [Path(pathway_local.__file__).parent / room for room in ("statistics", "results")]
IN_ENGLISH = {"fitted", "handover", "needed", "planning", "self_test"}
"""Modules whose figures no report shows."""
MAKERS = ("Reason", "Undefined", "undefined_estimate", "Effect", "why_constant", "_share")


def reasons() -> Iterator[str]:
    """The constant reasons of the code: in calls that make one, and in names that are handed to such a call."""
    for path in (each for room in ROOMS for each in room.glob("*.py") if each.stem not in IN_ENGLISH):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) in MAKERS:
                given = [*node.args, *(each.value for each in node.keywords if each.arg in ("missing", "reason"))]
                parts = [part for each in given for part in ast.walk(each)]
                yield from (
                    part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)
                )


def sentences() -> set[str]:
    return {each for each in reasons() if " " in each and not each.startswith(" ")} | {SAME}


SPOKEN = sorted(set(languages()) - {ENGLISH})


@pytest.mark.parametrize("name", SPOKEN)
def test_a_language_says_the_kind_of_every_reason(name: str) -> None:
    say, found = Language(name), sentences()
    assert len(found) > 20
    for key in found:
        blanks = [blank for _, blank, _, _ in Formatter().parse(key) if blank]
        reason = Reason(key, **{blank: "score" if blank == "each" else 3 for blank in blanks})
        assert say.reason(reason) != reason, key


def test_a_reason_is_english_in_full_and_its_kind_in_another_language() -> None:
    why = Reason("{rater} gave {value:g} every time", rater="the first rater", value=2.5)
    assert why == "the first rater gave 2.5 every time" and str(Undefined(why)).endswith(why)
    named = with_names(why, "people", "bob")
    assert named == "people gave 2.5 every time"
    say = Language("de")
    assert say.reason(why) == say.reason(named) == "die Noten unterscheiden sich zu wenig"
    assert Language("en").reason(named) == named
    assert say.reason("some other reason") == "some other reason"


def test_all_people_have_a_name_in_every_language() -> None:
    said = {
        lang: Language(lang).text("tables", "group_errors", {"by": "x", "reference": "people"}) for lang in languages()
    }
    assert all(("people" in text) is (lang == "en") for lang, text in said.items())
    assert Language("de").text("tables", "group_errors", {"by": "x", "reference": "Ann"}).endswith("als Ann")


@pytest.mark.parametrize(
    ("levels", "shown"),
    [((0.95,), "95"), ((1 - 0.05 / 3,), "98,3"), ((0.9999999999,), "99,9"), ((0.999246, 0.95), "95–99,9")],
)
def test_a_level_has_three_digits_and_is_never_100_percent(levels: tuple[float, ...], shown: str) -> None:
    assert Language("de").level(*levels) == shown
