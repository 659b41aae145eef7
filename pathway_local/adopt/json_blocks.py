"""Recognises a JSON reply: an object or schema that the prompt shows, or a list of the object's keys."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

from pathway_local.adopt.slots import Found, Slot, Source
from pathway_local.adopt.values import is_list, words_in
from pathway_local.adopt.words import any_of, table
from pathway_local.rubrics.declaration import Schema, properties_of

MOST = 20_000
_TOKEN = re.compile(
    r'(?P<key>["“][^"”\n]{1,60}["”]\s*:)|"(?:\\.|[^"\\\n])*"|<[^<>\n]{1,300}>|(?<!:)//[^\n]*|(?P<open>[{\[])|(?P<close>[}\]])'
)
_BULLET = re.compile(
    r"^(\s*)(?:[-*•+]|\d+[.)])\s+[*_]*[\"'`“]?([A-Za-z]\w*)[\"'`”]?[*_]*\s*((?:\([^()\n]*\))?\s*[:=–—-]\s*[*_]*\s*.*)$"
)
_BOOLEAN = re.compile(r"(?i)\W*(?:bool(?:ean)?\b.*|(?:true|false)(?:\s*(?:/|\||or|,)\s*(?:false|true|null))*\W*)")

Key = tuple[int, str, str, int]
"""A key's depth, its name, what stands behind it, and its row."""


def json_blocks(source: Source) -> Iterator[Found]:
    """Yield the format of each object that the prompt shows for the reply, or else of each object."""
    data = re.compile(rf"(?i){any_of('data').pattern}[^\n]{{0,40}}\n?\s*`{{0,3}}\w*\s*$")
    blocks = list(_blocks(source))
    asked = [found for found, before in blocks if any_of("reply").search(before) and not data.search(before[-80:])]
    told = "is this object the reply? no line before it says so" * (not asked)
    forms = {tuple(slot.name for slot in found.slots) for found in asked}
    told = told or f"the prompt shows {len(forms)} different objects: does the judge write this one alone?" * (
        len(forms) > 1
    )
    yield from (replace(found, question=told) for found in asked or [found for found, _ in blocks])


def _blocks(source: Source) -> Iterator[tuple[Found, str]]:
    """Yield the format of each object that stands by itself, and the text before it."""
    end = 0
    for found in re.finditer(r"\{(?=(?:\s|//[^\n]*\n)*[\"“])", source.text):
        at = found.start()
        if at >= end:
            keys, end = _keys(source, at)
            if keys and not re.search(r"\[\s*$", source.text[max(0, at - 20) : at]):
                plain = re.sub(r"\[[^\[\]]*\]|\"[^\"\n]*\"", " ", source.text[at:end])
                if any(set(key[1]) & set("<>{}") for key in keys) or re.search(r"[,\n]\s*(?:\.\.\.|…)", plain):
                    continue  # The reply has keys that only the judge or the case knows.
                slots = tuple(_of_schema(source.text[at:end], source.row(at))) or tuple(slots_of(keys))
                yield (
                    Found("a JSON block", "json", slots),
                    re.sub(r"[{<]+\w+[}>]+", "", source.text[max(0, at - 250) : at]),
                )


def _keys(source: Source, at: int) -> tuple[list[Key], int]:
    """Return the keys of the object that begins at `at`, and where it ends; none if it does not end."""
    depth, begun = 0, at
    keys: list[Key] = []
    for token in _TOKEN.finditer(source.text, at, at + MOST):
        depth += (token.lastgroup == "open") - (token.lastgroup == "close")
        if token.lastgroup == "key" or not depth:
            if keys:
                keys[-1] = (*keys[-1][:2], source.text[begun : token.start()].strip(), keys[-1][3])
                if not keys[-1][2]:
                    break
            if not depth:
                return keys, token.end()
            keys.append((depth, token["key"].rstrip(": \t\n").strip('"“”'), "", source.row(token.start())))
            begun = token.end()
    # Inside of an object that is broken or does not end, only a part of the format could be found.
    return [], at + MOST


def slots_of(keys: list[Key], prefix: str = "") -> Iterator[Slot]:
    """Yield a slot for each key; deeper keys are the members, or the values, of the one above them."""
    starts = [at for at, key in enumerate(keys) if key[0] <= keys[0][0]] + [len(keys)]
    seen = set[str]()
    for begin, end in pairwise(starts):
        (_, name, said, row), inner = keys[begin], keys[begin + 1 : end]
        if name in seen:
            continue
        seen.add(name)
        if inner and (said.startswith("[") or any_of("objects").search(said)):
            yield Slot(prefix + name, "", row, "objects", members=tuple(slots_of(inner)))
        elif inner and any_of("lists").search(said):
            yield Slot(prefix + name, "", row, "text", words=tuple(key[1] for key in inner))
        elif inner:
            yield from slots_of(inner, f"{prefix}{name}.")
        else:
            yield _slot(prefix + name, said.rstrip(",} \n\t"), row)


