"""Recognises a JSON object in a prompt as the reply's format: a skeleton, an example or a JSON Schema."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from pathway_local.adopt.prompt import Source
from pathway_local.adopt.slots import Found, Slot
from pathway_local.adopt.words import any_of, is_in, table

DEPTH, MOST = 6, 20_000
_TEXT = r'"(?:\\.|[^"\\\n])*"'
_TOKEN = re.compile(rf'{_TEXT}|<[^<>\n]{{1,300}}>|(?<!:)//[^\n]*|[{{}}\[\],]|[^"<{{}}\[\],/]+|.', re.DOTALL)
_KEY = re.compile(r'\s*["“]([^"”\n]{1,60})["”]\s*:\s*')
_SKIP = re.compile(r"(?:\s|,|//[^\n]*\n)*")
_BOOLEAN = re.compile(r"(?i)\W*(?:bool(?:ean)?|(?:true|false)(?:\s*(?:/|\||or|,)\s*(?:false|true|null))*)\W*")
_INPUT = re.compile(r"(?i)\b(?:input|given|data|context|trace|tool)\b[^\n]{0,40}\n?\s*`{0,3}\w*\s*$")


class _Unread(Exception):
    """The text at a brace is no object with quoted keys."""


def json_blocks(source: Source, declared: object) -> Found | None:
    """Return the format of the one kind of object that the prompt shows; None for none, or for several kinds."""
    if isinstance(declared, Mapping) and (slots := tuple(_schema(dict(declared), dict(declared), "", -1))):
        return Found("a JSON schema in the front matter", "json", slots)
    blocks = [block for block in _blocks(source) if any(map(_may_score, block[0]))]
    asked = [
        (slots, at)
        for slots, at in blocks
        if any_of("reply").search(source.text[max(0, at - 250) : at])
        and not _INPUT.search(source.text[max(0, at - 80) : at])
    ]
    if len({tuple(slot.name for slot in slots) for slots, _ in asked or blocks}) != 1:
        return None
    # A skeleton says what stands in its places; an example only shows a value of each.
    return Found(
        "a JSON block",
        "json",
        max(asked or blocks, key=lambda block: sum(bool(s.words or s.said) for s in block[0]))[0],
    )


def _may_score(slot: Slot) -> bool:
    called = re.search(rf"(?i)(?:^|_)(?:{table()['score_names']}|verdict|label|decision|answer)$", slot.name)
    return slot.kind not in ("text", "list") or bool(slot.words or called or re.search(r"\d|[|/]", slot.said))


def _blocks(source: Source) -> Iterator[tuple[tuple[Slot, ...], int]]:
    """Yield the slots of each object that stands by itself, and where it begins."""
    end = 0
    for found in re.finditer(r"\{(?=(?:\s|//[^\n]*\n)*[\"“])", source.text):
        at = found.start()
        if at < end:
            continue
        try:
            slots, end = _object(source, at, "", 0)
        except _Unread:
            # Inside of an object that can't be read, only a part of the format could be found.
            end = at + len(source.text[at : at + MOST].partition("\n\n")[0])
            continue
        if not re.search(r"\[\s*$", source.text[max(0, at - 20) : at]):
            yield tuple(_of_schema(source.text[at:end], source.row(at))) or slots, at


def _object(source: Source, at: int, prefix: str, depth: int) -> tuple[tuple[Slot, ...], int]:
    """Return the slots of the object at `at`, and where it ends. Raises _Unread."""
    slots: list[Slot] = []
    at += 1
    while True:
        at = _SKIP.match(source.text, at).end()  # type: ignore[union-attr]
        if source.text.startswith("}", at) and slots:
            return tuple(slots), at + 1
        key = _KEY.match(source.text, at)
        if not key or depth > DEPTH:
            raise _Unread
        name, row, at = prefix + key[1], source.row(key.start(1)), key.end()
        if re.compile(r"\{\s*[\"“]").match(source.text, at):
            inner, at = _object(source, at, f"{name}.", depth + 1)
            slots += inner
        elif found := re.compile(r"\[\s*(?=\{\s*[\"“])").match(source.text, at):
            members, end = _object(source, found.end(), "", depth + 1)
            rest, at = _raw(source.text, end, "]")
            if re.search(r"[a-z]{3}", re.sub(r"\{.*\}", "", rest, flags=re.DOTALL)):
                raise _Unread
            slots.append(Slot(name, "", row, "objects", members=members))
        else:
            raw, at = _raw(source.text, at, ",}")
            slots.append(_slot(name, raw, row))


def _raw(text: str, at: int, ends: str) -> tuple[str, int]:
    """Return a member's value as it stands, with a comment behind it, and where it ends. Raises _Unread."""
    depth, raw = 0, ""
    for token in _TOKEN.finditer(text, at, at + MOST):
        part = token[0]
        if not depth and part in ends:
            comment = re.compile(r",?[ \t]*//([^\n]*)").match(text, token.start()) if ends == ",}" else None
            end = comment.end() if comment else token.end() if part != "}" else token.start()
            return f"{raw.strip()} {comment[1].strip() if comment else ''}".strip(), end
        depth += (part in ("[", "{")) - (part in ("]", "}"))
        raw += f" {part[2:].strip()}" if part.startswith("//") else part
    raise _Unread


