"""One turn of a prompt: a role, and a text with places for a case's inputs."""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from jinja2 import StrictUndefined, Template, TemplateError, TemplateSyntaxError, meta, nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

from pathway_local.errors import RubricError

Syntax = Literal["jinja2", "braces", "single-braces", "double-braces", "none"]
"""How a prompt marks where its inputs go.

`braces` is the syntax of `str.format`: {name}, with {{ and }} for plain braces. In the next two, only {name} or only
{{name}} marks an input, and all other braces are text. `none` marks nothing.
"""

DEPTH = 60
"""Levels of a template's tree at most: Jinja and Python fail on deeper ones."""

JINJA = ImmutableSandboxedEnvironment(undefined=StrictUndefined, keep_trailing_newline=True)

MARKS: Mapping[str, re.Pattern[str]] = {
    "braces": re.compile(r"\{\{|\}\}|\{([A-Za-z_]\w*)\}"),
    "single-braces": re.compile(r"(?<!\{)\{([A-Za-z_]\w*)\}(?!\})"),
    "double-braces": re.compile(r"\{\{[ \t]*([A-Za-z_]\w*)[ \t]*\}\}"),
}


def parsed(template: str) -> nodes.Template:
    """Return the template as a tree. Raises TemplateSyntaxError, also for a template that is nested too deeply."""
    try:
        tree = JINJA.parse(template)
    except RecursionError:
        raise TemplateSyntaxError("the template is nested too deep", 1) from None
    level: list[nodes.Node] = [tree]
    for _ in range(DEPTH):
        level = [inner for node in level for inner in node.iter_child_nodes()]
    if level:
        raise TemplateSyntaxError("the template is nested too deep", level[0].lineno)
    return tree


_REFUSED = (nodes.Assign, nodes.AssignBlock, nodes.For, nodes.Macro, nodes.CallBlock, nodes.FilterBlock)
_FENCED = "fenced_"


@dataclass(frozen=True)
class Turn:
    """One turn of the prompt: a role and a Jinja template.

    The template may insert inputs (`{{ x }}`) and choose by them (`{% if x %}`), and nothing else. If it changed a
    case's text, the result could no longer be told apart from the rubric's own words.
    """

    role: str
    template: str

    @cached_property
    def variables(self) -> frozenset[str]:
        """The inputs that the template uses."""
        return frozenset(meta.find_undeclared_variables(parsed(self.template)))

    @cached_property
    def plain(self) -> bool:
        """Whether the template only inserts inputs, or asks whether they are empty.

        Then the text around them depends on nothing else, and can be tokenized once for all cases.
        """
        tree = parsed(self.template)
        free = {id(node) for output in tree.find_all(nodes.Output) for node in output.nodes}
        for condition in tree.find_all(nodes.If):
            test = condition.test.node if isinstance(condition.test, nodes.Not) else condition.test
            free.add(id(test))
        return all(id(name) in free for name in tree.find_all(nodes.Name))

    def render(self, values: Mapping[str, str], fenced: Mapping[str, str]) -> str:
        """Return the turn's text: conditions see `values`, and the text receives `fenced`. Raises RubricError."""
        named = {f"{_FENCED}{name}": text for name, text in fenced.items()}
        try:
            return self._compiled.render({**values, **named})
        except (TemplateError, TypeError, ValueError, ArithmeticError) as error:
            # The error's own message may quote a case, so only its kind is passed on.
            raise RubricError(f"the prompt's template failed with {type(error).__name__}") from None

    def flaw(self) -> tuple[str, int]:
        """Return the forbidden thing in the template and its line there; an empty text if all is fine."""
        tree = parsed(self.template)
        for refused in tree.find_all(_REFUSED):
            return f"{type(refused).__name__.lower()} is not allowed in a rubric", refused.lineno
        for output in tree.find_all(nodes.Output):
            for node in output.nodes:
                if not isinstance(node, nodes.Name | nodes.TemplateData | nodes.Const):
                    return "the template changes an input", node.lineno
        return "", 0

    @cached_property
    def _compiled(self) -> Template:
        tree = parsed(self.template)
        for output in tree.find_all(nodes.Output):
            for node in output.nodes:
                if isinstance(node, nodes.Name):
                    node.name = f"{_FENCED}{node.name}"
        return Template.from_code(JINJA, JINJA.compile(tree), {})


@dataclass(frozen=True)
class PlacedTurn(Turn):
    """A turn without a template engine: `pieces` are texts, each with whether it names an input."""

    pieces: tuple[tuple[str, bool], ...] = ()

    @cached_property
    def variables(self) -> frozenset[str]:
        """The inputs that the turn names."""
        return frozenset(text for text, is_input in self.pieces if is_input)

    @cached_property
    def plain(self) -> bool:
        """True: such a turn can't choose."""
        return True

    def render(self, values: Mapping[str, str], fenced: Mapping[str, str]) -> str:
        """Return the pieces in order, with each input's fenced text in its place."""
        return "".join(fenced[text] if is_input else text for text, is_input in self.pieces)

    def flaw(self) -> tuple[str, int]:
        """No flaw: such a turn can't do anything forbidden."""
        return "", 0


@dataclass(frozen=True)
class JoinedTurn(Turn):
    """Several turns of one role, joined into one."""

    parts: tuple[Turn, ...] = ()

    @cached_property
    def variables(self) -> frozenset[str]:
        """The inputs that any part uses."""
        return frozenset().union(*(part.variables for part in self.parts))

    @cached_property
    def plain(self) -> bool:
        """Whether all parts are plain."""
        return all(part.plain for part in self.parts)

    def render(self, values: Mapping[str, str], fenced: Mapping[str, str]) -> str:
        """Return the texts of the parts, with an empty line between them."""
        return "\n\n".join(part.render(values, fenced) for part in self.parts)

    def flaw(self) -> tuple[str, int]:
        """Return the first flaw of any part."""
        return next((flaw for part in self.parts if (flaw := part.flaw())[0]), ("", 0))


def joined(first: Turn, second: Turn) -> JoinedTurn:
    """Return both turns as one, with the role of the first."""
    return JoinedTurn(first.role, f"{first.template}\n\n{second.template}", (first, second))


def placed_turn(role: str, text: str, syntax: Syntax, names: Collection[str]) -> PlacedTurn:
    """Return the turn with places for the inputs called `names`; marks with other names are text."""
    return PlacedTurn(role, text.strip(), tuple(_pieces(text.strip(), syntax, names)))


def _pieces(text: str, syntax: Syntax, names: Collection[str]) -> Iterator[tuple[str, bool]]:
    at, literal = 0, ""
    for mark in MARKS[syntax].finditer(text) if syntax in MARKS else ():
        literal += text[at : mark.start()]
        at = mark.end()
        if mark.group(1) in names:
            yield literal, False
            yield mark.group(1), True
            literal = ""
        else:
            literal += mark.group()[0] if mark.group() in ("{{", "}}") else mark.group()
    yield literal + text[at:], False


def labelled(names: Collection[str], closing: str = "") -> PlacedTurn:
    """Return a user turn with each input between tags of its name, then `closing`."""
    pieces: list[tuple[str, bool]] = []
    for name in names:
        pieces += [("\n\n" * bool(pieces) + f"<{name}>\n", False), (name, True), (f"\n</{name}>", False)]
    if closing.strip():
        pieces.append(("\n\n" * bool(pieces) + closing.strip(), False))
    shown = "".join(f"{{{{{text}}}}}" if is_input else text for text, is_input in pieces)
    return PlacedTurn("user", shown, tuple(pieces))
