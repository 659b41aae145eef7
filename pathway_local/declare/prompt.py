"""A prompt of another tool on its way to a rubric: its template and inputs, and the declaration of its reply.

The declaration is filled in as far as the prompt shows a form, with `?` elsewhere.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from pathway_local.declare.forms import Form, forms_in
from pathway_local.declare.slots import OPEN, levels_in, spelled
from pathway_local.rubrics.criteria import skeleton
from pathway_local.rubrics.marks import STRANGE, converted, escaped
from pathway_local.rubrics.output_format import OutputFormat
from pathway_local.rubrics.prompty_file import declared_inputs, read_front, split_front_matter, write_front
from pathway_local.rubrics.spelling import quoted_name
from pathway_local.system.safe_yaml import Places

_TALK = r"(?i)(?:^|_)(?:conversations?|messages|history|dialog(?:ue)?s?|chats?|transcripts?)(?:_|$)"
_REPLACED = r"(?m)^(?:outputs|inputs|template):.*\n(?:[ \t]+.*\n|[ \t]*\r?\n)*"

_BESIDE = re.compile(
    r"\b(?:null|None|N/A)\b|(?i:\b(?:zero|half|halves|quarter|halb\w*|viertel\w*|zwischen\w*|demi\w*|quarts?|medi[oa]s?|mei[oa]s?"
    r"|cuartos?|decimal\w*|dezimal\w*|décimal\w*|fraction\w*|intermediate)\b)"
)
_QUOTED = re.compile(r"([\"'`])([A-Za-z][\w/-]{1,19})\1|[“„]([A-Za-z][\w/-]{1,19})[”“]")
_RANGE = re.compile(r"^(-?\d+)(?:-| to )(\d+)|^(\d+) .* < (\d+) ")
_NUMBERS = re.compile(r"(?<![\w.,/%-])-?\d+(?:[.,]\d+)?(?![\w%]|[.,]\d)")


@dataclass(frozen=True)
class Prompt:
    """A prompt in parts: the front matter that a rubric keeps, the template, and its inputs as a rubric declares them.

    `strange` are lines that may hold the mark of a further input.
    """

    front: str
    body: str
    inputs: Mapping[str, object]
    strange: tuple[str, ...] = ()


def read_prompt(text: str, where: str, given: Sequence[str] = ()) -> Prompt:
    """Return the prompt in the text of the file `where`; its inputs are those `given`, or those that it marks.

    Raises RubricError.
    """
    front, first_line, declared = "", 1, dict[str, object]()
    if re.match(r"\ufeff?---[ \t]*\n", text):
        front, text, first_line = split_front_matter(text, where)
        declared = declared_inputs(read_front(front, where), Places(front, where, first_line=2))
    body, names = converted(text, given, where, first_line)
    if not names and declared:
        body, names = converted(text, declared, where, first_line)
    strange = [line.strip()[:80] for line in text.split("\n") if STRANGE.search(line)]
    kept = re.sub(_REPLACED, "", front)
    return Prompt(kept, body, {name: _input(name, declared.get(name)) for name in names}, tuple(strange))


def _input(name: str, declared: object) -> object:
    if isinstance(declared, Mapping):
        return declared
    return {"type": "conversation" if re.search(_TALK, name) else "string"}


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


def propose(prompt: Prompt) -> Proposal:
    """Return what a prompt shows of its reply."""
    text, inputs = prompt.body, list(prompt.inputs)
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


def rubric_text(prompt: Prompt, outputs: object, where: str, swap: Mapping[str, str]) -> str:
    """Return the rubric's file with this `outputs:` block.

    If the prompt shows the reply's form nowhere, the rubric tells the judge of it.
    """
    added: dict[str, object] = {} if re.search(r"(?m)^name:", prompt.front) else {"name": PurePath(where).stem}
    added |= {"kind": "pair", "swap": dict(swap)} if swap else {}
    added |= {"inputs": prompt.inputs, "outputs": outputs}
    output_format = OutputFormat.load(outputs)
    literals = [part for part in output_format.parts if isinstance(part, str)]
    signs = [sign for part in literals for sign in re.findall(r'"[^"\n]+"|</?\w+>|\w[\w ]*:|\[\[|\\boxed', part)]
    told = (
        "" if all(sign in prompt.body for sign in signs) else f"\n\nWrite exactly:\n\n{skeleton(output_format.outputs)}"
    )
    return f"---\n{prompt.front}{write_front(added)}---\n{prompt.body.rstrip()}{escaped(told)}\n"
