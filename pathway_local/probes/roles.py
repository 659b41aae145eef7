"""The roles of a rubric's inputs and scores: which input is judged, and what each score measures."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from pathway_local.errors import UnknownName, UsageError
from pathway_local.rubrics.rubric import Input, Rubric
from pathway_local.sheets.columns import means_the_same

InputRole = Literal["question", "answer", "reference", "context"]
ScoreRole = Literal["overall", "completeness", "correctness", "other"]

_TASKS = ("instruction", "task")
_WORDS: Mapping[ScoreRole, tuple[str, ...]] = {
    "completeness": ("complet", "cover", "vollständig", "exhaust"),
    "correctness": ("correct", "accura", "factual", "richtig", "korrekt", "exact"),
}
"""Beginnings of words in a score's name that say what it measures, in several languages."""

_OTHER = (
    *("toxic", "halluc", "inaccur", "incorrect", "incomplet", "error", "harm", "bias", "risk"),
    *("concis", "brev", "brief", "length", "verbos", "style", "tone", "fluen", "polite"),
)
"""Beginnings of words for what an ideal answer need not be best at, or should have least of."""

_CRITERIA = ("criteria", "evaluation_criteria", "score_rubric")
"""Inputs by which each case says itself what its score measures."""


@dataclass(frozen=True, slots=True)
class Roles:
    """The input in each role, and the role of each score that has an order; `others` are the inputs without a role."""

    inputs: Mapping[InputRole, str]
    scores: Mapping[str, ScoreRole]
    others: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """Say who has which role, for people to check."""
        inputs = ", ".join(f"{name} = {role}" for role, name in self.inputs.items())
        without = f"; unchanged: {', '.join(self.others)}" if self.others else ""
        scores = ", ".join(f"{name} = {role}" for name, role in self.scores.items())
        return [f"roles of the inputs: {inputs or 'none'}{without}", f"roles of the scores: {scores}"]


def roles_of(rubric: Rubric, given: Mapping[str, str]) -> Roles:
    """Return the roles: those that the user gave by name, else what the names of inputs and scores suggest.

    Raises UsageError for a name or role that does not exist, for a role given twice, and if no input is the answer.
    """
    ordered = {name: field for name, field in rubric.format.scores.items() if field.scale == "ordinal" or rubric.pair}
    _check(given, [*rubric.inputs, *ordered])
    inputs = input_roles(rubric, given)
    if "answer" not in inputs and not rubric.pair:
        hint = f"Say which of {', '.join(rubric.inputs)} is judged: --role INPUT=answer."
        raise UsageError(f"the names of {rubric.name}'s inputs do not tell which of them is judged", hint)
    if not ordered:
        raise UsageError(f"{rubric.name} has no score with an order", "A self-test needs levels from worse to better.")
    each_its_own = any(name.lower() in _CRITERIA for name in rubric.inputs)
    scores: dict[str, ScoreRole] = {}
    for name in ordered:
        named = next((role for role in get_args(ScoreRole) if given.get(name) == role), None)
        scores[name] = named or ("other" if each_its_own else _score_role(name, alone=len(ordered) == 1))
    return Roles(inputs, scores, tuple(name for name in rubric.inputs if name not in inputs.values()))


def _check(given: Mapping[str, str], names: list[str]) -> None:
    roles = (*get_args(InputRole), *get_args(ScoreRole), "none")
    for name, role in given.items():
        if name not in names:
            raise UnknownName("input or score", name, names)
        if role not in roles:
            raise UnknownName("role", role, roles)
        if role in get_args(InputRole) and list(given.values()).count(role) > 1:
            raise UsageError(f"--role gives the role {role} twice", "Each role belongs to one input.")


def input_roles(rubric: Rubric, given: Mapping[str, str]) -> dict[InputRole, str]:
    """Return the input in each role, those `given` by name first.

    A follow-up question is what its rubric judges, not the answer before it.
    """
    found: dict[InputRole, str] = {}
    for role in get_args(InputRole):
        own = next((name for name, named in given.items() if named == role), None)
        free = [each for each in rubric.inputs.values() if each.name not in given]
        guess = next((each.name for each in free if role == _role_of(each, rubric)), None)
        if name := own or guess:
            found[role] = name
    return found


def _role_of(wanted: Input, rubric: Rubric) -> InputRole | None:
    follow_ups = any(means_the_same("follow_up_question", name) for name in rubric.inputs)
    if means_the_same("follow_up_question", wanted.name):
        return "answer"
    if means_the_same("answer", wanted.name):
        return "context" if follow_ups else "answer"
    if means_the_same("ideal_answer", wanted.name):
        return "reference"
    if means_the_same("retrieved_content", wanted.name):
        return "context"
    return "question" if means_the_same("question", wanted.name) or wanted.name in _TASKS else None


def _score_role(name: str, *, alone: bool) -> ScoreRole:
    if _has_word(name, _OTHER):
        return "other"
    named = [role for role, words in _WORDS.items() if _has_word(name, words)]
    if len(named) == 1:
        return named[0]
    return "overall" if alone else "other"


def _has_word(name: str, beginnings: Sequence[str]) -> bool:
    """Whether a word of a name such as `answer_accuracy` or `answerAccuracy` begins with one of these."""
    words = re.split(r"[\W_]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower())
    return any(word.startswith(tuple(beginnings)) for word in words)
