"""Finds the forms of a reply that a prompt shows: JSON objects, tags, labels, and last lines."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from pathway_local.declare.slots import Slot

MOST = 20_000
"""Characters of an object at most."""
LONG = 160
"""Characters in a tag at most, for it to be a slot and no part of the prompt."""

_TOKEN = re.compile(
    r'(?P<key>"[^"\n]{1,60}"\s*:)|"(?:\\.|[^"\\\n])*"|<[^<>\n]{1,300}>|(?P<open>[{\[])|(?P<close>[}\]])'
)
_TAGGED = re.compile(
    rf"<(?P<tag>[A-Za-z]\w*)>[ \n]{{0,9}}(?P<slot>(?:(?!</?[A-Za-z])[^\n{{]){{0,{LONG}}}?)[ \n]{{0,9}}</(?P=tag)>"
)
_BLANK = r"\[(?!\[)[^\[\]{}\n]{1,300}\](?!\])|<(?!<)[^<>\n]{1,300}>(?!>)|\([^()\n]{1,200}\)|_{2,}|\.\.\.|…"
_LABEL = re.compile(
    r"^[ \t]*(?:[-•][ \t]+|\d+[.)][ \t]+)?(?P<label>(?:#{1,4}[ \t]+)?[*_]{0,2}(?P<name>[^\W\d_][\w '/-]{0,40})"
    rf"[*_]{{0,2}}(?::[*_]{{0,2}})?[ \t]*\n?)[ \t]*(?P<slot>{_BLANK})(?P<end>/\d+)?[ \t]*$",
    re.MULTILINE,
)
_RESULT = re.compile(r"(Feedback: ?)[(\[{<]([^\n()]{3,160})[)\]}>] ?\[RESULT\] ?[(\[{<]([^\n()]{1,160})[)\]}>]")
_NAMED = r"(?P<label>[A-Z][\w ]{1,30}: ?)?"
_ENDS = {
    ("[[", "]]"): rf"{_NAMED}\[\[(?P<value>[^\[\]{{}}\n]{{1,24}})\]\]",
    ("\\boxed{{", "}}"): rf"{_NAMED}\\+boxed\{{(?P<value>[^{{}}\n]{{1,24}})\}}",
    ("", ""): r"[\"“'`«]\s?(?P<label>#{4}|[*#]*[A-Z][\w ]{1,30}[*]*:) ?(?P<value>[^\s\"”'`»][^\"”'`»\n]{0,40})[\"”'`»]",
}
"""Ends of a reply: a value in brackets, or a label with a value, as a prompt quotes it."""


@dataclass(frozen=True, slots=True)
class Form:
    """A form of the reply: its kind, its slots, its lines (none for JSON), and where it stands in the prompt."""

    kind: str
    slots: tuple[Slot, ...]
    lines: tuple[str, ...]
    begin: int
    end: int


def forms_in(text: str) -> list[Form]:
    """Return the forms that a prompt shows, last lines only if it shows no other."""
    return [*_objects(text), *_tags(text), *_labels(text)] or [*_endings(text)]


def as_name(label: str) -> str:
    """Return a label as a field's name: final_score for "Final score"."""
    name = "_".join(re.findall(r"[^\W_]+", label.lower()))
    return name if name and not name[0].isdigit() else f"field_{name}".rstrip("_")


def _objects(text: str) -> Iterator[Form]:
    """Yield the objects that the prompt shows."""
    end = 0
    for begin in re.finditer(r"\{(?=\s*\")", text):
        if (at := begin.start()) < end:
            continue
        keys, end = _keys(text, at)
        listed = re.search(r"[\[,]\s*\Z", text[max(0, at - 40) : at])  # in a list, such as messages of an example
        dots = re.search(r"[,\n]\s*(?:\.\.\.|…)\s*[,\n}]", text[at:end])  # stand for keys that only the judge knows
        if keys and not listed and not dots and not any(name == "properties" for _, name, _ in keys):
            yield Form("a JSON object", tuple(_slots_of(keys)), (), at, end)


Key = tuple[int, str, str]
"""A key of an object: its depth, its name, and what stands behind it."""


def _keys(text: str, at: int) -> tuple[list[Key], int]:
    """Return the keys of the object that begins at `at`, and where it ends; none if it does not end."""
    depth, begun, stop, keys = 0, at, 0, list[Key]()
    for token in _TOKEN.finditer(text, at, at + MOST):
        depth += (token.lastgroup == "open") - (token.lastgroup == "close")
        stop = stop or (token.start() if token.lastgroup == "close" and keys and depth < keys[-1][0] else 0)
        if token.lastgroup == "key" or not depth:
            if keys:
                keys[-1] = (*keys[-1][:2], text[begun : stop or token.start()].strip())
            if not depth:
                return keys, token.end()
            keys.append((depth, token["key"].rstrip(": \t\n").strip('"'), ""))
            begun, stop = token.end(), 0
    return [], at + MOST  # inside of an object that is broken, only a part of the form could be found


