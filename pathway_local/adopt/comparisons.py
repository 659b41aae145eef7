"""Prompts that compare two responses: the inputs that hold them, and which response each choice prefers.

Only what a prompt says outright is read, and the rest is refused: a choice read as its opposite would turn every
verdict around.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from pathway_local.adopt.declaration import Declared
from pathway_local.adopt.demands import texts_of
from pathway_local.adopt.finding import Candidate, Place, Source
from pathway_local.adopt.formats import FoundFormat, find_format
from pathway_local.adopt.short_replies import asks_reasons, follows_reasons
from pathway_local.errors import RubricError

_THING = "response|answer|repl(?:y|ie)|output|assistant|completion|summar(?:y|ie)|candidate|model|option|text|version|"
_THING += "conversation|dialogue|transcript"
_KIND = rf"(?:(?:{_THING})s?|ones?)"
_TWO = re.compile(rf"(?i)\b(?:two|both|pair of) (?:\w+ ){{0,2}}{_KIND}\b")
_WHICH = re.compile(
    rf"(?i)\bwhich (?:of the two |of them )?{_KIND}?[^.?\n]{{0,80}}\b(?:better|best|more|prefer\w*|superior|wins?)\b"
    rf"|\bwinner\b|\b{_KIND} (?:A|B|1|2) (?:is|was|wins)\b"
)
_WORSE = re.compile(r"(?i)\b(?:worse|worst|less|least|weaker|inferior|loser|harmful|toxic|unsafe|errors?|biased)\b")
_PAIRED = re.compile(r"(?i)^(?P<stem>.*?)[_ ]?(?P<end>a|b|c|d|1|2|3|4|one|two|three|first|second|third|left|right)$")
_RESPONSE = re.compile(rf"(?i)(?:{_THING})s?")
_BRACKETED = re.compile(r"\[\[\s*([^\[\]\n]{1,24}?)\s*\]\]")
_GRADED = re.compile(r"(?i)^(a|b|1|2)\s*(>>|>|=|<<|<)\s*(a|b|1|2)$")
_MARK = re.compile(r"\b(?:A|B|1|2|[Ff]irst|[Ss]econd)\b")
_LABEL = re.compile(rf"({_MARK.pattern})(?:['’]s)?(?: {_KIND})?[^\w.,;]*\Z")

_SIDES = {"a": 1, "1": 1, "one": 1, "first": 1, "left": 1, "b": -1, "2": -1, "two": -1, "second": -1, "right": -1}
_DEGREES = {">>": 2, ">": 1, "=": 0, "<": -1, "<<": -2}
_TIES = frozenset(("tie", "tied", "draw", "equal", "same", "equally good", "no preference", "neither is better"))

HINT = 'See "Compare two responses" in docs/rubrics.md, and write the front matter yourself.'


def comparison_row(source: Source, inputs: Collection[str]) -> int:
    """Return the row that asks which of two responses is better; -1 if none does."""
    read = source.english
    choice = _WHICH.search(read.text)
    return read.row(choice.start()) if choice and (_TWO.search(read.text) or _pairs(inputs)) else -1


def comparison_format(
    source: Source, row: int, inputs: Sequence[str], extra: Sequence[Candidate], where: str
) -> FoundFormat:
    """Return the format of a prompt that compares two responses in this row, with the inputs that change places.

    Raises RubricError if the prompt does not say outright which inputs these are, or what its choices mean.
    """
    said = f"{where} line {source.line(row)}: the prompt compares two responses,"
    if reason := next(_reasons(source, inputs), ""):
        raise RubricError(f"{said} {reason}", HINT)
    [(first, second)] = _pairs(inputs).items()
    found = find_format(source, inputs, [*extra, *_bracketed(source)])
    scores = [name for name, declared in found.fields.items() if declared.field["type"] == "score"] if found else []
    if found is None or len(scores) != 1:
        what = "and also scores each of them" if scores else "and no choice between them was found"
        raise RubricError(f"{said} {what}", HINT)
    field = _preference(found, scores[0], (first, second))
    if field is None:
        raise RubricError(f"{said} and does not say outright which response each choice prefers", HINT)
    return replace(found, fields={**found.fields, scores[0]: field}, swap={first: second})


def _reasons(source: Source, inputs: Collection[str]) -> Iterator[str]:
    """Yield reasons for which a comparison can't be read."""
    if source.language != "en":
        yield "and such a prompt is read in English alone"
    pairs = _pairs(inputs)
    if len(pairs) != 1:
        named = "named alike, such as answer_a and answer_b"
        yield f"and {'several pairs of inputs are' if pairs else 'no two inputs are'} {named}"
        return
    [(first, second)] = pairs.items()
    stem, _ = _split(first)
    alike = [name for name in inputs if _split(name)[0] == stem]
    if not any(map(_RESPONSE.fullmatch, re.split(r"[_ ]", stem))) or len(alike) != 2:
        yield f"and it is not sure that {first} and {second} are the two"
    choice = _WHICH.search(source.text)
    if choice and _WORSE.search(source.text[choice.start() : choice.end() + 30]):
        yield "and may ask for the worse one"
    if any(_label_before(source, name) == -_SIDES[_split(name)[1]] for name in (first, second)):
        yield f"and calls {first} or {second} by the other one's letter or number"


def _pairs(inputs: Collection[str]) -> dict[str, str]:
    """Return pairs of inputs whose names differ in their last part alone, such as answer_a and answer_b."""
    split = {name: _split(name) for name in inputs}
    sides = {(stem, _SIDES[end]): name for name, (stem, end) in split.items() if stem and end in _SIDES}
    return {name: sides[stem, -1] for (stem, side), name in sides.items() if side == 1 and (stem, -1) in sides}


