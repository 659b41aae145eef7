"""Recognises a final line such as `GRADE: X`, and a value in double brackets, as the end of the reply."""

import re

from pathway_local.adopt.prompt import Source
from pathway_local.adopt.slots import Found, Slot, as_name, in_layout
from pathway_local.adopt.values import words_in
from pathway_local.adopt.words import any_of, is_in

_NAME = r"(?P<label>#### ?|[*#]*[A-Z][\w ]{1,30}?[*]*\s?:\s?[*]*)"
_PLACE = r"(?P<value>[\[<({]+[^\]>)}\n]{1,60}[\]>)}]+|\$?[\w-]{1,20})(?P<rest>/\s?\d+)?"
_QUOTED = re.compile(rf"[\"“'`«*]{{1,3}}\s?{_NAME}\s*{_PLACE}\s?[\"”'`»*]")
_SHOWN = re.compile(rf"(?:(?i:\bline|\bwith|\bas|\bform|\bformat|\bby):?\s+|(?i:format|form|with|line)[^\n]{{0,40}}:\s*\n\s*){_NAME}\s*{_PLACE}[*]*\s*(?=[.\n]|$)")  # fmt: skip # noqa: E501
_RESULT = re.compile(
    r"(?P<feedback>Feedback:\s*)?[\[(<][^\[\]()<>\n]{3,160}[\])>]\s*\[RESULT\]\s*[\[(<](?P<slot>[^\[\]()\n]{3,160})[\])>]"
)
_BRACKETS = re.compile(r"(?P<label>[A-Z][\w ]{1,30}:\s?)?\[\[\s*(?P<value>[^\[\]\n]{1,24}?)\s*\]\]")


def last_lines(source: Source) -> Found | None:
    """Return the format of a reply that ends in a label and a value, in [RESULT] or in double brackets."""
    if found := _RESULT.search(source.text):
        words = words_in(found["slot"])
        score = Slot("result" if words else "score", found["slot"], source.row(found.start("slot")), words=tuple(words))
        layout = f"{found['feedback'] or ''}{{feedback}} [RESULT] {{{score.name}}}"
        return Found("a final [RESULT]", layout, (Slot("feedback", "", score.row, "text"), score))
    return _bracketed(source) or _line(source)


def _bracketed(source: Source) -> Found | None:
    every = list(_BRACKETS.finditer(source.text))
    values = list(dict.fromkeys(found["value"] for found in every))
    words = [value for value in values if not _is_blank(value) and not re.fullmatch(r"[\d.]+", value)]
    if not every or len(words) == 1 or (words and len(words) < len(values)):
        return None
    row, labels = source.row(every[0].start()), list(dict.fromkeys(found["label"] for found in every if found["label"]))
    label = in_layout(labels[0].rstrip() + " ") if len(labels) == 1 else ""
    name = "verdict" if words else as_name(labels[0]) if label else "rating"
    sample = next((value for value in values if "." in value), "")
    slot = Slot(name, "", row, "" if words else "number", tuple(words), sample=sample)
    # Without a line break before the brackets: judges end their last sentence with them ("Final verdict: [[A]]").
    return _ending(source, "double brackets", f"{label}[[{{{name}}}]]", slot, "explanation", "\n\n" * bool(label))


def _line(source: Source) -> Found | None:
    quoted = list(_QUOTED.finditer(source.text))
    cued = [each for each in quoted if any_of("last").search(source.text[max(0, each.start() - 120) : each.start()])]
    found = cued[0] if cued else _SHOWN.search(source.text)
    if not found or any_of("after").search(source.text) or len({each["label"].strip() for each in cued}) > 1:
        return None
    row, label, value = source.row(found.start("label")), found["label"].strip(), _bare(found)
    words = list(dict.fromkeys(_bare(each) for each in cued if not _is_blank(each["value"])))
    if len(words) < 2 and _is_blank(value) and not value.isdecimal():
        words = _where(source, value)
    name, blank = as_name(label) if re.search(r"\w", label) else "score", _is_blank(value)
    words = words if len(words) > 1 else []
    slot = Slot(name, "" if blank else value, row, "number" if blank and not words else "", tuple(words))
    return _ending(source, "a final line", f"{in_layout(label)} {{{name}}}{found['rest'] or ''}", slot, "reasoning")


def _bare(found: re.Match[str]) -> str:
    return str(found["value"]).strip("[]<>(){} $")


def _is_blank(value: str) -> bool:
    return is_in("blank", value.strip("[]<>(){} $_*\"'"))


def _ending(source: Source, recogniser: str, layout: str, slot: Slot, text: str, gap: str = "\n\n") -> Found:
    """Return the reply that ends so, behind free text if the prompt asks for reasons."""
    if not any_of("reasons").search(source.text) or any_of("line_alone").search(source.text):
        return Found(recogniser, layout, (slot,))
    return Found(recogniser, f"{{{text}}}{gap}{layout}", (Slot(text, "", slot.row, "text"), slot))


def _where(source: Source, value: str) -> list[str]:
    """Return the letters or words that a final line's blank stands for, as in: where LETTER is one of C or I."""
    means = r"(?:is|can be|must be)(?: one of| either)?:?\s*([^.\n]*)"
    found = re.search(rf"(?i)where \$?{re.escape(value)} {means}", source.text)
    letters = re.findall(r"(?:^|or |and |, |\")([A-Z])\b\"?(?=\s*(?:,|or|and|\(|for|$))", found[1]) if found else []
    return list(dict.fromkeys(letters)) or (words_in(found[1]) if found else [])
