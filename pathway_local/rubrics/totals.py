"""Totals: scores that are computed of others, such as "0.5 accuracy + 0.3 completeness" or "total >= 3.5".

The judge never writes them. A strict parser reads the formula; nothing of it is ever run.
"""

import re
from collections.abc import Callable, Collection, Mapping
from fractions import Fraction
from functools import partial, reduce
from itertools import pairwise, product
from math import gcd, lcm
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from pathway_local.rubrics.fields import ScoreField
from pathway_local.verdict import Number, Score, plain

MOST_VALUES, LONGEST = 1001, 300
"""Values that a total may have, as many as other scores, and characters of a formula."""

LEAST = 1e-9
"""Probabilities below it are left out: several long scales would make thousands of them."""

MANY = "it could have more than 1,000 values, or one beyond a million: round its weights"
HELP = 'write "0.5 accuracy + 0.5 tone", "max(accuracy, tone)", "min(…)", or "total >= 3.5"'
Spread = Mapping[Number, float]
"""A probability for each value."""

ONE: Spread = {1: 1.0}

NOTHING, NUMBER, NAME, SIGN, END = range(5)
"""Kinds of a formula's tokens, by their groups in the pattern."""

Formula = dict[str, Any]
Join = Callable[[Any, Any], Any]
Weight = Annotated[float, Field(ge=-1e9, le=1e9)]

_TOKEN = re.compile(r'\s*(?:(\d{1,9}(?:\.\d{1,9})?)|([^\W\d][\w.-]*|"[^"]+")|(>=|<=|[-+*<>(),]))')
_NAME = re.compile(r'[^\W\d][\w.-]*|"[^"]+"')
_MARKS: dict[str, Join] = {
    ">=": lambda value, bound: int(value >= bound), ">": lambda value, bound: int(value > bound),
    "<=": lambda value, bound: int(value <= bound), "<": lambda value, bound: int(value < bound),
}  # fmt: skip
_JOINS: dict[str, Join] = {"max": max, "min": min, "sum": lambda one, other: plain(one + other)}


