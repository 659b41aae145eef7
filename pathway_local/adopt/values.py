"""Spells a slot as a field; whatever the prompt leaves open stands in the spelling as a question mark."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pathway_local.adopt.prompt import Source
from pathway_local.adopt.scales import Levels, Scale, scale_in, scale_of
from pathway_local.adopt.slots import Slot
from pathway_local.adopt.words import any_of, is_in, table

OPEN = "?"
_PLAIN = re.compile(r"[^\W\d_][\w'’./%]*(?: [\w'’./%]+)*")
QUOTES = re.compile(r"\"([^\"\n]{1,40})\"|“([^”\n]{1,40})”|„([^“”\n]{1,40})[“”]|«\s?([^»\n]{1,40}?)\s?»|`([^`\n]{1,40})`|(?<!\w)['‘]([^'’\n]{1,40})['’](?!\w)")  # fmt: skip # noqa: E501
BESIDE = re.compile(r"(?i)\bnull\b|\bNone\b|\bN/?A\b|(?<![\w-])-1\b")
"""Replies that mean no score."""


@dataclass(frozen=True, slots=True)
class Value:
    """The spelling of a field, the rows and words that it is from, and whether it `scores`."""

    spelling: str
    rows: tuple[int, ...]
    scores: bool = False
    words: tuple[str, ...] = ()


def values_of(slots: Sequence[Slot], source: Source, levels: list[Levels]) -> list[Value]:
    """Return a value for each slot. Words and booleans are scores only where no number is one."""
    found = [_value(slot, source, levels) for slot in slots]
    numbers = any(value.scores and not value.words for value in found)
    if numbers or any(slot.kind == "objects" for slot in slots):
        found = [_as_choice(value) if value.words else value for value in found]
    return [
        value if slot.kind != "objects" else _as_json(slot) if numbers else _of_parts(slot, source, levels)
        for slot, value in zip(slots, found, strict=True)
    ]


def _value(slot: Slot, source: Source, levels: list[Levels]) -> Value:
    rows: tuple[int, ...] = (slot.row,)
    if slot.kind in ("objects", "list"):
        return Value("list", rows)
    words, scale, said = slot.words or tuple(words_in(slot.said)), _scale(slot.said, slot.row), slot.said
    for row, line in enumerate(source.lines) if not (words or scale or slot.kind == "boolean") else ():
        told = "" if re.match(r"\s*[\"{]", line) else _behind(slot.name.split(".")[-1], line)
        if len(named := words_in(told)) > 1 or _scale(told, row):
            words, scale, said, rows = tuple(named), _scale(told, row), f"{slot.said} {told}", (*rows, row)
            break
    beside = [*BESIDE.findall(said), *(word for word in (*words, *in_quotes(said)) if is_in("beyond", word))]
    special = "".join(f" or {quoted(word)}" for word in dict.fromkeys(beside))
    if slot.kind == "boolean":
        return Value(f"false < true{special}", rows, scores=True, words=("false", "true"))
    if len(words) == 1 and slot.words:
        return Value(f"choice {quoted(words[0])}", rows)
    if slot.sample == "null" or {word.lower() for word in words} & {"null", "string"}:
        return Value('json {"type": ["string", "null"], "maxLength": 400}', rows)
    if scale is None and len(words) > 1:
        return Value(ordered(words, source), rows, scores=True, words=words)
    return _number(slot, replace_row(scale, rows[-1]), special, rows, source, levels)


def replace_row(scale: Scale | None, row: int) -> Scale | None:
    """Return the scale as read from this row."""
    return scale and replace(scale, row=row)


def _scale(said: str, row: int) -> Scale | None:
    return scale_in(re.sub(r"(?<![\w-])-1\b(?!\s*(?:to|-|–))", "", said), row)


def _behind(name: str, line: str) -> str:
    """Return what a line says behind a quoted key, as in: the "verdict" key must be "yes" or "no"."""
    found = re.search(rf"[\"'`“]{re.escape(name)}[\"'`”]", line)
    return line[found.end() :] if found else ""


def _number(
    slot: Slot, scale: Scale | None, special: str, rows: tuple[int, ...], source: Source, levels: list[Levels]
) -> Value:
    """Return the value of a slot that is a number with this scale, or with that of the prompt; else a text."""
    last = slot.name.split(".")[-1]
    if not scale and (is_in("count", last) or any_of("counted").search(slot.said)):
        return Value("number 0-1000", rows)
    called = re.search(rf"(?i)(?:^|_)(?:{table()['score_names']})$", last) and (slot.kind != "text" or not slot.sample)
    told = any_of("score").search(slot.said) and len(slot.said) < 80 and not any_of("reasons").search(slot.said)
    if not (scale or slot.kind == "number" or called or told):
        label = re.fullmatch(r"[\w.-]{1,24}", slot.sample) and not is_in("texts", slot.sample)
        return Value(OPEN if label and not any_of("reasons").search(last) else "text", rows)
    found = scale or scale_of(last, source, levels)
    spelling = named(found.spelling, slot.name, source, levels) if found else OPEN
    if "." in slot.sample and " by " not in spelling and found:
        spelling += f" by {OPEN}"
    if is_in("chance", last):
        return Value(f"number {spelling}".replace(" by ?", " by 0.01"), rows)
    return Value(spelling + special, tuple(dict.fromkeys((*rows, *((found.row,) if found else ())))), scores=True)


def named(spelling: str, name: str, source: Source, levels: list[Levels]) -> str:
    """Return the range as levels with the names that the prompt lists for it, if it lists them for this score."""
    fitting = [each for each in levels if each.scale.spelling == spelling and all(each.names.values())]
    stem = re.split(r"[_. ]", name.lower())[0]
    about = [each for each in fitting if stem in " ".join(source.lines[max(0, each.row - 3) : each.row]).lower()]
    alone = fitting if len(fitting) == 1 or is_in("score", stem) else []
    for each in (about if not is_in("score", stem) else [])[-1:] or alone[-1:]:
        beyond = [value for value, word in each.names.items() if is_in("nothing", word)]
        told = " < ".join(f"{value} {quoted(word)}" for value, word in each.names.items() if value not in beyond)
        return told + "".join(f" or {value} {quoted(each.names[value])}" for value in beyond)
    return spelling


def words_in(text: str) -> list[str]:
    """Return the words that a text lists: in quotes, or between bars, slashes, commas and "or"."""
    found = in_quotes(text)
    if len(found) > 1:
        return list(dict.fromkeys(found))
    plain = re.sub(rf"(?is)^.*(?:{any_of('lists').pattern}|:)[\s:]+", "", text.strip(" .[]<>(){}"))
    parts = [part.strip(" \"'`“”.[]<>()*") for part in re.split(r"\s*[|/]\s*|,?\s+(?:or|oder|ou|o)\s+|,\s*", plain)]
    fits = 1 < len(parts) <= 12 and all(re.fullmatch(r"[A-Za-zÀ-ÿ_+-]+(?: [A-Za-zÀ-ÿ_-]+){0,2}", part) for part in parts)  # fmt: skip # noqa: E501
    return list(dict.fromkeys(parts)) if fits and not is_in("texts", parts[0]) else []


def in_quotes(text: str) -> list[str]:
    """Return the words in quotes."""
    return [next(filter(None, each.groups())).strip(" .,") for each in QUOTES.finditer(text)]


def ordered(words: Sequence[str], source: Source) -> str:
    """Return words as the spelling of a score: from worst to best where that is sure, else with question marks."""
    every = {word: _rank(word) for word in words}
    whole = len(words) == 2 or (None not in every.values() and len(set(every.values())) == len(words))
    rest = [word for word in words if whole or not is_in("beyond", word)]
    special = "".join(f" or {quoted(word)}" for word in words if word not in rest)
    ranks = [every[word] for word in rest]
    for ladder in table()["ladders"]:
        if set(map(str.lower, rest)) <= set(ladder):
            ranks = [ladder.index(word.lower()) for word in rest]
    if None in ranks and all(len(word) < 3 for word in rest):
        ranks = [_rank(gloss(word, source)) for word in rest]
    if len(rest) < 2 or None in ranks or len(set(ranks)) < len(rest):
        return f" {OPEN} ".join(map(quoted, rest)) + special
    return " < ".join(quoted(word) for _, word in sorted(zip(ranks, rest, strict=True))) + special  # type: ignore[type-var]


def _rank(word: str) -> int | None:
    """Return 0 for a bad word, 2 for a good one, 1 for one between them; None if that is not sure."""
    word = " ".join(word.lower().replace("_", " ").split())
    if is_in("negative", word) or is_in("positive", word):
        return 2 * is_in("positive", word)
    opposite = re.sub(r"^(?:not |non-|un|in|im|ir|dis|nicht |no )", "", word)
    return 0 if opposite != word and is_in("positive", opposite) else 1 if is_in("partial", word) else None


def gloss(word: str, source: Source) -> str:
    """Return what the prompt says a letter stands for, as in `"[[C]]" for a tie` or `A: CORRECT`; empty if nothing."""
    means = r"[\"'”`*\])]{0,5}\s*(?:for\b|if\b|means\b|when\b|=|:|\(|-|(?<=\)))\s*[\"']?"
    found = re.search(rf"(?<![\w\"])\[{{0,2}}\"?{re.escape(word)}{means}([^.;,)\n\"“`\[]{{1,80}})", source.text)
    return found[1].strip() if found else ""


def quoted(word: str) -> str:
    """Return a word as a spelling takes it."""
    plain = _PLAIN.fullmatch(word) and not re.search(r"(?:^| )(?:or|as|by|to)(?: |$)", word)
    return word if plain else json.dumps(word, ensure_ascii=False)


def _as_choice(value: Value) -> Value:
    boolean = value.words == ("false", "true") and " or " not in value.spelling
    spelling = "true/false" if boolean else "choice " + " | ".join(map(quoted, value.words))
    return replace(value, spelling=spelling, scores=False)


def _of_parts(slot: Slot, source: Source, levels: list[Levels]) -> Value:
    """Return a verdict for each part of the case, whose share is the score; open without one score in order."""
    members = values_of(slot.members, source, levels)
    told = ", ".join(f"{each.name}: {value.spelling}" for each, value in zip(slot.members, members, strict=True))
    fits = sum(member.scores for member in members) == 1 and "list" not in [member.spelling for member in members]
    return Value(f"[{told}] as {slot.name}_share" if fits else OPEN, (slot.row,), scores=True)


def _as_json(slot: Slot) -> Value:
    kinds = {"boolean": {"type": "boolean"}, "number": {"type": "number"}}
    text = {"type": "string", "maxLength": 400}
    members = {each.name: {"enum": list(each.words)} if each.words else kinds.get(each.kind, text) for each in slot.members}  # fmt: skip # noqa: E501
    item = {"type": "object", "properties": members, "required": list(members)}
    return Value(f"json {json.dumps({'type': 'array', 'maxItems': 20, 'items': item})}", (slot.row,))
