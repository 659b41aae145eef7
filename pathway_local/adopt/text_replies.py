"""Recognises replies that are text: tags and labels with a slot each, a final line, a word of a set, a number."""

import re
from collections.abc import Iterator
from dataclasses import replace

from pathway_local.adopt.scales import Levels
from pathway_local.adopt.slots import Found, Slot, Source, as_name, in_layout, is_text_of_case
from pathway_local.adopt.values import told_words, without_lists, words_in
from pathway_local.adopt.words import any_of, is_in

LONG = 160
"""Characters in a tag at most, for it to be a slot of the reply and no part of the prompt."""

_PAIR = re.compile(r"(?=<([A-Za-z]\w*)>((?:(?!</?\1>)[^{}]){0,1500}?)</\1>)", re.DOTALL)
_TOLD = re.compile(rf"(?i)`?<([a-z]\w*)>`?(?:\s*(?:{any_of('and').pattern}|</?\w+>))*\s*-?{any_of('tags').pattern}")
_VAGUE = re.compile(r"[A-Za-z]{0,2}\d+")
_SLOT = r"(?:\[[^\[\]\n]{1,300}\]|<[^<>\n]{1,300}>|\([^()\n]{1,200}\)|_{2,}|\.\.\.|…)"
_LABEL = re.compile(
    r"^(?P<before>[ \t]*(?:[-•]\s+|\d+[.)]\s+)?[*_#]*\s*)"
    r"(?P<label>[A-Z][\w '/-]{0,40}?(?: \([^()\n]{1,30}\))?)(?P<after>[*_]*\s*:\s*[*_]*\s*)"
    rf"(?:(?P<slot>{_SLOT})[*_.]*|(?P<plain>[^\s{{}}][^{{}}\n]{{0,120}}))?\s*$"
    r"|^(?P<hashes>#{1,4}\s+)(?P<head>[A-Z][\w '/-]{0,40}?)\s*$"
)
_GIVEN = re.compile(r"(?m)^[^\w\n]*([A-Z][\w '/-]{0,40}?)[*_ \t]*:[*_\s]*[\"'`]*(?:\$?\{+\$?\s*[\w.]+\s*\}|\$[a-z]\w*)")
"""A label of an input, such as `QUESTION: {query}`."""
_NAMED = re.compile(
    rf"(?:{any_of('shown').pattern}:?\s+|(?P<quote>[\"“'`«*]{{1,3}})\s?)"
    r"(?P<label>#### ?|[*#]*[A-Z][\w ]{1,30}?[*]*\s?:\s?[*]*)\s*"
    r"(?P<value>[\[<({]+[^\]>)}\n]{1,60}[\]>)}]+|\$?[\w-]{1,20})(?P<rest>/\s?\d+)?"
    rf"(?(quote)\s?[\"”'`»*]|[*]*(?=\s*(?:[.(,\n]|{any_of('where').pattern}|$)))"
)
"""A label with a value: in quotes, or behind a word such as "with"."""
_RESULT = re.compile(
    r"(?P<feedback>Feedback:\s*)?[\[(<{][^\[\]()<>\n]{3,160}[\])>}]\s*\[RESULT\]\s*[\[(<{](?P<slot>[^\[\]()\n]{3,160}?)[\])>}]"
)
_FENCES = {"[[": "]]", "<<<": ">>>", "\\boxed{": "}"}
_FENCED = re.compile(
    r"(?P<label>[A-Z][\w ]{1,30}:\s?)?(?P<fence>\[\[|<<<|\\{1,4}boxed\{)\s*"
    r"(?P<value>[^\[\]{}\n]{1,24}?)\s*(?:\]\]|>>>|\})"
)
_SENTENCE = re.compile(r"(?:[^.!?\n]|[.!?](?!\s|$)|\n(?=[a-z\"“'‘(]))+")
_TWO_LABELS = re.compile(
    r"(?m)^[^{\n]*?\b[A-Z]\w+: [^{\n]*[.!?\]})>,;] (?:\[[A-Z]+\]|[A-Z]\w+:) ?\S"
    r"|\b[A-Z]\w+: ?[\[<(][^\n\])>]{1,80}[\])>][.,;]? [A-Z]\w+: ?[\[<(]"
)
"""A reply of several parts that are written in one line."""
_ITEM = re.compile(
    r"^\s*(?:(?:[-*•]|\d+[.)])\s+[*_]*[\"'`“]?|[\"“]|\((?=[A-Z]\)))([^\"'`”*\n:–()]{1,40}?)[\"'`”)]?[*_]*\s*(?:$|[:–(-]|(?<=\)\s))"
)
_USUAL = "**Analysis:**\n{analysis}\n\n**Score:** {score}\n\n**Justification:**\n{justification}"


