"""A judge's chat template, read by rendering it: the text around turns, its thinking, and how a reply ends.

Nothing is taken from a model's name: a template is asked what it writes with each of its own switches, and the marks of
thinking are looked for in the answers.
"""

import re
import secrets
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Literal

import msgspec

from pathway_local.errors import EngineError
from pathway_local.judges.judge_spec import ThinkingSpec
from pathway_local.judges.limits import ask
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


@dataclass(frozen=True, slots=True)
class ChatFrame:
    """A rendered conversation: its fixed texts, and the numbers of the turns whose words stand between these.

    The blanks around a turn's words are fixed texts.
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
    plain, probed = (each.text for each in render(template, conversations)[0])
    split = re.split(f"{fence}-([0-9]+)-{fence}", plain)
    frame = ChatFrame(tuple(int(part) if at % 2 else part for at, part in enumerate(split)))
    for at, (role, around) in enumerate(turns):
        # Of a turn without words, which has no marker, the template may do with the blanks what it likes.
        if len(around) > 1 and (found := frame.parts.count(at)) != 1:
            lost = "doubles" if found else "drops"
            raise EngineError(
                f"the judge's chat template {lost} the {role} turn, number {at + 1} of {len(turns)}", _TURNS
            )
    if frame.filled(probes) != probed:
        raise EngineError("the judge's chat template changes the text of a turn", _OTHER)
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
            raise EngineError(f"the chat template fails: {plain_line(self.error)}", _HINT)
        return self.found


def plain_line(error: str) -> str:
    """Return the first line of an error that a model's file has caused, without what would steer a terminal."""
    return "".join(c if c.isprintable() else "?" for c in error.splitlines()[0][:200])


def render(
    template: str, asked: Sequence[tuple[Conversation, Mapping[str, object]]]
) -> tuple[list[Rendered], Sequence[str]]:
    """Return each conversation rendered with its variables, and the names of all variables that the template mentions.

    It is rendered in a process with limits. Raises EngineError, and TooCostly.
    """
    said = ask("chat template", template=template, asked=asked)
    if "error" in said:
        return [Rendered(None, said["error"])] * len(asked), ()
    return list(map(Rendered, said["texts"], said["errors"])), said["names"]


SYSTEM, USER, ANSWER, NEXT = "systemwords", "userwords", "answerwords", "nextwords"
"""Words that occur in no template, so that their places in a prompt can be found."""

Switch = bool | int | str
_SWITCH = re.compile(r"think|thought|reason|effort")
_SPEAKS = re.compile(r"think|thought|reasoning", re.IGNORECASE)
_MOST_SWITCHES = 6
_TOKEN = re.compile(r"<[^<>]*>|\[[^\[\]]*\]|◁[^◁▷]*▷")


MARKS = (
    ThinkingSpec(
        start="<|channel|>analysis<|message|>",
        end="<|end|>",
        skip="<|channel|>final<|message|>",
        close="<|end|><|start|>assistant<|channel|>final<|message|>",
    ),
    ThinkingSpec(start="<|channel>thought\n", end="<channel|>", close="<channel|>"),
    ThinkingSpec(start="[THINK]", end="[/THINK]", close="[/THINK]"),
    ThinkingSpec(start="<|START_THINKING|>", end="<|END_THINKING|>", close="<|END_THINKING|>"),
    ThinkingSpec(start="<|begin_of_thought|>", end="<|end_of_thought|>"),
    ThinkingSpec(start="<|inner_prefix|>", end="<|inner_suffix|>", close="<|inner_suffix|>"),
    ThinkingSpec(start="◁think▷", end="◁/think▷", close="◁/think▷"),
    *(
        ThinkingSpec(start=f"<{name}>", end=f"</{name}>")
        for name in ("think", "seed:think", "longcat_think", "thinking", "thought", "reasoning")
    ),
)
"""The marks in use, without switches. Those of the first way of thinking that a template knows count."""


