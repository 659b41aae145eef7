"""Spells a slot as a field; whatever the prompt leaves open stands in the spelling as a question mark."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pathway_local.adopt.prompt import Source
from pathway_local.adopt.scales import Levels, scale_in, scale_of
from pathway_local.adopt.slots import Slot
from pathway_local.adopt.words import any_of, is_in, table

OPEN = "?"
_PLAIN = re.compile(r"[^\W\d_][\w'’./%]*(?: [\w'’./%]+)*")
_QUOTES = re.compile(r"\"([^\"\n]{1,40})\"|“([^”\n]{1,40})”|„([^“”\n]{1,40})[“”]|«\s?([^»\n]{1,40}?)\s?»|`([^`\n]{1,40})`|(?<!\w)['‘]([^'’\n]{1,40})['’](?!\w)")  # fmt: skip # noqa: E501
_BESIDE = re.compile(r"(?i)\bnull\b|\bNone\b|\bN/?A\b|(?<![\w-])-1\b")


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
    parts = any(slot.kind == "objects" for slot in slots)
    found = [_as_choice(value) if value.words and (numbers or parts) else value for value in found]
    for at, slot in enumerate(slots):
        if slot.kind == "objects":
            found[at] = _as_json(slot) if numbers else _of_parts(slot, source, levels)
    return found


def _value(slot: Slot, source: Source, levels: list[Levels]) -> Value:
    rows: tuple[int, ...] = (slot.row,)
    last, words = slot.name.split(".")[-1], slot.words or tuple(words_in(slot.said))
    beside = list(
        dict.fromkeys(
            [*_BESIDE.findall(slot.said), *(word for word in (*words, *_in_quotes(slot.said)) if is_in("beyond", word))]
        )
    )
    special = "".join(f" or {quoted(word)}" for word in beside)
    if slot.kind in ("objects", "list"):
        return Value("list", rows)
    if slot.kind == "boolean":
        return Value(f"false < true{special}", rows, scores=True, words=("false", "true"))
    stated = scale_in(re.sub(r"-1\b", "", slot.said), slot.row)
    if stated and is_in("chance", last):
        return Value(f"number {stated.spelling}".replace(" by ?", " by 0.01"), rows)
    if stated:
        return Value(named(stated.spelling, slot.name, source, levels) + special, rows, scores=True)
    if not words and slot.kind != "number":
        words, row = _told_of(last, source)
        rows = (*rows, row) if words else rows
    if len(words) == 1 and slot.words:
        return Value(f"choice {quoted(words[0])}", rows)
    if (
        slot.sample == "null"
        or {word.lower() for word in words} & {"null", "string"}
        or ("null" in beside and slot.kind == "text")
    ):
        return Value('json {"type": ["string", "null"], "maxLength": 400}', rows)
    if len(words) > 1:
        return Value(ordered(words, source), rows, scores=True, words=words)
    return _unstated(slot, last, special, source, levels)


def _unstated(slot: Slot, last: str, special: str, source: Source, levels: list[Levels]) -> Value:
    """Return the value of a slot that does not state its own values."""
    if is_in("count", last) or re.search(r"(?i)\bnumber of\b|\bcount of\b", slot.said):
        return Value("number 0-1000", (slot.row,))
    called = re.search(rf"(?i)(?:^|_)(?:{table()['score_names']})$", last) and (slot.kind != "text" or not slot.sample)
    told = any_of("score").search(slot.said) and len(slot.said) < 80 and not any_of("reasons").search(slot.said)
    if slot.kind == "number" or called or told:
        stated = scale_of(last, source, levels)
        spelling = named(stated.spelling, slot.name, source, levels) if stated else OPEN
        if is_in("chance", last):
            return Value(f"number {OPEN}", (slot.row,))
        if "." in slot.sample and " by " not in spelling and stated:
            spelling += f" by {OPEN}"
        return Value(spelling + special, (slot.row, *((stated.row,) if stated else ())), scores=True)
    label = (
        re.fullmatch(r"[\w.-]{1,24}", slot.sample)
        and not is_in("texts", slot.sample)
        and not any_of("reasons").search(last)
    )
    return Value(OPEN if label else "text", (slot.row,))


def _told_of(name: str, source: Source) -> tuple[tuple[str, ...], int]:
    """Return the words that a sentence about a quoted key lists, such as: the "verdict" key must be "yes" or "no"."""
    for row, line in enumerate(source.lines):
        found = None if "{" in line or re.match(r"\s*\"", line) else re.search(rf"[\"'`]{re.escape(name)}[\"'`]", line)
        words = [word for word in words_in(line[found.end() :]) if word != name] if found else []
        if len(words) > 1:
            return tuple(words), row
    return (), -1


def named(spelling: str, name: str, source: Source, levels: list[Levels]) -> str:
    """Return the range as levels with the names that the prompt lists for it, if it lists them for this score."""
    found = re.fullmatch(r"(\d+)-(\d+)", spelling)
    span = set(range(int(found[1]), int(found[2]) + 1)) if found else set()
    fitting = [each.names for each in levels if set(each.names) == span and all(each.names.values())]
    stem = re.split(r"[_. ]", name.lower())[0]
    about = [each.names for each in levels if stem in " ".join(source.lines[max(0, each.row - 3) : each.row]).lower()]
    names = next((each for each in reversed(about) if each in fitting and not is_in("score", stem)), fitting[-1] if fitting and (len(fitting) == 1 or is_in("score", stem)) else {})  # fmt: skip # noqa: E501
    beyond = [value for value, word in names.items() if is_in("nothing", word)]
    told = " < ".join(f"{value} {quoted(word)}" for value, word in names.items() if value not in beyond)
    return told + "".join(f" or {value} {quoted(names[value])}" for value in beyond) if told else spelling


def words_in(text: str) -> list[str]:
    """Return the words that a text lists: in quotes, or between bars, slashes, commas and "or"."""
    found = _in_quotes(text)
    if len(found) > 1:
        return list(dict.fromkeys(found))
    plain = re.sub(r"(?is)^.*(?:\bone of(?: these \w+| the following)?|\beither|\bonly(?: with)?|\bwith|\bwords?|\bletter|\bbe|:)[\s:]+", "", text.strip(" .[]<>(){}"))  # fmt: skip # noqa: E501
    parts = [part.strip(" \"'`“”.[]<>()*") for part in re.split(r"\s*[|/]\s*|,?\s+(?:or|oder|ou|o)\s+|,\s*", plain)]
    fits = 1 < len(parts) <= 12 and all(
        re.fullmatch(r"[A-Za-zÀ-ÿ_+-]+(?: [A-Za-zÀ-ÿ_-]+){0,2}", part) for part in parts
    )
    return list(dict.fromkeys(parts)) if fits and not any(is_in("texts", part) for part in parts[:1]) else []


def _in_quotes(text: str) -> list[str]:
    return [next(filter(None, each.groups())).strip(" .,") for each in _QUOTES.finditer(text)]


def ordered(words: Sequence[str], source: Source) -> str:
    """Return words as the spelling of a score: from worst to best where that is sure, else unordered."""
    every = [_rank(word) for word in words]
    whole = len(words) == 2 or (None not in every and len(set(every)) == len(words))
    rest = [word for word in words if whole or not is_in("beyond", word)]
    special = "".join(f" or {quoted(word)}" for word in words if word not in rest)
    if len(rest) < 2 or all(word.isdecimal() for word in rest):
        return f" {OPEN} ".join(map(quoted, words))
    lower = [word.lower() for word in rest]
    ranks = [_rank(word) for word in rest]
    for ladder in table()["ladders"]:
        if set(lower) <= set(ladder) and (ladder[0] != "f" or "f" in lower):
            ranks = [ladder.index(word) for word in lower]
    if None in ranks:
        ranks = (
            [
                _rank(told) if _rank(told) is not None else _rank((told.split() or [""])[0])
                for told in (_gloss(word, source) for word in rest)
            ]
            if all(len(word) < 3 for word in rest)
            else [None]
        )
    if None not in ranks and len(set(ranks)) == len(rest):
        return (
            " < ".join(quoted(rest[ranks.index(rank)]) for rank in sorted(each for each in ranks if each is not None))
            + special
        )
    short = all(len(word) < 3 for word in rest)  # letters stand for words, and the prompt may not say for which
    unsure = short or (len(rest) > 2 and any(any_of("degree").search(word.replace("_", " ")) for word in rest))
    return (f" {OPEN} " if unsure or None not in ranks else " | ").join(map(quoted, rest)) + special


def _rank(word: str) -> int | None:
    """Return 0 for a bad word, 2 for a good one, 1 for one between them; None if that is not sure."""
    word = " ".join(word.lower().replace("_", " ").split())
    if is_in("negative", word) or is_in("positive", word):
        return 2 * is_in("positive", word)
    opposite = re.sub(r"^(?:not |non-|un|in|im|ir|dis|nicht |no )", "", word)
    return 0 if opposite != word and is_in("positive", opposite) else 1 if is_in("partial", word) else None


def _gloss(word: str, source: Source) -> str:
    """Return what the prompt says that a letter stands for, as in `C for correct` or `A: CORRECT`."""
    found = re.search(
        rf"(?m)(?<![\w\"]){re.escape(word)}[\"')`]?\s*(?:for|means|if|=|:|-|\(|(?<=\)))\s*[\"']?(\w+(?: [a-z]+)?)",
        source.text,
    )
    return found[1] if found else ""


def quoted(word: str) -> str:
    """Return a word as a spelling takes it."""
    plain = _PLAIN.fullmatch(word) and not re.search(r"(?:^| )(?:or|as|by|to)(?: |$)", word)
    return word if plain else json.dumps(word, ensure_ascii=False)


def _as_choice(value: Value) -> Value:
    boolean = value.words == ("false", "true") and " or " not in value.spelling
    return replace(
        value, spelling="true/false" if boolean else "choice " + " | ".join(map(quoted, value.words)), scores=False
    )


def _of_parts(slot: Slot, source: Source, levels: list[Levels]) -> Value:
    """Return a verdict for each part of the case, whose share is the score; open without one score in order."""
    members = values_of(slot.members, source, levels)
    [*scores] = [member.spelling for member in members if member.scores]
    told = ", ".join(f"{each.name}: {value.spelling}" for each, value in zip(slot.members, members, strict=True))
    fits = len(scores) == 1 and " | " not in scores[0] and "list" not in [member.spelling for member in members]
    return Value(f"[{told}] as {slot.name}_share" if fits else OPEN, (slot.row,), scores=True)


def _as_json(slot: Slot) -> Value:
    kinds = {"boolean": {"type": "boolean"}, "number": {"type": "number"}}
    text = {"type": "string", "maxLength": 400}
    members = {
        each.name: {"enum": list(each.words)} if each.words else kinds.get(each.kind, text) for each in slot.members
    }
    schema = {
        "type": "array",
        "maxItems": 20,
        "items": {"type": "object", "properties": members, "required": list(members)},
    }
    return Value(f"json {json.dumps(schema)}", (slot.row,))