def tagged_parts(source: Source) -> Iterator[Found]:
    """Yield the format of the tags that the reply is to hold."""
    said: dict[str, list[tuple[str, int]]] = {}
    named = {found[1] for found in _TOLD.finditer(source.text)}
    for found in _PAIR.finditer(source.text):
        if named and found[1] not in named and found[2].startswith("\n"):
            continue  # Beside tags that the prompt names, a tag on a line of its own holds a part of the prompt.
        inside, short = " ".join(found[2].split()), found[2].strip().count("\n") < 2
        told = any_of("reply").search(source.text[max(0, found.start() - 400) : found.start()])
        if told and (_VAGUE.fullmatch(found[1]) or (len(inside) <= LONG and short)) and not _PAIR.search(found[2]):
            said.setdefault(found[1], []).append((inside, source.row(found.start())))
    for found in _TOLD.finditer(source.text):
        before = source.text[max(0, found.start() - 200) : found.start()]
        if found[1] not in said and any_of("reply").search(before):
            about = re.split(r"(?<=[.!?])\s|>|\btags?\b", before[-120:])[-1]
            said[found[1]] = [(" ".join(about.split()), source.row(found.start()))]
    slots = {tag: _tagged(tag, texts) for tag, texts in said.items()}
    if not slots or len({slot.name for slot in slots.values()}) < len(slots):
        return
    lines = []
    for tag, slot in slots.items():
        begin, end = ("[[", "]]") if said[tag][0][0].startswith("[[") else (in_layout(_start(source, tag)), "")
        lines.append(f"<{tag}>{begin}{{{slot.name}}}{end}</{tag}>")
    first, last = next(iter(slots)), list(slots)[-1]
    while outer := re.search(rf"<(\w+)>\s*<{first}>.*</{last}>\s*</\1>", source.text, re.DOTALL):
        if len(outer[0]) > 800 or outer[1] == first:
            break
        first = last = outer[1]
        lines = [f"<{first}>", *lines, f"</{first}>"]
    yield Found("tagged slots", "\n".join(lines), tuple(slots.values()))


def _tagged(tag: str, texts: list[tuple[str, int]]) -> Slot:
    """Return the slot of a tag; S0 with "your chain of thoughts" is called thoughts."""
    words = tuple(dict.fromkeys(text for text, _ in texts))
    if len(words) > 1 and all(re.fullmatch(r"[\w-]{1,20}", word) for word in words):
        return Slot(as_name(tag), " or ".join(words), texts[0][1])
    text, row = min(texts, key=lambda each: len(each[0]) or LONG)
    last = re.findall(r"[A-Za-z]+", text)[-1:] if _VAGUE.fullmatch(tag) else []
    return Slot(as_name(last[0] if last else tag), "" if last else text, row)


def _start(source: Source, tag: str) -> str:
    """Return the words with which the prompt has the text in a tag begin."""
    begins = re.compile(rf"(?i){any_of('begins').pattern}:?\s+[\"“]([^\"”\n]{{2,80}})[\"”]")
    inside = re.findall(rf"<{tag}>(.*?)</{tag}>", source.text, re.DOTALL)
    return next((found[1] for text in inside if (found := begins.search(text))), "")