def _slots_of(keys: Sequence[Key], prefix: str = "") -> Iterator[Slot]:
    """Yield a slot for each key; deeper keys are its parts, or those of the objects in its list."""
    starts = [at for at, key in enumerate(keys) if key[0] <= keys[0][0]] + [len(keys)]
    for begin, end in pairwise(starts):
        (_, name, said), inner = keys[begin], keys[begin + 1 : end]
        if inner and not said.startswith("["):
            yield from _slots_of(inner, f"{prefix}{name}.")
        else:
            # A value without quotes is a slot, named by its words.
            shown = said if said[:1] in ('"', "[", "<") else f"<{said}>"
            yield Slot(prefix + name, "" if inner else shown, tuple(_slots_of(inner)) if inner else ())


def _tags(text: str) -> Iterator[Form]:
    """Yield the last run of tags with a slot each, unless another tag stands around it."""
    run = list[re.Match[str]]()
    for found in _TAGGED.finditer(text):
        if run and not re.fullmatch(r"[\s,;*•-]*(?:\w{1,4}\s)?", text[run[-1].end() : found.start()][:99]):
            run.clear()
        run.append(found)
    if not run or re.search(r"<\w+>\s*\Z", text[max(0, run[0].start() - 99) : run[0].start()]):
        return
    names = [_named(each["tag"], each["slot"]) for each in run]
    slots = tuple(Slot(name, each["slot"]) for name, each in zip(names, run, strict=True))
    lines = tuple(f"<{each['tag']}>{{{name}}}</{each['tag']}>" for name, each in zip(names, run, strict=True))
    yield Form("tags", slots, lines, run[0].start(), run[-1].end())


def _named(tag: str, text: str) -> str:
    """Return the name of a tag's field; S0 with "your chain of thoughts" is called thoughts."""
    last = re.findall(r"[A-Za-z]+", text)[-1:] if re.fullmatch(r"[A-Za-z]{0,2}\d+", tag) else []
    return as_name(last[0] if last else tag)


def _labels(text: str) -> Iterator[Form]:
    """Yield each run of lines with a label and a slot, which may stand below its label."""
    runs, closed = list[list[re.Match[str]]](), {f"<{name}>" for name in re.findall(r"</(\w+)>", text)}
    for found in _LABEL.finditer(text):
        if "{{" in found[0] or found["slot"] in closed or not re.search(r":|#[^\n]*\n", found["label"]):
            continue
        joined = runs and not text[runs[-1][-1].end() : found.start()].strip("` \n")
        runs += [] if joined else [[]]
        runs[-1].append(found)
    for run in runs:
        begin, last, lines, slots = run[0].start(), run[-1].end(), list[str](), list[Slot]()
        end = begin
        for each in run:
            slots.append(Slot(as_name(each["name"]), each["slot"]))
            shown = f"{text[each.start('label') : each.start('slot')]}{{{slots[-1].name}}}{each['end'] or ''}"
            lines += ["", shown] if "\n\n" in text[end : each.start() + 1] else [shown]
            end = each.end()
        # Dots stand for more labels, and so does a label without a slot: then no slot is the only one of its name.
        more = re.match(r"\s*(?:\.\.\.|…|[A-Z][\w ]{1,30}:\s*$)", text[last : last + 99])
        yield Form(
            "labels", (*slots, *slots) if more else tuple(slots), tuple("\n".join(lines).split("\n")), begin, last
        )


def _endings(text: str) -> Iterator[Form]:
    """Yield a reply that ends in [RESULT] and a value, in a value in brackets, or in a label and a value."""
    if found := _RESULT.search(text):
        slots = (Slot("feedback", found[2]), Slot("score", found[3]))
        yield Form("[RESULT]", slots, (f"{found[1]}{{feedback}} [RESULT] {{score}}",), *found.span())
        return
    for (begin, end), pattern in _ENDS.items():
        if every := list(re.finditer(pattern, text)):
            labels = {each["label"] or "" for each in every}
            label = labels.pop().strip() if len(labels) == 1 else ""
            name = as_name(label) if re.search(r"\w", label) else "verdict"
            values = " | ".join(dict.fromkeys(each["value"].strip() for each in every))
            line = f"{label} " * bool(label) + f"{begin}{{{name}}}{end}"
            yield Form("a last line", (Slot(name, values),), (line,), every[0].start(), every[-1].end())
            return
