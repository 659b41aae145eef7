"""The form in which a run keeps a rubric: all that judging and reading verdicts needs, with nothing left to find.

What a prompt's file means is read once, when the rubric is loaded. A run would read it again whenever it is opened, and
a later release could read it otherwise: then the scale of verdicts that are stored by now would change.
"""

from typing import Any

import msgspec
from msgspec import Struct
from pydantic import TypeAdapter, ValidationError

from pathway_local.errors import RubricError
from pathway_local.rubrics.consistency import Rule
from pathway_local.rubrics.output_format import OutputFormat
from pathway_local.rubrics.pair import Pair
from pathway_local.rubrics.rubric import FormatFrom, Input, Rubric
from pathway_local.rubrics.turn import Turn

_RULES = TypeAdapter(tuple[Rule, ...])


class Compiled(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A rubric as a run keeps it. `outputs` always has layout and fields; `inputs` come in the rubric's order."""

    name: str
    description: str
    inputs: tuple[Input, ...]
    outputs: dict[str, Any]
    turns: tuple[Turn, ...]
    sampling: dict[str, float]
    rules: list[Any]
    pair: Pair | None
    notes: str
    format_from: FormatFrom
    people: str = ""


_SAME = ("name", "description", "turns", "pair", "notes", "format_from", "people")


def compiled(rubric: Rubric) -> str:
    """Return the rubric as JSON, the same for the same rubric."""
    kept = Compiled(
        inputs=tuple(rubric.inputs.values()),
        outputs=rubric.format.outputs.model_dump(mode="json", by_alias=True),
        sampling=dict(sorted(rubric.sampling.items())),
        rules=_RULES.dump_python(rubric.rules, mode="json", exclude_none=True),
        **{name: getattr(rubric, name) for name in _SAME},
    )
    return msgspec.json.encode(kept).decode()


def read_compiled(text: str, stored: str) -> Rubric:
    """Return the rubric of which `compiled` made `stored`; `text` is that of its file. Raises RubricError."""
    try:
        read = msgspec.json.decode(stored, type=Compiled)
        rules = _RULES.validate_python(read.rules)
    except (msgspec.MsgspecError, ValidationError, RecursionError) as error:
        raise RubricError(f"a stored rubric can't be read ({type(error).__name__})") from None
    output_format = OutputFormat.load(read.outputs)
    inputs = {wanted.name: wanted for wanted in read.inputs}
    named = set(output_format.echoes.values()).union(*(turn.variables for turn in read.turns))
    if read.pair:
        named |= {*read.pair.swap, *read.pair.swap.values()}
    if not named <= inputs.keys() or (read.pair and read.pair.score not in output_format.scores):
        raise RubricError("a stored rubric names what it does not have")
    same: dict[str, Any] = {name: getattr(read, name) for name in _SAME}
    return Rubric(inputs=inputs, format=output_format, sampling=read.sampling, text=text, rules=rules, **same)
