"""A judge's chat template, read by rendering it: the text around turns, and how a reply ends.

Nothing is taken from a model's name. How a judge thinks is not read at all: its entry says so.
"""

import re
import secrets
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

import msgspec

from pathway_local.errors import EngineError
from pathway_local.judges.limited_process import ask
from pathway_local.judges.weights import chat_template, declared_ends, json_if_there

_LINE = "\"y\" 'x' <z> & {{ v }} \\\r\n\n\t- "
"""A text that a template could change: HTML, JSON and Jinja would escape its characters."""

_LINES = 1000
"""Lines in a turn, so that a template that shortens texts is noticed."""

_MOST_LINES = 16_000
"""Lines in all turns together: a conversation with many of them stays far below what a template may write."""

_OTHER = "Use another chat template: docs/judges.md says what one may do."
_TURNS = f"Write the rubric as one system turn and one user turn, or try `system: fold` in the judge's entry. {_OTHER}"
_HINT = "`pathway-local judges check NAME` shows what it takes; system: fold in its entry may help."
Conversation = Sequence[Mapping[str, str]]
"""Messages with `role` and `content`."""

Turn = tuple[str, tuple[str, ...]]
"""A turn's role, and the ends of its text."""


def ends(text: str) -> tuple[str, ...]:
    """Return the blanks before and behind a text; just the text itself if there is nothing else in it."""
    core = text.strip()
    return tuple(text.split(core, 1)) if core else (text,)


class ChatFrame(tuple[str | int, ...]):
    """A rendered conversation: its fixed texts, and the numbers of the turns whose words stand between these.

    The blanks around a turn's words are fixed texts.
    """

    def filled(self, texts: Sequence[str]) -> str:
        """Return the conversation with the text of each turn in its places; its ends are those of the frame."""
        return "".join(part if isinstance(part, str) else texts[part].strip() for part in self)


