"""Which answers of chatbots belong to the same question: by a kept column, or by the hashes of an input's texts."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from pathway_local.case import hash_by_input
from pathway_local.probes.probe_list import roles_of
from pathway_local.results import MIN_GROUP
from pathway_local.scores.matrix import RatingsMatrix
from pathway_local.scores.scores import Scores
from pathway_local.statistics.figure import IntArray


@dataclass(frozen=True, slots=True)
class Pairing:
    """Each case's question by its id: a value of the kept column `name`, or the hash of a text of the input `name`.

    Two sides or more have `shared` of the `different` questions. Without a `name`, cases are not paired.
    """

    name: str = ""
    questions: Mapping[str, str] = field(default_factory=dict)
    shared: int = 0
    different: int = 0

    def codes(self, matrix: RatingsMatrix) -> tuple[IntArray, int]:
        """Each case's question as a code (cases,), -1 for none, and the number of codes."""
        codes = {"": -1}
        asked = (self.questions.get(case_id, "") for case_id in matrix.case_ids)
        found = [codes.setdefault(question, len(codes) - 1) for question in asked]
        return np.array(found, dtype=np.int64), len(codes) - 1


def pairing(data: Scores, asked: str, between: str, values: Sequence[str], smallest: int = MIN_GROUP) -> Pairing:
    """Return how to pair cases with these values of the kept column `between`.

    They are paired by the column or input that is `asked` for, else by the rubric's question if each two sides of at
    least `smallest` questions have so many in common, and at least half of the side with fewer. A run keeps keyed
    hashes of its texts, which are enough for this. Raises UsageError for a column that the run does not keep.
    """
    matrices, name = [*data.matrices([*data.rubrics.values()])], data.input_named(asked) if asked else ""
    kept = {
        case_id: kept for matrix in matrices for case_id, kept in zip(matrix.case_ids, matrix.metadata, strict=True)
    }
    if asked and not name:
        name = data.column(asked)
        questions = {case_id: own[name] for case_id, own in kept.items() if own.get(name)}
    else:
        wanted = {rubric: name or roles_of(each).get("question", "") for rubric, each in data.rubrics.items()}
        inputs = {rubric: own for rubric, own in wanted.items() if own in data.rubrics[rubric].inputs}
        name, questions = next(iter(inputs.values()), ""), dict(_texts(data, matrices, inputs))
    sides: dict[str, set[str]] = {value: set() for value in values}
    for case_id, question in questions.items():
        sides.get(kept[case_id].get(between, ""), set()).add(question)
    answered = Counter(question for side in sides.values() for question in side)
    shared, fits = sum(count > 1 for count in answered.values()), asked or _fits([*sides.values()], smallest)
    return Pairing(name if fits else "", questions, shared, len(answered))


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
