"""Consistency rules: a rubric's conditions on a case's inputs and its verdict.

A verdict that breaks a rule is kept and gets a mark.
"""

import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from typing import Annotated

from msgspec import Struct
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from pathway_local.errors import RubricError
from pathway_local.system.safe_yaml import Places, first_complaint
from pathway_local.verdict import Value, Verdict

Phrase = Annotated[str, StringConstraints(min_length=1, max_length=400)]

_QUOTES = str.maketrans({"‘": "'", "’": "'", "ʼ": "'", "“": '"', "”": '"', "‑": "-", "–": "-", "—": "-"})


class Condition(BaseModel):
    """One test of an input or a field."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    input: str | None = None
    field: str | None = None
    begins_with: list[Phrase] | None = None
    contains: list[Phrase] | None = None
    equals: bool | int | float | str | None = None
    at_least: int | float | None = None
    at_most: int | float | None = None
    empty: bool | None = None
    same_as: str | None = None

    @model_validator(mode="after")
    def _whole(self) -> "Condition":
        if (self.input is None) == (self.field is None):
            raise ValueError("give either input or field")
        tests = [name for name in Condition.model_fields if name not in ("input", "field")]
        if sum(getattr(self, name) is not None for name in tests) != 1:
            raise ValueError(f"give exactly one of {', '.join(tests)}")
        if self.same_as is not None and self.input is None:
            raise ValueError("same_as compares two inputs")
        return self

    @property
    def inputs(self) -> list[str]:
        """The inputs that the condition reads."""
        return [name for name in (self.input, self.same_as) if name is not None]

    def about(self, inputs: Mapping[str, str]) -> "bool | Condition | None":
        """Return the condition for one case: decided if it tests an input, None if the case lacks that input."""
        if self.field is not None:
            return self
        if any(name not in inputs for name in self.inputs):
            return None
        text, *other = (inputs[name] for name in self.inputs)
        return _normal(text) == _normal(other[0]) if other else self.test(text)

    def holds(self, verdict: Verdict) -> bool | None:
        """Return whether a field passes; None if the verdict lacks it."""
        name = self.field or ""
        if score := verdict.scores.get(name):
            return self.test(score.value)
        return self.test(verdict.fields[name]) if name in verdict.fields else None

    def test(self, value: Value) -> bool:
        """Return whether a value passes."""
        text = _normal(value) if isinstance(value, str) else ""
        if self.begins_with is not None:
            return any(_begins(text, _normal(phrase)) for phrase in self.begins_with)
        if self.contains is not None:
            return any(_normal(phrase) in text for phrase in self.contains)
        if self.equals is not None:
            return _same(value, self.equals)
        if self.empty is not None:
            return (value is None or value == [] or (isinstance(value, str) and not text)) == self.empty
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        return (self.at_least is None or value >= self.at_least) and (self.at_most is None or value <= self.at_most)


class Rule(BaseModel):
    """A rule: if all of `when` and none of `unless` hold, all of `expect` must hold."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]{0,60}$")]
    says: str = ""
    when: list[Condition] = Field(default_factory=list)
    unless: list[Condition] = Field(default_factory=list)
    expect: list[Condition] = Field(min_length=1)

    def about(self, inputs: Mapping[str, str]) -> "CaseRule":
        """Return the rule for a case with these inputs, without their texts."""
        when, unless, expect = (
            tuple(each.about(inputs) for each in part) for part in (self.when, self.unless, self.expect)
        )
        return CaseRule(f"rule:{self.name}", when, unless, expect)


class CaseRule(Struct, frozen=True):
    """A rule for one case that holds no text of it, since conditions on its inputs are already decided."""

    mark: str
    when: tuple[bool | Condition | None, ...]
    unless: tuple[bool | Condition | None, ...]
    expect: tuple[bool | Condition | None, ...]

    def is_broken(self, verdict: Verdict) -> bool:
        """Return whether this verdict breaks it. A condition on a field that was left out breaks nothing."""
        when, unless, expect = (
            [each.holds(verdict) if isinstance(each, Condition) else each for each in part]
            for part in (self.when, self.unless, self.expect)
        )
        # None stands for a missing input or field: it keeps `when` and `unless` from applying the rule, and in `expect`
        # it breaks nothing. So only what the verdict says can get a mark.
        return all(when) and all(held is False for held in unless) and False in expect


def broken_rules(rules: Sequence[CaseRule], verdict: Verdict) -> tuple[str, ...]:
    """Return the marks, `rule:NAME`, of the rules that this verdict breaks."""
    return tuple(rule.mark for rule in rules if rule.is_broken(verdict))


def read_rules(block: object, inputs: Collection[str], fields: Collection[str], places: Places) -> tuple[Rule, ...]:
    """Return the rules of a `rules:` block. They may name these inputs and fields only. Raises RubricError."""
    if block is None:
        return ()
    if not isinstance(block, list):
        raise RubricError(f"{places.of('rules')}: rules must be a list", "Begin each rule with - name: NAME.")
    rules = []
    for at, declared in enumerate(block):
        try:
            rule = Rule.model_validate(declared)
        except ValidationError as error:
            inner, _, said = first_complaint(error)
            keys = ("rules", at, *inner)
            hint = "docs/rubrics.md lists the tests of a rule."
            raise RubricError(f"{places.of(*keys)}: {'.'.join(map(str, keys))}: {said}", hint) from None
        _check_names(rule, inputs, fields, places.of("rules", at))
        rules.append(rule)
    names = [rule.name for rule in rules]
    for name in names:
        if names.count(name) > 1:
            raise RubricError(f"{places.of('rules')}: two rules are called {name!r}", "Give each rule its own name.")
    return tuple(rules)


def _check_names(rule: Rule, inputs: Collection[str], fields: Collection[str], where: str) -> None:
    for condition in (*rule.when, *rule.unless, *rule.expect):
        for name in condition.inputs:
            if name not in inputs:
                raise RubricError(f"{where}: the rule {rule.name!r} names the input {name!r}", _known("inputs", inputs))
        if condition.field is not None and condition.field not in fields:
            said = f"{where}: the rule {rule.name!r} names the field {condition.field!r}"
            raise RubricError(said, _known("fields", fields))


def _known(kind: str, names: Collection[str]) -> str:
    return f"The {kind} are {', '.join(names)}."


def _normal(text: str) -> str:
    """Return the text as it is compared: with plain quotes, dashes and blanks, in lower case."""
    return " ".join(unicodedata.normalize("NFKC", text).translate(_QUOTES).casefold().split())


def _begins(text: str, phrase: str) -> bool:
    """Return whether the text begins with these words, ignoring marks such as ** or quotes before them."""
    bare = re.sub(r"^\W+", "", text)
    wanted = re.sub(r"^\W+", "", phrase)
    return wanted != "" and bare.startswith(wanted) and not re.match(r"\w", bare[len(wanted) :])


def _same(value: Value, wanted: object) -> bool:
    if isinstance(value, bool) or isinstance(wanted, bool):
        return value is wanted
    if isinstance(value, str) and isinstance(wanted, str):
        return _normal(value) == _normal(wanted)
    return value == wanted
