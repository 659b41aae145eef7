"""Turns a value that a prompt asks for into a field of an `outputs:` block."""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pathway_local.adopt.finding import Place
from pathway_local.adopt.languages import in_english
from pathway_local.adopt.number_phrases import Scale, number, numbers_beyond, scale_in
from pathway_local.adopt.scales import Scales
from pathway_local.adopt.word_order import meanings, names_in, ordered, points
from pathway_local.adopt.word_phrases import is_special, listed_words, specials_in, word_runs
from pathway_local.verdict import Number

Field = dict[str, Any]
"""A field of an `outputs:` block."""

SCORED = re.compile(r"(?:^|[._ ])(?:\w*score|\w*rating|grade|stars|level|mark)s?$", re.IGNORECASE)
LONGEST_NAME = 80
"""Characters at the end of a name that are searched: SCORED tries each of them as a beginning."""

VERDICTS = re.compile(r"verdict|result|label|grade|pass|decision|outcome|judg|correct|answer|status", re.IGNORECASE)
GUESS = Scale(1, 5)

MOST_VERDICTS = 15
"""Objects in a list of verdicts at most, unless the user raises it."""

_ECHO = re.compile(r"(?i)provided|given|as is|unchanged|evaluated|same|copy|copied|repeat|original|from the input")
_COUNT = re.compile(
    r"\b(?:number|count|total|how many)\b|^<?(?:an?\s+)?(?:integer|int|number|float|percentage)\b", re.IGNORECASE
)
_SHARE = re.compile(r"between 0(?:\.0)? and 1(?:\.0)?\b|0\.0\s*[-–]\s*1\.0|\bprobability\b", re.IGNORECASE)
_NULLABLE = re.compile(r"\bor null\b|\bnull (?:if|when)\b|\bnull\b.*\bif\b", re.IGNORECASE)
_WORDS = re.compile(r"(?:(\d{1,3})\s*[-–]\s*)?(\d{1,3})[- ]words?", re.IGNORECASE)
_SHORT = re.compile(r"\b(?:very short|short|brief(?:ly)?|concise|one sentence|1-2 sentences?|summary)\b", re.IGNORECASE)
_LONG = re.compile(r"thought|chain|analysis|step-by-step|step by step|detailed|justification", re.IGNORECASE)
_TYPE = re.compile(r"(?i)(?:string|str|text|number|int|integer|float|value|your|free|optional|any|\.\.\.|…)+")
_OR_QUOTED = re.compile(r"\bor\s+[\"'`“]([^\"'`”\n]{1,30})[\"'`”]")
_PART = re.compile(r"\b(?:for|to|of|on) each\b|\beach of\b|\bper (?:criterion|item|point|question)\b", re.IGNORECASE)
_TOTAL = re.compile(r"\btotal\b|\bsum\b|\badd(?:ed)? (?:them |the points )?up\b", re.IGNORECASE)
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
    words = _choices(place)
    place = replace(place, said=in_english(place.said, scales.source.language))
    scored = SCORED.search(scales.source.english_name(place.name)[-LONGEST_NAME:])
    if place.name in inputs and place.kind in ("text", "") and not words:
        doubt = "" if _ECHO.search(place.said) else "the prompt does not say whether to repeat this input"
        return Declared({"type": "echo", "input": place.name}, "the input, repeated", doubt)
    if place.kind == "boolean" and specials_in(place.said):
        words = ["true", "false", *specials_in(place.said)]
    if not words and (_is_score(place, named=bool(scored)) or (place.kind == "number" and scales.states(place.name))):
        return _score(place, scales)
    if len(words) > 1 and any(is_special(word) for word in words) and {"true", "false"} <= {w.lower() for w in words}:
        return word_score(words, scales.source.text)
    if place.kind == "boolean" or (in_json and sorted(word.lower() for word in words) == ["false", "true"]):
        return Declared({"type": "boolean"}, "true or false")
    if words:
        said = f"always {words[0]}" if len(words) == 1 else " or ".join(words)
        return Declared({"type": "choice", "choices": words}, said)
    if re.search(r"^<?(?:boolean|bool)\b", place.said, re.IGNORECASE):
        return Declared({"type": "boolean"}, "true or false")
    if in_json and (place.kind == "objects" or _NULLABLE.search(place.said) or place.kind == "null"):
        return _structured(place, scales)
    if place.kind == "list":
        return Declared({"type": "list", "items": 5, "tokens": 40}, "up to 5 texts")
    if place.kind in ("", "number") and _SHARE.search(place.said):
        return Declared({"type": "number", "min": 0, "max": 1, "decimals": 2}, "0 to 1 with two decimals")
    if place.kind == "number" or (not place.kind and _COUNT.search(place.said)):
        return Declared({"type": "number", "min": 0, "max": 1000}, "a whole number up to 1000")
    return _text(place, scales)


