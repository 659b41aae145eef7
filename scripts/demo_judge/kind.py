"""A kind of fact about Tarn Valley Online University (TVOU), with its wordings."""

from dataclasses import dataclass

TRAINED_STATEMENTS = 4
TRAINED_QUESTIONS = 2
"""Training uses this many of a kind's wordings; the rest are held out."""

SMALL_WORDS = ("in", "of", "for", "from", "on", "the")


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of fact: `subject` and `value` name the pools that {s} and {v} are drawn from; `topic` names it.

    A yes/no kind has `negations` beside `statements`, and no {v}.
    """

    name: str
    subject: str
    value: str
    topic: str
    questions: tuple[str, ...]
    statements: tuple[str, ...]
    negations: tuple[str, ...] = ()

    @property
    def area(self) -> str:
        """The topic without a subject."""
        words = [word for word in self.topic.split() if word != "{s}"]
        while words[-1] in SMALL_WORDS:
            words.pop()
        while words[0] in SMALL_WORDS:
            words.pop(0)
        return " ".join(words)
