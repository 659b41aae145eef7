"""The language of a text, by its common words."""

import re
from functools import cache
from pathlib import Path

from pathway_local.system.safe_yaml import load_ours

WORDS_FILE = Path(__file__).with_name("languages.yaml")

_LEAST_WORDS, _LEAST_SHARE = 12, 0.15
"""A shorter text is taken as English. In longer ones, a third of the words are among those of their language."""

_KEPT = re.compile(r"\"[^\"\n]*\"|“[^”\n]*”|„[^“”\n]*[“”]|«[^»\n]*»|`[^`\n]*`|\{[^{}\n]*\}|</?[\w-]+>")


def language_of(text: str) -> str:
    """Return en, de, fr, es or pt; empty for any other language."""
    words = re.findall(r"[^\W\d_]+", _KEPT.sub(" ", text).lower())
    counts = {language: sum(word in known for word in words) for language, known in _common().items()}
    best = max(counts, key=lambda language: counts[language])
    if len(words) < _LEAST_WORDS:
        unknown = len(words) > 2 and not counts[best] and any(not word.isascii() for word in words)
        return best if counts[best] > counts["en"] else "" if unknown else "en"
    return best if counts[best] >= _LEAST_SHARE * len(words) else ""


@cache
def _common() -> dict[str, frozenset[str]]:
    loaded = load_ours(WORDS_FILE)
    return {language: frozenset(words.split()) for language, words in loaded.items()}