def labelled_parts(source: Source) -> Iterator[Found]:
    """Yield the format of each run of labels with slots, such as `Score: [1-5]`."""
    every = [_told_apart(run) for run in _runs(source) if len(run) > 1]
    for run in every:
        layout, begin = "", run[0][1].row
        for before, slot in run:
            gap = "\n\n" if slot.row and not source.lines[slot.row - 1].strip() else "\n"
            layout += (gap if layout else "") + in_layout(before) + f"{{{slot.name}}}"
        slots = [slot for _, slot in run]
        at_end = any_of("at_end").search(" ".join(source.lines[max(0, begin - 3) : begin]))
        if at_end and any_of("reasons").search("\n".join(source.lines[:begin])) and not any(map(_is_text, slots)):
            layout, slots = f"{{reasoning}}\n\n{layout}", [Slot("reasoning", "", begin, "text"), *slots]
        if len({slot.name for slot in slots}) == len(slots):
            times = sum([slot.name for _, slot in each] == [slot.name for _, slot in run] for each in every)
            asked = f"the prompt shows this form {times} times: does the reply hold it only once?" * (times > 2)
            yield Found("labelled slots", layout, tuple(slots), question=asked)


def _told_apart(run: list[tuple[str, Slot]]) -> list[tuple[str, Slot]]:
    """Return the run, in which a label that comes again belongs to the label before it: accuracy_reasoning."""
    names, owner = [slot.name for _, slot in run], ""
    apart: list[tuple[str, Slot]] = []
    for before, slot in run:
        if names.count(slot.name) > 1 and owner:
            apart.append((before, replace(slot, name=f"{owner}_{slot.name}")))
        else:
            owner = slot.name
            apart.append((before, slot))
    return apart


def _is_text(slot: Slot) -> bool:
    return any_of("reasons").search(f"{slot.name} {slot.said}".replace("_", " ")) is not None


def _runs(source: Source) -> Iterator[list[tuple[str, Slot]]]:
    """Yield runs of labels, each with the text before its slot; that stands behind the label or below it.

    Right below a line that asks for a format, a text behind a label is a slot, too.
    """
    run: list[tuple[str, Slot]] = []
    given = {label.lower() for label in _GIVEN.findall(source.text)}
    row, cued = 0, False
    while row <= len(source.lines):
        line = source.lines[row] if row < len(source.lines) else "end"
        found, used = _LABEL.match(line), row + 1
        slot, below = (found["slot"] if found else None), " ".join(source.lines[row + 1 : row + 2]).strip()
        if found and not slot and not found["plain"] and re.fullmatch(_SLOT, below):
            slot, used = below, row + 2
        slot = slot or (found["plain"] if found and cued else None)
        label = (found["label"] or found["head"]) if found else ""
        if found and label.lower() in given:
            row = used
            continue
        if found and slot and not any_of("format").search(label):
            before = (found["hashes"] or found["before"]).lstrip(" \t") + label + (found["after"] or "").rstrip()
            inline = found["slot"] or found["plain"]
            name, _, extent = label.partition(" (")  # such as the 1-5 of "Accuracy (1-5): [score]"
            said = f"{extent.rstrip(')')} {slot.strip('[]<>() *_')}".strip()
            part = Slot(as_name(name), said, row)
            # A slot for reasons, such as [tone, style], names their topics; they are no words to choose from.
            part = Slot(part.name, "", row, "text") if any_of("reasons").search(name) else part
            run.append((before + (" " if inline else "\n"), part))
        elif is_in("or", line):
            if run:
                yield run
            run = []
        elif line.strip(" `"):
            if run and re.fullmatch(r"[.…\s]+", line):
                return  # Dots stand for more of them.
            if run:
                yield run
            run, cued = [], bool(any_of("format").search(line)) and line.rstrip(" `*").endswith(":")
        row = used


