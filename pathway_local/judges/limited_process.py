"""Renders a judge's chat template in a process that has little memory and time.

A chat template comes with a model and is a program: `{{ 'a' * 10**10 }}` or nested loops would hang whoever renders it.
`chat_template.py` starts this file by itself, so it imports Jinja and nothing of the package. It reads a JSON object
from stdin (`template`, and `asked`: pairs of turns and variables) and writes one to stdout: `names`, the variables that
the template mentions, and for each pair a text or an error in `texts` and `errors`; or `error` or `limit` for all.
"""

import json
import resource
import sys
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NoReturn

from jinja2 import Template, TemplateError, nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

SECONDS = 2
MEGABYTES = 512
MOST_CHARACTERS = 1_000_000


class _Generation(Extension):
    """`{% generation %}`, which marks a judge's own words for training. The text inside stays as it is."""

    tags = {"generation"}  # noqa: RUF012  mypy: the base class declares it for instances

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.Scope(body, lineno=line)


def rendered(template: str, asked: list[tuple[list[dict[str, str]], dict[str, object]]]) -> dict[str, Any]:
    """Return the text of each conversation, as transformers' `apply_chat_template` renders it."""
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, loopcontrols]
    )
    environment.filters["tojson"] = _as_json
    now = datetime.now()  # the same for all conversations, which are compared
    environment.globals |= {"raise_exception": _refuse, "strftime_now": now.strftime}
    tree = environment.parse(template)
    names = {node.name for node in tree.find_all(nodes.Name)}
    compiled = environment.from_string(tree)
    # A template that takes none for a list, or asks for a date, fails with what transformers gives it by default.
    empty: dict[str, object] = {"tools": [], "documents": [], "functions": [], "date_string": now.strftime("%d %b %Y")}
    texts: list[str | None] = []
    errors: list[str] = []
    for turns, variables in asked:
        text, error = _first_text(
            compiled, {"messages": turns, **variables}, ({"tools": None, "documents": None}, empty)
        )
        texts.append(text)
        errors.append(error)
    return {"texts": texts, "errors": errors, "names": sorted(names)}


def _first_text(
    compiled: Template, variables: dict[str, object], defaults: Sequence[dict[str, object]]
) -> tuple[str | None, str]:
    """Return the text with the first defaults that work, or None and the error with the first."""
    errors: list[str] = []
    for each in defaults:
        try:
            return compiled.render(**each | variables), ""
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001  a template is a program from elsewhere, and may raise anything
            errors.append(str(error).strip()[:1000] or type(error).__name__)
    return None, errors[0]


def _as_json(value: object, ensure_ascii: bool = False, **options: Any) -> str:
    return json.dumps(value, ensure_ascii=ensure_ascii, **options)


def _refuse(message: str) -> NoReturn:
    raise TemplateError(message)


def answer(request: str) -> str:
    """Return the answer to a request, both as JSON."""
    return json.dumps(_answer(**json.loads(request)))


def _answer(template: str, asked: list[tuple[list[dict[str, str]], dict[str, object]]]) -> dict[str, Any]:
    try:
        found = rendered(template, asked)
    except MemoryError:
        return {"limit": f"needs over {MEGABYTES} MB of memory"}
    except Exception as error:  # noqa: BLE001  it may not even compile
        return {"error": str(error).strip()[:1000] or type(error).__name__}
    if sum(len(text or "") for text in found["texts"]) > MOST_CHARACTERS:
        return {"limit": f"writes over {MOST_CHARACTERS:,} characters"}
    return found


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (MEGABYTES << 20, MEGABYTES << 20))
    sys.stdout.write(answer(sys.stdin.read()))
