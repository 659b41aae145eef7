"""Knows the words of languages by which prompts are read (`words.yaml` is their table), and finds sets of words."""

import re
from functools import cache
from pathlib import Path
from typing import Any

from pathway_local.system.safe_yaml import load_ours

_QUOTE = (
    r"\"[^\"\n]{1,40}\"|“[^”\n]{1,40}”|„[^“”\n]{1,40}[“”]|«\s?[^»\n]{1,40}?\s?»|`[^`\n]{1,40}`"
    r"|(?<!\w)['‘][^'’\n]{1,40}['’](?!\w)"
)
_QUOTED = re.compile(_QUOTE)
_PART = re.compile(r"[^\W\d][\w+=<>-]*(?: [^\W\d][\w-]*){0,2}")


@cache
def table() -> dict[str, Any]:
    """Return the table of words."""
    return dict(load_ours(Path(__file__).with_suffix(".yaml")))


@cache
def any_of(group: str) -> re.Pattern[str]:
    """Return a pattern for any word of a group."""
    words = re.sub(r"\|\s+", "|", table()[group])
    return re.compile(rf"(?<!\w)(?:{words})(?!\w)", re.IGNORECASE)


def is_in(group: str, text: str) -> bool:
    """Return whether the whole text is a word of the group."""
    return any_of(group).fullmatch(text.strip()) is not None


def as_name(label: str) -> str:
    """Return a label as a field's name: final_score for "Final score"."""
    name = "_".join("".join(letter if letter.isalnum() else " " for letter in label).lower().split())
    return name if name and not name[0].isdigit() else f"field_{name}".rstrip("_")


def in_layout(text: str) -> str:
    """Return the text as a layout writes it, where single braces hold the name of a field."""
    return text.replace("{", "{{").replace("}", "}}")


def kind_of(said: str) -> str:
    """Return which of a case's texts a noun means; a reference answer is a reference, and no answer."""
    plain = re.sub(r"[_-]|(?<=[a-z])(?=[A-Z])", " ", said)
    return next((kind for kind, stems in table()["kinds"].items() if re.search(rf"(?i)\b(?:{stems})", plain)), "")


def in_quotes(text: str) -> list[str]:
    """Return the words in quotes."""
    return [found[0].strip("\"“”„«»`'‘’").strip(" .,") for found in _QUOTED.finditer(text)]


@cache
def _between() -> str:
    return rf"\s*[|/]\s*|,?\s+{any_of('or').pattern}\s+(?:{any_of('with').pattern}\s+)?|,\s*|或"


def quoted_set(text: str) -> list[str]:
    """Return the words in quotes if each stands alone, behind another or with what it means; else none."""
    plain = re.sub(r"\([^()]*\)", "", text)
    said = in_quotes(plain)
    means = rf"\s*(?:=|-|–|:|,?\s{any_of('means').pattern})\s[^\"“”«»`]*"
    run = re.compile(rf"(?:{_QUOTE})(?:(?:{_between()}|\s|;|{any_of('and').pattern}|{means}|\.)+(?:{_QUOTE}))+")
    found = run.search(plain)
    words = list(dict.fromkeys(said))
    return words if found and len(in_quotes(found[0])) == len(said) and len(words) > 1 else []


def alternatives(text: str) -> list[str]:
    """Return the set of words that a slot shows, each standing alone; none for a longer text or a list of topics."""
    bare = text.strip(" .[]<>(){}*\n")
    if len(in_quotes(bare)) > 1:
        return quoted_set(bare)
    parts = split_words(bare)
    barred = re.search(r"[|/]|或", bare) or all(part.isupper() for part in parts)
    # "what is missing or wrong" is a text: between words of a sentence, "or" makes alternatives of single words alone.
    joined = re.search(rf"\s{any_of('or').pattern}\s", bare) and not any(" " in part for part in parts)
    return parts if barred or joined else []


def split_words(text: str) -> list[str]:
    """Return the words between bars, slashes, commas and "or"; none if one of them is no word, but a text."""
    plain = re.sub(r"\([^()]*\)", "", text)
    plain = re.sub(rf"(?is)^.*(?:{any_of('lists').pattern}|:)[\s:]+", "", plain.strip(" .[]<>(){}"))
    before = "|".join(any_of(group).pattern for group in ("reply", "only", "with"))
    around = rf"(?i)^(?:(?:{before})\s+)+|\s+{any_of('only').pattern}$"
    parts = [re.sub(around, "", part.strip(" \"'`“”.:[]<>()*")) for part in re.split(_between(), plain)]
    texts = any(is_in("texts", part) or is_in("number", part) or any_of("reasons").search(part) for part in parts)
    fits = 1 < len(parts) <= 12 and all(map(_PART.fullmatch, parts)) and not texts
    return list(dict.fromkeys(parts)) if fits else []


def told_words(line: str) -> list[str]:
    """Return the quoted words that a line tells the judge to write, as in `answer "yes" or "no"`."""
    quoted = rf"(?:[\"“'`«][^\"”'`»\n]{{1,40}}[\"”'`»](?:[\s,/|]|{any_of('or').pattern})*)+"
    begins = rf"(?:{any_of('give').pattern}(?: \w+){{0,3}}?|{any_of('answer').pattern})"
    return [word for part in re.findall(rf"(?i){begins}:?\s+(?=({quoted}))", line) for word in in_quotes(part)]
