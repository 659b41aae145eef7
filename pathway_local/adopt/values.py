"""Reads the values that a phrase allows: numbers with their steps, words with their order, and values off the scale.

Every other module asks here what "<1 to 5 or null>", "in steps of 0.5" or `"Yes", "No" or "Unsure"` means. So a token
is read the same way wherever a prompt has it.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from pathway_local.verdict import Number, plain

_N = r"-?\d{1,3}(?:\.\d{1,4})?"

# "1-5", "1 (worst) to 5", "between 0 and 10"; but not "1-2 sentences", "$1-5", "1-5%" or "1-5.5".
_DASHED = re.compile(
    rf"(?<![\w.$])({_N})(?:\s*\([^()\n]{{1,40}}\))?\s*(-|–|—|\bto\b|\bthrough\b|\.\.+|\band\b)\s*({_N})(?![\w%]|\.\d)"
    r"(?!\s*(?:minor|major|more|other|short|brief|full)?\s*"
    r"(?:words?|sentences?|characters?|tokens?|items?|minutes?|paragraphs?|bullet|lines?))"
)
# "1, 2 or 3", "1|2|3", "0, 0.5, 1"; but not "1, 2, …", which has no end.
_LISTED = re.compile(
    rf"(?<![\w.]){_N}(?:\s{{0,3}}(?:,\s{{0,3}}(?:or|and)\b|,|\bor\b|\band\b|\||/)\s{{0,3}}{_N}(?![\w.]\d)){{1,200}}"
    r"(?!\s{0,3},?\s{0,3}(?:\.\.|…))"
)
# "1 if it is right, 0 if it is not", "1 = matches, 0.5 = in part, 0 = not"
_ANCHOR = re.compile(rf"(?<![\w.])(?:([01])\s*(?:for|if|when)\b|({_N})\s*(?:=|means\b))")

_STEP = re.compile(
    r"(?P<half>\bhalf[- ]?(?:points?|marks?|steps?|scores?|grades?|stars?)\b|\bnearest half\b|\bhalves\b)"
    r"|(?P<quarter>\bquarter[- ]?(?:points?|marks?|steps?)\b)"
    rf"|\b(?:steps?|increments?|multiples?|intervals?)\s+of\s+(?P<of>{_N})"
    rf"|(?<![\w.])(?P<wide>{_N})[- ](?:points? )?(?:increments?|intervals?)\b|(?<![\w.])(?P<fine>\d?\.\d+)[- ]steps?\b"
    rf"|\bnearest\s+(?P<nearest>{_N})|(?<![\w.])(?P<er>{_N})(?:er[- ]?(?:schritte?n?|steps)|[- ]points?[- ]steps?)\b"
    r"|\b(?P<places>one|two|three|[123])[- ](?:decimals?|digits? after the (?:decimal )?point)\b"
    r"|(?P<tenths>\btenths\b)|(?P<hundredths>\bhundredths\b)",
    re.IGNORECASE,
)
_NOT = re.compile(r"(?i)\b(?:no|not|never|without|don't|avoid)\b[^.,;\n]{0,20}$")
FORBIDS = re.compile(r"(?i)^[^.;\n]{0,12}\b(?:not|never|forbidden|disallowed)\b")
_PLACES = {"one": 1, "two": 2, "three": 3, "1": 1, "2": 2, "3": 3}
_FRACTION = re.compile(
    r"(?i)\b(?:floats?|floating|decimals?|real number|fractions?|fractional|continuous|probability|"
    r"(?:intermediate|in-between) (?:values?|scores?|grades?|marks?))\b"
)

SPECIAL = re.compile(
    r"(?i)(?:null|none|nil|nan|n/?a|unknown|unsure|unclear|undetermined|undecided|uncertain|cannot \w+|can't \w+|"
    r"cannot be \w+|can't be \w+|unable to \w+|not applicable|not sure|i don't know|don't know|insufficient \w+|"
    r"not enough \w+|skip(?:ped)?|maybe|error|"
    r"unklar|unsicher|unbekannt|nicht beurteilbar|keine angabe|k\. ?a\.|incertaine?|inconnue?|incierto|desconocido|"
    r"no se sabe|no aplicable)"
)
_NULL = re.compile(r"(?i)(?<![\w/-])(?:null|none|nan|n/a|unknown|not applicable)(?![\w/-])")

# Lists of words in a sentence: `"Yes", "No" or "Unsure"`; Correct, Partially correct or Wrong; low, medium or high.
# Each repeat has a bound: without, a long line of commas would take hours.
_GLOSS = r"(?: ?\([^()\n]{1,60}\))?"
_OR = r"(?:or|oder|ou|o)"
_SEPARATOR = rf"(?:[ \t]{{0,3}}(?:,[ \t]{{0,3}}(?:{_OR}|and)[ \t]|,|[/|]|[ \t]{_OR}[ \t])[ \t]{{0,3}})"
_QUOTED = r"(?:\"[^\"\n]{1,40}\"|“[^”\n]{1,40}”|„[^“”\n]{1,40}[“”]|«[^»\n]{1,40}»|"
_QUOTED += r"'[^'\n]{1,40}'|`[^`\n]{1,40}`|\*\*[^*\n]{1,40}\*\*)"
_CAPITALS = r"[A-Z][\w-]{0,30}(?: [a-z][\w-]{0,30}){0,2}"
_WORD = r"[A-Za-z][\w+-]{0,30}"
_JOINT = r" {0,3}[,/|] {0,3}(?:or )?"
_LAST_JOINT = r"(?: ?,)? {0,3}(?:\bor\b|/|\|) {0,3}"
_QUOTED_RUN = re.compile(rf"{_QUOTED}{_GLOSS}(?:{_SEPARATOR}{_QUOTED}{_GLOSS}){{1,11}}")
_CAPITAL_RUN = re.compile(
    rf"(?<![\w\"'*]){_CAPITALS}{_GLOSS}(?:{_JOINT}{_CAPITALS}{_GLOSS}){{0,11}}"
    rf"{_LAST_JOINT}[A-Z][\w-]{{0,30}}(?: [a-z][\w-]{{0,30}}(?=[.;\n]|$))?{_GLOSS}"
)
_SINGLE_RUN = re.compile(rf"(?<![\w/.'\"-]){_WORD}(?:{_JOINT}{_WORD}){{0,11}}{_LAST_JOINT}{_WORD}(?![\w/])")
_LEAD = re.compile(
    r"(?i)\b(?:one of|either)\b(?: (?:the|these|those|two|three|four|five|following|words?|letters?|labels?|values?|"
    r"options?|categories|choices)\b){0,4} ?:?(?P<list>[^.;\n>}\]]{0,400})"
)
_BULLET = re.compile(r"^\s*(?:[-*•+]|\d+[.)])\s+(?P<item>.+)$")
_CUT = re.compile(
    r"(?i) ?,? ?\b(?:and nothing else|without|with no|only|depending|based|and (?:write|put|output)|for|in <)\b.*$"
)
_ALONE = re.compile(r"(?i)\b(?:only|words?|letters?|labels?|category|grade|with|is)(?: ?:)? ?$|: ?$")


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
        return tuple(plain(self.low + at * step) for at in range(round((self.high - self.low) / step) + 1))

    @property
    def field(self) -> dict[str, object]:
        """The keys of a score field with this scale."""
        if self.listed:
            return {"levels": {value: str(value) for value in sorted(self.listed)}}
        found: dict[str, object] = {"min": self.low, "max": self.high}
        return found if self.step in (1, None) else found | {"step": self.step}

    def stepped(self, step: Number | None) -> "Scale":
        """Return the scale with this step, if it fits in."""
        fits = step and abs((self.high - self.low) / step - round((self.high - self.low) / step)) < 1e-9
        return replace(self, step=step) if fits and not self.listed else self


def number(text: str) -> Number:
    """Return the number that a text spells."""
    return plain(float(text))


def scale_in(said: str) -> Scale | None:
    """Return the scale in a phrase, such as "1-5", "0 or 1", "0, 2, 4", "1 if …, 0 if …"; None if it has none."""
    bare = re.sub(r"[`\"'“”]", "", said)
    step = step_in(bare)
    fraction = is_fraction(bare)
    for found in _DASHED.finditer(bare):
        # "from 5 (best) to 1" is the same scale: the numbers are what the judge writes.
        low, high = sorted((number(found.group(1)), number(found.group(3))))
        # "2 and 5" is a scale only behind "between".
        between = found.group(2) != "and" or "between" in bare[: found.start()].lower()
        if between and _plausible(low, high):
            shown = max(_decimals(found.group(1)), _decimals(found.group(3)))
            fine = step or (plain(10.0**-shown) if shown else None if fraction else 1)
            return Scale(low, high).stepped(fine) if fine else Scale(low, high, None)
    for listed in _LISTED.finditer(bare):
        numbers = [number(text) for text in re.findall(_N, listed.group())]
        if " and " in listed.group() and len(numbers) < 3:
            continue
        if (found_list := _list_scale(numbers)) is not None:
            return found_list
    anchors = {number(found.group(1) or found.group(2)) for found in _ANCHOR.finditer(bare)}
    return _list_scale(sorted(anchors)) if {0, 1} <= anchors or len(anchors) > 2 else None


def _list_scale(numbers: Sequence[Number]) -> Scale | None:
    """Return the scale of numbers that a phrase lists: they go up or down, and a step other than 1 needs three."""
    steps = {plain(second - first) for first, second in pairwise(numbers)}
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


def numbers_beyond(said: str, scale: Scale) -> list[str]:
    """Return the numbers in a phrase that lie outside of the scale, other than steps and lengths of texts."""
    bare = _STEP.sub(" ", _DASHED.sub(" ", said))
    told = re.findall(
        rf"(?<![\w.$/-]){_N}(?![\w%/]|\.\d|[ -](?:\w+ )?(?:words?|sentences?|characters?|tokens?|points?|decimals?)\b)",
        bare,
    )
    return [text for text in dict.fromkeys(told) if not scale.low <= number(text) <= scale.high]


def is_fraction(said: str) -> bool:
    """Whether the phrase asks for a number with digits behind the point."""
    return any(not _is_refused(said, found) for found in _FRACTION.finditer(said))


def _is_refused(said: str, found: re.Match[str]) -> bool:
    return bool(_NOT.search(said[: found.start()]) or FORBIDS.search(said[found.end() :]))


def step_in(said: str) -> Number | None:
    """Return the step in a phrase, such as "half points" or "two decimals"; None if it has none, or forbids it."""
    for found in _STEP.finditer(said):
        if _is_refused(said, found):
            continue
        groups = found.groupdict()
        named = {"half": 0.5, "quarter": 0.25, "tenths": 0.1, "hundredths": 0.01}
        for name, step in named.items():
            if groups[name]:
                return step
        if groups["places"]:
            return plain(10.0 ** -_PLACES[groups["places"].lower()])
        step = number(groups["of"] or groups["wide"] or groups["fine"] or groups["nearest"] or groups["er"])
        if step > 0:
            return step
    return None


def specials_in(said: str) -> list[str]:
    """Return the words in a phrase that have no place on a scale, such as null or N/A, as the phrase spells them."""
    return list(dict.fromkeys("null" if found.lower() in ("none", "null") else found for found in _NULL.findall(said)))


def listed_words(phrase: str) -> tuple[str, ...]:
    """Return the words of a phrase that is nothing but a list of them, such as `<A/B/C>`; empty if it is not one."""
    bare = re.sub(r"(?i)^(?:either|(?:exactly )?one of:?)\s+", "", phrase.strip().strip("<>[](){}").strip())
    plain_joints = "|" in bare or _QUOTED_RUN.fullmatch(bare) is not None
    words = _items(bare)
    # "clear, short" may be the text itself: without quotes, a list needs an "or" or a bar, and single words.
    joined = plain_joints or re.search(rf"/|\b{_OR}\b", bare)
    lengths = {len(word.split()) for word in words}
    fits = joined and 2 <= len(words) <= 12 and max(lengths) <= (4 if plain_joints else 1)
    return words if fits and all(_is_word(word) for word in words) else ()


@dataclass(frozen=True, slots=True)
class Run:
    """Words that a sentence lists. `plain` says that quotes, "one of" or "only" mark them as answers to choose from."""

    words: tuple[str, ...]
    plain: bool


def word_runs(line: str, lines: Sequence[str] = (), row: int = 0) -> Iterator[Run]:
    """Yield the lists of words in a line, or in the bullets below it, behind `row` of `lines`."""
    for found in _LEAD.finditer(line):
        rest = _CUT.sub("", found.group("list"))
        words = _items(rest) if rest.strip(" :*") else tuple(_bullets(lines, row + 1))
        if 2 <= len(words) <= 12 and all(_is_word(word) for word in words):
            yield Run(words, True)
    for pattern in (_QUOTED_RUN, _CAPITAL_RUN, _SINGLE_RUN):
        for found in pattern.finditer(line):
            words, quoted = _items(found.group()), pattern is _QUOTED_RUN
            if 2 <= len(words) <= 12 and all(_is_word(word) or (quoted and _is_sign(word)) for word in words):
                before = line[max(0, found.start() - 20) : found.start()]
                yield Run(words, quoted or bool(_ALONE.search(before)))


def _items(text: str) -> tuple[str, ...]:
    # The slash in N/A separates nothing.
    pieces = re.split(_SEPARATOR, re.sub(r"(?i)\b(n)/(a)\b", "\\1\u2215\\2", text))
    words = [unquoted(re.sub(rf"(?i)^{_OR}\s+", "", piece)).replace("\u2215", "/") for piece in pieces]
    return tuple(dict.fromkeys(words))


def _is_word(item: str) -> bool:
    return item[:1].isalpha() and len(item) <= 40 and len(item.split()) <= 4


def _is_sign(item: str) -> bool:
    return bool(item) and not re.search(r"\w", item)


def unquoted(text: str) -> str:
    """Return the text without the quotes and stars around it, and without a gloss in parentheses behind it."""
    bare = re.sub(r"\s*\([^()\n]{1,60}\)\s*$", "", text.strip())
    return bare.strip(" \t\u00a0\u202f\"“”„«»'`*").rstrip(".")


def _bullets(lines: Sequence[str], first: int) -> Iterator[str]:
    """Yield the heads of the bullets below a line: `- "list": the answer is a list` has the head list."""
    for line in lines[first : first + 14]:
        bullet = _BULLET.match(line)
        if not bullet:
            return
        yield unquoted(re.split(r"\s*(?::|=|\s[-–—]\s|\()", bullet.group("item"))[0])


GOOD = frozenset((
    "pass", "passed", "yes", "true", "correct", "right", "grounded", "safe", "good", "relevant", "valid", "accurate",
    "supported", "faithful", "consistent", "complete", "agree", "acceptable", "accept", "y", "satisfactory", "success",
    "appropriate", "factual", "helpful", "met", "successful",
    "erfüllt", "zutreffend", "angemessen", "conforme", "réussi", "aprobado", "cumple", "apto", "adecuado",
    "ja", "richtig", "korrekt", "wahr", "bestanden", "gut", "belegt", "oui", "vrai", "correcte", "juste",
    "sí", "si", "verdadero", "correcto", "correcta", "bien",
))  # fmt: skip
BAD = frozenset((
    "durchgefallen", "échoué", "suspenso",
    "nein", "falsch", "unwahr", "schlecht", "non", "faux", "fausse", "falso", "falsa", "mal", "incorrecto",
    "incorrecta", "fail", "failed", "no", "false", "wrong", "bad", "reject", "n", "failure", "hallucinated",
    "refuted", "disagree",
))  # fmt: skip
HALF = ("teilweise", "teils", "partiellement", "parcialmente")
MIDDLE = frozenset((*HALF, "partial", "partly", "partially", "mixed", "neutral", "borderline", "somewhat"))
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
    ("negativ", "neutral", "positiv"),
    ("négatif", "neutre", "positif"),
    ("negativo", "neutro", "positivo"),
    ("niedrig", "mittel", "hoch"),
    ("schlecht", "mittel", "gut"),
    ("faible", "moyen", "élevé"),
    ("mauvais", "moyen", "bon"),
    ("bajo", "medio", "alto"),
    ("f", "e", "d", "c", "b", "a"),
)


def ordered(words: Sequence[str]) -> list[str]:
    """Return the words from worst to best, or from least to most; empty if their order is not lower."""
    lower = [" ".join(re.split(r"[\s_-]+", word.lower())) for word in words]
    letters = all(len(word) == 1 for word in lower)
    for ladder in LADDERS:
        if all(word in ladder for word in lower) and (len(lower) > 3 and "f" in lower if letters else len(lower) > 1):
            return [word for _, word in sorted(zip(map(ladder.index, lower), words, strict=True))]
    ranks = [_rank(word) for word in lower]
    known = [rank for rank in ranks if rank is not None]
    whole = words and len(set(known)) == len(words)
    if not whole or min(known) > 0 or max(known) < 2:
        return []
    return [word for _, word in sorted(zip(known, words, strict=True))]


_DEGREES = {
    **dict.fromkeys(("fully", "completely", "entirely", "ganz", "völlig", "totalement", "totalmente"), 2.5),
    **dict.fromkeys(("mostly", "largely"), 1.5),
    **dict.fromkeys((*HALF, "partially", "partly", "somewhat"), 1.0),
    **dict.fromkeys(("not", "nicht", "pas", "non", "no"), 0.0),
}
"""The rank of a good word after each of these, by `_rank`."""


def _rank(word: str) -> float | None:
    """Return 0 for a word that says no, 1 for one between, 2 for one that says yes; None for any other."""
    first, _, rest = word.partition(" ")
    if rest:
        return _DEGREES.get(first) if rest in GOOD else None
    if word in GOOD:
        return 2
    if word in BAD or any(
        word.startswith(prefix) and word[len(prefix) :] in GOOD for prefix in ("un", "in", "ir", "non")
    ):
        return 0
    return 1 if word in MIDDLE else None


def is_graded(label: str) -> bool:
    """Whether a level's name ends in a word that says how good something is, such as "mostly wrong"."""
    last = re.split(r"[\s_-]+", label.lower())[-1]
    return _rank(last) is not None or any(last == step.split()[-1] for ladder in LADDERS[:-1] for step in ladder)