def verdict_list(place: Place, scales: Scales) -> Declared | None:
    """Return the field for a list of objects with a verdict in each; None if not just one member is a verdict.

    The score is named after the list.
    """
    found = {inner.name: declare(inner, scales, (), in_json=True) for inner in place.inner}
    scores = [name for name, declared in found.items() if declared.field["type"] == "score"]
    verdict = promoted(place.inner, found, scales.source.text) if not scores else None
    if verdict:
        found[verdict[0]], scores = verdict[1], [verdict[0]]
    kinds = {declared.field["type"] for declared in found.values()}
    if len(scores) != 1 or kinds - {"text", "score", "choice", "boolean"}:
        return None
    if found[scores[0]].field.get("scale") == "nominal":
        return None
    members = {name: declared.field for name, declared in found.items()}
    for member in members.values():
        member |= {"tokens": min(80, member["tokens"])} if "tokens" in member else {}
    score = f"{place.name}_share"
    declared = found[scores[0]]
    field: Field = {"type": "verdicts", "score": score, "items": MOST_VERDICTS, "members": members}
    said = f"up to {MOST_VERDICTS} objects; {score} is the mean of {scores[0]}: {declared.said}"
    doubts = (each.doubt for each in found.values() if each.doubt)
    return Declared(field, said, next(doubts, ""), place.row)


def _text(place: Place, scales: Scales) -> Declared:
    """Return a text's field. A single word in place of a description may be a constant, so it is not certain."""
    tokens = _text_tokens(f"{place.name} {place.said}")
    found = Declared({"type": "text", "tokens": tokens}, f"text of up to {tokens} tokens")
    shown = place.said.strip()
    if place.kind != "text" or not re.fullmatch(r"[\w.-]{1,40}", shown) or _TYPE.fullmatch(shown):
        return found
    if shown.lower() in place.name.lower():
        return found
    key = re.escape(place.name.split(".")[-1])
    told = re.search(rf"(?i)\b{key}\b[^.\n]{{0,40}}\balways\b[^.\n]{{0,20}}\b{re.escape(shown)}\b", scales.source.text)
    doubt = "" if told else f"the prompt shows only {shown!r}; that it is always this text is a guess"
    return Declared({"type": "choice", "choices": [shown]}, f"always {shown}", doubt)


