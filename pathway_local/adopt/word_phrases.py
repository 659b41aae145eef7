"""Reads the words that a phrase lists, such as <A/B/C> or `"Yes", "No" or "Unsure"`, and values off a scale."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_SPECIAL = re.compile(
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


def is_special(word: str) -> bool:
    """Whether the word says that there is no verdict, such as Unsure or N/A."""
    return _SPECIAL.fullmatch(word.strip()) is not None
