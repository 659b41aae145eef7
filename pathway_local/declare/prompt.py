"""A prompt of another tool on its way to a rubric: front matter that stays, template, inputs and declared reply."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from pathway_local.rubrics.criteria import skeleton
from pathway_local.rubrics.front_matter import write_front
from pathway_local.rubrics.marks import STRANGE, converted, escaped
from pathway_local.rubrics.output_format import OutputFormat
from pathway_local.rubrics.prompty_file import declared_inputs, read_front, split_front_matter
from pathway_local.system.safe_yaml import Places

_TALK = r"(?i)(?:^|_)(?:conversations?|messages|history|dialog(?:ue)?s?|chats?|transcripts?)(?:_|$)"
_REPLACED = r"(?m)^(?:outputs|inputs|template):.*\n(?:[ \t]+.*\n|[ \t]*\r?\n)*"


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