def _slot(name: str, raw: str, row: int) -> Slot:
    """Return the slot of a member by its value as the prompt writes it."""
    texts = [each[1:-1] for each in re.findall(_TEXT, raw)]
    rest, first = re.sub(_TEXT, "", raw).strip(), (raw.split() or [""])[0]
    if raw.startswith("["):
        return Slot(name, raw, row, "" if not texts and re.search(r"\d|\|", raw) else "list")
    if len(texts) > 1 and re.fullmatch(r"(?i)(?:[|/,]|or|\s|\.)*", rest):
        return Slot(name, "", row, "text", words=tuple(texts))
    if raw.startswith('"') and texts:
        sample = texts[0] if re.fullmatch(r"[\w.+-]*", texts[0]) and not rest else ""
        return Slot(name, "" if sample else f"{texts[0]} {rest}".strip("<>[] "), row, "text", sample=sample)
    if _BOOLEAN.fullmatch(raw):
        return Slot(name, raw, row, "boolean")
    if re.fullmatch(r"-?\d+(?:\.\d+)?%?", first):
        listed = re.match(r"\S+\s*(?:or|\||/|-|to)\s", raw)
        return Slot(name, raw if listed else raw.partition(" ")[2], row, "number", sample=first)
    said = re.sub(r"^[<(]|[>)]$", "", raw).strip()
    kind = "number" if re.fullmatch(r"(?i)int(?:eger)?|float|number", said) else ""
    sample = "null" if said == "null" else "string" if is_in("texts", said) and len(said) < 7 else ""
    return Slot(
        name, "" if sample else said, row, "text" if sample else kind, sample="0.5" if said == "float" else sample
    )


def _of_schema(text: str, row: int) -> Iterator[Slot]:
    try:
        read = json.loads(text)
    except (ValueError, RecursionError):
        return
    if isinstance(read.get("properties"), dict):
        yield from _schema(read, read, "", row)


def _schema(block: dict[str, Any], root: dict[str, Any], prefix: str, row: int) -> Iterator[Slot]:
    """Yield a slot for each property of a JSON Schema, or of Prompty's list of properties with names and kinds."""
    properties = block.get("properties", {} if prefix else block)
    if isinstance(properties, list):
        properties = {each.get("name"): each for each in properties if isinstance(each, dict)}
    for key, declared in properties.items() if isinstance(properties, dict) and prefix.count(".") < DEPTH else ():
        member = _resolved(declared, root)
        name, kind, said = (
            f"{prefix}{key}",
            member.get("kind", member.get("type", "")),
            str(member.get("description", "")),
        )
        choices = member.get("enum", member.get("enumValues", [member["const"]] if "const" in member else None))
        if "minimum" in member and "maximum" in member:
            step = (
                f" in steps of {member['multipleOf']}"
                if "multipleOf" in member
                else ".0"
                if kind in ("number", "float")
                else ""
            )
            said = f"{member['minimum']} to {member['maximum']}{step}"
        items = _resolved(member.get("items"), root)
        if kind == "object":
            yield from _schema(member, root, f"{name}.", row)
        elif kind == "array":
            inner = tuple(_schema(items, root, "", row)) if items.get("properties") else ()
            yield Slot(name, said, row, "objects" if inner else "list", members=inner)
        elif isinstance(choices, list) and choices:
            numbers = all(isinstance(choice, int | float) and not isinstance(choice, bool) for choice in choices)
            words = tuple("null" if choice is None else str(choice) for choice in choices)
            yield (
                Slot(name, " or ".join(words), row)
                if numbers and len(words) > 1
                else Slot(name, "", row, "text", words=words)
            )
        elif member:
            known = {"string": "text", "boolean": "boolean"}.get(kind, "number" if kind else "")
            fine = "0.5" if kind in ("number", "float") and "minimum" not in member else ""
            yield Slot(name, said[:200] + " or null" * member.get("null", False), row, known, sample=fine)


def _resolved(declared: object, root: dict[str, Any]) -> dict[str, Any]:
    """Return a property with its reference followed, and with its one type beside null."""
    member: dict[str, Any] = dict(declared) if isinstance(declared, Mapping) else {}
    if member.get("$ref"):
        found: Any = root
        for part in str(member["$ref"]).removeprefix("#/").split("/"):
            found = found.get(part) if isinstance(found, dict) else None
        member = (found if isinstance(found, dict) else {}) | member
    types = member.get("type")
    several = (
        [{"type": each} for each in types] if isinstance(types, list) else member.get("anyOf", member.get("oneOf", []))
    )
    real = [each for each in several if isinstance(each, dict) and each.get("type") != "null"]
    return member | real[0] | {"null": len(several) > 1} if len(real) == 1 else member
