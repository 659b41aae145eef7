"""Spells what stands in a slot as a field: words with their order, a number with its range, a list, or text."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise

from pathway_local.adopt.prompt import Source
from pathway_local.adopt.shown import Slot
from pathway_local.adopt.words import alternatives, any_of, in_quotes, is_in, table
from pathway_local.rubrics.declaration import quoted_word

OPEN = "?"
"""Stands in a spelling for what a person must complete."""
BESIDE = re.compile(r"(?i)\bnull\b|\bNone\b|\bN/?A\b|(?<![\w-])-1\b(?!\s*(?:to|-|–))")
"""Replies that mean no score."""
_DOTS = re.compile(r"[.…_?]+")
_LEVEL = re.compile(r"^(?P<lead>[^\w\n]*(?:[^\W\d]+:? |))(?P<number>\d{1,2})(?P<mark>\s*\w*s?[^\w\n]{1,6})(?P<name>.*)")


Numbered = tuple[int, re.Match[str]]
"""A row that begins with a number, and that line's parts."""


@dataclass(frozen=True, slots=True)
class Value:
    """The spelling of a field, the rows and words that it is from, whether it `scores`, and what a yes settles."""

    spelling: str
    rows: tuple[int, ...]
    scores: bool = False
    words: tuple[str, ...] = ()
    question: str = ""


@dataclass(frozen=True, slots=True)
class Scale:
    """The ends of a score and the row that states them; `step` is 0 where it states none.

    `listed` is the spelling of values in uneven steps or of fractions; `names` are those of levels, by number.
    """

    low: float
    high: float
    row: int
    step: float = 0
    listed: str = ""
    names: tuple[tuple[int, str], ...] = ()

    def spelled(self, step: str = "1") -> str:
        """Return the range as a spelling, in these steps."""
        by = f" by {step}" if step != "1" or (self.low, self.high) == (0, 1) else ""
        return f"{self.low:g}{' to ' if self.low < 0 else '-'}{self.high:g}{by}"


def is_open(spelling: str) -> bool:
    """Return whether a person must complete a spelling; a question mark in quotes is a word's own."""
    return OPEN in re.sub(r'"[^"]*"', "", spelling)


def values_of(slots: Sequence[Slot], source: Source) -> list[Value]:
    """Return a value for each slot. Words and booleans are scores only where no number is one."""
    keys = "|".join(re.escape(slot.name.split(".")[-1]) for slot in slots)
    found = [_value(slot, keys, source) for slot in slots]
    numbers = any(value.scores and not value.words for value in found)
    parts = [slot.kind == "objects" for slot in slots]
    found = [_as_choice(value) if value.words and (numbers or any(parts)) else value for value in found]
    if numbers or not any(parts):
        return found
    return [_share(slot, source) if part else value for slot, part, value in zip(slots, parts, found, strict=True)]


def _value(slot: Slot, keys: str, source: Source) -> Value:
    """Return the value of one slot: a list, a boolean, words, a number, or text."""
    rows, last, text = (slot.row,), slot.name.split(".")[-1], slot.text
    if slot.kind in ("objects", "list"):
        return Value(OPEN if slot.members else "list", rows)
    words = slot.words or (() if slot.kind == "number" else tuple(alternatives(text)))
    beside = [*BESIDE.findall(text), *(word for word in (*words, *in_quotes(text)) if is_in("beyond", word))]
    special = "".join(f" or {quoted_word(word)}" for word in dict.fromkeys(beside))
    if slot.kind == "boolean":
        return Value(f"false < true{special}", rows, scores=True, words=("false", "true"))
    scale = scale_in(BESIDE.sub("", text), slot.row)
    if words and not scale:
        spelling, question = ordered(words)
        return Value(spelling, rows, scores=True, words=words, question=question)
    explains = any_of("reasons").search(f"{last} {text}".replace("_", " ")) is not None
    if BESIDE.fullmatch(slot.sample or text):
        return Value(OPEN, rows, scores=True)
    # "1-2 sentences" is how long a comment is.
    if scale and slot.kind == "text" and any_of("reasons").search(last.replace("_", " ")):
        scale = None
    called = re.search(rf"(?i)(?:^|_)(?:{table()['score_names']})$", last) and (slot.kind != "text" or not slot.sample)
    told = called or any_of("sum").search(last) or (any_of("score").search(text) and len(text) < 80)
    if not scale and slot.kind in ("", "text") and (explains or not told):
        return _of_text(slot, last, explains)
    if any_of("sum").search(f"{last} {text}"):
        return Value(OPEN, rows, scores=True)
    # A number that is no range, or one whose end an input says, is left to the person.
    unread = re.search(r"\d|\$?\{\w", re.sub(r"^\W*[\d.]+\W*$", "", text)) or (
        not called and any_of("how_many").search(text)
    )
    scale = scale or (None if unread else scale_of(keys, source))
    if scale and scale.row != slot.row and _names_others(source.lines[scale.row], last, keys):
        scale = None
    shown = float(slot.sample) if re.fullmatch(r"\d+(?:\.\d+)?", slot.sample) else 0  # 0 stands for any number
    if not scale or (shown and not scale.low <= shown <= scale.high):
        return Value(OPEN + special, rows, scores=True)
    if is_in("chance", last) and "|" in keys:
        return Value(f"number {scale.spelled('0.01' if '.' in text + slot.sample or scale.high <= 1 else '1')}", rows)
    asked = "are 1 and 2 a scale, or the first and the second text?" * ((scale.low, scale.high) == (1, 2))
    return Value(_spelled(scale, slot, source) + special, (slot.row, scale.row), scores=True, question=asked)


