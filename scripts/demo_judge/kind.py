"""Kinds of fact about Tarn Valley Online University (TVOU), with their wordings, as kinds.yaml has them."""

from dataclasses import dataclass
from pathlib import Path

import msgspec

from pathway_local.system.safe_yaml import load_ours

TRAINED_STATEMENTS = 4
TRAINED_QUESTIONS = 2
"""Training uses this many of a kind's wordings; the rest are held out."""

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


_READ = load_ours(Path(__file__).with_name("kinds.yaml"))


def _kinds(*groups: str) -> tuple[Kind, ...]:
    return tuple(msgspec.convert(each, Kind) for group in groups for each in _READ[group])


KINDS = _kinds("programmes", "courses", "services")
MORE_KINDS = _kinds("training_only")
HELD_OUT_KINDS = _kinds("held_out")
ANY_QUESTIONS: list[str] = _READ["any"]["questions"]
ANY_STATEMENTS: list[str] = _READ["any"]["statements"]
