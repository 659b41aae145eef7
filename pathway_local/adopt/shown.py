"""Recognises the forms of a reply that a prompt shows: tags, labels, endings, short replies.

Each recogniser knows one way to write a form down, and yields what it finds with the text that stands in each slot. A
form without slots is one that it sees and can't read.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import dropwhile, takewhile
from typing import NamedTuple

from pathway_local.adopt.prompt import Source
from pathway_local.adopt.words import (
    alternatives,
    any_of,
    as_name,
    in_layout,
    is_in,
    kind_of,
    quoted_set,
    split_words,
    told_words,
)

LONG = 160
"""Characters in a tag at most, for it to be a slot of the reply and no part of the prompt."""
_PLACEHOLDER = re.compile(
    r"(?i)[<{].*|\.+|[xn]"
    r"|(?:example|metric|criterion|item|key|field|category|dimension|name)[ _]?(?:\d+|[nx]|name)(?:[ _]name)?"
)
_BLANK = r"(?:\[[^\[\]\n]{1,300}\]|<[^<>\n]{1,300}>|\([^()\n]{1,200}\)|_{2,}|\.\.\.|…)"


@dataclass(frozen=True, slots=True)
class Slot:
    """A value that a reply holds: its name, the text that stands in it, and its row.

    `kind` comes from the syntax: text, number, boolean, list, objects, or empty if that shows none. `words` are the
    values that it may have, `members` those of the objects in a list, and a `sample` is a value in an example.
    """

    name: str
    text: str
    row: int
    kind: str = ""
    words: tuple[str, ...] = ()
    members: tuple["Slot", ...] = ()
    sample: str = ""


@dataclass(frozen=True, slots=True)
class Form:
    """A form of the reply; `closing` is a text that the prompt lacks, and a yes settles the `question`."""

    kind: str
    layout: str
    slots: tuple[Slot, ...]
    row: int
    closing: str = ""
    question: str = ""

    @property
    def readable(self) -> bool:
        """Whether all its slots have names of their own, and no two the same."""
        names = [slot.name for slot in self.slots]
        parts = [part for name in names for part in name.split(".")]
        return bool(names) and len({*names}) == len(names) and not any(map(_PLACEHOLDER.fullmatch, parts))


_PAIR = re.compile(r"(?=<([A-Za-z]\w*)>((?:(?!</?\1>)[^{}]){0,1500}?)</\1>)", re.DOTALL)


def tags(source: Source) -> Iterator[Form]:
    """Yield the tags that the reply is to hold, within those around them."""
    text = source.text
    told = re.compile(rf"(?i)`?<([a-z]\w*)>`?(?:\s*(?:{any_of('and').pattern}|</?\w+>))*\s*-?{any_of('tags').pattern}")
    named = {found[1]: found.start() for found in told.finditer(text)}
    said: dict[str, list[tuple[str, int]]] = {}
    for found in _PAIR.finditer(text):
        tag, inside = found[1], " ".join(found[2].split())
        # Beside tags that the prompt names, a tag on a line of its own holds a part of the prompt.
        part = named and tag not in named and found[2].startswith("\n")
        cued = any_of("reply").search(text[max(0, found.start() - 400) : found.start()])
        if cued and not part and len(inside) <= LONG and not _PAIR.search(found[2]):
            said[tag] = [*said.pop(tag, []), (inside, source.row(found.start()))]  # as the last form orders them
    for tag, at in named.items():
        if tag not in said and any_of("reply").search(text[max(0, at - 200) : at]):
            about = re.split(r"(?<=[.!?])\s|>|\btags?\b", text[max(0, at - 120) : at])[-1]
            said[tag] = [(" ".join(about.split()), source.row(at))]
    slots = {tag: _tagged(tag, texts) for tag, texts in said.items()}
    lines = []
    for tag, slot in slots.items():
        begin, end = ("[[", "]]") if said[tag][0][0].startswith("[[") else (in_layout(_start(text, tag)), "")
        lines.append(f"<{tag}>{begin}{{{slot.name}}}{end}</{tag}>")
    first, last = [*slots][:1], [*slots][-1:]
    around = r"<(?!{0}>)(\w+)>\s*<{0}>.*</{1}>\s*</\1>"
    while first and (outer := re.search(around.format(first[0], last[0]), text, re.DOTALL)):
        first = last = [outer[1]]
        lines = [f"<{outer[1]}>", *lines, f"</{outer[1]}>"]
    # Labels in a tag are slots of their own.
    deeper = any(len(re.findall(r"\w:\s", inside)) > 1 for texts in said.values() for inside, _ in texts)
    again = [tag for tag, texts in said.items() if len(texts) > len(set(texts))]
    asked = f"the prompt shows <{again[0]}> several times: does the reply hold it only once?" if again else ""
    if slots:
        row = min(slot.row for slot in slots.values())
        yield Form("tagged slots", "\n".join(lines), () if deeper else tuple(slots.values()), row, question=asked)


def _tagged(tag: str, texts: list[tuple[str, int]]) -> Slot:
    """Return the slot of a tag; S0 with "your chain of thoughts" is called thoughts."""
    text, row = min(texts, key=lambda each: len(each[0]) or LONG)
    last = re.findall(r"[A-Za-z]+", text)[-1:] if re.fullmatch(r"[A-Za-z]{0,2}\d+", tag) else []
    return Slot(as_name(last[0] if last else tag), "" if last else text, row)


def _start(text: str, tag: str) -> str:
    """Return the words with which the prompt has the text in a tag begin."""
    begins = re.compile(rf"(?i){any_of('begins').pattern}:?\s+[\"“]([^\"”\n]{{2,80}})[\"”]")
    inside = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
    return next((found[1] for each in inside if (found := begins.search(each))), "")


_LABEL = re.compile(
    r"^[ \t]*(?P<before>(?:(?:[-•]|\d+[.)])[ \t]+)?(?P<hashes>#{1,4}[ \t]+)?[*_#【]*[ \t]*"
    r"(?P<label>[^\W\d_a-z][\w '/-]{0,40}?(?: \([^()\n]{1,30}\))?|[a-z]\w{2,30}(?=:\s?[<\[]))"
    r"[*_]*[ \t]*(?:[:：】][ \t]*[*_]*|(?(hashes)(?=\n)|(?!))))[ \t]*"
    rf"(?:(?P<slot>{_BLANK})(?P<behind>/\d+)?[*_.]*|[ \t]*\n[ \t]*(?P<below>{_BLANK})"
    r"|(?P<plain>(?!\[\[|<<<|\\boxed)[^\s{}][^{}\n]{0,120}))[ \t]*$",
    re.MULTILINE,
)
_GIVEN = re.compile(r"(?m)^[^\w\n]*([A-Z][\w '/-]{0,40}?)[*_ \t]*:[*_\s]*[\"'`]*(?:\$?\{+\$?\s*[\w.]+\s*\}|\$[a-z]\w*)")
"""A label of an input, such as `QUESTION: {query}`."""


class Label(NamedTuple):
    """A label: the text before its slot, the slot, where the line ends, and the text behind the slot, such as /5."""

    before: str
    slot: Slot
    end: int
    behind: str


def labels(source: Source) -> Iterator[Form]:
    """Yield each run of labels with slots, such as `Score: [1-5]`."""
    runs = [run for run in label_runs(source) if len({label.before for label in run}) > 1]
    names = [[label.slot.name for label in run] for run in runs]
    for run, named in zip(runs, names, strict=True):
        gaps = ["\n" * (1 + (not source.lines[label.slot.row - 1].strip())) for label in run]
        named_parts = zip(gaps, run, strict=True)
        parts = [f"{gap}{in_layout(each.before)}{{{each.slot.name}}}{each.behind}" for gap, each in named_parts]
        more = re.compile(r"\s*(?:\.\.+|…)\s*\n").match(source.text, run[-1].end)  # dots stand for more labels
        slots = () if more else tuple(label.slot for label in run)
        times = names.count(named)
        asked = f"the prompt shows this form {times} times: does the reply hold it only once?" * (times > 2)
        yield Form("labelled slots", "".join(parts).strip("\n"), slots, run[0].slot.row, question=asked)


def label_runs(source: Source) -> list[list[Label]]:
    """Return runs of labels whose slot stands behind them or below; below a line such as "Format:", any text is one."""
    text, given = source.text, {label.lower() for label in _GIVEN.findall(source.text)}
    runs, end, cued = list[list[re.Match[str]]](), -1, False
    for found in _LABEL.finditer(text):
        above = text[max(0, found.start() - 200) : found.start()].rstrip("` \n*").rpartition("\n")[2]
        between = text[max(end, 0) : found.start()].strip("` \n")
        goes_on = end >= 0 and (not between or is_in("or", between))
        cued = (goes_on and cued) or (any_of("format").search(above) is not None and above.endswith(":"))
        if (found["slot"] or found["below"] or (found["plain"] and cued)) and not any_of("format").search(
            found["label"]
        ):
            runs += [] if goes_on else [[]]
            runs[-1].append(found)
            end = found.end()
    whole = [[_labelled(each, source) for each in run if each["label"].lower() not in given] for run in runs]
    # Dots behind the last labels of a prompt stand for the case's texts.
    if whole and not text[end:].strip(" `\n") and all(re.fullmatch(r"[.…]+", each.slot.text) for each in whole[-1]):
        whole.pop()
    return list(filter(None, whole))


def _labelled(found: re.Match[str], source: Source) -> Label:
    """Return a label with its slot."""
    name, _, extent = found["label"].partition(" (")  # such as the 1-5 of "Accuracy (1-5): [score]"
    # A slot for reasons, such as [tone, style], names their topics; they are no words to choose from.
    explains = any_of("reasons").search(name)
    shown = (found["slot"] or found["below"] or found["plain"]).strip("[]<>() *_")
    text = "" if explains else f"{extent.rstrip(')')} {shown}".strip()
    slot = Slot(as_name(name), text, source.row(found.start("label")), "text" if explains else "")
    return Label(found["before"].rstrip() + ("\n" if found["below"] else " "), slot, found.end(), found["behind"] or "")


_RESULT = re.compile(
    r"(?P<feedback>Feedback:\s*)?[\[(<{]+[^\[\]()<>{}\n]{3,160}[\])>}]+\s*\[RESULT\]\s*[\[(<{]+(?P<value>[^\[\]()\n]{3,160}?)[\])>}]"
)
_FENCES = {"[[": "]]", "<<<": ">>>", "\\boxed{": "}"}
_FENCED = re.compile(
    r"(?P<label>[A-Z][\w ]{1,30}:\s?)?(?P<fence>\[\[|<<<|\\{1,4}boxed\{)[\s{]*"
    r"(?P<value>[^\[\]{}\n]{1,24}?)[\s}]*(?:\]\]|>>>|\})(?P<more>[ -]*[<\[(](?!/|https?:)[^\n]*)?"
)
_NAMED = re.compile(
    rf"(?:{any_of('shown').pattern}:?\s+|(?P<quote>[\"“'`«*]{{1,3}})\s?)"
    r"(?P<label>#### ?|[*#]*[A-Z][\w ]{1,30}?[*]*\s?:\s?[*]*)\s*"
    r"(?P<value>[\[<({]+[^\]>)}\n]{1,60}[\]>)}]+|\$?[\w-]{1,20})(?P<more>/\s?\d+)?"
    rf"(?(quote)\s?[\"”'`»*]|[*]*(?=\s*(?:[.(,\n]|{any_of('where').pattern}|$)))"
)
"""A label with a value: in quotes, or behind a word such as "with"."""
TWO_LABELS = re.compile(
    r"(?m)^[^{\n]*?\b[A-Z]\w+: [^{\n]*[.!?\]})>,;] (?:\[[A-Z]+\]|[A-Z]\w+:) ?\S"
    r"|\b[A-Z]\w+: ?[\[<(][^\n\])>]{1,80}[\])>](?:[.,;]? |\\n)[A-Z]\w+: ?[\[<(]"
)
"""A reply of several parts that are written in one line."""


class End(NamedTuple):
    """The end of a reply: a label, a bracket, a value, and what stands behind it."""

    label: str | None
    fence: str
    value: str
    more: str | None
    row: int


def endings(source: Source) -> Iterator[Form]:
    """Yield a reply that ends in [RESULT] and a value, in a value in brackets, or in a label and a value."""
    text = source.text
    if found := _RESULT.search(text):
        row, name = source.row(found.start()), "result" if alternatives(found["value"]) else "score"
        slots = (Slot("feedback", "", row, "text"), Slot(name, found["value"], row))
        yield Form("a final [RESULT]", f"{found['feedback'] or ''}{{feedback}} [RESULT] {{{name}}}", slots, row)
        return
    ends = [
        End(each["label"], each["fence"], each["value"], each["more"], source.row(each.start()))
        for each in _FENCED.finditer(text)
        if kind_of(each["value"] * each["value"].islower()) in ("", "answer")
    ]
    if not ends and not any_of("after").search(text) and not TWO_LABELS.search(text):
        runs = label_runs(source)
        taken = {label.slot.row for run in runs for label in run}
        ends = [
            End(each["label"], "", each["value"], each["more"], source.row(each.start("label")))
            for each in _NAMED.finditer(text)
            if any_of("last").search(text[max(0, each.start() - 120) : each.start()])
            and source.row(each.start("label")) not in taken
        ]
        single = [label for run in runs if len({each.before for each in run}) == 1 for label in run]
        ends += [
            End(each.before, "", each.slot.text, each.behind, each.slot.row) for each in single if each.before[0] != "#"
        ]
    if ends:
        yield _ended(source, ends)


def _ended(source: Source, ends: list[End]) -> Form:
    """Return the reply that ends in one of these."""
    fence, row, more = ends[0].fence, ends[0].row, ends[0].more or ""
    told = list(dict.fromkeys(end.label.strip() for end in ends if end.label))
    told = [label for label in told if not any_of("format").search(label) and not any_of("example").search(label)]
    asked = f"the prompt shows {' and '.join(told)[:120]}: does the reply hold one?" * (len(told) > 1)
    label = told[0] if told and (len(told) == 1 or not fence) else ""
    values = list(dict.fromkeys(end.value.strip("[]<>(){} $") for end in ends))
    every = dict.fromkeys(word for value in values for word in alternatives(value) or [value])
    # [[verdict]] beside [[Yes]] and [[No]] is their name, and so is "Conclusion: [[CONCLUSION]]" beside [[A>B]].
    named = [word for word in every if len(word) > 2 and word.lower() in label.lower()]
    words = tuple(word for word in every if word not in named and not re.match(r"\W*\d", word))
    unread = fence and (any(end.more for end in ends) or len(words) == 1)
    name = as_name(label) if re.search(r"\w", label) else "rating" if fence else "score"
    name = "verdict" if fence and words else name
    slot = Slot(name, "", row, words=words) if len(words) > 1 else Slot(name, values[0], row)
    begin = re.sub(r"\\+", r"\\", fence)
    end = in_layout(_FENCES[begin]) if fence else more
    layout = in_layout(f"{label} " * bool(label) + begin) + f"{{{name}}}{end}"
    kind, before = ("brackets around a value", "explanation") if fence else ("a final line", "reasoning")
    if unread or any_of("silent").search(source.text) or not any_of("reasons").search(source.text):
        return Form(kind, layout, () if unread else (slot,), row, question=asked)
    # Without a line break before brackets: judges end their last sentence with them ("Final verdict: [[A]]").
    whole = f"{{{before}}}" + "\n\n" * bool(label) + layout
    return Form(kind, whole, (Slot(before, "", row, "text"), slot), row, question=asked)


_SENTENCE = re.compile(r"(?:[^.!?\n]|[.!?](?!\s|$)|\n(?=[a-z\"“'‘(]))+")


def short_replies(source: Source) -> Iterator[Form]:
    """Yield a reply that is one word of a set or one number, where a sentence says that it is nothing else."""
    sets, told = list[tuple[Slot, bool]](), list[str]()
    if label_runs(source) or any_of("json").search(source.text) or TWO_LABELS.search(source.text):
        return
    for found in _SENTENCE.finditer(source.text):
        text, row = found[0].strip(), source.row(found.end() - len(found[0].lstrip()))
        only = any_of("only").search(text) is not None
        if not any_of("reply").search(text) or re.match(r"\W*\d+\s*[-–]\s*\d+", text):  # a band of a scale
            continue
        if only and any_of("after").search(text):
            return
        shown = (_words_below(source, row) if only and text.endswith(":") else []) or quoted_set(text)
        words = shown or (split_words(text) if only else [])
        told += told_words(text) if len(words) < 2 else []
        if len(words) > 1:
            sets.append((Slot("verdict", "", row, "text", words=tuple(words)), bool(shown) and only))
        elif only and any_of("number").search(text):
            sets.append((Slot("score", text, row, "number"), True))
    if not sets and len(set(told)) > 1:
        row = next(row for row, line in enumerate(source.lines) if told[0] in line)
        sets = [(Slot("verdict", "", row, "text", words=tuple(dict.fromkeys(told))), False)]
    if sets:
        yield _alone(source, sets)


def _alone(source: Source, sets: list[tuple[Slot, bool]]) -> Form:
    """Return the reply that is one of these slots, each with whether the prompt shows it as the whole reply."""
    slot, shown = next((each for each in reversed(sets) if each[1]), sets[-1])
    others = dict.fromkeys(", ".join(each.words) or "a number" for each, _ in sets if {*each.words} != {*slot.words})
    asked = [f"the prompt also lists {'; '.join(others)}: which does the judge write?"] * bool(others)
    if not shown:
        asked.append(f"does the judge write one of the words {', '.join(slot.words)}, and nothing else?")
    kind = "a set of words" if slot.words else "a number"
    return Form(kind, f"{{{slot.name}}}", (slot,), slot.row, question=" ".join(asked))


_ITEM = re.compile(
    r"^(\s*)(?:(?:[-*•+]|\d+[.)])\s+[*_]*[\"'`“]?|[\"“]|\((?=[A-Z]\)))([^\"'`”*\n:–()]{1,40}?)[\"'`”)]?[*_]*"
    r"\s*($|(?:\([^()\n]*\))?\s*[:=–—-].*|\(.*|(?<=\)\s).*)"
)
Item = tuple[int, str, str, int]
"""The depth of a key or a bullet, its name, what stands behind it, and its row."""


def items(source: Source, row: int) -> list[Item]:
    """Return the bullets right below a row."""
    found = list[Item]()
    for at, line in enumerate(source.lines[row + 1 : row + 60], row + 1):
        if match := _ITEM.match(line):
            found.append((len(match[1]), match[2].strip(), match[3].strip(" :=–—-*"), at))
        elif line.strip() and not line.startswith(" ") and (found or at > row + 2):
            break
    return found


def _words_below(source: Source, row: int) -> list[str]:
    """Return the words in bullets below a row, or else the lines up to an empty one, if each is a word alone."""
    if listed := [item[1] for item in items(source, row) if not item[1].isdecimal()]:
        return listed
    below = dropwhile(lambda line: not line, map(str.strip, source.lines[row + 1 :]))
    words = list(takewhile(bool, below))
    return words if len(words) > 1 and all(re.fullmatch(r"[^\W\d][\w-]*", word) for word in words) else []


USUAL = "**Analysis:**\n{analysis}\n\n**Score:** {score}\n\n**Justification:**\n{justification}"


def usual_reply(low: float, high: float, row: int) -> Form:
    """Return the usual reply for a prompt that lists levels and shows no form; the rubric tells the judge of it."""
    scale = f"{low:g} to {high:g}"
    told = USUAL.format(
        analysis="[what speaks for and against it]",
        score=f"[one whole number from {scale}]",
        justification="[why this number]",
    )
    slots = (Slot("analysis", "", row, "text"), Slot("score", scale, row), Slot("justification", "", row, "text"))
    return Form("levels without a format; the usual one is added", USUAL, slots, row, f"Write exactly:\n\n{told}")