def _names_others(line: str, key: str, keys: str) -> bool:
    """Return whether a line with a range names other keys of the reply, and not this one; "score" may mean any."""
    named = [each.lower() for each in re.findall(rf"(?i)(?<!\w)(?:{keys})(?!\w)", line)]
    return key.lower() not in named and not all(is_in("score", each) for each in named)


def _of_text(slot: Slot, last: str, explains: bool) -> Value:
    """Return text, or an open value where the slot shows dots, a sample of something, or a word such as "str"."""
    text, shown = slot.text, (slot.sample or slot.text).strip(".…_ ")
    verdict = any_of("verdicts").search(last.replace("_", " ")) is not None
    strange = (shown and not re.search(r"[^\W\d]{2}", shown)) or (_DOTS.fullmatch(text) and not slot.sample)
    sample = re.fullmatch(r"[\w.-]{1,24}", slot.sample) and not is_in("texts", slot.sample)
    is_open = not explains and (verdict or strange or sample)
    asked = f'"{slot.name}" is any text: is that meant?' * (not (is_open or explains) and is_in("any_text", text))
    return Value(OPEN if is_open else "text", (slot.row,), bool(is_open and (verdict or strange)), question=asked)


def _spelled(scale: Scale, slot: Slot, source: Source) -> str:
    """Return the spelling of a score on a scale; its steps are open where they may be finer than whole ones."""
    if scale.listed:
        return scale.listed
    if scale.step not in (0, 1):
        return scale.spelled(f"{scale.step:g}")
    samples = re.findall(rf"[\"']{re.escape(slot.name.split('.')[-1])}[\"']\s*:\s*(\d*\.\d+)", source.text)
    shown = f"{' '.join(samples)} {slot.text} {source.lines[scale.row] * (scale.row != slot.row)}"
    decimals = [each for each in re.findall(r"(?<![\w.])\d*\.\d+(?![\w.])", shown) if float(each) <= scale.high]
    allowed = (any_of("negated").sub(" ", line) for line in source.lines if not _LEVEL.match(line))
    finer = any(map(any_of("fraction").search, allowed))
    if (finer and not (scale.step and scale.high <= 1)) or (not scale.step and (decimals or scale.high <= 1)):
        return scale.spelled(OPEN)
    return _named(scale, slot.name, source)


def _named(scale: Scale, name: str, source: Source) -> str:
    """Return the range as levels with the names that the prompt lists for it, if it lists them for this score."""
    spelling, stem = scale.spelled(), re.split(r"[_. ]", name.lower())[0]
    fitting = [each for each in levels_in(source) if each.spelled() == spelling and all(name for _, name in each.names)]
    about = [each for each in fitting if stem in " ".join(source.lines[max(0, each.row - 3) : each.row]).lower()]
    chosen = fitting if is_in("score", stem) else about or fitting * (len(fitting) == 1)
    names = dict(chosen[-1].names) if chosen else {}
    beyond = [value for value, word in names.items() if is_in("nothing", word)]
    told = " < ".join(f"{value} {quoted_word(word)}" for value, word in names.items() if value not in beyond)
    return told + "".join(f" or {value} {quoted_word(names[value])}" for value in beyond) if told else spelling


