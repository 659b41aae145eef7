"""The text that a judge's chat template puts around the turns of a conversation."""

import json
import re
import secrets
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pathway_local.errors import EngineError, TemplateLimit
from pathway_local.judges import template_process

WAIT = 60
"""Seconds until a process that renders is killed. It ends itself after less processor time, unless it can't start."""

AGAIN = "Fetch or copy the judge's folder again: a sound chat template needs a few milliseconds and megabytes."
_LINE = "\"y\" 'x' <z> & {{ v }} \\\r\n\n\t- "
"""A text that a template could change: HTML, JSON and Jinja would escape its characters."""

_LINES = 1000
"""Lines in a turn, so that a template that shortens texts is noticed."""

_MOST_LINES = 16_000
"""Lines in all turns together: a conversation with many of them stays far below what a template may write."""

_HINT = "`pathway-local judges check NAME` shows what it takes; system: fold in its entry may help."
Conversation = Sequence[Mapping[str, str]]
"""Messages with `role` and `content`."""

Turn = tuple[str, tuple[str, ...]]
"""A turn's role, and the ends of its text."""


def ends(text: str) -> tuple[str, ...]:
    """Return the blanks before and behind a text; just the text itself if there is nothing else in it."""
    core = text.strip()
    return tuple(text.split(core, 1)) if core else (text,)


@dataclass(frozen=True, slots=True)
class ChatFrame:
    """A rendered conversation: its fixed texts, and the numbers of the turns whose words stand between these.

    The blanks around a turn's words are fixed texts. A turn may be missing or come twice.
    """

    parts: tuple[str | int, ...]

    def filled(self, texts: Sequence[str]) -> str:
        """Return the conversation with the text of each turn in its places; its ends are those of the frame."""
        return "".join(part if isinstance(part, str) else texts[part].strip() for part in self.parts)


def chat_frame(template: str, turns: Sequence[Turn], variables: Mapping[str, object]) -> ChatFrame:
    """Return what the chat template puts around turns with these roles and ends. Raises EngineError.

    Random markers stand for the turns' words, so the template is rendered once for all cases and sees none of them. It
    does see the blanks around the words, and texts without words: it may trim or leave out any of those. A second
    conversation shows whether it changes the words.
    """
    fence = secrets.token_hex(16)
    marks = [f"{fence}{at}{fence}" for at in range(len(turns))]
    lines = _LINE * max(1, min(_LINES, _MOST_LINES // max(1, len(turns))))
    probes = [f'{lines}{mark}"' for mark in marks]
    conversations: list[tuple[Conversation, Mapping[str, object]]] = [
        (
            [{"role": role, "content": words.join(around)} for (role, around), words in zip(turns, said, strict=True)],
            variables,
        )
        for said in (marks, probes)
    ]
    plain, probed = (each.text for each in render(template, conversations)[0])
    split = re.split(f"{fence}([0-9]+){fence}", plain)
    frame = ChatFrame(tuple(int(part) if at % 2 else part for at, part in enumerate(split)))
    if frame.filled(probes) != probed:
        raise EngineError(
            "the judge's chat template changes the text of a turn",
            "Use another chat template: docs/judges.md says what one may do.",
        )
    return frame


@dataclass(frozen=True, slots=True)
class Rendered:
    """A conversation's text, or why the template refuses the conversation."""

    found: str | None
    error: str = ""

    @property
    def text(self) -> str:
        """The text. Raises EngineError if the template refuses the conversation."""
        if self.found is None:
            reason = "".join(c if c.isprintable() else "?" for c in self.error.splitlines()[0][:200])
            raise EngineError(f"the chat template fails: {reason}", _HINT)
        return self.found


def render(
    template: str, asked: Sequence[tuple[Conversation, Mapping[str, object]]]
) -> tuple[list[Rendered], Sequence[str]]:
    """Return each conversation rendered with its variables, and the names of all variables that the template mentions.

    It is rendered in a process with limits. Raises EngineError, and TemplateLimit.
    """
    said = json.loads(answer(json.dumps({"template": template, "asked": asked}, default=str)))
    if "limit" in said:
        raise TemplateLimit(f"the chat template {said['limit']}", AGAIN)
    if "error" in said:
        return [Rendered(None, said["error"])] * len(asked), ()
    return list(map(Rendered, said["texts"], said["errors"])), said["names"]


def answer(request: str) -> str:
    """Return what the process that renders answers, as JSON. Raises EngineError, and TemplateLimit."""
    try:
        # With -P, Python does not look for modules in the file's own folder, which has modules of its own.
        done = subprocess.run(
            [sys.executable, "-P", template_process.__file__],
            input=request.encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=WAIT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise EngineError(f"the chat template is not rendered after {WAIT} seconds", _HINT) from None
    if -done.returncode in (signal.SIGXCPU, signal.SIGKILL):
        raise TemplateLimit(f"the chat template takes over {template_process.SECONDS} seconds to render", AGAIN)
    if done.returncode:
        raise EngineError(f"the chat template's process fails (exit code {done.returncode})", _HINT)
    return done.stdout.decode()
