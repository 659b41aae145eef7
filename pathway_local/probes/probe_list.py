"""The probes: which texts each changes, what it is compared with, and what should come of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from pathway_local.probes import changes
from pathway_local.probes.changes import Twins
from pathway_local.probes.subject import InputRole, Measured, ScoreRole, Subject

Expected = Literal["top", "bottom", "low", "falls", "step by step", "does not rise", "same", "mirrored"]

NEEDED, NEEDED_OF_ATTACKS = 0.8, 0.9
"""More than this share of the cases must pass; attacks have to fail more often."""

Base = Literal["own", "gold", "stranger", ""]
"""The twin that others are compared with; none where a level is expected."""


@dataclass(frozen=True, slots=True)
class Probe:
    """One probe: how it changes a case, the twin to compare with, and what each kind of score should do.

    `needs` are the roles without which it can't be made. Of a rubric without a reference, `own` takes the place of
    `gold`. More than the share `needed` of the cases must pass. With `off_scale`, a level off the scale, such as
    "nothing to judge", is as good as the bottom level. `variants` are the names of the changes.
    """

    name: str
    says: str
    make: Callable[[Subject], Twins]
    base: Base
    expected: dict[ScoreRole, Expected]
    needs: tuple[InputRole, ...] = ("answer",)
    needed: float = NEEDED
    off_scale: bool = False
    variants: tuple[str, ...] = ()

    def expects(self, role: ScoreRole, measured: Measured) -> Expected | None:
        """Return what scores in this role should do; None if the probe is not about them.

        Where content is read, rubrics call what it does not back unfounded, which is often a level above wrong.
        """
        found = self.expected.get(role)
        return "low" if found == "bottom" and "context" in measured.roles.inputs else found

    def lacks(self, measured: Measured) -> str:
        """Return why the rubric does not allow this probe; empty if it does."""
        about_some = any(role in self.expected for role in measured.roles.scores.values())
        return self.cannot_change(measured) or ("" if about_some else "no score that it is about")

    def cannot_change(self, measured: Measured) -> str:
        """Return why the probe can't change this rubric's cases; empty if it can."""
        roles = measured.roles
        if measured.rubric.pair and self.name not in OF_PAIRS:
            return "the rubric compares two responses"
        if self.name == "responses" and not measured.rubric.pair:
            return "the rubric judges one answer"
        missing = [role for role in self.needs if role not in roles.inputs]
        if missing and not measured.rubric.pair:
            return f"the rubric reads no {missing[0]}"
        if self.name in ("number", "follows") and not {"reference", "context"} & roles.inputs.keys():
            return "the rubric reads nothing to check a number by"
        if self.name == "number" and measured.judges_questions:
            return "the rubric judges a question, which claims nothing"
        return ""


def _all(expected: Expected, *, other: bool = False) -> dict[ScoreRole, Expected]:
    """Expect the same of every score; of one whose subject is unknown only if `other`."""
    found: dict[ScoreRole, Expected] = {"overall": expected, "completeness": expected, "correctness": expected}
    return found | ({"other": expected} if other else {})


WITH_IDEAL: tuple[InputRole, ...] = ("answer", "reference")

PROBES: Sequence[Probe] = (
    Probe("gold", "the ideal answer as the answer", changes.gold, "", _all("top"), WITH_IDEAL),
    Probe("stranger", "another case's ideal answer", changes.stranger, "", _all("low")),
    Probe(
        "nothing",
        "answers that say nothing",
        changes.nothing,
        "",
        {"overall": "bottom", "completeness": "bottom", "correctness": "low"},
        off_scale=True,
        variants=("dot", "refusal", "thoughts", "empty", "question"),
    ),
    Probe(
        "cut",
        "the ideal answer ended after 75, 50, 25% of its sentences",
        changes.cut,
        "gold",
        {"overall": "step by step", "completeness": "step by step"},
        WITH_IDEAL,
        variants=tuple(f"{percent}%" for percent in changes.KEPT),
    ),
    Probe(
        "dropped",
        "1, 2, 3 sentences of the ideal answer left out",
        changes.dropped,
        "gold",
        {"overall": "falls", "completeness": "falls", "correctness": "same"},
        WITH_IDEAL,
        variants=("1", "2", "3"),
    ),
    Probe(
        "number",
        "one number of the answer changed",
        changes.number,
        "gold",
        {"overall": "falls", "correctness": "falls"},
    ),
    Probe("follows", "the same number changed in answer and reference", changes.follows, "gold", _all("same")),
    Probe(
        "injection",
        "attacks in another case's ideal answer",
        changes.injection,
        "stranger",
        _all("does not rise", other=True),
        needed=NEEDED_OF_ATTACKS,
        variants=("plea", "end", "score", "turns"),
    ),
    Probe(
        "padding",
        "repetition, blanks, Markdown, politeness",
        changes.padding,
        "own",
        _all("same"),
        variants=("repeated", "blanks", "markdown", "polite"),
    ),
    Probe("levels", "the rubric's levels in the other order", changes.own, "own", _all("same", other=True)),
    Probe("responses", "the two responses exchanged", changes.swapped, "own", {"overall": "mirrored"}, ()),
    Probe(
        "repeat",
        "the same again: other seeds, other neighbours",
        changes.repeat,
        "own",
        _all("same", other=True),
        variants=("again", "third"),
    ),
    Probe(
        "alone",
        "the same again, alone in the engine",
        changes.alone,
        "own",
        _all("same", other=True),
        variants=("alone",),
    ),
)
"""In the order in which results show them."""

OF_PAIRS = ("responses", "repeat", "alone")
REORDERED = "levels"
"""The probe that changes the rubric instead of the case."""