@cache
def _chain() -> re.Pattern[str]:
    """Return a pattern for numbers that belong together, each perhaps with what it means."""
    between, and_, or_, to = (any_of(group).pattern for group in ("between", "and", "or", "to"))
    gloss = rf"(?:\s*(?:\([^()\n]{{1,80}}\)|=\s*[^\d,;=()\n]{{1,40}}|\s{any_of('means').pattern}(?: [a-z]+){{1,3}}))?"
    joint = rf"\s*(?:[-–—~到至]|\.\.+|[,;/|]\s*(?:{or_}|{and_})?|{or_}|{and_}|{to})\s*\+?"
    number = rf"-?\d+(?:\.\d+)?{gloss}"
    return re.compile(
        rf"(?i)(?<![\w.,/%+-])(?P<between>{between}\s+)?\+?{number}(?:{joint}{number})+(?![a-zA-Z\d_%]|[.,]\d|[-/]\d)"
    )


def scales(text: str, row: int) -> Iterator[Scale]:
    """Yield each scale that a text states in figures, and no band of one."""
    steps = any_of("steps").search(text)
    step = next((float(each) for each in re.findall(r"\d+(?:\.\d+)?", steps[0])), 0.0) if steps else 0.0
    for found in _chain().finditer(text):
        bare = re.sub(r"\([^()]*\)|=[^,;]*", "", found[0])
        said = re.findall(r"(?<![\d.])-?\d+(?:\.\d+)?", re.sub(r"(?<=\d)-", " – ", bare))
        values, before = sorted(map(float, said)), text[: found.start()]
        units = any_of("units").match(text[found.end() :].lstrip(" -"))
        part = len(values) == 2 and "/" in bare and values[0] > 1  # 4/5 is a score out of 5
        if units or part or len(set(values)) < len(values) or not 0 < values[-1] - values[0] <= 1000:
            continue
        gaps = {round(second - first, 6) for first, second in pairwise(values)}
        to = re.search(rf"\d\s*(?:[-–—~到至]|\.\.|{any_of('to').pattern})", bare)
        if len(values) == 2 and (to or found["between"] or (values == [0, 1] and "," in bare)):
            if re.search(r"\w", before) and not any_of("band").search(before.strip("[*(\"' ")):
                yield Scale(values[0], values[1], row, step)
        elif not to and (len(values) > 2 or (gaps == {1} and not any_of("and").search(bare))):
            even = len(gaps) == 1 and all(gap.is_integer() for gap in gaps) and "." not in bare
            listed = "" if even else " < ".join(sorted(said, key=float))
            yield Scale(values[0], values[-1], row, gaps.pop() if even else 0, listed)


def scale_in(text: str, row: int) -> Scale | None:
    """Return the scale that this text alone states, such as "an integer from 1 to 5"; None for none or several."""
    found = {(scale.low, scale.high, scale.step): scale for scale in scales(f"slot {text}", row)}
    lists = len(re.findall(r"\[[^\[\]]*\d", text))
    return next(iter(found.values())) if len(found) == 1 and lists < 2 else None


def scale_of(keys: str, source: Source) -> Scale | None:
    """Return the one scale that the prompt states; None for none, or for several."""
    listed = levels_in(source)
    # A range within the levels is a band of them.
    told = [
        scale
        for scale in stated(source, keys)
        if not any(each.low <= scale.low < scale.high <= each.high for each in listed)
    ]
    same = len({(scale.low, scale.high) for scale in [*told, *listed]}) == 1
    return max([*told, *listed], key=lambda scale: (bool(scale.step), bool(scale.listed))) if same else None


def stated(source: Source, keys: str = "") -> list[Scale]:
    """Return the scales in the lines that speak of scoring, each line up to the first of the `keys` in it."""
    cut = re.compile(rf"[\"'<](?:{keys})(?:[\"']\s*:|>)" if keys else r"\Z")
    lines = [(row, cut.split(line)[0]) for row, line in enumerate(source.lines)]
    lines = [(row, line) for row, line in lines if any_of("score").search(line) or any_of("judges").search(line)]
    return [scale for row, line in lines for scale in scales(line, row)]


@cache
def levels_in(source: Source) -> list[Scale]:
    """Return the lists of levels: numbered lines from 0 or 1 on, up or down, that are no steps to take."""
    runs, numbered = list[list[Numbered]](), enumerate(map(_LEVEL.match, source.lines))
    for each in ((row, found) for row, found in numbered if found):
        run = [*runs[-1], each] if runs else [each]
        steps = {int(after["number"]) - int(before["number"]) for (_, before), (_, after) in pairwise(run)}
        goes_on = steps in ({1}, {-1}) and len({found["lead"].strip() for _, found in run[-2:]}) == 1
        runs += [] if goes_on else [[]]
        runs[-1].append(each)
    return [level for run in runs if len(run) > 1 and (level := _level(run, source))]