def last_lines(source: Source) -> Iterator[Found]:
    """Yield the format of a reply that ends in [RESULT] and a value, a value in brackets, or a label and a value."""
    if found := _RESULT.search(source.text):
        score = Slot("result" if words_in(found["slot"]) else "score", found["slot"], source.row(found.start("slot")))
        layout = f"{found['feedback'] or ''}{{feedback}} [RESULT] {{{score.name}}}"
        yield Found("a final [RESULT]", layout, (Slot("feedback", "", score.row, "text"), score))
        return
    every = [found for found in _FENCED.finditer(source.text) if not is_text_of_case(found["value"])]
    values = list(dict.fromkeys(found["value"] for found in every))
    words = [value for value in values if not (_is_blank(value) or re.fullmatch(r"[\d.]+", value))]
    # [[verdict]] beside [[Yes]] and [[No]] is their name.
    words = without_lists([word for word in words if not word.islower() or all(each.islower() for each in words)])
    if every and len(words) != 1:
        labels = [label for label in dict.fromkeys(each["label"] or "" for each in every) if label]
        labels = [
            label for label in labels if not any_of("format").search(label) and not any_of("example").search(label)
        ]
        label = in_layout(labels[0].rstrip() + " ") if len(labels) == 1 else ""
        name = "verdict" if words else as_name(labels[0]) if label else "rating"
        sample = next((value for value in values if "." in value), "")
        kind, row = "" if words else "number", source.row(every[0].start())
        # Without a line break before the brackets: judges end their last sentence with them ("Final verdict: [[A]]").
        slot, gap = Slot(name, "", row, kind, tuple(words), sample=sample), "\n\n" * bool(label)
        begin = re.sub(r"\\+", r"\\", every[0]["fence"])
        layout = f"{label}{in_layout(begin)}{{{name}}}{in_layout(_FENCES[begin])}"
        made = _ending(source, "brackets around a value", layout, slot, "explanation", gap)
        asked = f"the prompt shows {', '.join(labels)}: which one does the reply hold?" * (len(labels) > 1)
        yield replace(made, question=asked) if asked else made
    else:
        yield from _line(source)


def _line(source: Source) -> Iterator[Found]:
    quoted = _NAMED.finditer(source.text)
    cued = [each for each in quoted if any_of("last").search(source.text[max(0, each.start() - 120) : each.start()])]
    several = len({each["label"].strip() for each in cued}) > 1 or _TWO_LABELS.search(source.text)
    if any_of("after").search(source.text) or several:
        return
    single = [run[0] for run in _runs(source) if len(run) == 1 and not run[0][0].startswith("#")]
    if cued:
        label, value, rest = cued[0]["label"].strip(), cued[0]["value"], cued[0]["rest"] or ""
        row = source.row(cued[0].start("label"))
    elif len({before for before, _ in single}) == 1:
        label, value, rest, row = single[0][0].strip(), single[0][1].said, "", single[0][1].row
    else:
        return
    value = value.strip("[]<>(){} $")
    every = [*(each["value"] for each in cued), *(slot.said for before, slot in single if before.strip() == label)]
    words = list(dict.fromkeys(each.strip("[]<>(){} $") for each in every if not _is_blank(each)))
    if len(words) < 2:
        stands_for = re.search(rf"(?i)\$?(?-i:{re.escape(value)}) {any_of('stands_for').pattern}([^.\n]*)", source.text)
        letters = list(dict.fromkeys(re.findall(r"\b[A-Z]\b", stands_for[1]))) if stands_for else []
        words = letters or (words_in(stands_for[1]) if stands_for else [])
    name, said = as_name(label) if re.search(r"\w", label) else "score", "" if _is_blank(value) else value
    slot = Slot(name, said, row, "" if words or said else "number", tuple(words))
    yield _ending(source, "a final line", f"{in_layout(label)} {{{name}}}{rest}", slot, "reasoning")


def _is_blank(value: str) -> bool:
    return is_in("blank", value.strip("[]<>(){} $_*\"'"))


def _ending(source: Source, recogniser: str, layout: str, slot: Slot, text: str, gap: str = "\n\n") -> Found:
    """Return the reply that ends so, behind free text if the prompt asks for reasons; else it is asked."""
    if any_of("silent").search(source.text):
        return Found(recogniser, layout, (slot,))
    if not any_of("reasons").search(source.text):
        return Found(recogniser, layout, (slot,), question="does the judge write this alone, and no reasons before it?")
    return Found(recogniser, f"{{{text}}}{gap}{layout}", (Slot(text, "", slot.row, "text"), slot))


