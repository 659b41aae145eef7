"""Says facts of the training split in many ways, so that the judge learns to compare facts, not templates.

Only training draws from here. Names, values and held-out wordings stay apart as in any world of the training split.
"""

import re
from collections.abc import Sequence
from random import Random

from demo_judge import phrases
from demo_judge.world import Fact, Split, World

NUMBERS = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty"),
)
FORMS = {
    "dollars": (r"\$(\d+)", (r"\1 dollars", r"USD \1", r"$\1.00", r"\1 US dollars")),
    "percent": (r"(\d+)%", (r"\1 percent", r"\1 per cent")),
    "date": (r"(\w+) (\d+)", (r"\2 \1", r"\1 \2 of this year")),
    "time": (r"(\d+):(\d+)", (r"\1.\2", r"\1:\2 a.m.", r"\1:\2 o'clock")),
}
"""Other ways to write a value, for each sort of value: what it looks like, and what replaces it."""

OTHER_FORM, FRAME, TYPO = 0.15, 0.12, 0.04
"""The shares of facts with another form of their value, with a phrase around them, and with a typing error."""

PLAIN, ANY = 0.4, 0.1
"""The shares of facts worded as in the figures on new names and values, and in words that suit every kind of fact."""

LAYOUTS = ((" ", 0.78), ("\n", 0.08), ("\n\n", 0.04), ("\n- ", 0.06), (" Also: ", 0.04))
"""Separators between the sentences of a text, and how often each is used."""


class VariedWorld(World):
    """The training split's names and values, in more kinds of fact and more wordings."""

    kinds = phrases.KINDS + phrases.MORE_KINDS

    def __init__(self, rng: Random) -> None:
        super().__init__(rng, Split.TRAIN)

    def say(self, fact: Fact) -> str:
        """Word the fact as a statement, at times with a typing error or in a longer phrase."""
        kind, negative = fact.kind, fact.value == "no"
        known, more = (kind.negations, kind.more_negations) if negative else (kind.statements, kind.more_statements)
        known = known[: phrases.TRAINED_STATEMENTS] if kind.more_statements else known
        text = self._filled(fact, known, more, phrases.ANY_STATEMENTS)
        return self._framed(text[0].upper() + text[1:], phrases.ANSWER_FRAMES)

    def ask(self, fact: Fact) -> str:
        """Word a question that the fact answers, at times politely."""
        more = fact.kind.more_questions
        known = fact.kind.questions[: phrases.TRAINED_QUESTIONS] if more else fact.kind.questions
        return self._framed(self._filled(fact, known, more, phrases.ANY_QUESTIONS), phrases.QUESTION_FRAMES)

    def pick(self, wordings: Sequence[str], trained: int = -phrases.HELD_OUT) -> str:
        """Choose one of the trained wordings or of those that belong to them."""
        return self.rng.choice([*wordings[:trained], *phrases.MORE_SENTENCES.get(tuple(wordings), ())])

    def join(self, sentences: Sequence[str]) -> str:
        """Make one text of these sentences: a line, lines, paragraphs or a list."""
        between = self.rng.choices([text for text, _ in LAYOUTS], [share for _, share in LAYOUTS])[0]
        text = between.join(sentences)
        return f"- {text}" if between == "\n- " and len(sentences) > 1 else text

    def _filled(self, fact: Fact, known: Sequence[str], more: Sequence[str], general: Sequence[str]) -> str:
        """Fill one of these wordings; the general ones do not suit yes and no."""
        style = self.rng.random()
        if style < ANY and fact.kind.value != "yesno":
            wording = self.rng.choice(general)
        else:
            wording = self.rng.choice(known if not more or style < ANY + PLAIN else more)
        if self.rng.random() < TYPO:
            wording = self._mistyped(wording)
        return wording.format(s=fact.subject, v=self._written(fact), t=fact.topic)

    def _written(self, fact: Fact) -> str:
        """Return the value in one of its forms."""
        kind, value = fact.kind.value, fact.value
        if self.rng.random() >= OTHER_FORM:
            return value
        if kind == "count" and int(value) < len(NUMBERS):
            return NUMBERS[int(value)]
        if kind not in FORMS:
            return value
        shape, forms = FORMS[kind]
        return re.sub(shape, self.rng.choice(forms), value)

    def _framed(self, text: str, frames: Sequence[str]) -> str:
        """Put a phrase around the sentence, at times; a first word that is no name loses its capital within it."""
        if self.rng.random() >= FRAME:
            return text
        within = text[0].lower() + text[1:] if text.split()[0] in phrases.STARTS else text
        return self.rng.choice(frames).format(whole=text, within=within)

    def _mistyped(self, wording: str) -> str:
        """Return the wording with two letters of a longer word swapped or one left out; never in "cannot"."""
        words = [m for m in re.finditer(r"(?<![\w{])[a-z]{5,}(?![\w}])", wording) if m.group() != "cannot"]
        if not words:
            return wording
        word = self.rng.choice(words)
        at = self.rng.randrange(word.start() + 1, word.end() - 2)
        swapped = wording[at + 1] + wording[at] if self.rng.random() < 0.5 else wording[at + 1]
        return wording[:at] + swapped + wording[at + 2 :]
