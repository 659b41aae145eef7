"""Recognises a reply in JSON: an object or schema that the prompt shows, or a list of the object's keys."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

from pathway_local.adopt.prompt import Source
from pathway_local.adopt.shown import Form, Item, Slot, items
from pathway_local.adopt.words import alternatives, any_of, table
from pathway_local.rubrics.declaration import Schema, properties_of

MOST = 20_000
"""Characters of an object at most."""
_TOKEN = re.compile(
    r'(?P<key>["“][^"”\n]{1,60}["”]\s*:)|"(?:\\.|[^"\\\n])*"|<[^<>\n]{1,300}>|(?P<open>[{\[])|(?P<close>[}\]])'
)
_BOOLEAN = re.compile(r"(?i)\W*(?:bool(?:ean)?\b.*|(?:true|false)(?:\s*(?:/|\||or|,)\s*(?:false|true|null))*\W*)")


def objects(source: Source) -> Iterator[Form]:
    """Yield each object that the prompt shows for the reply, or else each object."""
    data = re.compile(rf"(?i){any_of('data').pattern}[^\n]{{0,40}}\n?\s*`{{0,3}}\w*\s*$")
    found, end = list[tuple[Form, bool]](), 0
    for begin in re.finditer(r"\{(?=\s*[\"“])", source.text):
        if (at := begin.start()) < end:
            continue
        keys, end = _keys(source, at)
        before = re.sub(r"[{<]+\w+[}>]+", "", source.text[max(0, at - 250) : at])
        # No reply of ours is a list at the top, and dots stand for keys that only the judge or the case knows.
        plain = re.sub(r"\[[^\[\]]*\]", " ", re.sub(r"\"[^\"\n]*\"", " ", source.text[at:end]))
        listed, dots = re.search(r"\[\s*$", before), re.search(r"[,\n]\s*(?:\.\.\.|…)", plain)
        slots = () if listed or dots else tuple(_of_schema(source.text[at:end], source.row(at)) or slots_of(keys))
        cued = any_of("reply").search(before) is not None and not data.search(before[-80:])
        if listed and not (cued and any_of("json").search(before)):
            continue  # messages of an example, not a reply
        found += [(Form("a JSON block", "json", slots, source.row(at)), cued)] * bool(keys)
    asked = [form for form, cued in found if cued]
    question = "is this object the reply? I read no line before it that says so" * (not asked)
    yield from (replace(form, question=question) for form in asked or [form for form, _ in found])


def _keys(source: Source, at: int) -> tuple[list[Item], int]:
    """Return the keys of the object that begins at `at`, and where it ends; none if it does not end."""
    depth, begun, stop, keys = 0, at, 0, list[Item]()
    for token in _TOKEN.finditer(source.text, at, at + MOST):
        depth += (token.lastgroup == "open") - (token.lastgroup == "close")
        stop = stop or (token.start() if token.lastgroup == "close" and keys and depth < keys[-1][0] else 0)
        if token.lastgroup == "key" or not depth:
            if keys:
                keys[-1] = (*keys[-1][:2], source.text[begun : stop or token.start()].strip(), keys[-1][3])
                if not keys[-1][2]:
                    break
            if not depth:
                return keys, token.end()
            keys.append((depth, token["key"].rstrip(": \t\n").strip('"“”'), "", source.row(token.start())))
            begun, stop = token.end(), 0
    return [], at + MOST  # inside of an object that is broken, only a part of the form could be found


def slots_of(keys: list[Item], prefix: str = "") -> Iterator[Slot]:
    """Yield a slot for each key; deeper keys are the members, or the values, of the one above them."""
    starts = [at for at, key in enumerate(keys) if key[0] <= keys[0][0]] + [len(keys)]
    for begin, end in pairwise(starts):
        (_, name, said, row), inner = keys[begin], keys[begin + 1 : end]
        if inner and (said.startswith("[") or any_of("objects").search(said)):
            yield Slot(prefix + name, "", row, "objects", members=tuple(slots_of(inner)))
        elif inner and any_of("lists").search(said):
            yield Slot(prefix + name, "", row, "text", words=tuple(key[1] for key in inner))
        elif inner:
            yield from slots_of(inner, f"{prefix}{name}.")
        else:
            yield _slot(prefix + name, said.rstrip(",} \n\t"), row)


def _slot(name: str, raw: str, row: int) -> Slot:
    """Return the slot of a key by what stands behind it: a value, or a mark for one."""
    shown = raw.strip(" ,\n")
    text = shown.strip("[] \n") if shown.startswith("[") else shown.strip("<>() :=–—-*")
    if shown.startswith("[") and ('"' in text or text.count("<") > 1 or not re.search(r"\d|\||/", text)):
        return Slot(name, raw, row, "list")
    if _BOOLEAN.fullmatch(text):
        return Slot(name, "null" * ("null" in raw), row, "boolean")
    if words := alternatives(text):
        return Slot(name, text, row, "text", words=tuple(words))
    if re.fullmatch(r'"[\w.+-]*"', shown):
        return Slot(name, "", row, "text", sample=shown.strip('"'))
    if sample := re.match(r"-?\d+(?:\.[\dX]+)?%?(?!\S)", text):
        rest = text[sample.end() :].strip()
        return Slot(name, text if re.search(r"\d", rest) else rest, row, "number", sample=sample[0])
    kinds: dict[str, str] = table()["kinds_of_values"]
    kind = next((kind for kind, each in kinds.items() if re.match(rf"(?i)(?:an? |the )?(?:{each})(?![a-z])", text)), "")
    return Slot(name, text.strip('"'), row, kind or "text" * shown.startswith('"'))


def _of_schema(text: str, row: int) -> list[Slot]:
    """Return a slot for each property of a JSON Schema; none for another object."""
    try:
        properties = properties_of(json.loads(text)) if '"properties"' in text else []
    except (ValueError, RecursionError):
        return []
    return [_slot(name, _written(inner), row) for name, inner, _ in properties]


def _written(schema: Schema) -> str:
    """Return a property as a skeleton would show it."""
    kind, null = str(schema.get("type")), " or null" * ("null" in str(schema.get("type")))
    if "enum" in schema:
        return " | ".join(json.dumps(value) for value in schema["enum"])
    if "minimum" in schema and "maximum" in schema:
        fine = f" in steps of {schema['multipleOf']}" if "multipleOf" in schema else ".0" * ("number" in kind)
        return f"<{schema['minimum']}-{schema['maximum']}{fine}{null}>"
    shown = {"boolean": f"true or false{null}", "array": "[]", "string": f'"<text> {schema.get("description", "")}"'}
    return next((mark for known, mark in shown.items() if known in kind), "int")


_KEY = r"[\"`“']([A-Za-z]\w*)[\"`”'](?!\s*:)"


def key_lists(source: Source) -> Iterator[Form]:
    """Yield the first list of JSON keys: in bullets, or one behind the other in a sentence."""
    described = rf"\([^()\n]*\)|,\s*{any_of('article').pattern}\s[^\"`,.;]{{1,80}}|:\s*[^\"`,.;]{{1,60}}"
    one = rf"{_KEY}\s*({described})?"
    run = re.compile(rf"{one}(?:(?:\s|,|{any_of('and').pattern})+{one})*")
    for row, line in enumerate(source.lines):
        if not (told := any_of("json").search(line)):
            continue
        keyed = any_of("keys").search(" ".join(source.lines[max(0, row - 1) : row + 3]))
        bullets = [key for key in items(source, row) if re.match(r"\s*[-*•+\d]+\W+[A-Za-z]\w*\b", source.lines[key[3]])]
        if bullets and (keyed or all(re.match(r'\W*"', source.lines[key[3]]) for key in bullets)):
            yield Form("a list of JSON keys", "json", tuple(slots_of(bullets)), row)
            return
        if any_of("objects").search(line):
            return  # a list at the top
        if not (found := run.search(line, told.end())):
            continue
        keys = [(0, each[1], (each[2] or "").strip(" ,:()"), row) for each in re.finditer(one, found[0])]
        if len(keys) > 1 or any_of("keys").search(line[: found.start()]):
            more = [key for key in re.findall(_KEY, line[found.end() :]) if key not in found[0]]
            asked = f'the same line names "{more[0]}": must the reply hold it?' if more else ""
            yield Form("JSON keys in a sentence", "json", tuple(slots_of(keys)), row, question=asked)
            return
