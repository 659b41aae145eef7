"""Draws names, values and facts of Tarn Valley Online University from a seed, apart for each split."""

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from random import Random

from demo_judge import phrases
from demo_judge.phrases import Kind


class Split(StrEnum):
    """Which names, values, wordings and kinds of fact a case may use.

    `train` shares no names and no values (except yes and no) with the others. In `values` only these are new, in
    `phrasings` the wordings are new as well, and `kinds` has kinds of fact that training never sees.
    """

    TRAIN = "train"
    VALUES = "heldout-values"
    PHRASINGS = "heldout-phrasings"
    KINDS = "heldout-kinds"


NAMES: dict[str, list[str]] = phrases.read("names.yaml")


def held_out(text: str) -> bool:
    """Return whether training must not use a name or value: a fixed quarter of all, chosen by checksum."""
    return zlib.crc32(text.encode()) % 4 == 0


def _word(rng: Random, pool: str) -> str:
    return rng.choice(NAMES[pool])


def _coined(rng: Random) -> str:
    syllables = (_word(rng, "onsets") + _word(rng, "codas") for _ in range(rng.randint(2, 3)))
    return "".join(syllables).capitalize()


def _programme(rng: Random) -> str:
    style = rng.random()
    if style < 0.35:
        return _coined(rng)
    field = _word(rng, "fields")
    if style < 0.7:
        return f"{_word(rng, 'first_words')} {field}"
    return f"the {_word(rng, 'awards')} {field if rng.random() < 0.5 else _coined(rng)}"


def _course(rng: Random) -> str:
    style = rng.random()
    if style < 0.4:
        return f"{_word(rng, 'fields')} {rng.randint(100, 499)}"
    return _coined(rng) if style < 0.7 else f"{_coined(rng)} {_word(rng, 'fields')}"


def _office(rng: Random) -> str:
    return f"{_coined(rng) if rng.random() < 0.6 else _word(rng, 'services')} {_word(rng, 'office_words')}"


def _tool(rng: Random) -> str:
    style = rng.random()
    if style < 0.1:
        return _word(rng, "tools")
    return _coined(rng) if style < 0.5 else f"{_coined(rng)} {_word(rng, 'tool_words')}"


