"""Spells a slot as a field, asks about what the prompt only implies, and leaves a question mark for the rest."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pathway_local.adopt.scales import Levels, Scale, scale_in, scale_of
from pathway_local.adopt.slots import Slot, Source
from pathway_local.adopt.words import any_of, is_in, table
from pathway_local.rubrics.declaration import quoted_word

OPEN = "?"
_QUOTED = re.compile(r"\"([^\"\n]{1,40})\"|“([^”\n]{1,40})”|„([^“”\n]{1,40})[“”]|«\s?([^»\n]{1,40}?)\s?»|`([^`\n]{1,40})`|(?<!\w)['‘]([^'’\n]{1,40})['’](?!\w)")  # fmt: skip # noqa: E501
_PART = re.compile(r"[^\W\d][\w+=<>-]*(?: [^\W\d][\w-]*){0,2}")
_BETWEEN = rf"\s*[|/]\s*|,?\s+{any_of('or').pattern}\s+|,\s*"
_CAPITALS = re.compile(rf"\b(?:[A-Z][A-Z_-]+(?: [A-Z]{{2,}})*(?:{_BETWEEN}))+[A-Z][A-Z_-]+(?: [A-Z]{{2,}})*\b")
BESIDE = re.compile(r"(?i)\bnull\b|\bNone\b|\bN/?A\b|(?<![\w-])-1\b(?!\s*(?:to|-|–))")
"""Replies that mean no score."""


@dataclass(frozen=True, slots=True)
class Value:
    """The spelling of a field, the rows and words that it is from, whether it `scores`, and what a yes settles."""

    spelling: str
    rows: tuple[int, ...]
    scores: bool = False
    words: tuple[str, ...] = ()
    question: str = ""


def values_of(slots: Sequence[Slot], source: Source, levels: list[Levels]) -> list[Value]:
    """Return a value for each slot. Words and booleans are scores only where no number is one."""
    keys = "|".join(re.escape(slot.name.split(".")[-1]) for slot in slots)
    found = [_value(slot, keys, source, levels) for slot in slots]
    numbers = any(value.scores and not value.words for value in found)
    parts = [slot.kind == "objects" for slot in slots]
    found = [_as_choice(value) if value.words and (numbers or any(parts)) else value for value in found]
    if numbers or not any(parts):
        return found
    return [
        _share(slot, source, levels) if part else value for slot, part, value in zip(slots, parts, found, strict=True)
    ]


def _value(slot: Slot, keys: str, source: Source, levels: list[Levels]) -> Value:
    last, words, said, scale = slot.name.split(".")[-1], slot.words, slot.said, None
    rows: tuple[int, ...] = (slot.row,)
    if slot.kind in ("objects", "list"):
        return _as_json(slot) if slot.members else Value("list", rows)
    for text, row in ((said, slot.row), *_behind(last, keys, source)):
        found = _listed(text, slot)
        words, scale, said = words or tuple(found if len(found) > 1 else ()), scale_in(BESIDE.sub("", text), row), text
        words = words or tuple(_listed_above(slot, source))
        if len(words) > 1 or scale or slot.kind == "boolean":
            rows = tuple(dict.fromkeys((slot.row, row)))
            break
    beside = [*BESIDE.findall(said), *(word for word in (*words, *in_quotes(said)) if is_in("beyond", word))]
    special = "".join(f" or {quoted_word(word)}" for word in dict.fromkeys(beside))
    if slot.kind == "boolean":
        return Value(f"false < true{special}", rows, scores=True, words=("false", "true"))
    if len(words) == 1 and slot.words:
        return Value(f"choice {quoted_word(words[0])}", rows)
    if len(words) > 1 and not scale:
        spelling, question = ordered(words, source)
        return Value(spelling, rows, scores=True, words=words, question=question)
    explains = any_of("reasons").search(f"{last} {slot.said}".replace("_", " "))
    if re.fullmatch(r"[.…_?]+", slot.said):
        return Value("text", rows) if explains else Value(OPEN, rows, scores=True)
    if not scale and any_of("counted").search(f"{last} {slot.said}"):
        return Value("number 0-1000", rows)
    called = re.search(rf"(?i)(?:^|_)(?:{table()['score_names']})$", last) and (slot.kind != "text" or not slot.sample)
    told = any_of("score").search(slot.said) and len(slot.said) < 80 and not explains
    if not (scale or slot.kind == "number" or called or told or re.fullmatch("[NX]+", slot.said)):
        typed = any_of("verdicts").search(last) and re.fullmatch(r"(?i)str(?:ing)?", slot.said)
        if typed:
            return Value(OPEN, rows, scores=True)
        chosen = re.fullmatch(r"[\w.-]{1,24}", slot.sample) and not is_in("texts", slot.sample) and not explains
        return Value(OPEN if chosen else "text", rows, scores=bool(chosen and any_of("verdicts").search(last)))
    if not scale and re.search(rf"(?:{any_of('to').pattern}|{any_of('and').pattern}|[-–])\s*\$?\{{\w", slot.said):
        return Value(OPEN, rows, scores=True)  # an input says how far the score goes
    scale = scale or scale_of(last, keys, source, levels)
    if not scale:
        return Value(OPEN + special, rows, scores=True)
    spelling, question = _spelled(scale, slot, source, levels)
    if is_in("chance", last) and "|" in keys:
        step = ("0." + "0" * (scale.high <= 1) + "1") if "." in slot.said + slot.sample or scale.high <= 1 else "1"
        return Value(f"number {scale.low:g}-{scale.high:g}" + f" by {step}" * (step != "1"), rows)
    rows = tuple(dict.fromkeys((*rows, scale.row)))
    return Value(spelling + special, rows, scores=True, question=question)


def _listed(text: str, slot: Slot) -> list[str]:
    """Return the words that a slot lists, or those in quotes of a longer text about it; none for a number."""
    if slot.kind == "number":
        return []
    if is_list(text):
        return words_in(text)
    return in_quotes(text) if text != slot.said else []


def _spelled(scale: Scale, slot: Slot, source: Source, levels: list[Levels]) -> tuple[str, str]:
    """Return the spelling of a score on a scale, and a question if the prompt leaves open how fine it is."""
    if scale.listed:
        return scale.listed, ""
    shown = source.text if scale.high <= 1 else f"{slot.sample} {slot.said} {scale.said}"
    decimals = {float(each) for each in re.findall(r"(?<![\w.])\d*\.\d+(?![\w.])", shown)}
    if any_of("sum").search(slot.said):
        asked = f"the prompt speaks of a sum: does it go from {scale.low:g} to {scale.high:g}?"
        return scale.spelled(scale.step or 1), asked
    if scale.step or not (decimals or scale.high <= 1):
        return named(scale.spelled(scale.step or 1), slot.name, source, levels), ""
    tried = (0.1, 0.25) if len(decimals) > 2 else (0.1,)
    step = next((each for each in tried if all(round(x / each, 6).is_integer() for x in decimals)), 0.01)
    ends = f"{scale.low:g} to {scale.high:g}"
    asked = f"the prompt tells no steps from {ends} for {slot.name}: is {step:g} as fine as you want?"
    return scale.spelled(step), asked


def _behind(name: str, keys: str, source: Source) -> list[tuple[str, int]]:
    """Return what lines say behind a quoted key, up to another: the "verdict" key must be "yes" or "no"."""
    key = re.compile(rf"[\"'`“]{re.escape(name)}[\"'`”](?!\s*:)((?:(?![\"'`“](?:{keys})[\"'`”]).)*)")
    lines = [(row, line) for row, line in enumerate(source.lines) if "{" not in line]
    return [(found[1], row) for row, line in lines for found in key.finditer(line)]


def named(spelling: str, name: str, source: Source, levels: list[Levels]) -> str:
    """Return the range as levels with the names that the prompt lists for it, if it lists them for this score."""
    fitting = [each for each in levels if each.scale.spelled(1) == spelling and all(each.names.values())]
    stem = re.split(r"[_. ]", name.lower())[0]
    about = [each for each in fitting if stem in " ".join(source.lines[max(0, each.row - 3) : each.row]).lower()]
    chosen = fitting if is_in("score", stem) else about or fitting * (len(fitting) == 1)
    names = chosen[-1].names if chosen else {}
    beyond = [value for value, word in names.items() if is_in("nothing", word)]
    told = " < ".join(f"{value} {quoted_word(word)}" for value, word in names.items() if value not in beyond)
    return told + "".join(f" or {value} {quoted_word(names[value])}" for value in beyond) if told else spelling


def is_list(text: str) -> bool:
    """Return whether what stands in a slot is short enough for a list of words; a longer text only mentions some."""
    return len(text) < 90 or "|" in text


def words_in(text: str) -> list[str]:
    """Return the words that a text lists: in quotes, in capitals, or between bars, slashes, commas and "or"."""
    whole = text
    beside, text = re.sub(r"\([^()\"]*\"[^()]*\)", "", text), re.sub(r"\([^()]*\)", "", text)
    for found in (in_quotes(beside), in_quotes(whole)):
        if len(found) > 1:
            return without_lists(found)
    if "</" in text:
        return []
    if capitals := _CAPITALS.search(text):
        return list(dict.fromkeys(re.split(_BETWEEN, capitals[0])))
    plain = re.sub(rf"(?is)^.*(?:{any_of('lists').pattern}|:)[\s:]+", "", text.strip(" .[]<>(){}"))
    before = "|".join(any_of(group).pattern for group in ("reply", "only", "with"))
    around = rf"(?i)^(?:(?:{before})\s+)+|\s+{any_of('only').pattern}$"
    parts = [re.sub(around, "", part.strip(" \"'`“”.:[]<>()*")) for part in re.split(_BETWEEN, plain)]
    texts = any(is_in("texts", part) or any_of("reasons").search(part) for part in parts)
    fits = 1 < len(parts) <= 12 and all(map(_PART.fullmatch, parts)) and not texts
    return list(dict.fromkeys(parts)) if fits else []


def without_lists(words: Sequence[str]) -> list[str]:
    """Return the words, each once, without those that only list others: "Yes or No" beside "Yes" is a slot."""
    return list(dict.fromkeys(word for word in words if len({*re.split(_BETWEEN, word)} & {*words}) < 2))


def told_words(line: str) -> list[str]:
    """Return the quoted words that a line tells the judge to write, as in `answer "yes" or "no"`."""
    quoted = rf"(?:[\"“'`«][^\"”'`»\n]{{1,40}}[\"”'`»](?:[\s,/|]|{any_of('or').pattern})*)+"
    begins = rf"(?:{any_of('give').pattern}(?: \w+){{0,3}}?|{any_of('answer').pattern})"
    return [word for part in re.findall(rf"(?i){begins}:?\s+(?=({quoted}))", line) for word in in_quotes(part)]


def _listed_above(slot: Slot, source: Source) -> list[str]:
    """Return the marked words of the last list before a slot that says "one of the categories above"."""
    runs: list[list[str]] = [[]]
    for line in source.lines[: slot.row] if any_of("one_of").search(slot.said) else []:
        item = re.match(
            r"\s*(?:[-*•]|\d+[.)])\s+(?:`([^`\n]{1,60})`|\"([^\"\n]{1,60})\"|\*\*([^*\n]{1,60}?):?\*\*)", line
        )
        if item:
            runs[-1].append(item[1] or item[2] or item[3])
        elif line.strip():
            runs.append([])
    return next((run for run in reversed(runs) if len(run) > 1), [])


def in_quotes(text: str) -> list[str]:
    """Return the words in quotes."""
    return [next(filter(None, each.groups())).strip(" .,") for each in _QUOTED.finditer(text)]


def ordered(words: Sequence[str], source: Source) -> tuple[str, str]:
    """Return words as the spelling of a score, from worst to best where that is sure, and else a question."""
    ranks: list[int | None] = [_rank(word) for word in words]
    beyond = [word for word in words if is_in("beyond", word)] if None in ranks or len(set(ranks)) < len(ranks) else []
    rest = [word for word in words if word not in beyond] if len(words) - len(beyond) > 1 else list(words)
    lower = {word.lower() for word in rest}
    ladder = next(
        (each for each in table()["ladders"] if lower <= set(each) and (each[0] != "f" or "f" in lower)), None
    )
    ranks = [ladder.index(word.lower()) if ladder else _rank(word) for word in rest]
    if None in ranks and all(len(word) < 3 for word in rest):
        ranks = [_rank(gloss(word, source)) for word in rest]
    if all(re.fullmatch(r"\d+", word) for word in rest):
        ranks = [int(word) for word in rest]
    guessed = len(rest) == 2 and ranks.count(None) == 1
    if guessed:
        ranks = [1 if rank is None else rank for rank in ranks]  # beside a good word stands a worse one
    sure = None not in ranks and len(set(ranks)) == len(rest)
    best = sorted(rest, key=lambda word: ranks[rest.index(word)] or 0) if sure else rest
    spelling = (" < " if sure else " | ").join(map(quoted_word, best))
    asked = f"is {best[1]} better than {best[0]}?" * guessed
    if not sure:
        asked = f"is one of {', '.join(rest)} better than another? Then declare them from worst to best, with <"
    return spelling + "".join(f" or {quoted_word(word)}" for word in words if word not in rest), asked


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
    found = re.search(
        rf"(?i)(?<![\w\"])\[{{0,2}}\"?(?-i:{re.escape(word)}){means}([^.;,)\n\"“`\[]{{1,80}})", source.text
    )
    return found[1].strip() if found else ""


def _as_choice(value: Value) -> Value:
    boolean = value.words == ("false", "true") and " or " not in value.spelling
    spelling = "true/false" if boolean else "choice " + " | ".join(map(quoted_word, value.words))
    return replace(value, spelling=spelling, scores=False, question="")


def _share(slot: Slot, source: Source, levels: list[Levels]) -> Value:
    """Return a verdict for each part of the case, whose share is the score; open without one score in order."""
    members = values_of(slot.members, source, levels)
    told = ", ".join(f"{each.name}: {value.spelling}" for each, value in zip(slot.members, members, strict=True))
    fits = sum(member.scores for member in members) == 1 and "list" not in [member.spelling for member in members]
    fits = fits and not any(member.question for member in members)
    return Value(f"[{told}] as {slot.name}_share" if fits else OPEN, (slot.row,), scores=True)


def _as_json(slot: Slot) -> Value:
    """Return a list of objects that is no score, with what its members may be."""
    members = {each.name: {"enum": list(each.words)} if each.words else {"type": "boolean" if each.kind == "boolean" else "string"} for each in slot.members}  # fmt: skip # noqa: E501
    item = {"type": "object", "properties": members, "required": list(members)}
    return Value(f"json {json.dumps({'type': 'array', 'maxItems': 20, 'items': item})}", (slot.row,))
