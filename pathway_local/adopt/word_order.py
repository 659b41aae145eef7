"""Puts words that a judge chooses from in order, and reads what the prompt says each of them stands for."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from pathway_local.adopt.number_phrases import NUMBER, number
from pathway_local.errors import RubricError
from pathway_local.system.safe_yaml import load_yaml
from pathway_local.verdict import Number

WORDS_FILE = Path(__file__).with_name("verdict_words.yaml")


@dataclass(frozen=True, slots=True)
class _Vocabulary:
    """Ranks of words (0 for bad ones, 1 between, 2 for good ones), ranks of good words by the degree before them."""

    ranks: Mapping[str, float]
    degrees: Mapping[str, float]
    ladders: Sequence[Sequence[str]]


@cache
def _vocabulary() -> _Vocabulary:
    read: Any = load_yaml(WORDS_FILE.read_text(encoding="utf-8"), WORDS_FILE.name, RubricError)
    ranks = {word: rank for rank, kind in enumerate(("bad", "between", "good")) for word in read[kind].split(", ")}
    degrees = {word: float(rank) for rank, words in read["degrees"].items() for word in words.split(", ")}
    return _Vocabulary(ranks, degrees, [ladder.split(", ") for ladder in read["ladders"]])


def ordered(words: Sequence[str]) -> list[str]:
    """Return the words from worst to best, or from least to most; empty if their order is not known."""
    lower = [" ".join(re.split(r"[\s_-]+", word.lower())) for word in words]
    letters = all(len(word) == 1 for word in lower)
    for ladder in _vocabulary().ladders:
        if all(word in ladder for word in lower) and (len(lower) > 3 and "f" in lower if letters else len(lower) > 1):
            return [word for _, word in sorted(zip(map(ladder.index, lower), words, strict=True))]
    ranks = [rank for word in lower if (rank := _rank(word)) is not None]
    if not words or len(set(ranks)) != len(words) or min(ranks) > 0 or max(ranks) < 2:
        return []
    return [word for _, word in sorted(zip(ranks, words, strict=True))]


def _rank(word: str) -> float | None:
    """Return 0 for a word that says no, 1 for one between, 2 for one that says yes; None for any other."""
    ranks = _vocabulary().ranks
    first, _, rest = word.partition(" ")
    if rest:
        return _vocabulary().degrees.get(first) if ranks.get(rest) == 2 else None
    opposites = (word.removeprefix(prefix) for prefix in ("un", "in", "ir", "non") if word.startswith(prefix))
    return ranks.get(word, 0 if any(ranks.get(opposite) == 2 for opposite in opposites) else None)


def is_graded(label: str) -> bool:
    """Whether a level's name ends in a word that says how good something is, such as "mostly wrong"."""
    last = re.split(r"[\s_-]+", label.lower())[-1]
    # The last ladder has letters.
    steps = (step for ladder in _vocabulary().ladders[:-1] for step in ladder)
    return _rank(last) is not None or any(last == step.split()[-1] for step in steps)


def meanings(words: Sequence[str], text: str) -> dict[str, str]:
    """Return what the prompt says each of the letters stands for, as in "A: CORRECT" or "C for correct"."""
    means = r"\s*(?::|=|-|–|\)|\(|\bfor\b|\bmeans\b|\bif it is\b)\s*[\"'“(`]?"
    meaning = r"([A-Za-z][\w-]+(?: (?!and\b|or\b)[\w-]+){0,3})"
    said = {word: re.search(rf"(?<![\w$]){re.escape(word)}[\"'”`*]{{0,2}}{means}{meaning}", text) for word in words}
    found = {word: match.group(1).strip() for word, match in said.items() if match}
    return found if len(found) == len(words) else {}


def points(words: Sequence[str], text: str) -> Mapping[str, Number]:
    """Return the number that the prompt gives each word ("Excellent = 3", "2: Fair"); empty unless all have one."""
    found = {}
    # Behind "Good: 1 error at most", the number counts something else.
    ends = r"(?![\w.]*\w)(?=(?: points?)?\s*(?:$|[^\w\s%]|(?:or|and|if|when)\b))"
    for word in words:
        name = rf"[\"'“`*]{{0,2}}{re.escape(word)}[\"'”`*]{{0,2}}"
        said = re.search(rf"(?im)(?<!\w){name}\s*(?:=|:|\()\s*({NUMBER}){ends}", text) or re.search(
            rf"(?im)(?<![\w.-])({NUMBER})\s*(?:=|:|-|–)\s*{name}(?!\w)", text
        )
        if said:
            found[word] = number(said.group(1))
    return found if len(set(found.values())) == len(words) else {}


def names_in(values: Sequence[Number], text: str) -> dict[Number, str]:
    """Return the names that a text gives each number, as in "1 = muddled, 2 = hard"; empty unless all have one."""
    said = {value: re.search(rf"(?<![\w.-]){re.escape(str(value))}\s*=\s*([^,.;\n]{{1,60}})", text) for value in values}
    found = {value: match.group(1).strip() for value, match in said.items() if match}
    return found if len(found) == len(values) else {}
