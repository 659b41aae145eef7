"""Reads the model's settings in the front matter of a prompt file, and writes front matter, one key on each line."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import yaml

from pathway_local.errors import RubricError
from pathway_local.system.safe_yaml import Places


def write_front(front: Mapping[str, object]) -> str:
    """Return the keys and values as YAML lines."""
    return "".join(f"{line}\n" for line in _lines(front, ()))


def _lines(block: Mapping[str, object], above: tuple[str, ...]) -> Iterator[str]:
    indent = "  " * len(above)
    for key, value in block.items():
        begin = f"{indent}{in_yaml(key)}:"
        if isinstance(value, Mapping) and (not above or (*above, key) == ("outputs", "fields")):
            yield begin
            yield from _lines(value, (*above, key))
        elif isinstance(value, str) and "\n" in value and not value[0].isspace() and value == value.rstrip():
            yield f"{begin} |-"
            yield from (f"{indent}  {line}" if line else "" for line in value.split("\n"))
        else:
            yield f"{begin} {in_yaml(value)}"


def in_yaml(value: object) -> str:
    """Return the value as YAML on one line."""
    if isinstance(value, str) and ("\n" in value or not value.isprintable()):
        return json.dumps(value)
    written = yaml.safe_dump(value, default_flow_style=True, width=10**9, allow_unicode=True, sort_keys=False)
    return str(written).removesuffix("\n").removesuffix("\n...")


SAMPLING = {
    "temperature": ("temperature", 0.0, 5.0),
    "top_p": ("top_p", 0.0, 1.0),
    "topP": ("top_p", 0.0, 1.0),
    "top_k": ("top_k", 0.0, 1e6),
    "topK": ("top_k", 0.0, 1e6),
    "seed": ("seed", 0.0, 2.0**63),
}
"""The setting of each key, and its bounds."""

LENGTHS = ("max_tokens", "max_completion_tokens", "maxOutputTokens", "max_output_tokens")
PENALTIES = ("presence_penalty", "frequency_penalty", "presencePenalty", "frequencyPenalty")


@dataclass(frozen=True, slots=True)
class ModelBlock:
    """A rubric's settings for the model. `max_tokens` is 0 and `schema` None if the rubric does not set them."""

    sampling: Mapping[str, float] = field(default_factory=dict)
    max_tokens: int = 0
    schema: object = None
    notices: tuple[str, ...] = ()


def read_model(block: object, places: Places) -> ModelBlock:
    """Return the settings by their v1 names (`parameters`) or v2 names (`options`). Raises RubricError."""
    if not isinstance(block, Mapping):
        # No block, or only the name of a model, which is not called.
        return ModelBlock()
    key = "options" if isinstance(block.get("options"), Mapping) else "parameters"
    options = block.get(key)
    if not isinstance(options, Mapping):
        return ModelBlock()
    sampling: dict[str, float] = {}
    for name in SAMPLING.keys() & options.keys():
        known, low, high = SAMPLING[name]
        if options[name] is not None:
            sampling[known] = _number(options[name], places, ("model", key, name), low, high)
    lengths = [
        _number(options[name], places, ("model", key, name), 1, 1e7)
        for name in LENGTHS
        if options.get(name) is not None
    ]
    return ModelBlock(sampling, int(min(lengths, default=0)), _schema(options), tuple(_notices(options)))


def _number(value: object, places: Places, keys: Sequence[str], low: float, high: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        said = f"{places.of(*keys)}: {'.'.join(keys)} must be a number from {low:g} to {high:g}"
        raise RubricError(said, "Correct it, or remove it.")
    return value


def _schema(options: Mapping[str, object]) -> object:
    """Return the JSON Schema of a `response_format` of type json_schema."""
    declared = options.get("response_format")
    if not isinstance(declared, Mapping) or not isinstance(declared.get("json_schema"), Mapping):
        return None
    schema: object = declared["json_schema"].get("schema")
    return schema


def _notices(options: Mapping[str, object]) -> Iterator[str]:
    temperature = options.get("temperature")
    if isinstance(temperature, int | float) and temperature > 0:
        yield f"temperature {temperature:g} draws the scores: add --temperature 0 to judge for the likeliest ones"
    for name in PENALTIES:
        if options.get(name):
            yield f"{name} is ignored: it would push the judge away from its format"
    for name in ("stop", "stopSequences"):
        if options.get(name):
            yield f"{name} is ignored: the format says where a reply ends"
