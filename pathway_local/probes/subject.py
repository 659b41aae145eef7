"""A case by the roles of its texts, as probes change them."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from pathway_local.rubrics.rubric import Input, Rubric
from pathway_local.sheets.columns import means_the_same

Role = Literal["question", "answer", "reference", "context"]

_USUAL: Mapping[Role, str] = {
    "question": "question",
    "answer": "answer",
    "reference": "ideal_answer",
    "context": "retrieved_content",
}
"""The input that has each role by its name, or by a name that means the same."""

_JUDGED_QUESTION = "follow_up_question"


def roles_of(rubric: Rubric) -> dict[Role, str]:
    """Return the input in each role, by the inputs' names; of several that mean the same, the first.

    Where a follow-up question is judged, it is the answer, and the answer before it the context.
    """
    found = {_role_of(wanted, rubric): name for name, wanted in reversed([*rubric.inputs.items()])}
    return {role: found[role] for role in get_args(Role) if role in found}


def _role_of(wanted: Input, rubric: Rubric) -> Role | None:
    if means_the_same(_JUDGED_QUESTION, wanted.name):
        return "answer"
    role = next((role for role, usual in _USUAL.items() if means_the_same(usual, wanted.name)), None)
    judges_question = any(means_the_same(_JUDGED_QUESTION, name) for name in rubric.inputs)
    return "context" if role == "answer" and judges_question else role


@dataclass(frozen=True, slots=True)
class Subject:
    """A drawn case under a rubric, with the input in each role and the score that is tested.

    `stranger` is the ideal answer of another case, if one differs. Without a reference among the inputs, the case's own
    answer stands for the ideal one.
    """

    id: str
    texts: Mapping[str, str]
    rubric: Rubric
    roles: Mapping[Role, str]
    score: str
    stranger: str = ""

    def text(self, role: Role) -> str:
        """Return the text in this role; empty if the rubric or the case has none."""
        return self.texts.get(self.roles.get(role, ""), "")

    @property
    def ideal(self) -> str:
        """The ideal answer, or the case's own one if the rubric reads no reference."""
        return self.text("reference") if "reference" in self.roles else self.text("answer")

    @property
    def own(self) -> str:
        """The case's own answer, or the ideal one if the file has none."""
        return self.text("answer") or self.ideal

    def answered(self, answer: str, *, backed: bool = False) -> dict[str, str]:
        """Return the texts with this answer; if `backed`, also with content that holds the ideal answer.

        Where ideal answer and content are both read, a judge could rightly call an ideal answer unfounded without it.
        """
        texts = {**self.texts, self.roles["answer"]: answer}
        if backed and {"reference", "context"} <= self.roles.keys() and self.ideal not in self.text("context"):
            texts[self.roles["context"]] = f"{self.text('context')}\n\n{self.ideal}".strip()
        return texts

    @property
    def takes_empty(self) -> bool:
        """Whether the rubric judges a case without an answer."""
        return self.rubric.inputs[self.roles["answer"]].empty == "judge"

    def top(self, *, in_json: bool = False) -> str:
        """Return the highest level as a judge writes it."""
        field = self.rubric.format.scores[self.score]
        return field.write(max(value for value in field.values if value not in field.special), in_json)

    @property
    def top_reply(self) -> str:
        """The line of a reply in which the score has its highest level."""
        output = self.rubric.format
        if output.in_json:
            return f"{{{json.dumps(self.score)}: {self.top(in_json=True)}}}"
        line = next((each for each in output.outputs.layout.splitlines() if f"{{{self.score}}}" in each), "")
        return re.sub(r"\{[\w.]+\}", self.top(), line).strip()
