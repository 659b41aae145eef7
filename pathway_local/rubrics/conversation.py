"""Conversations: a cell that holds a list of messages as JSON, and the text that a prompt shows for it.

All that the list says is the case's text: roles, contents and tool calls can never become the judge's own turns. In our
rendering each message has a heading at the margin, and every line of it is indented: so no content can look like a
further message.
"""

import json
import re
from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct

from pathway_local.errors import CaseError

WRAPPERS = ("messages", "conversations")
"""The keys of an object under which a list of messages may stand."""

LABELS = ("id", "name", "type", "tool_call_id", "model", "timestamp", "created_at", "status")
"""Keys beside a message's role and content that hold nothing that anybody said."""

NO_TEXT = "(no text)"
"""The content of a message that has neither text nor tool calls: no turn is empty without a word."""

MOST, LONGEST_ROLE = 2_000, 60
INDENT = "    "
_KEY = re.compile(r"\w{1,40}")


class BadConversation(CaseError):
    """An input is not a valid list of messages."""

    kind = "bad-conversation"


class Message(Struct, frozen=True):
    """One message: its role, its text, and its tool calls as text, one on each line."""

    role: str
    content: str
    tool_calls: str


def messages_in(text: str, name: str) -> list[Message] | None:
    """Return the messages that a text lists as JSON; None for a plain text. Raises BadConversation.

    `name` is the input's. The list may stand in an object, under `messages` or `conversations`.
    """
    listed = _list_in(text, name)
    if listed is None or (listed and all(isinstance(item, str) for item in listed)):
        return None
    if len(listed) > MOST:
        raise BadConversation(f"{name} has {len(listed):,} messages; the limit is {MOST:,}")
    return [_message(item, f"message {at} of {name}") for at, item in enumerate(listed, 1)]


def conversation_text(messages: Sequence[Message]) -> str:
    """Return the messages as the text that a prompt shows."""
    return "\n\n".join(f"{at}. {each.role}:\n{indented(_said(each))}" for at, each in enumerate(messages, 1))


def _said(message: Message) -> str:
    calls = "\n".join(f"calls {line}" for line in message.tool_calls.split("\n") if line)
    return "\n".join(part for part in (message.content, calls) if part)


def indented(text: str) -> str:
    """Return a text with each line indented, so that none can look like a heading."""
    # All that ends a line somewhere counts: a heading must never stand behind a line end that we did not see.
    return "\n".join(f"{INDENT}{line}" for line in text.splitlines())


def _list_in(text: str, name: str) -> list[object] | None:
    if not text.lstrip().startswith(("[", "{")):
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if isinstance(found, Mapping):
        wrapper = next((key for key in WRAPPERS if isinstance(found.get(key), list)), None)
        if wrapper is None:
            raise BadConversation(f"{name} is an object without a list of messages")
        _refuse_others(found, (wrapper, *LABELS), name)
        found = found[wrapper]
    return found if isinstance(found, list) else None


def _refuse_others(found: Mapping[str, object], known: Collection[str], where: str) -> None:
    """Raise BadConversation if another key than the known ones holds anything: it would be lost."""
    for key, value in found.items():
        if key not in known and isinstance(value, str | list | Mapping) and value:
            named = repr(key) if _KEY.fullmatch(key) else "a key"
            raise BadConversation(f"{where} says something under {named}, which is not read")


def _message(item: object, where: str) -> Message:
    if not isinstance(item, Mapping):
        raise BadConversation(f"{where} is not an object with role and content")
    role_key, content_key = ("from", "value") if item.get("role") is None and "from" in item else ("role", "content")
    role, content, calls = item.get(role_key), item.get(content_key), item.get("tool_calls")
    if not isinstance(role, str) or not role.strip() or len(role) > LONGEST_ROLE or not role.isprintable():
        raise BadConversation(f"{where} has no role that is a text on one line of at most {LONGEST_ROLE} characters")
    _refuse_others(item, (role_key, content_key, "tool_calls", *LABELS), where)
    if not isinstance(calls, list | None):
        raise BadConversation(f"{where} has tool_calls that are not a list")
    blocks = [content] if isinstance(content, str) else content
    if not isinstance(blocks, list | None):
        raise BadConversation(f"{where} has a content that is neither a text nor a list of parts")
    said = "\n".join(_text(block, where) for block in blocks or ())
    called = [_call(call, where) for call in calls or ()]
    return Message(role, said if said.strip() or called else NO_TEXT, "\n".join(called))


def _text(block: object, where: str) -> str:
    """Return the text of one part of a content."""
    if isinstance(block, str):
        return block
    if not isinstance(block, Mapping) or not isinstance(block.get("text"), str):
        raise BadConversation(f"{where} has a part that is not text, such as an image or a result of a tool")
    _refuse_others(block, ("text", "cache_control", *LABELS), where)
    return str(block["text"])


def _call(call: object, where: str) -> str:
    """Return a tool call on one line: its name, and its arguments as JSON."""
    function = call.get("function", call) if isinstance(call, Mapping) else None
    name = function.get("name") if isinstance(function, Mapping) else None
    if not isinstance(function, Mapping) or not isinstance(name, str):
        raise BadConversation(f"{where} has a tool call without a name")
    _refuse_others(function, ("name", "arguments", *LABELS), where)
    arguments = function.get("arguments")
    said = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return " ".join(f"{name}({said if arguments not in (None, '') else ''})".split())
