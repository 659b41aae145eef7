"""Turns what a prompt says of a value into a field of an `outputs:` block."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from pathway_local.adopt.finding import Place
from pathway_local.adopt.scales import Range, Scales, range_in
from pathway_local.adopt.short_replies import polarity

Field = dict[str, object]

SCORED = re.compile(r"(?:^|[._ ])(?:\w*score|\w*rating|grade|stars|level|mark)s?$", re.IGNORECASE)
VERDICTS = re.compile(r"verdict|result|label|grade|pass|decision|outcome|judg|correct|answer|status", re.IGNORECASE)
GUESS: Range = (1, 5)

_ECHO = re.compile(r"(?i)provided|given|as is|unchanged|evaluated|same|copy|copied|repeat|original|from the input")
_COUNT = re.compile(
    r"\b(?:number|count|total|how many)\b|^<?(?:an?\s+)?(?:integer|int|number|float|percentage)\b", re.IGNORECASE
)
_SHARE = re.compile(r"between 0(?:\.0)? and 1(?:\.0)?\b|0\.0\s*[-–]\s*1\.0|\bprobability\b", re.IGNORECASE)
_NULLABLE = re.compile(r"\bor null\b|\bnull (?:if|when)\b|\bnull\b.*\bif\b", re.IGNORECASE)
_WORDS = re.compile(r"(?:(\d{1,3})\s*[-–]\s*)?(\d{1,3})[- ]words?", re.IGNORECASE)
_SHORT = re.compile(r"\b(?:very short|short|brief(?:ly)?|concise|one sentence|1-2 sentences?|summary)\b", re.IGNORECASE)
_LONG = re.compile(r"thought|chain|analysis|step-by-step|step by step|detailed|justification", re.IGNORECASE)
_EITHER = re.compile(
    r"^[<\[(\"'`]*([A-Za-z_-]{2,20})[\"'`]*(?:\s*(?:\||/|,| or )\s*[\"'`]*([A-Za-z_-]{2,20})[\"'`]*){1,7}[>\])\"'`]*$"
)
_QUOTED = re.compile(r"[\"'`]{1,2}([A-Za-z_-]{2,20})[\"'`]{1,2}")
_NO_LEVEL = re.compile(r"^(?:nothing to|not applicable|n/?a\b|cannot be|can't be|unable to)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Declared:
    """A field as YAML values, its description in the table of findings, and why it is not certain."""

    field: Field
    said: str
    doubt: str = ""
    row: int = -1


def declare(place: Place, scales: Scales, inputs: Collection[str], *, in_json: bool) -> Declared:
    """Return the field for this value; `in_json` says whether the format is JSON."""
    if place.name in inputs and place.kind in ("text", ""):
        doubt = "" if _ECHO.search(place.said) else "the prompt does not say whether to repeat this input"
        return Declared({"type": "echo", "input": place.name}, "the input, repeated", doubt)
    if _is_score(place):
        return _score(place, scales)
    choices = _choices(place)
    if choices:
        return Declared({"type": "choice", "choices": choices}, " or ".join(choices))
    if place.kind == "boolean" or re.search(r"^<?(?:true or false|true/false|boolean)", place.said, re.IGNORECASE):
        return Declared({"type": "boolean"}, "true or false")
    if in_json and (place.kind == "objects" or _NULLABLE.search(place.said) or place.kind == "null"):
        return _structured(place)
    if place.kind == "list":
        return Declared({"type": "list", "items": 5, "tokens": 40}, "up to 5 texts")
    if place.kind in ("", "number") and _SHARE.search(place.said):
        return Declared({"type": "number", "min": 0, "max": 1, "decimals": 2}, "0 to 1 with two decimals")
    if place.kind == "number" or (not place.kind and _COUNT.search(place.said)):
        return Declared({"type": "number", "min": 0, "max": 1000}, "a whole number up to 1000")
    tokens = _text_tokens(f"{place.name} {place.said}")
    return Declared({"type": "text", "tokens": tokens}, f"text of up to {tokens} tokens")


def _text_tokens(said: str) -> int:
    """Return the budget of a text in tokens, from the length that its description asks for."""
    words = _WORDS.search(said)
    if words:
        return max(40, -(-int(words.group(2)) * 2 // 10) * 10)
    if _LONG.search(said.split("/")[0]):
        return 300
    return 120 if _SHORT.search(said) or "explanation" in said.split("/")[0] else 200


def promoted(places: Sequence[Place], declared: Mapping[str, Declared]) -> tuple[str, Declared] | None:
    """Return the choice or boolean that serves as the score if nothing else does: Pass is 1, Fail is 0."""
    for place in places:
        field = declared[place.name].field
        choices = ["false", "true"] if field["type"] == "boolean" else field.get("choices")
        words = tuple(map(str, choices)) if isinstance(choices, list) else ()
        if len(words) == 2 and (VERDICTS.search(place.name) or len(places) == 1):
            written = polarity(words)
            guess = f"the prompt does not say which is better; {words[0]} counts as 0 and {words[1]} as 1"
            doubt = "" if written else guess
            written = written or dict(enumerate(words))
            score: Field = {"type": "score", "levels": dict(written), "written": dict(written)}
            return place.name, Declared(
                score, " / ".join(f"{text} = {value}" for value, text in written.items()), doubt
            )
    return None


def _is_score(place: Place) -> bool:
    if place.kind in ("boolean", "list", "objects", "null") or place.choices:
        return False
    named = bool(SCORED.search(place.name))
    ranged = range_in(place.said) is not None and not _WORDS.search(place.said)
    return named or (
        ranged and (place.kind in ("", "number") or "integer" in place.said) and not _SHARE.search(place.said)
    )


def _score(place: Place, scales: Scales) -> Declared:
    told = range_in(place.said)
    found = (told, place.row) if told else scales.range_of(place.name)
    scale, row = found or (GUESS, -1)
    doubt = "" if found else f"the prompt does not state the scale; {GUESS[0]} to {GUESS[1]} is a guess"
    field: Field = {"type": "score", "scale": "ordinal"}
    never = "; never null, since a case without its inputs fails before it is judged" if "null" in place.said else ""
    said = f"{scale[0]} to {scale[1]}"
    levels = scales.levels_of(place.name, scale)
    if levels is None:
        return Declared(field | {"min": scale[0], "max": scale[1]}, said + never, doubt, row)
    special = [number for number, label in levels.labels.items() if _NO_LEVEL.match(label)]
    field |= {"levels": dict(levels.labels)} | ({"special": special} if special else {})
    return Declared(field, f"{said}, {', '.join(levels.labels.values())}{never}", doubt, levels.row)


def _choices(place: Place) -> list[str]:
    if place.choices:
        return list(place.choices)
    either = _EITHER.match(place.said.strip())
    if either and place.kind in ("text", ""):
        return re.findall(r"[A-Za-z_-]{2,20}", re.sub(r"\bor\b", "|", place.said))
    words = list(dict.fromkeys(_QUOTED.findall(place.said)))
    # As in `"completed" if …, or "skipped" if …`: the description begins with a word in quotes.
    begins = re.match(r"^[`\"'<\[(]*[\"'`]", place.said) and re.search(r"\bor\b", place.said)
    return words if begins and 2 <= len(words) <= 6 else []


def _structured(place: Place) -> Declared:
    if place.kind == "objects":
        return Declared({"type": "json", "schema": _schema(place), "tokens": 1200}, "up to 5 objects")
    schema = {"type": ["string", "null"], "maxLength": 400}
    doubt = "" if place.said else "the prompt shows only null; a text or null is a guess"
    return Declared({"type": "json", "schema": schema, "tokens": 500}, "a text or null", doubt)


def _schema(place: Place) -> dict[str, object]:
    if place.kind == "objects":
        properties = {inner.name: _schema(inner) for inner in place.inner}
        item = {"type": "object", "properties": properties, "required": list(properties)}
        return {"type": "array", "maxItems": 5, "items": item}
    told = re.search(r"'(\w+)' or '(\w+)'", place.said)
    if words := _choices(place) or (list(told.groups()) if told else []):
        return {"enum": words}
    if place.kind == "boolean":
        return {"type": "boolean"}
    if place.kind == "list":
        return {"type": "array", "maxItems": 5, "items": {"type": "string", "maxLength": 200}}
    if _SHARE.search(place.said):
        return {"type": "number", "minimum": 0, "maximum": 1}
    if place.kind == "number" or _COUNT.search(place.said):
        return {"type": "integer", "minimum": 0, "maximum": 1000}
    return {"type": "string", "maxLength": 400}
