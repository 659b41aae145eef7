"""Converts a prompt of another tool into a rubric's template: its marks become `{{ name }}`, all else stays text."""

import json
import re
from collections.abc import Collection, Iterator
from string import Formatter

from jinja2 import TemplateSyntaxError

from pathway_local.errors import RubricError
from pathway_local.rubrics.prompty_file import ROLE, checked_turn
from pathway_local.rubrics.turn import Turn, read_turn

_DOTTED = r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)"
_FORMAT = re.compile(rf"\{{\{{|\}}\}}|\{{{_DOTTED}\}}")
"""Python's `str.format`: {name}, and doubled braces for plain ones."""
_SINGLE = re.compile(rf"(?<![{{$])\{{{_DOTTED}\}}(?!\}})")
_DOUBLE = re.compile(rf"\{{\{{[ \t]*\$?{_DOTTED}[ \t]*\}}\}}")
_DOLLARS = re.compile(rf"\$\{{{_DOTTED}\}}|\{{\${_DOTTED}\}}|\$([a-z_]\w*)(?!\$)")
_ANGLES = re.compile(r"<([A-Za-z_]\w*)>")

_JINJA = re.compile(
    r"\{%-?\s*(?:if|for|set|macro|block|include|import|from|extends|filter|call|with|raw|autoescape)\b"
    r"|\{\{-?[ \t]*[A-Za-z_]\w*[ \t]*[|(\[]|\{\{(?!\s*[\"'])[^{}|]*\|[^{}]*\}\}|\{\{\s*[#/^>][^{}\n]*\}\}"
)
"""A statement, a filter, a call, an index or a block: as text it would reach the judge. Doubled braces around a quote
are JSON."""
_CHAT = re.compile(
    r"<\|(?:im_start|im_end|start_header_id|begin_of_text|eot_id|system|user|assistant)\|>|<start_of_turn>|\[/?INST\]|<<SYS>>"
)
_MATHS = re.compile(
    r"\$(?=\S)(?![A-Z][A-Z_]+\$)[^$\n]*(?<=\S)\$(?!\w)|\$\$.+?\$\$|\\[A-Za-z]+(?:\{[^{}\n]*\})+", re.DOTALL
)
"""Formulas: $x$ has a dollar at both ends, and \\frac{a}{b} puts braces behind a command."""
_DESCRIBED = re.compile(r"^\s*(?:(?:[-*•+]|\d+[.)])\s*)?[*_`\"']*\{(\w+)\}[*_`\"']*\s*(?::|-|–|—|=)[*_]*\s+\w")
STRANGE = re.compile(r"(?<![\w:])\{\s*\}(?!\})|%s\b|\$[a-z]\w*\$|\$\{[^}\n]*\}|\{\w+\[[^\]\n]*\]\}|\{\w+![rsa]\}")
"""The look of an input's mark in yet another tool."""


def converted(text: str, given: Collection[str], where: str, first_line: int = 1) -> tuple[str, tuple[str, ...]]:
    """Return a prompt as a rubric's template, and the names of its inputs in their order.

    With names `given`, no other mark is an input; without a mark they follow in a user turn, each between tags. A
    template that a rubric may have stays as it is. Raises RubricError for a mark that a rubric can't have.
    """
    if found := _CHAT.search(text):
        line = first_line + text.count("\n", 0, found.start())
        hint = "Write a line system: or user: above each turn; the judge's own template writes its tokens."
        raise RubricError(f"{where} line {line}: {found[0]} is a token of one model's chat template", hint)
    turn = _turn(text)
    plain = _MATHS.sub(" ", text)
    doubled, single = _names(_DOUBLE, plain), _names(_SINGLE, plain)
    format_string = single and _is_format(text) and not {*doubled} & {*single}
    if turn and doubled and not format_string and turn.variables >= {*doubled}:
        return text, tuple(given) or tuple(sorted(turn.variables, key=text.find))
    if _JINJA.search(text) and not turn:
        checked_turn("user", text, first_line, where)  # raises the error that names what no rubric may have
    marks = _FORMAT if format_string else _DOUBLE if doubled else _SINGLE
    names = single if format_string else doubled or single
    if names and names == single and all(_described(text, name) for name in single):
        names, given = (), given or single
    if not names and (dollars := _names(_DOLLARS, plain)):
        marks, names = _DOLLARS, dollars
    if given and not {*names} & {*given}:
        marks, names = _ANGLES, tuple(name for name in _names(_ANGLES, plain) if name in given)
    if not names:
        return _with_user_turn(text, given) if given else text, tuple(given)
    names = tuple(name for name in names if name in given) if given else names
    return "".join(_pieces(text, marks, names)), names


def _turn(text: str) -> Turn | None:
    """Return the text as Jinja reads it; None if it is no template that a rubric may have."""
    # Jinja would silently drop {# … #}, and with it a part of the prompt.
    if "{#" in text and "#}" in text:
        return None
    try:
        return read_turn("user", text)
    except TemplateSyntaxError:
        return None


def _names(marks: re.Pattern[str], text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for found in marks.finditer(text) if (name := _input_of(found))))


def _input_of(mark: re.Match[str]) -> str:
    """Return the name of the input that a mark stands for; empty for a doubled brace."""
    return next(filter(None, mark.groups()), "").replace(".", "_")


def _is_format(text: str) -> bool:
    try:
        pieces = list(Formatter().parse(text))
    except ValueError:
        return False
    return all(
        name is None or (name.replace(".", "").isidentifier() and not spec and not turn)
        for _, name, spec, turn in pieces
    )


def _described(text: str, name: str) -> bool:
    """Return whether the name always heads a description, as in `- **{answer}**: what the chatbot said`."""
    lines = [line for line in text.split("\n") if f"{{{name}}}" in line]
    return bool(lines) and all((found := _DESCRIBED.match(line)) and found.group(1) == name for line in lines)


def _pieces(text: str, marks: re.Pattern[str], names: Collection[str]) -> Iterator[str]:
    """Yield the parts of the template; marks with other names are text."""
    roles = bool(ROLE.match(text.lstrip()))
    kept, at = "", 0
    for mark in marks.finditer(text):
        kept += text[at : mark.start()]
        at = mark.end()
        if (name := _input_of(mark)) in names:
            yield f"{escaped(kept, roles=roles)}{{{{ {name} }}}}"
            kept = ""
        else:
            kept += mark[0][0] if mark[0] in ("{{", "}}") else mark[0]
    yield escaped(kept + text[at:], roles=roles)


def escaped(text: str, *, roles: bool = False) -> str:
    """Return a text as a template writes it; unless it has `roles`, a line such as `user:` is text as well."""
    said = text if roles else ROLE.sub(lambda line: f"\0{line[0]}\0", text)
    said = re.sub(r"\{(?=[{%#]|\Z)", '{{ "{" }}', said)
    return re.sub("\0([^\0]*)\0", lambda line: f"{{{{ {json.dumps(line[1])} }}}}", said)


def _with_user_turn(text: str, names: Collection[str]) -> str:
    case = "\n\n".join(f"<{name}>\n{{{{ {name} }}}}\n</{name}>" for name in names)
    roles = [found[1].lower() for found in ROLE.finditer(text)] if ROLE.match(text.lstrip()) else []
    begin = "" if roles else "system:\n"
    joint = "" if roles[-1:] == ["user"] else "user:\n"
    return f"{begin}{escaped(text, roles=bool(roles)).rstrip()}\n\n{joint}{case}\n"
