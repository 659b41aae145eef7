"""Which answers of chatbots belong to the same question: by a kept column, or by the hashes of an input's texts."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from pathway_local.case import hash_by_input
from pathway_local.note import Note
from pathway_local.probes.subject import named_roles
from pathway_local.results import MIN_GROUP
from pathway_local.scores.matrix import RatingsMatrix
from pathway_local.scores.scores import Scores
from pathway_local.statistics.figure import IntArray


@dataclass(frozen=True, slots=True)
class Pairing:
    """Cases with the same value of the kept column `name` answer the same question.

    With `texts`, `name` is an input, and `texts` has the hashes of its texts by case id. Two sides or more have
    `shared` of the `different` values or texts. Without a `name`, cases are not paired, and `note` says why.
    """

    name: str = ""
    texts: Mapping[str, str] | None = None
    shared: int = 0
    different: int = 0
    note: Note | None = None

    def _questions(self, matrix: RatingsMatrix) -> list[str]:
        """Each case's question: a value, or the hash of a text; empty for none."""
        if self.texts is None:
            return [kept.get(self.name, "") for kept in matrix.metadata]
        return [self.texts.get(case_id, "") for case_id in matrix.case_ids]

    def codes(self, matrix: RatingsMatrix) -> tuple[IntArray, int]:
        """Each case's question as a code (cases,), -1 for none, and the number of codes."""
        codes = {"": -1}
        found = [codes.setdefault(question, len(codes) - 1) for question in self._questions(matrix)]
        return np.array(found, dtype=np.int64), len(codes) - 1

    def sides(self, matrices: Sequence[RatingsMatrix], between: str, values: Sequence[str]) -> list[set[str]]:
        """The questions of the cases with each of these values in the column `between`."""
        found: dict[str, set[str]] = {value: set() for value in values}
        for matrix in matrices:
            for kept, question in zip(matrix.metadata, self._questions(matrix), strict=True):
                side = found.get(kept.get(between, ""))
                if side is not None and question:
                    side.add(question)
        return list(found.values())


def pairing(data: Scores, asked: str, between: str, values: Sequence[str], smallest: int = MIN_GROUP) -> Pairing:
    """Return how to pair cases with these values of the kept column `between`.

    They are paired by the column or input that is `asked` for, else by the rubric's question if each two sides of at
    least `smallest` questions have so many in common, and at least half of the side with fewer. A run keeps keyed
    hashes of its texts, which are enough for this. Raises UsageError for a column that the run does not keep.
    """
    matrices, rubrics = [*data.matrices([*data.rubrics.values()])], data.rubrics.items()
    name = data.input_named(asked) if asked else ""
    if asked and not name:
        found = Pairing(data.column(asked))
    else:
        inputs = {rubric: name or named_roles(each, {}).get("question", "") for rubric, each in rubrics}
        inputs = {rubric: own for rubric, own in inputs.items() if own in data.rubrics[rubric].inputs}
        if not inputs:
            return Pairing(note=_why_apart(Pairing(), values))
        found = Pairing(next(iter(inputs.values())), dict(_texts(data, matrices, inputs)))
    sides = found.sides(matrices, between, values)
    answered = Counter(question for side in sides for question in side)
    found = replace(found, shared=sum(count > 1 for count in answered.values()), different=len(answered))
    return found if asked or _fits(sides, smallest) else Pairing(note=_why_apart(found, values))


def _texts(data: Scores, matrices: Sequence[RatingsMatrix], inputs: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the ids of cases with the hash of their text of the rubric's input in `inputs`, unless it is empty."""
    for matrix in matrices:
        name = inputs.get(matrix.rubric, "")
        for case_id, case_hash in zip(matrix.case_ids, matrix.hashes, strict=True):
            text = hash_by_input(case_hash).get(name, "")
            if text and text != data.empty_text:
                yield case_id, text


def _fits(sides: Sequence[set[str]], smallest: int) -> bool:
    """Whether sides have so many questions in common that they must have answered the same ones."""
    pairs = list(combinations([side for side in sides if len(side) >= smallest], 2))
    needed = [max(smallest, min(map(len, pair)) / 2) for pair in pairs]
    return bool(pairs) and all(len(one & other) >= least for (one, other), least in zip(pairs, needed, strict=True))


def _why_apart(found: Pairing, values: Sequence[str]) -> Note:
    told: dict[str, object] = {"values": list(values), "names": [found.name], "name": found.name}
    told |= {"shared": found.shared, "different": found.different}
    key = "apart_unknown" if not found.different else "apart_few" if found.shared else "apart_none"
    return Note(key, told, "note")
