"""A case by the roles of its texts, its language, and the rubric's levels, as probes change them."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, get_args

from pathway_local.errors import UnknownName, UsageError
from pathway_local.rubrics.rubric import Input, Rubric
from pathway_local.sheets.columns import means_the_same
from pathway_local.system.safe_yaml import load_ours
from pathway_local.verdict import Number

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


WORDS_FILE = Path(__file__).with_name("languages.yaml")

_LEAST_WORDS, _LEAST_SHARE = 12, 0.15
"""A shorter text is taken as English. In longer ones, a third of the words are among those of their language."""

_KEPT = re.compile(r"\"[^\"\n]*\"|“[^”\n]*”|„[^“”\n]*[“”]|«[^»\n]*»|`[^`\n]*`|\{[^{}\n]*\}|</?[\w-]+>")


def language_of(text: str) -> str:
    """Return en, de, fr, es or pt; empty for any other language."""
    words = re.findall(r"[^\W\d_]+", _KEPT.sub(" ", text).lower())
    counts = {language: sum(word in known for word in words) for language, known in _common().items()}
    best = max(counts, key=lambda language: counts[language])
    if len(words) < _LEAST_WORDS:
        unknown = len(words) > 2 and not counts[best] and any(not word.isascii() for word in words)
        return best if counts[best] > counts["en"] else "" if unknown else "en"
    return best if counts[best] >= _LEAST_SHARE * len(words) else ""


@cache
def _common() -> dict[str, frozenset[str]]:
    loaded = load_ours(WORDS_FILE)
    return {language: frozenset(words.split()) for language, words in loaded.items()}


PHRASES = Path(__file__).with_name("phrases.yaml")
Texts = Mapping[str, str]


@cache
def phrases() -> dict[str, dict[str, str]]:
    """Return what probes add to an answer, by language."""
    return dict(load_ours(PHRASES))


@dataclass(frozen=True, slots=True)
class Measured:
    """A rubric with the roles of its inputs and scores."""

    rubric: Rubric
    roles: Roles

    @property
    def top(self) -> str:
        """The highest level of each score, each number once."""
        return "/".join(dict.fromkeys(self._best(name, in_json=False) for name in self.roles.scores))

    def levels(self, score: str) -> list[Number]:
        """Return the levels of a score that have a place on its scale, lowest first."""
        field = self.rubric.format.scores[score]
        return [value for value in field.values if value not in field.special]

    def _best(self, score: str, *, in_json: bool) -> str:
        """The highest level as a judge writes it."""
        return self.rubric.format.scores[score].write(self.levels(score)[-1], in_json)

    @property
    def score_lines(self) -> str:
        """The lines of a reply in which each score has its highest level, as a judge writes them."""
        outputs = self.rubric.format.outputs
        named = [name for name in self.roles.scores if name in outputs.fields]
        in_json = self.rubric.format.in_json
        top = {name: self._best(name, in_json=in_json) for name in named}
        if in_json:
            return "{" + ", ".join(f"{json.dumps(name)}: {value}" for name, value in top.items()) + "}"
        kept = [line for line in outputs.layout.splitlines() if any(f"{{{name}}}" in line for name in named)]
        return re.sub(r"\{([\w.]+)\}", lambda found: top.get(found[1], ""), "\n".join(kept)).strip()

    @property
    def judges_questions(self) -> bool:
        """Whether a follow-up question is judged, not an answer."""
        return means_the_same("follow_up_question", self.roles.inputs.get("answer", ""))

    def lines(self) -> list[str]:
        """Say who has which role, and which level is taken as the best one, for people to check."""
        best = [name for name, role in self.roles.scores.items() if role != "other" and not self.rubric.pair]
        otherwise = "if it is the worst, add --role {}=other"
        found = [f"best level of {name}: {self._best(name, in_json=False)} ({otherwise.format(name)})" for name in best]
        return [*self.roles.lines(), *found]

    def takes_empty(self, role: InputRole) -> bool:
        """Whether the rubric judges a case in which this text is empty."""
        return self.rubric.inputs[self.roles.inputs[role]].empty == "judge"


@dataclass(frozen=True, slots=True)
class Subject:
    """A drawn case. `place` counts the draw from 0; `stranger` is the ideal answer of another case, if one differs.

    Without a reference among the inputs, the case's own answer stands for the ideal one.
    """

    id: str
    place: int
    texts: Texts
    of: Measured
    stranger: str = ""

    def text(self, role: InputRole) -> str:
        """Return the text in this role; empty if the rubric or the case has none."""
        return self.texts.get(self.of.roles.inputs.get(role, ""), "")

    @property
    def ideal(self) -> str:
        """The ideal answer, or the case's own one if the rubric reads no reference."""
        return self.text("reference") if "reference" in self.of.roles.inputs else self.text("answer")

    @property
    def own(self) -> str:
        """The case's own answer, or the ideal one if the file has none."""
        return self.text("answer") or self.ideal

    def answered(self, answer: str) -> dict[str, str]:
        """Return the texts with this answer."""
        return {**self.texts, self.of.roles.inputs["answer"]: answer}

    def backed(self, answer: str) -> dict[str, str]:
        """Return the texts with this answer and, where ideal answer and content are both read, content that backs it.

        Without it, a judge could rightly call an ideal answer unfounded.
        """
        texts = self.answered(answer)
        if {"reference", "context"} <= self.of.roles.inputs.keys() and self.ideal not in self.text("context"):
            texts[self.of.roles.inputs["context"]] = f"{self.text('context')}\n\n{self.ideal}".strip()
        return texts

    @property
    def said(self) -> dict[str, str]:
        """The phrases in the language of the answer, in English if it is not among ours."""
        return phrases().get(language_of(self.own), phrases()["en"])

    @property
    def taken_in_turn(self) -> dict[str, str]:
        """The phrases in one language after the other, from case to case."""
        return list(phrases().values())[self.place % len(phrases())]