def _text_tokens(said: str) -> int:
    """Return the budget of a text in tokens, from the length that its description asks for."""
    words = _WORDS.search(said)
    if words:
        return max(40, -(-int(words.group(2)) * 2 // 10) * 10)
    if _LONG.search(said.split("/")[0]):
        return 300
    return 120 if _SHORT.search(said) or "explanation" in said.split("/")[0] else 200


def promoted(places: Sequence[Place], declared: Mapping[str, Declared], text: str) -> tuple[str, Declared] | None:
    """Return the choice or boolean that serves as the score if nothing else does: Pass is 1, Fail is 0."""
    found = {}
    for place in places:
        field = declared[place.name].field
        choices = ["false", "true"] if field["type"] == "boolean" else field.get("choices")
        if isinstance(choices, list) and len(choices) > 1:
            found[place.name] = [str(choice) for choice in choices]
    named = [name for name in found if VERDICTS.search(name)] or list(found)
    return (named[0], word_score(found[named[0]], text)) if named else None


def word_score(words: Sequence[str], text: str) -> Declared:
    """Return the score whose values are these words.

    Their numbers come from the prompt, or from the words' own order; without either, the scale is nominal. Words such
    as Unsure have no place on the scale.
    """
    special = [] if points(words, text) else [word for word in words if is_special(word)]
    on_scale = [word for word in words if word not in special]
    if len(on_scale) < 2:
        on_scale, special = list(words), []
    given = points(on_scale, text)
    meant = meanings(on_scale, text) if all(len(word) == 1 for word in on_scale) else {}
    ranked = ordered(on_scale) or [
        word for said in ordered(list(meant.values())) for word in meant if meant[word] == said
    ]
    numbers: dict[str, Number] = dict(given) or {word: at for at, word in enumerate(ranked)}
    numbers = numbers or {word: at for at, word in enumerate(on_scale, 1)}
    scale: Field = {} if given or ranked else {"scale": "nominal"}
    numbers |= {word: max(numbers.values()) + at for at, word in enumerate(special, 1)}
    by_number = dict(sorted((value, word) for word, value in numbers.items()))
    levels = {value: meant.get(word, word) for value, word in by_number.items()}
    field: Field = {"type": "score", **scale, "levels": levels, "written": by_number}
    said = " / ".join(f"{word} = {value}" for value, word in by_number.items() if word not in special)
    said = said if given or ranked else f"{', '.join(on_scale)}, in no order"
    if special:
        field["special"] = [numbers[word] for word in special]
        said += f"; off the scale: {', '.join(special)}"
    return Declared(field, said)


def with_special(declared: Declared, text: str) -> Declared:
    """Return the score with `text` as a further value that has no place on its scale."""
    field = declared.field
    written, special, values = field.get("written", {}), field.get("special", []), values_of(field)
    if re.fullmatch(r"-?\d+", text):
        value = number(text)
        if value in values:
            said = f"the prompt also says {text}, the number that {written.get(value, text)!r} has here"
            return replace(declared, doubt=declared.doubt or said)
    else:
        # Below the scale there is room for 0 beside 1 to 5, or -1. Words have no numbers, so it comes behind them.
        value = max(values) + 1 if len(written) == len(values) else int(min(values)) - 1
    settled = {**field, "special": [*special, value], "written": {**written, value: text}}
    if "levels" in field:
        settled["levels"] = {**field["levels"], value: text}
    mark = ", " if "off the scale" in declared.said else "; off the scale: "
    return replace(declared, field=settled, said=f"{declared.said}{mark}{text}")


def levels_of(score: Mapping[str, Any]) -> tuple[Number, ...]:
    """Return the values of a score, ascending, without special ones that lie beyond its scale."""
    if score.get("min") is None:
        return tuple(sorted(score["levels"]))
    return Scale(score["min"], score["max"], score.get("step", 1)).values


def values_of(score: Mapping[str, Any]) -> tuple[Number, ...]:
    """Return all values of a score."""
    return tuple(dict.fromkeys((*levels_of(score), *score.get("special", ()))))


def _is_score(place: Place, *, named: bool) -> bool:
    if place.kind in ("boolean", "list", "objects", "null"):
        return False
    scale = None if _WORDS.search(place.said) else scale_in(place.said)
    # A text such as "<1-5>" is a number, whatever quotes the prompt puts around it.
    alone = len(re.findall(r"[A-Za-z]{3,}", place.said)) <= 2
    numeric = place.kind in ("", "number") or "integer" in place.said or alone
    return named or (scale is not None and numeric and not _SHARE.search(place.said))


def _score(place: Place, scales: Scales) -> Declared:
    told = scale_in(place.said)
    found = (told, place.row) if told else scales.scale_of(place.name)
    scale, row = found or (GUESS, -1)
    doubt = "" if found else f"the prompt does not state the scale; {GUESS.said} is a guess"
    if not told and found and _PART.search(scales.lines[row]) and _TOTAL.search(scales.source.english.text):
        doubt = f"line {scales.source.line(row)} may state the scale of a part, and the score be their total"
    if scale.step in (1, None) and scales.steps:
        scale = scale.stepped(scales.steps[0][0])
    if scale.step is None or (scale.step == 1 and re.fullmatch(r"\d?\.\d+", place.said)):
        doubt = "the prompt wants a fraction and does not say how fine; steps of 0.1 are a guess"
        scale = replace(scale, step=0.1)
    field: Field = {"type": "score", "scale": "ordinal"}
    levels = scales.levels_of(place.name, scale) if not scale.listed else None
    labels = levels.labels if levels else names_in(scale.values, scales.source.text) if scale.step == 1 else {}
    if labels:
        special = [value for value, label in labels.items() if _NO_LEVEL.match(label)]
        field |= {"levels": dict(labels)} | ({"special": special} if special else {})
    else:
        field |= scale.field
    alike = [found for found in scales.unsure if found.scale == scale and not labels and not doubt]
    if alike:
        doubt = f"line {scales.source.line(alike[0].row)} lists {scale.said}; add it as levels, if it names them"
    named = f", {', '.join(labels.values())}" if labels else ""
    declared = Declared(field, f"{scale.said}{named}", doubt, levels.row if levels else row)
    # A skeleton's 0 is a placeholder.
    beyond = [] if place.said == "0" else numbers_beyond(place.said, scale)
    extra = specials_in(place.said)
    quoted = [word for word in _OR_QUOTED.findall(place.said) if not re.fullmatch(r"[\d.-]+", word)]
    other = [
        *(text for text in beyond if not re.search(rf"\bor {text}\b|{text}\s+(?:if|when|for)\b", place.said)),
        *(repr(word) for word in quoted if word not in extra),
    ]
    if other and not doubt:
        return replace(declared, doubt=f"the prompt also says {other[0]}, which is not on the scale")
    # Numbers first: a word such as null then gets another one.
    for word in (*beyond, *extra):
        declared = with_special(declared, word)
    return declared


def _choices(place: Place) -> list[str]:
    if place.choices:
        return list(place.choices)
    words = listed_words(place.said) if place.kind in ("text", "") else ()
    if words and not any(_TYPE.fullmatch(word) for word in words):
        return list(words)
    # As in `"completed" if …, or "skipped" if …`: the description begins with a word in quotes.
    begins = re.match(r"^[`\"'<\[(]*[\"'`]", place.said) and re.search(r"\bor\b", place.said)
    quoted = list(dict.fromkeys(re.findall(r"[\"'`]{1,2}([A-Za-z_-]{2,20})[\"'`]{1,2}", place.said)))
    if begins and 2 <= len(quoted) <= 6:
        return quoted
    if place.kind not in ("text", "") or scale_in(place.said):
        return []  # "1-5, or 0 if it is empty, or null" lists no words to choose from
    return list(next((run.words for run in word_runs(place.said) if run.plain), ()))


def _structured(place: Place, scales: Scales) -> Declared:
    if place.kind == "objects":
        inner = {each.name: declare(each, scales, (), in_json=True) for each in place.inner}
        properties = {name: _schema(declared.field) for name, declared in inner.items()}
        item = {"type": "object", "properties": properties, "required": list(properties)}
        doubt = next((declared.doubt for declared in inner.values() if declared.doubt), "")
        listed = {"type": "array", "maxItems": 5, "items": item}
        return Declared({"type": "json", "schema": listed, "tokens": 1200}, "up to 5 objects", doubt)
    schema = {"type": ["string", "null"], "maxLength": 400}
    doubt = "" if place.said else "the prompt shows only null; a text or null is a guess"
    return Declared({"type": "json", "schema": schema, "tokens": 500}, "a text or null", doubt)


def _schema(field: Field) -> object:
    """Return the JSON Schema of what a field writes, as a member of an object in a list."""
    match field["type"]:
        case "json":
            return field["schema"]
        case "choice":
            return {"enum": field["choices"]}
        case "score":
            written = field.get("written", {})
            return {"enum": [_in_json(written.get(value, value)) for value in values_of(field)]}
        case "number":
            kind = "number" if field.get("decimals") else "integer"
            return {"type": kind, "minimum": field["min"], "maximum": field["max"]}
        case "list":
            return {"type": "array", "maxItems": field["items"], "items": {"type": "string", "maxLength": 200}}
        case "boolean":
            return {"type": "boolean"}
    return {"type": "string", "maxLength": 400}


def _in_json(written: object) -> object:
    """Return what a score writes as JSON reads it: a word such as null, or a number, has no quotes."""
    bare = isinstance(written, str) and re.fullmatch(r"-?\d+(\.\d+)?|true|false|null", written)
    return json.loads(str(written)) if bare else written