class Total(BaseModel):
    """The sum, highest or lowest of weighted terms; with a `mark`, whether that passes the bound: 1 or 0.

    A term is a score or total by its name, a formula, or 1, whose name is empty.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    text: str = ""
    which: Literal["sum", "max", "min"] = "sum"
    terms: tuple[tuple[Weight, "str | Total"], ...] = Field(min_length=1)
    mark: Literal["", ">=", ">", "<=", "<"] = ""
    bound: Weight = 0

    @model_validator(mode="before")
    @classmethod
    def _of_a_text(cls, given: object) -> object:
        return given if isinstance(given, Mapping) else _Parser(str(given)).formula()

    @property
    def names(self) -> list[str]:
        """The scores and totals that it names, in their order."""
        every = ([each] if isinstance(each, str) else each.names for _, each in self.terms)
        return [name for names in every for name in names if name]

    def spread(self, of: Mapping[str, Spread]) -> Spread:
        """The values of the total with their probabilities, from those of independent scores. Raises ValueError."""
        weighted = list[Spread]()
        for weight, each in self.terms:
            part = each.spread(of) if isinstance(each, Total) else of[each] if each else ONE
            weighted.append({plain(weight * value): chance for value, chance in part.items()})
        found = reduce(partial(_joined, _JOINS[self.which]), weighted)
        return _joined(_MARKS[self.mark], found, {self.bound: 1.0}) if self.mark else found

    def score(self, given: Mapping[str, Score], scales: Mapping[str, ScoreField]) -> Score | None:
        """The total of a verdict's scores; None if one of them is missing or special.

        Its probabilities take the scores as independent given the analysis; it has none unless all of them have.
        """
        parts = {name: given[name] for name in self.names if name in given}
        if len(parts) < len(self.names) or any(each.value in scales[name].special for name, each in parts.items()):
            return None
        [value] = self.spread({name: {each.value: 1.0} for name, each in parts.items()})
        shares = {name: _whole(each.probabilities, scales[name].special) for name, each in parts.items()}
        return Score(value, _whole(self.spread(shares)) if all(shares.values()) else {})

    def scale(self, scales: Mapping[str, ScoreField]) -> ScoreField:
        """The scale of the total, from those of its scores: even steps that meet every value. Raises ValueError."""
        of = {name: dict.fromkeys({*scales[name].values} - {*scales[name].special}, 1.0) for name in self.names}
        values = sorted(self.spread(of))
        if len(values) < 2:
            raise ValueError("it is the same whatever the scores are: correct its numbers")
        steps = [Fraction(str(after)) - Fraction(str(before)) for before, after in pairwise(values)]
        shared = lcm(*(step.denominator for step in steps))
        step = plain(gcd(*(int(each * shared) for each in steps)) / shared)
        if not step or (values[-1] - values[0]) / step >= MOST_VALUES or max(-values[0], values[-1]) > 1e6:
            raise ValueError(MANY)
        return ScoreField(min=values[0], max=values[-1], step=step)


def with_totals(
    scales: Mapping[str, ScoreField], totals: Mapping[str, Total], taken: Collection[str]
) -> dict[str, ScoreField]:
    """The scales with those of totals behind them, which have no name that is taken. Raises ValueError."""
    found, bases = dict(scales), {name: [name] for name in scales}
    for name, total in totals.items():
        try:
            if name in {*found, *taken} or not _NAME.fullmatch(name):
                raise ValueError("another field has that name, or it is no name: choose another")
            if strange := [each for each in total.names if each not in found]:
                known = ", ".join(found)
                raise ValueError(f"no score or earlier total is called {strange[0][:60]!r}: there are {known}")
            if words := [each for each in total.names if found[each].scale == "nominal"]:
                raise ValueError(f"the levels of {words[0]} are no numbers: leave it out")
            bases[name] = [base for each in total.names for base in bases[each]]
            # One that counts twice is not independent of itself.
            if len(set(bases[name])) < max(len(bases[name]), 1):
                raise ValueError("it counts a score twice, or none: name each score once, with its whole weight")
            found[name] = total.scale(found)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
    return found


def _whole(shares: Spread, special: Collection[Number] = ()) -> Spread:
    """The shares of one, without special values."""
    kept = {value: share for value, share in sorted(shares.items()) if share and value not in special}
    return {value: share / sum(kept.values()) for value, share in kept.items()}


def _joined(of: Join, first: Spread, second: Spread) -> Spread:
    """The values of a function of two independent ones, with their probabilities. Raises ValueError for too many."""
    found: dict[Number, float] = {}
    for (one, chance), (other, also) in product(first.items(), second.items()):
        if chance * also > LEAST:
            value = of(one, other)
            found[value] = found.get(value, 0.0) + chance * also
    if len(found) > MOST_VALUES:
        raise ValueError(MANY)
    return found


class _Parser:
    """Reads a formula, sum [mark number]. Terms of a sum are number or [number [*]] (name | max(sum, …) | min(…))."""

    def __init__(self, text: str) -> None:
        self.text, self.tokens, end = text, list[tuple[int, str, int]](), 0
        if len(text) > LONGEST:
            raise ValueError(f"it has more than {LONGEST} characters: make a total of its part first")
        while found := _TOKEN.match(text, end):
            kind, end = found.lastindex or 0, found.end()
            self.tokens.append((kind, found[kind], found.start(kind)))
        self.tokens.append((END, text[end:].strip()[:1], end))

    def formula(self) -> Formula:
        """The whole formula. Raises ValueError."""
        found: Formula = {"text": " ".join(self.text.split()), **self._sum()}
        if mark := self._took(*_MARKS):
            found |= {"mark": mark, "bound": (-1 if self._took("-") else 1) * float(self._take(NUMBER))}
        if self.tokens[0][1]:
            self._take(NOTHING)
        return found

    def _take(self, kind: int) -> str:
        """The next token, if it is of this kind. Raises ValueError."""
        own, what, at = self.tokens[0]
        if own != kind:
            seen = f"{what[:40]!r} does not fit at character {at + 1}" if what else "it ends too early"
            raise ValueError(f"{seen}: {HELP}")
        return self.tokens.pop(0)[1]

    def _took(self, *signs: str) -> str:
        return self._take(SIGN) if self.tokens[0][0] == SIGN and self.tokens[0][1] in signs else ""

    def _sum(self) -> Formula:
        terms, sign = list[tuple[float, str | Formula]](), self._took("-", "+") or "+"
        while sign:
            numbered = self.tokens[0][0] == NUMBER
            weight = (-1 if sign == "-" else 1) * (float(self._take(NUMBER)) if numbered else 1)
            alone = numbered and not self._took("*") and self.tokens[0][0] != NAME
            terms.append((weight, "" if alone else self._factor()))
            sign = self._took("+", "-")
        return {"terms": terms}

    def _factor(self) -> str | Formula:
        name = self._take(NAME)
        if name not in ("max", "min") or not self._took("("):
            return name.strip('"')
        sums = [(1, self._sum())]
        while self._took(","):
            sums.append((1, self._sum()))
        if not self._took(")"):
            self._take(NOTHING)
        return {"which": name, "terms": sums}
