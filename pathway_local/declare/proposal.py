"""Proposes a rubric for a prompt: its declaration, filled in as far as the prompt shows a form, with `?` elsewhere."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pathway_local.declare.forms import Form, forms_in
from pathway_local.declare.slots import OPEN, levels_in, spelled
from pathway_local.rubrics.spelling import quoted_name

_BESIDE = re.compile(
    r"\b(?:null|None|N/A)\b|(?i:\b(?:zero|half|halves|quarter|halb\w*|viertel\w*|zwischen\w*|demi\w*|quarts?|medi[oa]s?|mei[oa]s?"
    r"|cuartos?|decimal\w*|dezimal\w*|décimal\w*|fraction\w*|intermediate)\b)"
)
_QUOTED = re.compile(r"([\"'`])([A-Za-z][\w/-]{1,19})\1|[“„]([A-Za-z][\w/-]{1,19})[”“]")
_RANGE = re.compile(r"^(-?\d+)(?:-| to )(\d+)|^(\d+) .* < (\d+) ")
_NUMBERS = re.compile(r"(?<![\w.,/%-])-?\d+(?:[.,]\d+)?(?![\w%]|[.,]\d)")


@dataclass(frozen=True)
class Proposal:
    """A declaration as far as a prompt shows it: `fields` in their spellings, `lines` (none for JSON), and where.

    `told` is empty if the prompt shows no form, or several; `doubt` is a line that may widen what the form shows.
    """

    fields: Mapping[str, str]
    lines: tuple[str, ...] = ()
    told: str = ""
    doubt: str = ""

    @property
    def declared(self) -> str:
        """The fields as `--fields` takes them."""
        return "; ".join(f"{quoted_name(name)}: {spelling}" for name, spelling in self.fields.items())

    @property
    def open(self) -> bool:
        """Whether a person must complete it; a question mark in quotes is a word's own."""
        return OPEN in re.sub(r'"[^"]*"', "", self.declared)


def propose(text: str, inputs: Sequence[str]) -> Proposal:
    """Return what a prompt, in a rubric's template, shows of its reply."""
    levels = levels_in(text)
    every = [(form, spelled(form.slots, levels, inputs)) for form in forms_in(text)]
    forms = [(form, fields) for form, fields in every if _scores(fields)]
    if len(forms) != 1 or not _readable(forms[0][0]):
        return Proposal({"reasons": OPEN, "score": (levels.spelling("score") if levels else "") or OPEN})
    [(form, fields)] = forms
    if form.lines and (len(fields) == 1 or not any(each.startswith(("text", "list")) for each in fields.values())):
        fields = {"reasons": OPEN, **fields}
    rest = f"{text[: form.begin]}\n{text[form.end :]}".replace(levels.text if levels else "\0", "")
    doubt = next((line.strip()[:80] for line in rest.split("\n") if _widens(line, form, fields, inputs)), "")
    doubt = next((text[other.begin : other.end][:80] for other, _ in every if other is not form), doubt)
    if doubt and not any(OPEN in each for each in fields.values()):
        first = _scores(fields)[0]
        fields |= {first: f"{fields[first]} {OPEN}"}
    told = f"{form.kind}, line {text.count(chr(10), 0, form.begin) + 1}"
    return Proposal(fields, form.lines, told, doubt)


def _scores(fields: Mapping[str, str]) -> list[str]:
    return [name for name, each in fields.items() if not each.startswith(("text", "list", "= "))]


def _readable(form: Form) -> bool:
    """Return whether all slots have names of their own, and no two the same."""
    names = [slot.name for slot in form.slots]
    return len({*names}) == len(names) > 0 and all(re.fullmatch(r"[^\W\d][\w. '-]*", name) for name in names)


def _widens(line: str, form: Form, fields: Mapping[str, str], inputs: Sequence[str]) -> bool:
    """Return whether a line outside of the form may add a value, another scale or a key: then a person decides."""
    known = {*fields, *inputs, *(word for slot in form.slots for word in re.findall(r"[\w/-]+", slot.text))}
    quoted = [found[2] or found[3] for found in _QUOTED.finditer(line)]
    if _BESIDE.search(line) or any(word not in known for word in quoted):
        return True
    told = [float(each.replace(",", ".")) for each in _NUMBERS.findall(re.sub(r"^\s*\W*\d+[.)]\s", "", line))]
    ends = {float(end) for each in fields.values() if (found := _RANGE.match(each)) for end in found.groups() if end}
    return bool(ends) and any(each not in ends for each in told)
