"""Renders a judge's chat template, or tries its tokenizer, in a process that has little memory and time.

Both come with a model. A chat template is a program: `{{ 'a' * 10**10 }}` or nested loops would hang whoever renders
it. A tokenizer may take hours to load, or make its library abort. `ask` starts this module as a program, which reads a
JSON object from stdin and writes one to stdout; `limit` or `error` there is about all that was asked.
"""

import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, NoReturn

from jinja2 import TemplateError, nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from pathway_local.errors import EngineError, TooCostly
from pathway_local.system.shipped import python_path

LIMITS = {"chat template": (2, 512), "tokenizer": (20, 2048)}
"""Seconds of processor time and megabytes of memory. The largest tokenizer that we know takes 3 seconds."""

WAIT = 60
"""Seconds until the process is killed. It ends itself after less processor time, unless it can't start."""

AGAIN = "Fetch or copy the judge's folder again, from a source that you trust."

MOST_CHARACTERS = 1_000_000

LONGEST_TOKEN = 1_000
"""Characters of a token that a tokenizer's settings name: libraries need a minute for a million."""

KEEP_LENGTH = ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "Strip", "StripAccents", "BertNormalizer", "ByteLevel")
"""Normalizers that never make a text much longer. Others are refused, but Sequence, Prepend, and a Replace like these.
"""

MOST_IDS = 1 << 22
"""Tables of a vocabulary have a row for each id up to the largest; no model has over a million."""

RUNS = ("a", " ", "\n", "1", "({[", "🙂漢é")
TEXTS = ("".join(map(chr, range(1, 0x3000))), *(f"{each * 5000}!" for each in RUNS))
"""Texts that a tokenizer must encode in time: some patterns try every division of a run."""


def ask(what: str, **request: object) -> dict[str, Any]:
    """Return the answer about the "chat template" or the "tokenizer".

    Raises TooCostly if it takes more than its limits, EngineError if its process ends in another way.
    """
    said: dict[str, Any] = json.loads(in_process(what, json.dumps(request, default=str)))
    if "limit" in said:
        raise TooCostly(f"the {what} {said['limit']}", AGAIN)
    return said


def in_process(what: str, request: str) -> str:
    """Return what `answer` answers in a process of its own."""
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-m", __name__, what, *map(str, LIMITS[what])],
            input=request.encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=WAIT,
            check=False,
            env=os.environ | {"PYTHONPATH": python_path()},
        )
    except subprocess.TimeoutExpired:
        raise EngineError(f"the {what} gives no answer within {WAIT} seconds", AGAIN) from None
    if -done.returncode in (signal.SIGXCPU, signal.SIGKILL):
        raise TooCostly(f"the {what} takes over {LIMITS[what][0]} seconds", AGAIN)
    if done.returncode:
        raise EngineError(f"the {what} ends its process (exit code {done.returncode})", AGAIN)
    return done.stdout.decode()


class _Generation(Extension):
    """`{% generation %}`, which marks a judge's own words for training. The text inside stays as it is."""

    tags = {"generation"}  # noqa: RUF012  mypy: the base class declares it for instances

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.Scope(body, lineno=line)


def rendered(template: str, asked: list[tuple[list[dict[str, str]], dict[str, object]]]) -> dict[str, Any]:
    """Return each conversation as transformers' `apply_chat_template` renders it, and why the template fails on it."""
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, loopcontrols]
    )
    environment.filters["tojson"] = _as_json
    now = datetime.now()  # the same for all conversations, which are compared
    environment.globals |= {"raise_exception": _refuse, "strftime_now": now.strftime}
    compiled = environment.from_string(template)
    found = list[tuple[str, str]]()
    for turns, variables in asked:
        try:
            found.append((compiled.render(**{"tools": None, "documents": None, **variables}, messages=turns), ""))
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001  a template is a program from elsewhere, and may raise anything
            found.append(("", _said(error)))
    return {"rendered": found}


def _as_json(value: object, ensure_ascii: bool = False, **options: Any) -> str:
    return json.dumps(value, ensure_ascii=ensure_ascii, **options)


def _refuse(message: str) -> NoReturn:
    raise TemplateError(message)


def try_tokenizer(folder: str) -> dict[str, Any]:
    """Load a folder's tokenizer and encode some texts; return an empty answer, or the error."""
    described = _read(Path(folder, "tokenizer.json"))
    if refused := _refusal(described, Path(folder)):
        return {"error": refused}
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_str(json.dumps(described))
    if (largest := max(tokenizer.get_vocab().values(), default=0)) >= MOST_IDS:
        return {"error": f"has an id of {largest:,}"}
    for text in TEXTS:
        tokenizer.encode(text)
    return {}


def _refusal(described: dict[str, Any], folder: Path) -> str:
    """Return why we do not load a tokenizer; empty if we do."""
    settings = _read(folder / "tokenizer_config.json")
    settings.pop("chat_template", None)
    names = [settings, described.get("added_tokens"), _read(folder / "special_tokens_map.json")]
    if any(len(text) > LONGEST_TOKEN for text in _texts(names)):
        return f"names a token of over {LONGEST_TOKEN:,} characters"
    changes = _changes(described.get("normalizer"))
    return next((f"changes texts by {name}, which we do not allow" for name in changes), "")


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _texts(inner)


def _changes(step: Mapping[str, Any] | None) -> Iterator[str]:
    """Yield the steps of a normalizer that may make a text much longer."""
    kind = step["type"] if step else "Sequence"
    if step and kind == "Sequence":
        for inner in step["normalizers"]:
            yield from _changes(inner)
    elif step and kind == "Replace":
        if len(step["content"]) > len(step["pattern"].get("String", "")):
            yield "Replace"
    elif step and kind not in (*KEEP_LENGTH, "Prepend"):
        yield ascii(kind)[:60]


def _read(path: Path) -> dict[str, Any]:
    found = json.loads(path.read_bytes()) if path.is_file() else {}
    return found if isinstance(found, dict) else {}


def answer(what: str, request: str) -> str:
    """Return the answer to a request, both as JSON."""
    try:
        found = (rendered if what == "chat template" else try_tokenizer)(**json.loads(request))
    except MemoryError:
        found = {"limit": f"needs over {LIMITS[what][1]} MB of memory"}
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # noqa: BLE001  a panic of a library in Rust is no Exception
        found = {"error": _said(error)}
    if sum(len(text) for text, _ in found.get("rendered", ())) > MOST_CHARACTERS:
        found = {"limit": f"writes over {MOST_CHARACTERS:,} characters"}
    return json.dumps(found)


def _said(error: BaseException) -> str:
    return str(error).strip()[:1000] or type(error).__name__


if __name__ == "__main__":
    seconds, megabytes = map(int, sys.argv[2:])
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))
    sys.stdout.write(answer(sys.argv[1], sys.stdin.read()))