def _slot(name: str, raw: str, row: int) -> Slot:
    """Return the slot of a key by what stands behind it: a value or a mark for one, and perhaps a remark."""
    shown, remark = (part.strip(" ,\n") for part in [*re.split(r"(?<!:)//", raw, maxsplit=1), ""][:2])
    bare, null = shown.strip("<>() :=–—-*"), " or null" * bool(re.search(r"\bnull\b", raw))
    said = f"{bare} {remark}".strip()
    if shown.startswith("["):
        return Slot(name, raw, row, "list" if '"' in shown or not re.search(r"\d|\|", shown) else "")
    if _BOOLEAN.fullmatch(bare):
        return Slot(name, null, row, "boolean")
    words = words_in(bare) if ('"' in bare or not shown.startswith("<")) and is_list(bare) else []
    if len(words) > 1:
        return Slot(name, said, row, "text", words=tuple(words))
    if re.fullmatch(r'"[\w.+-]*"[\],}\s]*', shown):
        return Slot(name, remark, row, "text", sample=shown.strip('"]},'))
    if sample := re.match(r"-?\d+(?:\.[\dX]+)?%?(?!\S)", bare):
        listed = re.match(r"\S+\s*(?:or|\||/|-|to|a)\s", bare)
        return Slot(name, said if listed else said[sample.end() :].strip(), row, "number", sample=sample[0])
    kinds: dict[str, str] = table()["kinds_of_values"]
    kind = next((kind for kind, each in kinds.items() if re.match(rf"(?i)(?:an? |the )?(?:{each})(?![a-z])", said)), "")
    kind = kind or "number" * bool(re.fullmatch(r"[nNxX]{1,2}", shown))  # a text would stand in quotes
    sampled = "0.5" * ("float" in said.lower()) or "null" * (said == "null")
    return Slot(name, said.strip('"'), row, kind or "text" * shown.startswith('"'), sample=sampled)


def _of_schema(text: str, row: int) -> Iterator[Slot]:
    """Yield a slot for each property of a JSON Schema; nothing for another object."""
    try:
        properties = properties_of(json.loads(text)) if '"properties"' in text else []
    except (ValueError, RecursionError):
        return
    for name, inner, _ in properties:
        constant = (str(inner["const"]),) if "const" in inner else ()
        yield Slot(name, "", row, words=constant) if constant else _slot(name, _written(inner), row)


def _written(schema: Schema) -> str:
    """Return a property as a skeleton would show it."""
    kind, said = str(schema.get("type")), str(schema.get("description", ""))[:200]
    if "enum" in schema:
        return " | ".join(json.dumps(value) for value in schema["enum"])
    if "minimum" in schema and "maximum" in schema:
        fine = f" in steps of {schema['multipleOf']}" if "multipleOf" in schema else ".0" * ("number" in kind)
        return f"<{schema['minimum']}-{schema['maximum']}{fine}{' or null' * ('null' in kind)}>"
    shown = {"boolean": f"true or false{' or null' * ('null' in kind)}", "array": "[]", "string": f'"<text> {said}"'}
    return next((mark for known, mark in shown.items() if known in kind), f"int {said}")


def key_lists(source: Source) -> Iterator[Found]:
    """Yield the format that the first list of JSON keys makes, in bullets or in a sentence."""
    for row, line in enumerate(source.lines):
        near = " ".join(source.lines[max(0, row - 1) : row + 3])
        if any_of("json").search(line) and any_of("keys").search(near) and (keys := _bullets(source, row)):
            yield Found("a list of JSON keys", "json", tuple(slots_of(keys)))
            return
    described = rf"\([^()\n]*\)|,\s*{any_of('article').pattern}\s[^\"`,.;]{{1,80}}|:\s*[^\"`,.;]{{1,60}}"
    quoted = re.compile(rf"[\"`“']([A-Za-z]\w*)[\"`”']\s*({described})?")
    bare = re.compile(r"(?:[:,]|\band)\s+([a-z]\w*)\s*(\([^()\n]*\))?(?=[,.;]|\s+and\s|\s*$)")
    for row, line in enumerate(source.lines):
        for sentence in re.split(r"(?<=[.!?])\s+(?=[A-Z])", line):
            keyed = any_of("keys").search(sentence)
            marks = list(quoted.finditer(sentence)) or (list(bare.finditer(sentence, keyed.end())) if keyed else [])
            head = sentence[: marks[0].start()] if marks else ""
            if not any_of("json").search(sentence):
                continue
            if any_of("objects").search(head) or re.search(r"\[\s*\{+$", head):
                return  # A reply that is a list at its top has no spelling.
            named = [(0, found[1], (found[2] or "").strip(" ,:()"), row) for found in marks]
            if len(named) == 1 and not named[0][2]:
                named = [(0, named[0][1], head, row)]
            if len(named) > 1 or (named and keyed):
                yield Found("JSON keys in a sentence", "json", tuple(slots_of(named)))
                return


def _bullets(source: Source, row: int) -> list[Key]:
    """Return the bullets with keys below a row."""
    found: list[Key] = []
    for at in range(row + 1, min(row + 60, len(source.lines))):
        if match := _BULLET.match(source.lines[at]):
            found.append((len(match[1]), match[2], match[3].strip(" :=–—-*"), at))
        elif source.lines[at].strip() and not source.lines[at].startswith(" ") and (found or at > row + 2):
            break
    return found
