"""Spells what stands in a slot as a field: words with their order, a number with its range, a list, or text."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise

from pathway_local.adopt.prompt import Source
from pathway_local.adopt.shown import Slot
from pathway_local.adopt.words import alternatives, any_of, in_quotes, is_in, overlapping, quoted_set, table
from pathway_local.rubrics.declaration import quoted_word

OPEN = "?"
"""Stands in a spelling for what a person must complete."""
BESIDE = re.compile(r"(?i)\bnull\b|\bNone\b|\bN/?A\b|(?<![\w-])-1\b(?!\s*(?:to|-|–))")
"""Replies that mean no score."""
_NUMBER, _REMARK = r"-?\d+(?:\.\d+)?", r"(?:\s*(?:\([^()\n]{1,80}\)|=\s*[^\d,;=()\n]{1,40}))?"
_LEVEL = re.compile(r"^[^\w\n]*(?P<word>[^\W\d]+:? |)(?P<number>\d{1,2})(?P<mark>\s*\w*s?[^\w\n]{1,6})(?P<name>[^\n]*)")


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
    """The ends of a score and the row that states them; step 0 where it states none.

    `listed` is the spelling of values in uneven steps or of fractions; `names` are those of levels, by number.
    """

    low: float
    high: float
    row: int
    step: float = 0
    listed: str = ""
    names: tuple[tuple[int, str], ...] = ()

    def spelled(self, step: float) -> str:
        """Return the range as a spelling, in these steps."""
        by = f" by {step:g}" if step != 1 or (self.low, self.high) == (0, 1) else ""
        return f"{self.low:g}{' to ' if self.low < 0 else '-'}{self.high:g}{by}"


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
    rows, last = (slot.row,), slot.name.split(".")[-1]
    if slot.kind in ("objects", "list"):
        return _as_json(slot) if slot.members else Value("list", rows)
    explains = any_of("reasons").search(f"{last} {slot.text}".replace("_", " "))
    words, told, row = _words(slot, last, keys, source)
    beside = [*BESIDE.findall(told), *(word for word in (*words, *in_quotes(told)) if is_in("beyond", word))]
    special = "".join(f" or {quoted_word(word)}" for word in dict.fromkeys(beside))
    if slot.kind == "boolean":
        return Value(f"false < true{special}", rows, scores=True, words=("false", "true"))
    if len(slot.words) == 1:
        return Value(f"choice {quoted_word(slot.words[0])}", rows)
    scale = scale_in(BESIDE.sub("", told), row) if slot.kind != "boolean" else None
    if len(words) > 1 and not scale:
        spelling, question = ordered(words, source)
        asked = f'line {source.line(row)} tells the words of "{last}": are these all?' * (row != slot.row)
        return Value(spelling, (slot.row, row), scores=True, words=tuple(words), question=asked or question)
    if not scale and slot.kind == "" and not explains and re.search(r"\d", slot.text):
        return Value(OPEN, rows, scores=True)
    if not scale and not _is_number(slot, last, bool(explains)):
        return Value(*_of_text(slot, last, bool(explains)))
    if not scale and any_of("counted").search(f"{last} {slot.text}"):
        return Value("number 0-1000", rows, question=f'"{last}" counts something: is 1000 the most?')
    if not scale and re.search(r"\d|\$?\{\w", re.sub(r"^\W*[\d.]+\W*$", "", slot.text)):
        return Value(OPEN, rows, scores=True)  # a number that is no range, or an input says how far the score goes
    scale = scale or scale_of(last, keys, source)
    if not scale:
        return Value(OPEN + special, rows, scores=True)
    if is_in("chance", last) and "|" in keys:
        step = ("0." + "0" * (scale.high <= 1) + "1") if "." in slot.text + slot.sample or scale.high <= 1 else "1"
        return Value(f"number {scale.low:g}-{scale.high:g}" + f" by {step}" * (step != "1"), rows)
    spelling, question = _spelled(scale, slot, source)
    return Value(spelling + special, (slot.row, row, scale.row), scores=True, question=question)


def _words(slot: Slot, last: str, keys: str, source: Source) -> tuple[Sequence[str], str, int]:
    """Return the words of a slot, or those that a line tells of its key; with the text that shows them and its row."""
    if words := slot.words or ([] if slot.kind == "number" else alternatives(slot.text)):
        return words, slot.text, slot.row
    if scale_in(BESIDE.sub("", slot.text), slot.row):
        return (), slot.text, slot.row
    key = re.compile(rf"[\"'`“]{re.escape(last)}[\"'`”](?!\s*:)((?:(?![\"'`“](?:{keys})[\"'`”]).)*)")
    told = [(found[1], row) for row, line in enumerate(source.lines) if "{" not in line for found in key.finditer(line)]
    for text, row in told:
        if slot.kind != "number" and (words := quoted_set(text)):
            return words, text, row
    numbers = [(text, row) for text, row in told if scale_in(BESIDE.sub("", text), row)]
    above = _listed_above(slot, source)
    return (above, slot.text, slot.row) if above or not numbers else ((), *numbers[0])


def _listed_above(slot: Slot, source: Source) -> list[str]:
    """Return the marked words of the last list before a slot that says "one of the categories above"."""
    runs: list[list[str]] = [[]]
    for line in source.lines[: slot.row] if any_of("one_of").search(slot.text) else []:
        mark = r"\s*(?:[-*•]|\d+[.)])\s+(?:`([^`\n]{1,60})`|\"([^\"\n]{1,60})\"|\*\*([^*\n]{1,60}?):?\*\*)"
        if item := re.match(mark, line):
            runs[-1].append(item[1] or item[2] or item[3])
        elif line.strip():
            runs.append([])
    return next((run for run in reversed(runs) if len(run) > 1), [])


def _is_number(slot: Slot, last: str, explains: bool) -> bool:
    """Return whether a slot without a range is one for a score."""
    if re.fullmatch(r"[.…_?]+", slot.text) or (explains and slot.kind != "number"):
        return False
    called = re.search(rf"(?i)(?:^|_)(?:{table()['score_names']})$", last) and (slot.kind != "text" or not slot.sample)
    told = any_of("score").search(slot.text) and len(slot.text) < 80
    return bool(slot.kind == "number" or called or told or re.fullmatch("[NX]+", slot.text))


def _of_text(slot: Slot, last: str, explains: bool) -> tuple[str, tuple[int, ...], bool]:
    """Return the spelling of a slot that shows neither words nor a number: text, or open where a value is a sample."""
    verdict, rows = any_of("verdicts").search(last.replace("_", " ")) is not None, (slot.row,)
    if re.fullmatch(r"[.…_?]+", slot.text):
        return ("text", rows, False) if explains else (OPEN, rows, True)
    if verdict and re.fullmatch(r"(?i)str(?:ing)?", slot.text):
        return OPEN, rows, True
    strange = (shown := (slot.sample or slot.text).strip(".…_ ")) and not re.search(r"[^\W\d]{2}", shown)
    chosen = re.fullmatch(r"[\w.-]{1,24}", slot.sample) and not is_in("texts", slot.sample) and not explains
    split = re.search(r"[/|]", slot.text) and len(slot.text) < 30 and not explains
    return (OPEN, rows, verdict or bool(strange)) if chosen or strange or split else ("text", rows, False)


def _spelled(scale: Scale, slot: Slot, source: Source) -> tuple[str, str]:
    """Return the spelling of a score on a scale, and a question if it may be finer than whole steps."""
    if scale.listed:
        return scale.listed, ""
    ends = f"{scale.low:g} to {scale.high:g}"
    if any_of("sum").search(slot.text):
        return scale.spelled(scale.step or 1), f"the prompt speaks of a sum: does it go from {ends}?"
    shown = source.text if scale.high <= 1 else f"{slot.sample} {slot.text} {source.lines[scale.row]}"
    decimals = {float(each) for each in re.findall(r"(?<![\w.])\d*\.\d+(?![\w.])", shown)}
    decimals = {each for each in decimals if scale.low <= each <= scale.high}
    fine = scale.high <= 1 or any_of("fraction").search(slot.text) or any(not each.is_integer() for each in decimals)
    told = _finer(source) if scale.step in (0, 1) else None
    if told and not (scale.step and scale.high <= 1):
        step, row = told if scale.high - scale.low <= 20 else (OPEN, told[1])
        asked = f'line {source.line(row)} says "{source.lines[row].strip()[:80]}": is {step} as fine as you want?'
        whole = scale.spelled(1).removesuffix(" by 1")
        return f"{whole} by {step}", asked if step != OPEN else ""
    if scale.step or not fine:
        return _named(scale, slot.name, source), ""
    tried = (0.1, 0.25) if len(decimals) > 2 else (0.1,)
    step = next((each for each in tried if all(round(x / each, 6).is_integer() for x in decimals)), 0.01)
    return scale.spelled(step), f"I read no steps from {ends} for {slot.name}: is {step:g} as fine as you want?"


def _finer(source: Source) -> tuple[str, int] | None:
    """Return the steps that a line seems to allow between whole numbers, and its row."""
    steps = {"uneven": OPEN, "halves": "0.5", "quarters": "0.25", "fraction": "0.1"}
    for row, line in enumerate(source.lines):
        said = "" if _LEVEL.match(line) else any_of("negated").sub(" ", line)
        if step := next((step for group, step in steps.items() if any_of(group).search(said)), ""):
            return step, row
    return None


def _named(scale: Scale, name: str, source: Source) -> str:
    """Return the range as levels with the names that the prompt lists for it, if it lists them for this score."""
    spelling, stem = scale.spelled(scale.step or 1), re.split(r"[_. ]", name.lower())[0]
    fitting = [each for each in levels_in(source) if each.spelled(1) == spelling and all(name for _, name in each.names)]
    about = [each for each in fitting if stem in " ".join(source.lines[max(0, each.row - 3) : each.row]).lower()]
    chosen = fitting if is_in("score", stem) else about or fitting * (len(fitting) == 1)
    names = dict(chosen[-1].names) if chosen else {}
    beyond = [value for value, word in names.items() if is_in("nothing", word)]
    told = " < ".join(f"{value} {quoted_word(word)}" for value, word in names.items() if value not in beyond)
    return told + "".join(f" or {value} {quoted_word(names[value])}" for value in beyond) if told else spelling


@cache
def _range() -> re.Pattern[str]:
    between, and_, to = (any_of(group).pattern for group in ("between", "and", "to"))
    return re.compile(
        rf"(?i)(?<![\w.,/%+-])(?:{between}\s+({_NUMBER}){_REMARK}\s+{and_}"
        rf"|\+?({_NUMBER}){_REMARK}\s*(?:[-–—~到至]|\.\.+|{to}))\s*\+?({_NUMBER})(?![a-zA-Z\d_%]|[.,]\d|[-/]\d)"
    )


@cache
def _list() -> re.Pattern[str]:
    or_, and_ = any_of("or").pattern, any_of("and").pattern
    means = rf"(?:\s+{any_of('means').pattern}(?: [a-z]+){{1,3}})?"
    return re.compile(
        rf"(?i)(?<![\w.,/-]){_NUMBER}{_REMARK}{means}"
        rf"(?:(?:\s*[,;/|]\s*(?:(?:{or_}|{and_}) )?|\s+(?:{or_}|and)\s+){_NUMBER}{_REMARK}{means})+(?![\w%]|[.,]\d)"
    )


def scale_in(text: str, row: int) -> Scale | None:
    """Return the scale that this text alone states, such as "an integer from 1 to 5"; None for none or several."""
    if len(re.findall(r"\[[^\[\]]*\d", text)) > 1:
        return None  # two lists of numbers
    found = {(scale.low, scale.high, scale.step): scale for scale, _ in scales(text, row)}
    return next(iter(found.values())) if len(found) == 1 else None


def scales(text: str, row: int) -> Iterator[tuple[Scale, bool]]:
    """Yield each scale that a text states in figures, and whether it is only a band of another."""
    steps = any_of("steps").search(text)
    step = next((float(each) for each in re.findall(r"\d+(?:\.\d+)?", steps[0])), 0.0) if steps else 0.0
    taken: list[tuple[int, int]] = []
    for found in _list().finditer(text):
        said = re.findall(_NUMBER, re.sub(r"\([^()]*\)|=[^,;]*", "", found[0]))
        values = [float(each) for each in said]
        values = sorted(values) if values in (sorted(set(values)), sorted(set(values), reverse=True)) else []
        gaps = {round(second - first, 6) for first, second in pairwise(values)}
        two = len(values) == 2 and (gaps != {1} or any_of("and").search(found[0]))
        if not values or _is_amount(text, found) or two:
            continue
        taken.append(found.span())
        interval = values == [0, 1] and "," in found[0] and not re.search(r"[a-z]", found[0])
        even = len(gaps) == 1 and all(gap.is_integer() for gap in gaps) and "." not in found[0]
        listed = "" if even or interval else " < ".join(sorted(said, key=float))
        yield Scale(values[0], values[-1], row, gaps.pop() if even and not interval else 0, listed), False
    for found in _range().finditer(text):
        low, high = sorted((float(found[1] or found[2]), float(found[3])))
        inside = any(start < found.end() and found.start() < end for start, end in taken)
        before = text[: found.start()]
        band = any_of("band").search(before.strip("[*(\"' ")) or not re.search(r"\w", before)
        if not inside and not _is_amount(text, found) and 0 < high - low <= 1000:
            yield Scale(low, high, row, step), bool(band)


def _is_amount(text: str, found: re.Match[str]) -> bool:
    """Return whether the numbers count words, sentences and the like, and no score."""
    return any_of("units").match(text[found.end() :].lstrip(" -")) is not None


def scale_of(name: str, keys: str, source: Source) -> Scale | None:
    """Return the one scale that the prompt states for this score, or for scores; None for none, or for several."""
    stem = re.sub(rf"_?(?:{table()['score_names']})$", "", name.lower()).replace("_", " ")
    lines = ((row, line) for row, line in enumerate(source.lines) if len(stem) > 2 and stem in line.lower())
    own = [scale for row, line in lines for scale, band in scales(line, row) if not band]
    listed = levels_in(source)
    told = [
        each
        for each in stated(source, keys)
        if not any(whole.low <= each.low < each.high <= whole.high for whole in listed)
    ]
    for every in (own, [*told, *listed]):
        if len({(scale.low, scale.high) for scale in every}) == 1:
            return max(every, key=lambda scale: (bool(scale.step), bool(scale.listed)))
    return None


def stated(source: Source, keys: str = "") -> list[Scale]:
    """Return the whole scales in the lines that speak of scoring, each line up to the first of the `keys` in it."""
    cut = re.compile(rf"[\"'<](?:{keys})(?:[\"']\s*:|>)" if keys else r"\Z")
    lines = [(row, cut.split(line)[0]) for row, line in enumerate(source.lines)]
    lines = [(row, line) for row, line in lines if any_of("score").search(line) or any_of("judges").search(line)]
    return [scale for row, line in lines for scale, band in scales(line, row) if not band]


@cache
def levels_in(source: Source) -> list[Scale]:
    """Return the lists of levels: numbered lines from 0 or 1 on, up or down, that are no steps to take."""
    runs: list[list[tuple[int, int, re.Match[str]]]] = []
    begin: list[str] = []
    for row, line in enumerate(source.lines):
        if found := _LEVEL.match(line):
            number, last = int(found["number"]), runs[-1] if runs else []
            step = last[1][1] - last[0][1] if len(last) > 1 else number - last[0][1] if last else 0
            before = [line[: found.start("word")].strip(), found["word"]]
            if last and abs(step) == 1 and number == last[-1][1] + step and before == begin:
                last.append((row, number, found))
            else:
                runs.append([(row, number, found)])
            begin = before
    return [level for run in runs if len(run) > 1 and (level := _level(run, source))]


def _level(run: list[tuple[int, int, re.Match[str]]], source: Source) -> Scale | None:
    above = " ".join(source.lines[max(0, run[0][0] - 3) : run[0][0]])
    word = run[0][2]["word"]
    told = ":" in word or any_of("score").search(word) or any_of("scale").search(above) or '"' in run[0][2]["mark"]
    counted = sum(found["mark"].strip(" *")[:1] in (".", ")", "") for _, _, found in run) * 2 > len(run)
    numbers = [number for _, number, _ in run]
    if min(numbers) not in (0, 1) or not told or counted:
        return None
    # A sentence that goes on in the next line is no name.
    ends = {row: not re.match(r"\s{2,}\w|[^\W\d_A-Z]", "".join(source.lines[row + 1 : row + 2])) for row, _, _ in run}
    names = {number: _title(found["name"]) * ends[row] for row, number, found in run}
    names = names if all(names.values()) else dict.fromkeys(names, "")
    return Scale(min(numbers), max(numbers), run[0][0], step=1, names=tuple(sorted(names.items())))


def _title(text: str) -> str:
    """Return the name of a level in the text behind its number: up to a colon, a dash or the end of bold text."""
    plain = re.split(r"\*\*|:|\s[-–—]\s|\||\.(?:\s|$)|;|\)\s*(?:\*|:|$)", text.strip(" *:([|-–—"))[0]
    plain = plain if "(" not in plain or ")" in plain else plain.partition("(")[0]
    plain = " ".join(plain.replace('"', "'").split()).rstrip(" .,")
    return plain if 0 < len(plain) <= 60 and not set("{}") & set(text) else ""


def ordered(words: Sequence[str], source: Source) -> tuple[str, str]:
    """Return words as the spelling of a score, from worst to best where that is likely, and a question unless plain."""
    ranks: list[int | None] = [_rank(word) for word in words]
    beyond = [word for word in words if is_in("beyond", word)] if None in ranks or len(set(ranks)) < len(ranks) else []
    rest = [word for word in words if word not in beyond] if len(words) - len(beyond) > 1 else list(words)
    special = "".join(f" or {quoted_word(word)}" for word in words if word not in rest)
    if strange := overlapping(words):
        return " | ".join(map(quoted_word, words)), f'"{strange}" holds another of the words: which words are they?'
    if all(re.fullmatch(r"\d+", word) for word in rest):
        return " < ".join(quoted_word(word) for word in sorted(rest, key=int)) + special, ""
    plain = [_rank(word) for word in rest]
    lower = {word.lower() for word in rest}
    ladder = next((each for each in table()["ladders"] if lower <= set(each) and (each[0] != "f" or "f" in lower)), [])
    ranks = [ladder.index(word.lower()) for word in rest] if ladder else list(plain)
    if None in ranks and all(len(word) < 3 for word in rest):
        ranks = [_rank(gloss(word, source)) for word in rest]
    if len(rest) == 2 and ranks.count(None) == 1:
        ranks = [1 if rank is None else rank for rank in ranks]  # beside a good word stands a worse one
    if None in ranks or len(set(ranks)) < len(rest):
        asked = f"is one of {', '.join(rest)} better than another? Then declare them from worst to best, with <"
        return " | ".join(map(quoted_word, rest)) + special, asked
    best = sorted(rest, key=lambda word: ranks[rest.index(word)] or 0)
    sure = ranks == plain and not any(is_in("partial", word) and " " not in word for word in rest)
    asked = f"is {best[-1]} the best of these words and {best[0]} the worst?" * (not sure)
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
    fits = sum(member.scores for member in members) == 1 and "list" not in [member.spelling for member in members]
    asked = next((member.question for member in members if member.question), "")
    fits = fits and "|" not in told and OPEN not in told
    return Value(f"[{told}] as {slot.name}_share" if fits else OPEN, (slot.row,), scores=True, question=asked * fits)


def _as_json(slot: Slot) -> Value:
    """Return a list of objects that is no score, with what its members may be."""
    kinds = {each.name: list(each.words or alternatives(each.text)) for each in slot.members}
    members = {
        each.name: {"enum": kinds[each.name]} if kinds[each.name] else {"type": "boolean" if each.kind == "boolean" else "string"}
        for each in slot.members
    }
    item = {"type": "object", "properties": members, "required": list(members)}
    return Value(f"json {json.dumps({'type': 'array', 'maxItems': 20, 'items': item})}", (slot.row,))
