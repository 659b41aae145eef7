"""Reads the values that a phrase allows: numbers with their steps, words with their order, and values off the scale.

Every other module asks here what "<1 to 5 or null>", "in steps of 0.5" or `"Yes", "No" or "Unsure"` means, so a token is
read the same way wherever a prompt has it.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

Number = int | float

_N = r"-?\d{1,3}(?:\.\d{1,4})?"

# "1-5", "1 (worst) to 5", "between 0 and 10"; but not "1-2 sentences", "$1-5", "1-5%" or "1-5.5".
_DASHED = re.compile(
    rf"(?<![\w.$])({_N})(?:\s*\([^()\n]{{1,40}}\))?\s*(-|–|—|\bto\b|\bthrough\b|\.\.+|\band\b)\s*({_N})(?![\w%]|\.\d)"
    r"(?!\s*(?:minor|major|more|other|short|brief|full)?\s*(?:words?|sentences?|characters?|tokens?|items?|minutes?|paragraphs?|bullet|lines?))"
)
# "1, 2 or 3", "1|2|3", "0, 0.5, 1"; but not "1, 2, …", which has no end.
_LISTED = re.compile(rf"(?<![\w.]){_N}(?:\s*(?:,\s*(?:or|and)\b|,|\bor\b|\||/)\s*{_N}(?![\w.]\d))+(?!\s*,?\s*(?:\.\.|…))")
# "1 if it is right, 0 if it is not", "1 = matches, 0.5 = in part, 0 = not"
_ANCHOR = re.compile(r"(?<![\w.])([01]|0?\.\d+)\s*(?:for\b|if\b|=|means\b|when\b)")

_STEP = re.compile(
    r"(?P<half>\bhalf[- ]?(?:points?|marks?|steps?|scores?|grades?|stars?)\b|\bnearest half\b|\bhalves\b)"
    r"|(?P<quarter>\bquarter[- ]?(?:points?|marks?|steps?)\b)"
    rf"|\b(?:steps?|increments?|multiples?|intervals?)\s+of\s+(?P<of>{_N})"
    rf"|(?<![\w.])(?P<wide>{_N})[- ](?:points? )?(?:steps?|increments?|intervals?)\b"
    rf"|\bnearest\s+(?P<nearest>{_N})"
    r"|\b(?P<places>one|two|three|[123])[- ](?:decimals?|digits? after the (?:decimal )?point)\b"
    r"|(?P<tenths>\btenths\b)|(?P<hundredths>\bhundredths\b)",
    re.IGNORECASE,
)
_NOT = re.compile(r"(?i)\b(?:no|not|never|without|don't|avoid)\b[^.,;\n]{0,20}$")
_FORBIDS = re.compile(r"(?i)^[^.;\n]{0,12}\b(?:not|never|forbidden|disallowed)\b")
_PLACES = {"one": 1, "two": 2, "three": 3, "1": 1, "2": 2, "3": 3}
_FRACTION = re.compile(r"(?i)\b(?:floats?|floating|decimals?|real number|fractions?|fractional|continuous|probability)\b")

SPECIAL = re.compile(
    r"(?i)(?:null|none|nil|nan|n/?a|unknown|unsure|unclear|undetermined|undecided|uncertain|cannot \w+|can't \w+|"
    r"cannot be \w+|can't be \w+|unable to \w+|not applicable|not sure|i don't know|don't know|insufficient \w+|"
    r"not enough \w+|skip(?:ped)?|maybe|error)"
)
_NULL = re.compile(r"(?i)(?<![\w/'-])(?:null|none|nan|n/a|unknown|not applicable)(?![\w/'-])")

Q = r"[\"“'`*]{1,3}"
_QUOTED = rf"{Q}(?P<{{0}}>[^\"“”'`*\n|,<>{{{{}}}}\[\]]{{{{1,40}}}}?)[\"”'`*]{{{{1,3}}}}"
_GLOSS = r"(?:\s*\([^()\n]{1,60}\))?"
_SEPARATOR = r"(?:\s*,\s*(?:or|and)\s+|\s*,\s*|\s+or\s+|\s*/\s*|\s*\|\s*)"
_ONE_QUOTED = r"(?:\"[^\"\n]{1,40}\"|“[^”\n]{1,40}”|'[^'\n]{1,40}'|`[^`\n]{1,40}`|\*\*[^*\n]{1,40}\*\*)"
_QUOTED_RUN = re.compile(rf"{_ONE_QUOTED}{_GLOSS}(?:{_SEPARATOR}{_ONE_QUOTED}{_GLOSS})+")
_CAPITALS = r"[A-Z][\w-]*(?: [a-z][\w-]*){0,2}"
_CAPITAL_RUN = re.compile(
    rf"(?<![\w\"'*]){_CAPITALS}{_GLOSS}(?:\s*(?:,|/|\|)\s*(?:or\s+)?{_CAPITALS}{_GLOSS})*(?:\s*,)?\s*(?:\bor\b|/|\|)\s*[A-Z][\w-]*(?: [a-z][\w-]*(?=[.;\n]|$))?{_GLOSS}"
)
_SINGLE_RUN = re.compile(
    r"(?<![\w/.'\"-])[A-Za-z][\w+-]*(?:\s*(?:,|/|\|)\s*[A-Za-z][\w+-]*)*\s*(?:,?\s+or\s+|/|\|)\s*[A-Za-z][\w+-]*(?![\w/])"
)
_LEAD = re.compile(
    r"(?i)\b(?:one of|either|exactly one of)\b(?: (?:the|these|those|two|three|four|five|following|words?|letters?|labels?|"
    r"values?|options?|categories|choices))*\s*:?\s*(?P<list>[^.;\n]*)"
)
_BULLET = re.compile(r"^\s*(?:[-*•+]|\d+[.)])\s+(?P<item>.+)$")
_CUT = re.compile(r"(?i)\s*,?\s*\b(?:and nothing else|without|with no|only|depending|based|and (?:write|put|output)|for|in <)\b.*$")


@dataclass(frozen=True, slots=True)
class Scale:
    """Numbers from `low` to `high`. `step` is None if the prompt wants a fraction and does not say how fine."""

    low: Number
    high: Number
    step: Number | None = 1
    listed: tuple[Number, ...] = ()

    @property
    def said(self) -> str:
        """The scale in words."""
        if self.listed:
            return ", ".join(map(str, self.listed))
        return f"{self.low} to {self.high}" + ("" if self.step in (1, None) else f" in steps of {self.step}")

    @property
    def values(self) -> tuple[Number, ...]:
        """All its values, ascending."""
        if self.listed:
            return tuple(sorted(self.listed))
        step = self.step or 1
        return tuple(whole(self.low + at * step) for at in range(round((self.high - self.low) / step) + 1))

    @property
    def field(self) -> dict[str, object]:
        """The keys of a score field with this scale."""
        if self.listed:
            return {"levels": {value: str(value) for value in sorted(self.listed)}}
        return {"min": self.low, "max": self.high} | ({} if self.step in (1, None) else {"step": self.step})

    def stepped(self, step: Number | None) -> "Scale":
        """Return the scale with this step, if it fits in."""
        fits = step and abs((self.high - self.low) / step - round((self.high - self.low) / step)) < 1e-9
        return replace(self, step=step) if fits and not self.listed else self


def whole(value: Number) -> Number:
    """Return the number without noise of binary fractions, and as an int if it is whole."""
    rounded = round(value, 6)
    return int(rounded) if rounded == int(rounded) else rounded


def number(text: str) -> Number:
    """Return the number that a text spells."""
    return whole(float(text))


def scale_in(said: str) -> Scale | None:
    """Return the scale in a phrase, such as "1-5", "0 or 1", "0, 2, 4", "1 if …, 0 if …"; None if it has none."""
    bare = re.sub(r"[`\"'“”]", "", said)
    step = step_in(bare)
    fraction = bool(_FRACTION.search(bare))
    for found in _DASHED.finditer(bare):
        low, high = number(found.group(1)), number(found.group(3))
        # "2 and 5" is a scale only behind "between".
        between = found.group(2) != "and" or "between" in bare[: found.start()].lower()
        if between and _plausible(low, high):
            shown = max(_decimals(found.group(1)), _decimals(found.group(3)))
            fine = step or (whole(10.0**-shown) if shown else None if fraction else 1)
            return Scale(low, high).stepped(fine) if fine else Scale(low, high, None)
    for listed in _LISTED.finditer(bare):
        numbers = [number(text) for text in re.findall(_N, listed.group())]
        if (found_list := _list_scale(numbers)) is not None:
            return found_list
    anchors = {number(found.group(1)) for found in _ANCHOR.finditer(bare)}
    return _list_scale(sorted(anchors)) if {0, 1} <= anchors else None


def _list_scale(numbers: Sequence[Number]) -> Scale | None:
    """Return the scale of numbers that a phrase lists: they go up or down, and a step other than 1 needs three."""
    steps = {whole(second - first) for first, second in pairwise(numbers)}
    monotone = all(step > 0 for step in steps) or all(step < 0 for step in steps)
    if len(numbers) < 2 or not monotone or not _plausible(min(numbers), max(numbers)):
        return None
    if steps in ({1}, {-1}):
        return Scale(min(numbers), max(numbers))
    return Scale(min(numbers), max(numbers), listed=tuple(sorted(numbers))) if len(numbers) > 2 else None


def _plausible(low: Number, high: Number) -> bool:
    return low < high and (low in (0, 1) or low == -high)


def _decimals(text: str) -> int:
    return len(text.partition(".")[2])


def is_fraction(said: str) -> bool:
    """Whether the phrase asks for a number with digits behind the point."""
    return bool(_FRACTION.search(said))


def step_in(said: str) -> Number | None:
    """Return the step in a phrase, such as "half points" or "two decimals"; None if it has none, or forbids it."""
    for found in _STEP.finditer(said):
        if _NOT.search(said[: found.start()]) or _FORBIDS.search(said[found.end() :]):
            continue
        groups = found.groupdict()
        named = {"half": 0.5, "quarter": 0.25, "tenths": 0.1, "hundredths": 0.01}
        for name, step in named.items():
            if groups[name]:
                return step
        if groups["places"]:
            return whole(10.0 ** -_PLACES[groups["places"].lower()])
        step = number(groups["of"] or groups["wide"] or groups["nearest"])
        if step > 0:
            return step
    return None


def specials_in(said: str) -> list[str]:
    """Return the words in a phrase that have no place on a scale, such as null or N/A, as the phrase spells them."""
    return list(dict.fromkeys("null" if found.lower() in ("none", "null") else found for found in _NULL.findall(said)))


def listed_words(phrase: str) -> tuple[str, ...]:
    """Return the words of a phrase that is nothing but a list of them, such as `<A/B/C>`; empty if it is not one."""
    bare = phrase.strip().strip("<>[](){}").strip()
    bare = re.sub(r"(?i)^(?:either|(?:exactly )?one of:?)\s+", "", bare)
    strong = "|" in bare or _QUOTED_RUN.fullmatch(bare) is not None or bare != re.sub(r"[<>\[\]]", "", phrase).strip() != ""
    pieces = [re.sub(r"(?i)^or\s+", "", piece) for piece in re.split(r"\s*\|\s*|\s*/\s*|\s*,\s*|\s+or\s+", _bare_slash(bare))]
    words = [unquoted(piece) for piece in pieces]
    most = 4 if "|" in bare or _QUOTED_RUN.fullmatch(bare) else 1
    if len(words) < 2 or not all(word and len(word) <= 30 and len(word.split()) <= most for word in words):
        return ()
    if not all(re.match(r"[A-Za-z]", word) for word in words):
        return ()
    # "clear, short" may be the text itself: a list with commas alone needs an "or".
    joined = strong or re.search(r"[|/]|\bor\b", bare)
    return tuple(dict.fromkeys(_restored(words))) if joined else ()


def _bare_slash(text: str) -> str:
    return re.sub(r"(?i)\bn/a\b", "N\u2215A", text)


def _restored(words: Sequence[str]) -> list[str]:
    return [word.replace("\u2215", "/") for word in words]


def unquoted(text: str) -> str:
    """Return the text without the quotes and stars around it, and without a gloss in parentheses behind it."""
    bare = re.sub(r"\s*\([^()\n]{1,60}\)\s*$", "", text.strip())
    return bare.strip(" \t\"“”'`*").rstrip(".")


def word_runs(lines: Sequence[str], row: int) -> Iterator[tuple[str, ...]]:
    """Yield the lists of words in a line, such as `"Yes", "No" or "Unsure"`, longest kinds first."""
    line = _bare_slash(lines[row])
    for found in _LEAD.finditer(line):
        rest = _CUT.sub("", found.group("list"))
        items = [unquoted(item) for item in re.split(_SEPARATOR, rest)] if rest.strip(" :*") else _bullets(lines, row + 1)
        if 2 <= len(items) <= 12 and all(_is_word(item) for item in items):
            yield tuple(dict.fromkeys(_restored(items)))
    for pattern in (_QUOTED_RUN, _CAPITAL_RUN, _SINGLE_RUN):
        for found in pattern.finditer(line):
            items = [unquoted(item) for item in re.split(_SEPARATOR, found.group())]
            if 2 <= len(items) <= 12 and all(_is_word(item) for item in items):
                yield tuple(dict.fromkeys(_restored(items)))


def _is_word(item: str) -> bool:
    return bool(re.match(r"[A-Za-z]", item)) and len(item) <= 40 and len(item.split()) <= 4


def _bullets(lines: Sequence[str], first: int) -> list[str]:
    """Return the heads of the bullets below a line: `- "list": the answer is a list` has the head list."""
    items: list[str] = []
    for line in lines[first:]:
        bullet = _BULLET.match(line)
        if not bullet:
            if line.strip() or items:
                break
            continue
        items.append(unquoted(re.split(r"\s*(?::|=|\s[-–—]\s|\()", bullet.group("item"))[0]))
    return items


GOOD = frozenset(
    "pass passed yes true correct right grounded safe good relevant valid accurate supported faithful consistent complete "
    "agree acceptable accept y satisfactory appropriate factual helpful met success successful".split()
)
BAD = frozenset("fail failed no false wrong bad reject n unsatisfactory failure hallucinated refuted disagree".split())
MIDDLE = frozenset("partial partly partially mixed neutral borderline somewhat".split())
LADDERS = (
    ("none", "low", "medium", "high", "critical"),
    ("low", "moderate", "high"),
    ("none", "minor", "major", "critical"),
    ("very poor", "poor", "fair", "average", "good", "very good", "excellent"),
    ("poor", "acceptable", "good", "excellent"),
    ("terrible", "bad", "okay", "good", "great"),
    ("never", "rarely", "sometimes", "often", "always"),
    ("strongly disagree", "disagree", "neutral", "agree", "strongly agree"),
    ("negative", "neutral", "positive"),
    ("none", "some", "all"),
    ("f", "e", "d", "c", "b", "a"),
)


def ordered(words: Sequence[str]) -> list[str]:
    """Return the words from worst to best, or from least to most; empty if their order is not plain."""
    plain = [" ".join(re.split(r"[\s_-]+", word.lower())) for word in words]
    letters = all(len(word) == 1 for word in plain)
    for ladder in LADDERS:
        if all(word in ladder for word in plain) and (len(plain) > 3 and "f" in plain if letters else len(plain) > 1):
            return [word for _, word in sorted(zip(map(ladder.index, plain), words, strict=True))]
    ranks = [_rank(word) for word in plain]
    known = [rank for rank in ranks if rank is not None]
    if len(known) < len(words) or len(set(known)) < len(known) or min(known) > 0 or max(known) < 2:
        return []
    return [word for _, word in sorted(zip(known, words, strict=True))]


def _rank(word: str) -> float | None:
    """Return 0 for a word that says no, 1 for one between, 2 for one that says yes; None for any other."""
    first, _, rest = word.partition(" ")
    if rest:
        degree = {"fully": 2.5, "completely": 2.5, "entirely": 2.5, "mostly": 1.5, "largely": 1.5, "not": 0.0}
        degree |= dict.fromkeys(("partially", "partly", "somewhat"), 1.0)
        return degree.get(first) if rest in GOOD and first in degree else None
    if word in GOOD:
        return 2
    if word in BAD or any(word.startswith(prefix) and word[len(prefix) :] in GOOD for prefix in ("un", "in", "ir", "non")):
        return 0
    return 1 if word in MIDDLE else None


def is_special(word: str) -> bool:
    """Whether the word says that there is no verdict, such as Unsure or N/A."""
    return SPECIAL.fullmatch(word.strip()) is not None


def glosses(words: Sequence[str], text: str) -> dict[str, str]:
    """Return what the prompt says each of the letters stands for, as in "A: CORRECT" or "C for correct"."""
    found = {}
    for word in words:
        said = re.search(
            rf"(?<![\w$]){re.escape(word)}[\"'”`*]{{0,2}}\s*(?::|=|-|–|\)|\(|\bfor\b|\bmeans\b|\bif it is\b)\s*[\"'“(`]?([A-Za-z][\w -]{{1,40}})",
            text,
        )
        if said:
            found[word] = said.group(1).strip()
    return found if len(found) == len(words) else {}


def points(words: Sequence[str], text: str) -> Mapping[str, Number]:
    """Return the number that the prompt gives each word, as in "Excellent = 3" or "2: Fair"; empty unless all have one."""
    found = {}
    for word in words:
        name = rf"[\"'“`*]{{0,2}}{re.escape(word)}[\"'”`*]{{0,2}}"
        said = re.search(rf"(?i)(?<!\w){name}\s*(?:=|:|\()\s*({_N})(?![\w.])", text) or re.search(
            rf"(?im)(?<![\w.-])({_N})\s*(?:=|:|-|–)\s*{name}(?!\w)", text
        )
        if said:
            found[word] = number(said.group(1))
    return found if len(set(found.values())) == len(words) else {}