def chat_frame(template: str, turns: Sequence[Turn], variables: Mapping[str, object]) -> ChatFrame:
    """Return what the chat template puts around turns with these roles and ends. Raises EngineError.

    Random markers stand for the turns' words, so the template is rendered once for all cases and sees none of them. It
    does see the blanks around the words, and texts without words: it may trim or leave out any of those. A second
    conversation shows whether it changes the words.
    """
    fence = str(secrets.randbits(128))  # digits: a template that changes letters keeps its turns
    marks = [f"{fence}-{at}-{fence}" for at in range(len(turns))]
    lines = _LINE * max(1, min(_LINES, _MOST_LINES // max(1, len(turns))))
    probes = [f'{lines}{mark}"' for mark in marks]
    conversations: list[tuple[Conversation, Mapping[str, object]]] = [
        (
            [{"role": role, "content": words.join(around)} for (role, around), words in zip(turns, said, strict=True)],
            variables,
        )
        for said in (marks, probes)
    ]
    (plain, failed), (probed, failed_on_probes) = render(template, conversations)
    if error := failed or failed_on_probes:
        raise EngineError(f"the chat template fails: {plain_line(error)}", _HINT)
    places = {mark: at for at, mark in enumerate(marks)}
    frame = ChatFrame(places.get(part, part) for part in re.split(f"({fence}-[0-9]+-{fence})", plain))
    for at, (role, around) in enumerate(turns):
        # Of a turn without words, which has no marker, the template may do with the blanks what it likes.
        if len(around) > 1 and (found := frame.count(at)) != 1:
            lost = "doubles" if found else "drops"
            raise EngineError(
                f"the judge's chat template {lost} the {role} turn, number {at + 1} of {len(turns)}", _TURNS
            )
    if frame.filled(probes) != probed:
        raise EngineError("the judge's chat template changes the text of a turn", _OTHER)
    return frame


def plain_line(error: str) -> str:
    """Return the first line of an error that a model's file has caused, without what would steer a terminal."""
    return "".join(c if c.isprintable() else "?" for c in error.splitlines()[0][:200])


def render(template: str, asked: Sequence[tuple[Conversation, Mapping[str, object]]]) -> list[tuple[str, str]]:
    """Return each conversation rendered with its variables, in a process with limits, and why the template fails on it.

    Raises EngineError, TooCostly.
    """
    said = ask("chat template", template=template, asked=asked)
    return [("", said["error"])] * len(asked) if "error" in said else list(map(tuple, said["rendered"]))


SYSTEM, USER, ANSWER, NEXT = "systemwords", "userwords", "answerwords", "nextwords"
"""Words that occur in no template, so that their places in a prompt can be found."""

_THINKING = re.compile(r"think|thought|reasoning", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class TemplateReading:
    """How a judge takes turns, as its template shows it.

    `ends` are the tokens that end a reply in the template, if none of them is the end token that the folder declares.
    `thinking`: the template speaks of thinking, so the judge's entry has to say how it thinks.
    """

    system: Literal["native", "fold"] = "native"
    ends: tuple[str, ...] = ()
    thinking: bool = False


class _Added(msgspec.Struct):
    id: int
    content: str


class _TokenizerFile(msgspec.Struct):
    added_tokens: tuple[_Added, ...] = ()


def read_template(folder: Path) -> TemplateReading:
    """Return what the chat template in a judge's folder shows; little if it is missing or can't be rendered.

    Raises EngineError if another file of the folder is broken.
    """
    template = chat_template(folder)
    if not template:
        return TemplateReading()
    special, added = special_tokens(folder), _added_tokens(folder)
    declared = {special.get("eos_token", ""), *(added.get(each, "") for each in declared_ends(folder))}
    thinking = _THINKING.search(template) is not None
    try:
        system, ends = _turns(template, frozenset(special.items()), frozenset(added.values()))
    except EngineError:
        return TemplateReading(thinking=thinking)  # `judges check` renders it again and says what is wrong
    return TemplateReading(system, () if declared & set(ends) else ends, thinking)


@lru_cache(maxsize=64)
def _turns(
    template: str, special: frozenset[tuple[str, str]], tokens: frozenset[str]
) -> tuple[Literal["native", "fold"], tuple[str, ...]]:
    """Return how the template takes a system turn, and the tokens that it puts behind a reply."""
    opening, closed = ({**dict(special), "add_generation_prompt": asks} for asks in (True, False))
    native = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": USER}]
    folded = [{"role": "user", "content": f"{SYSTEM}\n\n{USER}"}]
    answered = [{"role": "user", "content": USER}, {"role": "assistant", "content": ANSWER}]
    followed = [*answered, {"role": "user", "content": NEXT}]
    as_user = [{"role": "user", "content": SYSTEM}, native[1]]
    asked = [(each, opening) for each in (native, folded, as_user)] + [(each, closed) for each in (answered, followed)]
    kept, put, doubled, *after = (text for text, _ in render(template, asked))
    takes_system = 0 <= kept.find(SYSTEM) < kept.find(USER) and kept != doubled
    folds = not takes_system and 0 <= put.find(SYSTEM) < put.find(USER)
    ends = tuple(dict.fromkeys(filter(None, (_first_token(text, tokens) for text in after))))
    return "fold" if folds else "native", ends


def _first_token(text: str, tokens: Collection[str]) -> str:
    """Return the special token that follows an answer in a rendered conversation; empty if another text does."""
    rest = text.rpartition(ANSWER)[2].lstrip() if ANSWER in text else ""
    return max((token for token in tokens if token and rest.startswith(token)), key=len, default="")


def special_tokens(folder: Path) -> dict[str, str]:
    """Return the special tokens that a folder's tokenizer names, such as `eos_token`, by their names."""
    found: dict[str, str] = {}
    for name in ("special_tokens_map.json", "tokenizer_config.json"):
        for key, value in json_if_there(folder / name).items():
            text = value.get("content") if isinstance(value, Mapping) else value
            if key.endswith("_token") and isinstance(text, str):
                found[key] = text
    return found


def _added_tokens(folder: Path) -> dict[int, str]:
    """Return the tokens beside a tokenizer's plain vocabulary; empty if its file can't be read."""
    with suppress(OSError, msgspec.DecodeError):
        described = msgspec.json.decode((folder / "tokenizer.json").read_bytes(), type=_TokenizerFile)
        return {each.id: each.content for each in described.added_tokens}
    return {}
