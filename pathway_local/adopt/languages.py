"""Reads sentences in German, French and Spanish: puts English words in place of those that tell a judge what to write.

The other modules search English sentences for demands. They ask here for a prompt's sentences, line by line. Anything
that the judge writes or reads, in quotes, braces or backticks, stays as it is. A prompt in a further language is not
read in part: `language_of` has no name for it, and the user is asked.
"""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from pathway_local.errors import RubricError
from pathway_local.system.safe_yaml import load_yaml

WORDS_FILE = Path(__file__).with_name("languages.yaml")

_LEAST_WORDS, _LEAST_SHARE = 12, 0.15
"""A shorter prompt is taken as English. In prompts of the four languages a third of the words are among these."""

_KEPT = r"\"[^\"\n]*\"|“[^”\n]*”|„[^“”\n]*[“”]|«[^»\n]*»|`[^`\n]*`|\{[^{}\n]*\}|</?[\w-]+>"
_DECIMAL = re.compile(r"(?<![\d,.])(\d{1,2}),(\d{1,2})(?!\d|[,.]\d)(?! ?(?:oder|ou|o|und|et|y) \d+(?![,\d]))")


def language_of(text: str) -> str:
    """Return en, de, fr or es; empty for any other language."""
    words = re.findall(r"[^\W\d_]+", re.sub(_KEPT, " ", text).lower())
    counts = {language: sum(word in known for word in words) for language, known in _common().items()}
    best = max(counts, key=lambda language: counts[language])
    if len(words) < _LEAST_WORDS:
        unknown = len(words) > 2 and not counts[best] and any(not word.isascii() for word in words)
        return best if counts[best] > counts["en"] else "" if unknown else "en"
    return best if counts[best] >= _LEAST_SHARE * len(words) else ""


def in_english(text: str, language: str) -> str:
    """Return the text with English words for those that tell a judge what to write; other words stay."""
    if language in ("en", ""):
        return text
    pattern, english = _pattern(language)
    decimal = _DECIMAL.sub(r"\1.\2", text)
    return pattern.sub(lambda found: english[found.lastgroup] if found.lastgroup else found.group(), decimal)


@cache
def _words() -> dict[str, dict[str, str]]:
    loaded: Any = load_yaml(WORDS_FILE.read_text(encoding="utf-8"), str(WORDS_FILE), RubricError)
    return dict(loaded)


@cache
def _common() -> dict[str, frozenset[str]]:
    return {language: frozenset(words["common"].split()) for language, words in _words().items()}


@cache
def _pattern(language: str) -> tuple[re.Pattern[str], Mapping[str, str]]:
    # Of the words for two English ones, the longer comes first: "halbe Punkte" before "Punkte".
    known = {
        each: english
        for english, words in _words()[language].items()
        for each in _alternatives(words)
        if english != "common"
    }
    ranked = sorted(known, key=len, reverse=True)
    groups = "|".join(f"(?P<w{at}>{words})" for at, words in enumerate(ranked))
    return re.compile(rf"{_KEPT}|(?<!\w)(?:{groups})(?!\w)", re.IGNORECASE), {
        f"w{at}": known[words] for at, words in enumerate(ranked)
    }


def _alternatives(words: str) -> list[str]:
    """Return the alternatives of a pattern: splits at the bars outside of parentheses."""
    return re.split(r"\|(?![^(]*\))", words)