def short_replies(source: Source) -> Iterator[Found]:
    """Yield the format of a reply that is one word or one number, alone or behind reasons."""
    found, listed = list[Slot](), list[Slot]()
    otherwise = any(_runs(source)) or any_of("json").search(source.text) or _TWO_LABELS.search(source.text)
    for told in _SENTENCE.finditer(source.text) if not otherwise else ():
        text, row = told[0].strip(), source.row(told.start() + len(told[0]) - len(told[0].lstrip()))
        asks = re.sub(r"\"[^\"]*\"|“[^”]*”", " ", text)  # a quoted word such as "answer" asks for nothing
        band = re.match(r"\W*\d+\s*[-–]\s*\d+", text)
        if not band and any_of("reply").search(asks) and any_of("only").search(asks):
            items = _items(source, row) if text.endswith(":") else []
            words = [word for word in items or words_in(text) if not any_of("number").search(word)]
            if any_of("after").search(text):
                return
            if len(words) > 1:
                (listed if items else found).append(Slot("verdict", "", row, "text", words=tuple(words)))
            elif any_of("number").search(text):
                found.append(Slot("score", text, row, "number"))
    found = listed or found
    words_told = {word: row for row, line in enumerate(source.lines) for word in told_words(line)}
    if not found and not otherwise and len(words_told) > 1:
        asked = "does the judge write one of these words and nothing else?"
        slot = Slot("verdict", "", min(words_told.values()), "text", words=tuple(words_told))
        yield replace(_short(source, slot, "words that the judge is told to write"), question=asked)
    if found:
        every = [", ".join(slot.words) or "a number" for slot in found if {*slot.words} != {*found[-1].words}]
        others = list(dict.fromkeys(every))
        made = _short(source, found[-1], "a set of words" if found[-1].words else "a number")
        asked = f"the prompt also lists {'; '.join(others)}: which does the judge write?" * bool(others)
        yield replace(made, question=asked) if asked else made


def ends_open(source: Source) -> Iterator[Found]:
    """Yield the format of a reply that goes on behind a label at the prompt's end: a number, or a word in brackets."""
    end = re.search(r"\n[^\w\n]*([A-Z][\w ]{2,30}?)\s*(?:\(([^()\n]*)\))?\s*:[\s\"'`*]*\Z", source.text)
    if end and (end[2] or any_of("score").search(end[1])):
        words = tuple(words_in(end[2] or ""))
        slot = Slot(as_name(end[1]), end[2] or "", source.row(end.start(1)), "" if words else "number", words)
        asked = f'the prompt ends with "{end[1]}:": does the judge write only what stands behind it?'
        yield Found("a label at the end", f"{{{slot.name}}}", (slot,), question=asked)


def usual_reply(source: Source, levels: list[Levels]) -> Iterator[Found]:
    """Yield the usual format for a prompt that lists levels and says nothing of a reply."""
    if levels and not any_of("format").search(source.text):
        low, high, row = min(levels[0].names), max(levels[0].names), levels[0].row
        marks = {"analysis": "[what speaks for and against it]", "score": f"[one whole number from {low} to {high}]"}
        told = _USUAL.format(**marks, justification="[why this number]")
        texts = [Slot(name, "", row, "text") for name in ("analysis", "justification")]
        slots = (texts[0], Slot("score", f"{low} to {high}", row), texts[1])
        yield Found("levels without a format; the usual one is added", _USUAL, slots, f"Write exactly:\n\n{told}")


def _items(source: Source, row: int) -> list[str]:
    """Return the words in bullets right below a row."""
    found: list[str] = []
    for line in source.lines[row + 1 : row + 14]:
        if (item := _ITEM.match(line)) and not item[1].isdecimal():
            found.append(item[1].strip())
        elif found or line.strip():
            break
    return found


def _short(source: Source, slot: Slot, recogniser: str) -> Found:
    """Return a reply of this slot alone, or behind free text where the prompt asks for reasons as well."""
    text = any_of("silent").sub(" ", source.text)
    if not any_of("first").search(text) or not any_of("reasons").search(text):
        said = [line for line in source.lines if any_of("reasons").search(line) and not any_of("silent").search(line)]
        more = said or any_of("last_line").search(source.text) or any_of("each").search(source.text)
        asked = "does the judge write this alone, once, and no reasons before it?" * bool(more)
        return Found(recogniser, f"{{{slot.name}}}", (slot,), question=asked)
    label = slot.name.capitalize()
    told = f'End your reply with one line that begins with "{label}: ".'
    slots = (Slot("reasoning", "", slot.row, "text"), slot)
    return Found(f"{recogniser} behind reasons", f"{{reasoning}}\n\n{label}: {{{slot.name}}}", slots, told)