@dataclass(frozen=True, slots=True)
class TemplateReading:
    """How a judge takes turns, as far as its template shows it.

    `thinking` is None if the judge never thinks, or, with `known` false, if the template does not show how it thinks.
    `thinks` says in words how thinking was found. `ends` are the tokens that end a reply in the template, if none of
    them is the end token that the folder declares.
    """

    system: Literal["native", "fold"] = "native"
    thinking: ThinkingSpec | None = None
    known: bool = False
    thinks: str = ""
    ends: tuple[str, ...] = ()


class _Added(msgspec.Struct):
    id: int
    content: str


class _TokenizerFile(msgspec.Struct):
    added_tokens: tuple[_Added, ...] = ()


@dataclass(frozen=True, slots=True)
class _Try:
    """What a template wrote with one setting of a switch: the whole prompt, and its end behind the user's words."""

    switches: Mapping[str, Switch]
    text: str

    @property
    def tail(self) -> str:
        return self.text.rpartition(USER)[2]

    def state(self, marks: ThinkingSpec) -> Literal["open", "closed", "silent"]:
        """Return whether the prompt ends within a thought, behind one, or without any."""
        if is_open(self.tail, marks):
            return "open"
        start, end = self.tail.rfind(marks.start.strip()), self.tail.rfind(marks.end)
        # In a family whose messages all end with this token, it closes a thought only behind the start of one.
        return "closed" if end >= 0 and (start >= 0 or not marks.skip) else "silent"


def is_open(tail: str, marks: ThinkingSpec) -> bool:
    """Return whether the end of a prompt is within a thought."""
    start = marks.start.strip()
    return bool(start) and tail.rfind(start) > tail.rfind(marks.end)


def read_template(folder: Path, *, thinking: bool = True) -> TemplateReading:
    """Return what the chat template in a judge's folder shows; nothing if it is missing or can't be rendered.

    Without `thinking`, how the judge thinks is not looked for: that needs another rendering. Raises EngineError if
    another file of the folder is broken.
    """
    template = chat_template(folder)
    if not template:
        return TemplateReading()
    special = special_tokens(folder)
    added = _added_tokens(folder)
    declared = {special.get("eos_token", ""), *(added.get(each, "") for each in declared_ends(folder))}
    tokens = frozenset(added.values())
    try:
        return _reading(template, frozenset(special.items()), tokens, frozenset(declared), thinking=thinking)
    except EngineError:
        return TemplateReading()  # `judges check` renders it again and says what is wrong


@lru_cache(maxsize=64)
def _reading(
    template: str,
    special: frozenset[tuple[str, str]],
    tokens: frozenset[str],
    declared: frozenset[str],
    *,
    thinking: bool,
) -> TemplateReading:
    opening, closed = ({**dict(special), "add_generation_prompt": asks} for asks in (True, False))
    native = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": USER}]
    folded = [{"role": "user", "content": f"{SYSTEM}\n\n{USER}"}]
    answered = [{"role": "user", "content": USER}, {"role": "assistant", "content": ANSWER}]
    followed = [*answered, {"role": "user", "content": NEXT}]
    as_user = [{"role": "user", "content": SYSTEM}, native[1]]
    asked = [(each, opening) for each in (native, folded, as_user)] + [(each, closed) for each in (answered, followed)]
    rendered, mentioned = render(template, asked)
    kept, put, doubled, *after = (each.found or "" for each in rendered)
    takes_system = 0 <= kept.find(SYSTEM) < kept.find(USER) and kept != doubled
    folds = not takes_system and 0 <= put.find(SYSTEM) < put.find(USER)
    ends = tuple(dict.fromkeys(filter(None, (_first_token(text, tokens) for text in after))))
    system: Literal["native", "fold"] = "fold" if folds else "native"
    reading = TemplateReading(system, ends=() if declared & set(ends) else ends)
    marks = next((each for each in MARKS if _knows(template, tokens, each)), None)
    if marks is None:
        return replace(reading, known=not _SPEAKS.search(template))
    if not thinking:
        return reading
    plain = _Try({}, put if folds else kept)
    names = [name for name in mentioned if _SWITCH.search(name)][:_MOST_SWITCHES]
    settings = [switches for name in names for switches in _settings(name, template)]
    tried, _ = render(template, [(folded if folds else native, {**opening, **switches}) for switches in settings])
    tries = [_Try(each, what.found) for each, what in zip(settings, tried, strict=True) if what.found]
    return _with_thinking(reading, marks, plain, tries)


