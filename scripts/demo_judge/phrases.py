"""Kinds of fact about Tarn Valley Online University (TVOU) and the sentences around them, out of the YAML files."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from pathway_local.system.safe_yaml import load_ours

TRAINED_STATEMENTS, TRAINED_QUESTIONS = 4, 2
"""Training uses this many of a kind's wordings; the rest are held out."""

HELD_OUT = 2
"""Training never uses so many sentences at the end of each group."""

SMALL_WORDS = ("in", "of", "for", "from", "on", "the")


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of fact: `subject` and `value` name the pools that {s} and {v} are drawn from; `topic` names it.

    A yes/no kind has `negations` beside `statements`, and no {v}. Training alone uses the further wordings.
    """

    name: str
    subject: str
    value: str
    topic: str
    questions: tuple[str, ...]
    statements: tuple[str, ...]
    negations: tuple[str, ...] = ()
    more_questions: tuple[str, ...] = ()
    more_statements: tuple[str, ...] = ()
    more_negations: tuple[str, ...] = ()

    @property
    def area(self) -> str:
        """The topic without a subject."""
        words = [word for word in self.topic.split() if word != "{s}"]
        while words[-1] in SMALL_WORDS:
            words.pop()
        while words[0] in SMALL_WORDS:
            words.pop(0)
        return " ".join(words)


def read(name: str) -> Any:
    """Return what a YAML file in this folder holds."""
    return load_ours(Path(__file__).with_name(name))


_KINDS, _SENTENCES = read("kinds.yaml"), read("sentences.yaml")


def _kinds(*groups: str) -> tuple[Kind, ...]:
    return tuple(msgspec.convert(each, Kind) for group in groups for each in _KINDS[group])


def _usual(group: str) -> tuple[str, ...]:
    return tuple(_SENTENCES[group]["usual"])


KINDS = _kinds("programmes", "courses", "services")
MORE_KINDS = _kinds("training_only")
HELD_OUT_KINDS = _kinds("held_out")
ANY_QUESTIONS: list[str] = _KINDS["any"]["questions"]
ANY_STATEMENTS: list[str] = _KINDS["any"]["statements"]
DETAILS, OPENERS, REFUSALS, VAGUE, UNKNOWN = map(_usual, ("details", "openers", "refusals", "vague", "unknown"))
CHATTER, PLEASANTRIES, OFF_TOPIC = map(_usual, ("chatter", "pleasantries", "off_topic"))
GENERAL, GIVEN, NEXT = map(_usual, ("general", "given", "next"))
MORE_SENTENCES: dict[tuple[str, ...], tuple[str, ...]] = {
    tuple(each["usual"]): tuple(each["more"]) for each in _SENTENCES.values() if isinstance(each, dict)
}
ANSWER_FRAMES: list[str] = _SENTENCES["answer_frames"]
QUESTION_FRAMES: list[str] = _SENTENCES["question_frames"]
STARTS: list[str] = _SENTENCES["starts"]