SUBJECTS: dict[str, Callable[[Random], str]] = {
    "programme": _programme,
    "course": _course,
    "office": _office,
    "tool": _tool,
}
VALUES: dict[str, Callable[[Random], str]] = {
    "dollars": lambda rng: f"${rng.randint(20, 990)}",
    "count": lambda rng: str(rng.randint(3, 160)),
    "percent": lambda rng: f"{rng.randint(30, 98)}%",
    "date": lambda rng: f"{_word(rng, 'months')} {rng.randint(1, 28)}",
    "time": lambda rng: f"{rng.randint(6, 12)}:{rng.randint(0, 59):02d}",
    "extension": lambda rng: str(rng.randint(200, 989)),
    "name": _coined,
    "office": _office,
    "yesno": lambda rng: rng.choice(("yes", "no")),
}


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact of the university: its kind, its subject and the true value."""

    kind: Kind
    subject: str
    value: str

    @property
    def topic(self) -> str:
        """Kind and subject in a few words, without the value."""
        return self.kind.topic.format(s=self.subject)


class World:
    """Draws names, facts and wordings of one split from one seed."""

    kinds: tuple[Kind, ...] = phrases.KINDS

    def __init__(self, rng: Random, split: Split) -> None:
        self.rng = rng
        self.split = split

    def fact(self, kind: Kind | None = None, subject: str | None = None) -> Fact:
        """Draw a fact; kind and subject may be given."""
        kind = kind or self.rng.choice(self.kinds)
        return Fact(kind, subject or self.subject(kind), self.value(kind))

    def facts(self, count: int) -> list[Fact]:
        """Draw facts to ask for together, half of the time about one subject; the split `kinds` adds a new kind."""
        first = self.fact(self.rng.choice(phrases.HELD_OUT_KINDS if self.split is Split.KINDS else self.kinds))
        together = self.rng.random() < 0.5
        others = self.sister_kinds(first, [first]) if together else [k for k in self.kinds if k is not first.kind]
        subject = first.subject if together else None
        facts = [first, *(self.fact(kind, subject) for kind in self.rng.sample(others, count - 1))]
        self.rng.shuffle(facts)
        return facts

    def other(self, facts: Sequence[Fact]) -> Fact:
        """Draw a fact on a topic that `facts` lack; it may share a subject or a kind with one of them."""
        near = self.rng.choice(facts)
        style = self.rng.random()
        if style < 0.35:
            kinds = self.sister_kinds(near, facts)
            return self.fact(self.rng.choice(kinds), near.subject) if kinds else self.other(facts)
        fact = self.fact(near.kind) if style < 0.7 else self.fact()
        return self.other(facts) if any(fact.topic == known.topic for known in facts) else fact

    def stranger(self, facts: Sequence[Fact]) -> Fact:
        """Draw a fact that shares neither subject, nor sort of subject, nor kind with any of `facts`."""
        taken = {fact.kind.subject for fact in facts}
        return self.fact(self.rng.choice([kind for kind in self.kinds if kind.subject not in taken] or self.kinds))

    def sister_kinds(self, near: Fact, facts: Sequence[Fact]) -> list[Kind]:
        """Return the other kinds of fact that `near`'s subject could have, without those of `facts`."""
        return [k for k in self.kinds if k.subject == near.kind.subject and all(k is not f.kind for f in facts)]

    def content(self, facts: Sequence[Fact], details: Sequence[str] = ()) -> list[str]:
        """Return retrieved sentences: these facts and some that nobody asked for, shuffled."""
        like = [self.rng.choice(facts).kind if self.rng.random() < 0.5 else None for _ in range(self.rng.randint(0, 2))]
        taken = {fact.topic for fact in facts}
        noise = [fact for fact in map(self.fact, like) if fact.topic not in taken]
        sentences = [self.say(fact) for fact in (*facts, *noise)] + list(details)
        self.rng.shuffle(sentences)
        return sentences

    def changed(self, fact: Fact) -> Fact:
        """Return the same fact with another value."""
        if fact.value in ("yes", "no"):
            return Fact(fact.kind, fact.subject, "no" if fact.value == "yes" else "yes")
        value = self.value(fact.kind)
        return self.changed(fact) if value == fact.value else Fact(fact.kind, fact.subject, value)

    def subject(self, kind: Kind) -> str:
        """Draw a name that this kind of fact can be about."""
        return self._kept(SUBJECTS[kind.subject])

    def value(self, kind: Kind) -> str:
        """Draw a value that this kind of fact can have."""
        return self._kept(VALUES[kind.value])

    def link(self) -> str:
        """Draw a web address of the university."""
        return f"tvou.example/{self._kept(_coined).lower()}"

    def say(self, fact: Fact) -> str:
        """Word the fact as a statement."""
        wordings = fact.kind.negations if fact.value == "no" else fact.kind.statements
        text = self._worded(fact, wordings, phrases.TRAINED_STATEMENTS)
        return text[0].upper() + text[1:]

    def ask(self, fact: Fact) -> str:
        """Word a question that the fact answers."""
        return self._worded(fact, fact.kind.questions, phrases.TRAINED_QUESTIONS)

    def join(self, sentences: Sequence[str]) -> str:
        """Make one text of these sentences."""
        return " ".join(sentences)

    def opener(self, share: float = 0.2) -> list[str]:
        """Draw a sentence that says nothing, for this share of texts."""
        return [self.pick(phrases.OPENERS)] if self.rng.random() < share else []

    def details(self, link: str) -> list[str]:
        """Return a sentence that gives the link, if there is one."""
        return [self.pick(phrases.DETAILS).format(d=link)] if link else []

    def answer(self, sentences: list[str], link: str, opener: float = 0.2) -> str:
        """Make an answer of these sentences, often in another order, with the link behind them."""
        if self.rng.random() < 0.5:
            self.rng.shuffle(sentences)
        ending = self.details(link)
        return self.join([*self.opener(opener), *sentences, *ending])

    def pick(self, wordings: Sequence[str], trained: int = -phrases.HELD_OUT) -> str:
        """Choose a wording that this split may use; those from `trained` on are held out."""
        new = self.split is Split.PHRASINGS
        return self.rng.choice(wordings[trained:] if new else wordings[:trained])

    def _worded(self, fact: Fact, wordings: Sequence[str], trained: int) -> str:
        # Training has seen no wording of a held-out kind.
        wording = self.rng.choice(wordings) if fact.kind in phrases.HELD_OUT_KINDS else self.pick(wordings, trained)
        return wording.format(s=fact.subject, v=fact.value)

    def _kept(self, draw: Callable[[Random], str]) -> str:
        while True:
            text = draw(self.rng)
            if text in ("yes", "no") or held_out(text) is (self.split is not Split.TRAIN):
                return text
