"""Which answers of chatbots belong to the same question: by a kept column, or by the hashes of an input's texts."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from pathway_local.case import hash_by_input, text_hash
from pathway_local.note import Note
from pathway_local.probes.subject import named_roles
from pathway_local.ratings.known_cases import hash_by_case
from pathway_local.results import MIN_GROUP
from pathway_local.rubrics.rubric import Rubric
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.stored_json import TEXTS_BY_NAME
from pathway_local.scores.matrix import RatingsMatrix
from pathway_local.scores.scores import Scores
from pathway_local.statistics.figure import IntArray

Question = int | str
"""The code of a text, or a column's value."""


@dataclass(frozen=True, slots=True)
class Pairing:
    """Cases with the same value of the kept column `name` answer the same question.

    With `texts`, `name` is an input, and `texts` has a code of its text by case id. Two sides or more have `shared` of
    the `different` values or texts. Without a `name`, cases are not paired, and `note` says why and how to pair them.
    """

    name: str = ""
    texts: Mapping[str, int] | None = None
    shared: int = 0
    different: int = 0
    note: Note | None = None

    def codes(self, matrix: RatingsMatrix) -> tuple[IntArray, int]:
        """Each case's question as a code (cases,), -1 for none, and the number of codes."""
        if self.texts is None:
            codes, known = matrix.codes(self.name, empty=False)
            return codes, len(known)
        codes = np.array([self.texts.get(case_id, -1) for case_id in matrix.case_ids], dtype=np.int64)
        return codes, int(codes.max(initial=-1)) + 1


def pairing(data: Scores, asked: str, between: str, values: Sequence[str], smallest: int = MIN_GROUP) -> Pairing:
    """Return how to pair cases with these values of the kept column `between`.

    They are paired by the column or input that is `asked` for, else by the rubric's question if each two sides of at
    least `smallest` questions have so many in common, and at least half of the side with fewer. A run keeps keyed
    hashes of its texts, which are enough for this. Raises UsageError for a column that the run does not keep.
    """
    rubrics = list(data.rubrics.values())
    if name := data.input_named(asked) if asked else "":
        return _by_texts(data.run, rubrics, (name,), between, values)[0]
    if asked:
        column = data.column(asked)
        return _paired(column, None, _sides(data.run, between, values, lambda _, kept: kept.get(column)))
    questions = [own["question"] for rubric in rubrics if "question" in (own := named_roles(rubric, {}))]
    found, sides = _by_texts(data.run, rubrics, questions, between, values) if questions else (Pairing(), [])
    return found if _fits(sides, smallest) else Pairing(note=_why_apart(found, values))


def _fits(sides: Sequence[set[Question]], smallest: int) -> bool:
    """Whether sides have so many questions in common that they must have answered the same ones."""
    pairs = list(combinations([side for side in sides if len(side) >= smallest], 2))
    needed = [max(smallest, min(map(len, pair)) / 2) for pair in pairs]
    return bool(pairs) and all(len(one & other) >= least for (one, other), least in zip(pairs, needed, strict=True))


def _by_texts(
    run: RunFile, rubrics: Sequence[Rubric], names: Sequence[str], between: str, values: Sequence[str]
) -> tuple[Pairing, list[set[Question]]]:
    """Return the pairing by the texts of these inputs, and each side's texts."""
    texts = dict(_coded(run, rubrics, names))
    sides = _sides(run, between, values, lambda case_id, _: texts.get(case_id))
    return _paired(names[0], texts, sides), sides


def _sides(
    run: RunFile, between: str, values: Sequence[str], question: Callable[[str, Mapping[str, str]], Question | None]
) -> list[set[Question]]:
    """Return each side's questions, by a case's id and kept columns; an empty cell is none."""
    sides: dict[str, set[Question]] = {value: set() for value in values}
    for case_id, metadata in run.database.stream("SELECT case_id, metadata FROM cases"):
        kept = TEXTS_BY_NAME.read(run.path, metadata)
        own, asked = sides.get(kept.get(between, "")), question(case_id, kept)
        if own is not None and asked not in (None, ""):
            own.add(asked)
    return list(sides.values())


def _paired(name: str, texts: Mapping[str, int] | None, sides: Iterable[Iterable[Question]]) -> Pairing:
    answered = Counter(question for side in sides for question in side)
    return Pairing(name, texts, sum(count > 1 for count in answered.values()), len(answered))


def _coded(run: RunFile, rubrics: Sequence[Rubric], names: Collection[str]) -> Iterator[tuple[str, int]]:
    """Yield the ids of cases with a code of their text of one of these inputs; an empty text has none."""
    codes: dict[str, int] = {}
    empty = text_hash(run.key, "")
    for rubric in rubrics:
        name = next((name for name in names if name in rubric.inputs), "")
        for case_id, case_hash in hash_by_case(run, rubric.name).items() if name else ():
            digest = hash_by_input(case_hash).get(name, empty)
            if digest and digest != empty:
                yield case_id, codes.setdefault(digest, len(codes))


def _why_apart(found: Pairing, values: Sequence[str]) -> Note:
    told: dict[str, object] = {"values": list(values), "names": [found.name], "name": found.name}
    told |= {"shared": found.shared, "different": found.different}
    key = "apart_unknown" if not found.different else "apart_few" if found.shared else "apart_none"
    return Note(key, told, "note")