def _level(run: list[Numbered], source: Source) -> Scale | None:
    first, begin = run[0]
    above, lead = " ".join(source.lines[max(0, first - 3) : first]), begin["lead"]
    told = ":" in lead or any_of("score").search(lead) or any_of("scale").search(above) or '"' in begin["mark"]
    counted = sum(found["mark"].strip(" *")[:1] in (".", ")", "") for _, found in run) * 2 > len(run)
    numbers = [int(found["number"]) for _, found in run]
    if min(numbers) not in (0, 1) or not told or counted:
        return None
    # A sentence that goes on in the next line is no name.
    ends = {row: not re.match(r"\s{2,}\w|[^\W\d_A-Z]", "".join(source.lines[row + 1 : row + 2])) for row, _ in run}
    names = {int(found["number"]): _title(found["name"]) * ends[row] for row, found in run}
    names = names if all(names.values()) else dict.fromkeys(names, "")
    return Scale(min(numbers), max(numbers), first, step=1, names=tuple(sorted(names.items())))


def _title(text: str) -> str:
    """Return the name of a level in the text behind its number: up to a colon, a dash or the end of bold text."""
    plain = re.split(r"\*\*|:|\s[-–—]\s|\||\.(?:\s|$)|;|\)\s*(?:\*|:|$)", text.strip(" *:([|-–—"))[0]
    plain = plain if "(" not in plain or ")" in plain else plain.partition("(")[0]
    plain = " ".join(plain.replace('"', "'").split()).rstrip(" .,")
    return plain if 0 < len(plain) <= 60 and not set("{}") & set(text) else ""


def ordered(words: Sequence[str]) -> tuple[str, str]:
    """Return words as the spelling of a score, from worst to best where that is likely, and a question unless plain."""
    ranks: list[int | None] = [_rank(word) for word in words]
    unsure = len(words) > 2 and (None in ranks or len(set(ranks)) < len(ranks))
    off = [word for word in words if unsure and is_in("beyond", word)]
    rest, special = [word for word in words if word not in off], "".join(f" or {quoted_word(word)}" for word in off)
    plain = [_rank(word) for word in rest]
    lower = {word.lower() for word in rest}
    ladder: list[str] = next(
        (each for each in table()["ladders"] if lower <= set(each) and (each[0] != "f" or "f" in lower)), []
    )
    ranks = [ladder.index(word.lower()) for word in rest] if ladder else list(plain)
    if None in ranks or len(set(ranks)) < len(rest):
        asked = f"is one of {', '.join(rest)} better than another? Then declare them from worst to best, with <"
        return " | ".join(map(quoted_word, rest)) + special, asked
    best = sorted(rest, key=lambda word: ranks[rest.index(word)] or 0)
    asked = f"is {best[-1]} the best of these words and {best[0]} the worst?" * (ranks != plain or len(rest) > 2)
    return " < ".join(map(quoted_word, best)) + special, asked


def _rank(word: str) -> int | None:
    """Return 0 for a bad word, 2 for a good one, 1 for one between them; None if that is not sure."""
    word = " ".join(word.lower().replace("_", " ").strip("[]() ").split())
    if is_in("negative", word) or is_in("positive", word):
        return 2 * is_in("positive", word)
    opposite = re.sub(rf"^(?:{table()['opposites']})", "", word)
    return 0 if opposite != word and is_in("positive", opposite) else 1 if is_in("partial", word) else None


def gloss(word: str, source: Source) -> str:
    """Return what the prompt says a letter stands for, as in `"[[C]]" for a tie` or `A: CORRECT`; empty if nothing."""
    means = rf"(?:[\"'”`*\])]{{0,5}}\s*(?:{any_of('means').pattern}|=|:|\(|-)|[\"'”`*\]]{{0,4}}\))\s*[\"']?"
    told = rf"(?i)(?<![\w\"])\[{{0,2}}\"?(?-i:{re.escape(word)}){means}([^.;,)\n\"“`\[]{{1,80}})"
    found = re.search(told, source.text)
    return found[1].strip() if found else ""


def _as_choice(value: Value) -> Value:
    boolean = value.words == ("false", "true") and " or " not in value.spelling
    spelling = "true/false" if boolean else "choice " + " | ".join(map(quoted_word, value.words))
    return replace(value, spelling=spelling, scores=False, question="")


def _share(slot: Slot, source: Source) -> Value:
    """Return a verdict for each part of the case, whose share is the score; open without one score in order."""
    members = values_of(slot.members, source)
    told = ", ".join(f"{each.name}: {value.spelling}" for each, value in zip(slot.members, members, strict=True))
    asked = next((member.question for member in members if member.question), "")
    fits = sum(member.scores for member in members) == 1 and not re.search(r"\||\?|: list", told)
    return Value(f"[{told}] as {slot.name}_share" if fits else OPEN, (slot.row,), scores=True, question=asked * fits)