def _split(name: str) -> tuple[str, str]:
    """Return the stem and the end of an input's name, such as answer and a; both empty for other names."""
    found = _PAIRED.match(name)
    return (found["stem"].lower(), found["end"].lower()) if found else ("", "")


def _label_before(source: Source, name: str) -> int:
    """Return the side that the prompt's own words give an input, 0 if they give none: -1 for "Assistant B: {x}"."""
    for found in re.finditer(rf"[{{$<]\s*{re.escape(name)}\b", source.text):
        label = _LABEL.search(source.text[max(0, found.start() - 60) : found.start()])
        if label:
            return _SIDES[label.group(1).lower()]
    return 0


def _bracketed(source: Source) -> Iterator[Candidate]:
    """Yield the format of a choice in double brackets, such as [[A]], behind the reasons that the prompt asks for."""
    every = list(_BRACKETED.finditer(source.text))
    words = tuple(dict.fromkeys(found.group(1) for found in every))
    if len(words) < 2:
        return
    row = source.row(every[0].start())
    verdict = Place("verdict", "", row, "text", choices=words)
    if not asks_reasons(source, row):
        yield Candidate("bracketed", "[[{verdict}]]", (verdict,), row)
        return
    explanation = Place("explanation", "a step-by-step explanation", row, "text")
    doubt = "the prompt does not say whether the reasons come before the choice"
    # Without a line break before the brackets: judges end their last sentence with them ("Final verdict: [[A]]"). The
    # explanation then holds no "[", since text before a literal that begins twice alike can't (fields.TextField).
    layout, doubts = "{explanation}[[{verdict}]]", () if follows_reasons(source, row) else (doubt,)
    yield Candidate("bracketed", layout, (explanation, verdict), row, doubts)


def _preference(found: FoundFormat, name: str, pair: tuple[str, str]) -> Declared | None:
    """Return the score whose values prefer A (above 0) or B (below 0); None if a word's side is not clear."""
    declared, source = found.fields[name], found.source
    words = list(declared.field.get("written", {}).values()) or texts_of(declared.field)
    place = next(place for place in found.candidate.places if place.name == name)
    if declared.field.get("special") or (
        place.kind == "text" and found.candidate.layout == "json" and any(word.isdecimal() for word in words)
    ):
        return None  # a number in quotes is written without them in our JSON
    sides = {word: _side(word, source) for word in words}
    values = {side: word for word, side in sides.items() if side is not None}
    if len(values) != len(words) or set(values) != {-side for side in values} or not any(values):
        return None
    if not all(_is_told(word, side, source) for side, word in values.items()) or not _same_names(words, pair, source):
        return None
    graded = max(values) > 1
    by_value = dict(sorted(values.items(), reverse=True))
    levels = {side: word if graded else {1: "A", 0: "tie", -1: "B"}[side] for side, word in by_value.items()}
    field = {"type": "score", "scale": "nominal", "levels": levels, "written": by_value}
    said = f"{by_value[max(by_value)]} prefers {pair[0]}, {by_value[min(by_value)]} prefers {pair[1]}"
    tie = f", {by_value[0]} is a tie" if 0 in by_value else ""
    return Declared(field, said + tie, declared.doubt, declared.row)


def _bare(word: str) -> str:
    bare = " ".join(re.split(r"[\s_]+", word.lower().strip("[]\"'`* ")))
    bare = re.sub(r"\s*(?:is )?(?:better|best|wins?|preferred)$", "", bare) if bare not in _TIES else bare
    return re.sub(rf"^(?:the )?(?:{_THING})s?[ -]?(?=\w)|[ -]?(?:{_THING})$", "", bare)


def _side(word: str, source: Source) -> int | None:
    """Return what a word chooses: above 0 for A, below 0 for B, 0 for a tie; None if that is not sure."""
    graded = _GRADED.match(word)
    if graded:
        first, sign, second = graded.groups()
        opposed = _SIDES[first.lower()] == -_SIDES[second.lower()]
        return _SIDES[first.lower()] * _DEGREES[sign] if opposed else None
    bare = _bare(word)
    if bare in _TIES:
        return 0
    if bare in ("c", "0", "3") and re.search(r"(?i)\b(?:tie|tied|draw|equal\w*|same)\b", _gloss(word, source)):
        return 0
    return _SIDES.get(bare)


def _gloss(word: str, source: Source) -> str:
    """Return what the prompt says a word stands for, as in `"[[C]]" for a tie`; empty if it does not say."""
    means = r"[\"'”`*\])]{0,5}\s*(?:for\b|if\b|means\b|when\b|=|:|\()\s*"
    found = re.search(rf"(?<![\w])\[{{0,2}}{re.escape(word)}{means}([^.;,\n\"“`\[]{{1,80}})", source.text)
    return found.group(1) if found else ""


def _is_told(word: str, side: int, source: Source) -> bool:
    """Return whether nothing that the prompt says of the word speaks against its side."""
    said = _gloss(word, source)
    marks = _MARK.findall(said)
    other = marks and side and _SIDES[marks[0].lower()] != (1 if side > 0 else -1)
    return not other and not _WORSE.search(said)


def _same_names(words: Sequence[str], pair: tuple[str, str], source: Source) -> bool:
    """Return whether choices and inputs are both letters, or both numbers; else the prompt must label the inputs."""
    letters = any(re.fullmatch("[ab]", _bare(word)) or re.match("(?i)[ab]\\s*[<>=]", word) for word in words)
    return letters == (_split(pair[0])[1] == "a") or all(_label_before(source, name) for name in pair)