def _knows(template: str, tokens: Collection[str], marks: ThinkingSpec) -> bool:
    """Return whether the template mentions one of these marks, and the judge has a token for the end."""
    first = _TOKEN.match(marks.start)
    begins = first.group() if first else marks.start
    mentions = begins in template or marks.end in template
    return mentions and marks.end in tokens and (begins in template or begins in tokens)


def _first_token(text: str, tokens: Collection[str]) -> str:
    """Return the special token that follows an answer in a rendered conversation; empty if another text does."""
    rest = text.rpartition(ANSWER)[2].lstrip() if ANSWER in text else ""
    return max((token for token in tokens if token and rest.startswith(token)), key=len, default="")


def _settings(name: str, template: str) -> Iterator[Mapping[str, Switch]]:
    """Yield the settings of a template's variable that may switch thinking off, and on."""
    if "budget" in name:
        yield {name: 0}
    elif "effort" in name:
        quoted = set(re.findall(r"""["'](none|minimal|low|medium|high)["']""", template))
        yield {name: next((level for level in ("none", "minimal") if level in quoted), "low")}
        yield {name: "medium" if "medium" in quoted else "high"}
    else:
        yield {name: False}
        yield {name: True}


def _with_thinking(
    reading: TemplateReading, marks: ThinkingSpec, plain: _Try, tries: Sequence[_Try]
) -> TemplateReading:
    """Add how the judge thinks: by the switch that opens or closes a thought, else by what the template always does."""
    for name in dict.fromkeys(name for each in tries for name in each.switches):
        own = [each for each in tries if name in each.switches]
        if spec := _switched(marks, own, plain):
            return replace(reading, thinking=spec, known=True, thinks=f"it can think, switched by {name}")
    state = plain.state(marks)
    if state == "open":
        # The prompt ends within a thought, so the reply begins by ending it.
        spec = marks.model_copy(update={"skip": f"\n{marks.closing}", "start": ""})
        return replace(reading, thinking=spec, known=True, thinks="it always opens a thought, which is closed at once")
    if marks.skip:
        return replace(reading, thinking=marks, known=True, thinks="it can think, in a channel before the reply")
    return replace(reading, known=state == "closed")


def _switched(marks: ThinkingSpec, own: Sequence[_Try], plain: _Try) -> ThinkingSpec | None:
    """Return how one switch turns thinking off and on; None if its settings make no difference that we understand."""
    every = [*own, plain]
    states = {state: [each for each in every if each.state(marks) == state] for state in ("closed", "silent", "open")}
    if states["open"] and (without := states["closed"] or states["silent"]):
        off, on, start = without[0], states["open"][0], ""
    elif states["closed"] and states["silent"]:
        off, on = states["closed"][0], states["silent"][0]
        start = marks.start + "\n" * off.tail.partition(marks.start)[2].startswith("\n")
    elif len(own) > 1 and own[0].text != own[1].text and len(states["silent"]) == len(every):
        off, on, start = own[0], own[1], marks.start
    else:
        return None
    switched = {"off_by": off.switches, "on_by": on.switches}
    return marks.model_copy(update={**switched, "start": start, "close": _close(marks, off)})


def _close(marks: ThinkingSpec, off: _Try) -> str:
    """Return what leads from a thought to the answer, as the template writes it behind an empty one if it does so."""
    behind = off.tail.rpartition(marks.end)[2]
    shown = off.state(marks) == "closed" and not behind.strip()
    close = f"{marks.end}{behind}" if shown else marks.closing
    return "" if close == f"{marks.end}\n\n" else close


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