def is_special(word: str) -> bool:
    """Whether the word says that there is no verdict, such as Unsure or N/A."""
    return SPECIAL.fullmatch(word.strip()) is not None


def glosses(words: Sequence[str], text: str) -> dict[str, str]:
    """Return what the prompt says each of the letters stands for, as in "A: CORRECT" or "C for correct"."""
    found = {}
    for word in words:
        means = r"\s*(?::|=|-|–|\)|\(|\bfor\b|\bmeans\b|\bif it is\b)\s*[\"'“(`]?"
        said = re.search(
            rf"(?<![\w$]){re.escape(word)}[\"'”`*]{{0,2}}{means}([A-Za-z][\w-]+(?: (?!and\b|or\b)[\w-]+){{0,3}})", text
        )
        if said:
            found[word] = said.group(1).strip()
    return found if len(found) == len(words) else {}


def points(words: Sequence[str], text: str) -> Mapping[str, Number]:
    """Return the number that the prompt gives each word ("Excellent = 3", "2: Fair"); empty unless all have one."""
    found = {}
    for word in words:
        name = rf"[\"'“`*]{{0,2}}{re.escape(word)}[\"'”`*]{{0,2}}"
        said = re.search(rf"(?i)(?<!\w){name}\s*(?:=|:|\()\s*({_N})(?![\w.]*\w)", text) or re.search(
            rf"(?im)(?<![\w.-])({_N})\s*(?:=|:|-|–)\s*{name}(?!\w)", text
        )
        if said:
            found[word] = number(said.group(1))
    return found if len(set(found.values())) == len(words) else {}


def names_in(values: Sequence[Number], text: str) -> dict[Number, str]:
    """Return the names that a text gives each number, as in "1 = muddled, 2 = hard"; empty unless all have one."""
    found = {}
    for value in values:
        said = re.search(rf"(?<![\w.-]){re.escape(str(value))}\s*=\s*([^,.;\n]{{1,60}})", text)
        if said:
            found[value] = said.group(1).strip()
    return found if len(found) == len(values) else {}
