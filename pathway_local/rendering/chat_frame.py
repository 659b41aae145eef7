"""The text that a judge's chat template puts around the turns of a conversation."""

import json
import secrets
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pathway_local.errors import EngineError, TemplateLimit
from pathway_local.rendering import template_process

WAIT = 60
"""Seconds until a process that renders is killed. It ends itself after less processor time, unless it can't start."""

AGAIN = "Fetch or copy the judge's folder again: a sound chat template needs a few milliseconds and megabytes."
_BLANKS = " \n\t"
_BETWEEN = "\n\n- 'x' \"y\" <z> & {{ v }} \\ " * 1000
"""A text that a template could change: it is long, and HTML, JSON and Jinja would escape its characters."""


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a turn's text, and whether the template trims blanks at the text's left and right end."""

    turn: int
    left: bool
    right: bool

    def trimmed(self, text: str) -> str:
        """Return the text as the template puts it in."""
        text = text.lstrip() if self.left else text
        return text.rstrip() if self.right else text


@dataclass(frozen=True, slots=True)
class ChatFrame:
    """A rendered conversation: its fixed texts, and the places of its turns. A place may be missing or come twice."""

    parts: tuple[str | Place, ...]

    def filled(self, turns: Sequence[str]) -> str:
        """Return the conversation with the text of each turn in its places."""
        return "".join(part if isinstance(part, str) else part.trimmed(turns[part.turn]) for part in self.parts)


def chat_frame(template: str, roles: Sequence[str], variables: Mapping[str, object]) -> ChatFrame:
    """Return what the chat template puts around turns with these roles. Raises EngineError.

    Random markers stand for the turns' texts, so the template is rendered once for all cases and sees none of them. A
    second conversation shows what it does to a text: it may trim blanks at the ends, and change nothing else.
    """
    fence = secrets.token_hex(16)
    marks = [f"{fence}{turn}{fence}" for turn in range(len(roles))]
    probes = [f"{_BLANKS}{mark}{_BETWEEN}{mark}{_BLANKS}" for mark in marks]
    conversations = [
        [{"role": role, "content": text} for role, text in zip(roles, texts, strict=True)] for texts in (marks, probes)
    ]
    plain, probed = _rendered({"template": template, "conversations": conversations, "variables": dict(variables)})
    parts: list[str | Place] = []
    at = 0
    for odd, part in enumerate(plain.split(fence)):
        if odd % 2 == 0:
            parts.append(part)
            continue
        text = f"{fence}{part}{fence}{_BETWEEN}{fence}{part}{fence}"
        found = probed.find(text, at)
        at = found + len(text)
        parts.append(Place(int(part), not probed[:found].endswith(_BLANKS), not probed.startswith(_BLANKS, at)))
    frame = ChatFrame(tuple(parts))
    if frame.filled(probes) != probed:
        raise EngineError(
            "the judge's chat template changes the text of a turn",
            "Use another chat template: docs/judges.md says what one may do.",
        )
    return frame


def _rendered(asked: Mapping[str, object]) -> list[str]:
    """Return the texts that the process gives. Raises EngineError, and TemplateLimit."""
    hint = "`pathway-local judges check NAME` shows what it takes; system: fold in its entry may help."
    try:
        # With -P, Python does not look for modules in the file's own folder, which has a `tokenizer` and a `prompt`.
        done = subprocess.run(
            [sys.executable, "-P", template_process.__file__],
            input=json.dumps(asked, default=str).encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=WAIT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise EngineError(f"the chat template is not rendered after {WAIT} seconds", hint) from None
    if -done.returncode in (signal.SIGXCPU, signal.SIGKILL):
        raise TemplateLimit(f"the chat template takes over {template_process.SECONDS} seconds to render", AGAIN)
    try:
        said = json.loads(done.stdout)
    except ValueError:
        raise EngineError(f"the chat template's process fails (exit code {done.returncode})", hint) from None
    if "limit" in said:
        raise TemplateLimit(f"the chat template {said['limit']}", AGAIN)
    if "error" in said:
        reason = "".join(c if c.isprintable() else "?" for c in said["error"].splitlines()[0][:200])
        raise EngineError(f"the chat template fails: {reason}", hint)
    texts: list[str] = said["texts"]
    return texts
