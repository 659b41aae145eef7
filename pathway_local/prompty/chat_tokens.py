"""Prompts that are written in the tokens of a model's chat template: splits them into turns."""

import re
from dataclasses import dataclass

from pathway_local.errors import RubricError
from pathway_local.prompty.prompty_file import ROLE

_BEGIN = re.compile(
    r"<\|im_start\|>[ \t]*(?P<chatml>\w+)|<\|start_header_id\|>[ \t]*(?P<llama>\w+)[ \t]*<\|end_header_id\|>"
    r"|<start_of_turn>[ \t]*(?P<gemma>\w+)|<\|start\|>(?P<harmony>\w+)(?:<\|channel\|>\w+)?<\|message\|>"
    r"|<\|(?P<phi>system|user|assistant)\|>"
    r"|(?P<system>\[SYSTEM_PROMPT\]|<<SYS>>)|(?P<user>\[INST\]|<</SYS>>)|(?P<assistant>\[/INST\])"
)
_END = re.compile(
    r"<\|(?:im_end|eot_id|end|end_of_text|endoftext|begin_of_text)\|>|<end_of_turn>|\[/SYSTEM_PROMPT\]|<bos>|<eos>"
    r"|<s>(?=\s*[\[<])|</s>(?=\s*(?:<s>|\[|<\||\Z))"
)
_ROLES = {"developer": "system", "human": "user", "model": "assistant"}

HINT = "Write the prompt with a line system: or user: above each turn instead."


@dataclass(frozen=True, slots=True)
class ChatPrompt:
    """A prompt split into turns: with role lines, and with nothing in place of its tokens, so that its lines stay."""

    body: str
    bare: str
    turns: tuple[str, ...]


def split_chat(text: str, where: str, first_line: int) -> ChatPrompt | None:
    """Return the prompt in turns; None if it has no chat tokens. Raises RubricError if their meaning is not clear.

    The tokens that begin the judge's reply are left out, since the judge's own chat template writes them.
    """
    text = _END.sub("", text)
    marks = list(_BEGIN.finditer(text))
    if not marks:
        if "<|im_start|>" in text or "<|start_header_id|>" in text:
            raise RubricError(f"{where}: a chat token has no fixed role behind it", HINT)
        return None
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    turns: list[str] = []
    roles: list[str] = []
    line = first_line
    for mark, end in zip(marks, ends, strict=True):
        line = first_line + text.count("\n", 0, mark.start())
        role = _role(mark, f"{where} line {line}")
        said = text[mark.end() : end].strip()
        if not said:
            # No turn stands here: [INST] before <<SYS>>, or the tokens that open the judge's reply.
            continue
        if ROLE.search(said):
            raise RubricError(f"{where} line {line}: this turn has a line that would begin another turn", HINT)
        turns.append(f"{role}:\n{said}\n")
        roles.append(role)
    if text[: marks[0].start()].strip():
        raise RubricError(f"{where} line {first_line}: text stands before the first chat token", HINT)
    if not roles or roles[-1] != "user":
        said = "begins the judge's reply" if "assistant" in roles[-1:] else "has no user turn at its end"
        raise RubricError(f"{where} line {line}: the prompt {said}", HINT)
    return ChatPrompt("\n".join(turns), _BEGIN.sub("", text), tuple(roles))


def _role(mark: re.Match[str], where: str) -> str:
    kind = str(mark.lastgroup)
    named = kind if kind in ("system", "user", "assistant") else mark.group(kind).lower()
    role = _ROLES.get(named, named)
    if role not in ("system", "user", "assistant"):
        raise RubricError(f"{where}: the chat token {_shown(mark.group())} has an unknown role", HINT)
    return role


def _shown(token: str) -> str:
    return "".join(token.split())[:60]
