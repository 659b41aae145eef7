"""Reads a judge's chat template by rendering it: its system turn, its thinking, and the token that ends a reply.

Nothing is taken from a model's name: a template is asked what it writes with each of its own switches, and the marks of
thinking are looked for in the answers.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Literal

import msgspec

from pathway_local.errors import EngineError
from pathway_local.judges.chat_frame import render
from pathway_local.judges.judge_spec import ThinkingSpec
from pathway_local.judges.weights import chat_template, read_json

SYSTEM, USER, ANSWER, NEXT = "systemwords", "userwords", "answerwords", "nextwords"
"""Words that occur in no template, so that their places in a prompt can be found."""

Switch = bool | int | str
_SWITCH = re.compile(r"think|thought|reason|effort")
_SPEAKS = re.compile(r"think|thought|reasoning", re.IGNORECASE)
_MOST_SWITCHES = 6
_TOKEN = re.compile(r"<[^<>]*>|\[[^\[\]]*\]|◁[^◁▷]*▷")


@dataclass(frozen=True, slots=True)
class Marks:
    """The texts that begin and end a thought. `skip` begins an answer without one; `close` leads on to the answer."""

    start: str
    end: str
    skip: str = ""
    close: str = ""

    @property
    def closing(self) -> str:
        """What leads from a thought to the answer."""
        return self.close or f"{self.end}\n\n"

    def are_known(self, template: str, tokens: Collection[str]) -> bool:
        """Return whether the template mentions one of these marks, and the judge has a token for the end."""
        first = _TOKEN.match(self.start)
        begins = first.group() if first else self.start
        mentions = begins in template or self.end in template
        return mentions and self.end in tokens and (begins in template or begins in tokens)


MARKS = (
    Marks(
        "<|channel|>analysis<|message|>",
        "<|end|>",
        skip="<|channel|>final<|message|>",
        close="<|end|><|start|>assistant<|channel|>final<|message|>",
    ),
    Marks("<|channel>thought\n", "<channel|>", close="<channel|>"),
    Marks("[THINK]", "[/THINK]", close="[/THINK]"),
    Marks("<|START_THINKING|>", "<|END_THINKING|>", close="<|END_THINKING|>"),
    Marks("<|begin_of_thought|>", "<|end_of_thought|>"),
    Marks("<|inner_prefix|>", "<|inner_suffix|>", close="<|inner_suffix|>"),
    Marks("◁think▷", "◁/think▷", close="◁/think▷"),
    *(
        Marks(f"<{name}>", f"</{name}>")
        for name in ("think", "seed:think", "longcat_think", "thinking", "thought", "reasoning")
    ),
)
"""The marks in use; the first that a template knows count."""


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

    def state(self, marks: Marks) -> Literal["open", "closed", "silent"]:
        """Return whether the prompt ends within a thought, behind one, or without any."""
        start, end = self.tail.rfind(marks.start.strip()), self.tail.rfind(marks.end)
        if start > end:
            return "open"
        # In a family whose messages all end with this token, it closes a thought only behind the start of one.
        return "closed" if end >= 0 and (start >= 0 or not marks.skip) else "silent"


def read_template(folder: Path) -> TemplateReading:
    """Return what the chat template in a judge's folder shows; nothing if it is missing or can't be rendered.

    Raises EngineError if another file of the folder is broken.
    """
    template = chat_template(folder)
    if not template:
        return TemplateReading()
    special = _special_tokens(folder)
    added = _added_tokens(folder)
    declared = {special.get("eos_token", ""), *(added.get(each, "") for each in _declared_ids(folder))}
    try:
        return _reading(template, frozenset(special.items()), frozenset(added.values()), frozenset(declared))
    except EngineError:
        return TemplateReading()  # `judges check` renders it again and says what is wrong


@lru_cache(maxsize=64)
def _reading(
    template: str, special: frozenset[tuple[str, str]], tokens: frozenset[str], declared: frozenset[str]
) -> TemplateReading:
    opening, closed = ({**dict(special), "add_generation_prompt": asks} for asks in (True, False))
    native = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": USER}]
    folded = [{"role": "user", "content": f"{SYSTEM}\n\n{USER}"}]
    answered = [{"role": "user", "content": USER}, {"role": "assistant", "content": ANSWER}]
    followed = [*answered, {"role": "user", "content": NEXT}]
    as_user = [{"role": "user", "content": SYSTEM}, native[1]]
    asked = [(each, opening) for each in (native, folded, as_user)] + [(each, closed) for each in (answered, followed)]
    found = render(template, asked)
    kept, put, doubled, *after = (each.found or "" for each in found.rendered)
    takes_system = 0 <= kept.find(SYSTEM) < kept.find(USER) and kept != doubled
    folds = not takes_system and 0 <= put.find(SYSTEM) < put.find(USER)
    ends = tuple(dict.fromkeys(filter(None, (_first_token(text, tokens) for text in after))))
    system: Literal["native", "fold"] = "fold" if folds else "native"
    reading = TemplateReading(system, ends=() if declared & set(ends) else ends)
    if not _SPEAKS.search(template) and not any(marks.are_known(template, tokens) for marks in MARKS):
        return replace(reading, known=True)
    marks = next((each for each in MARKS if each.are_known(template, tokens)), None)
    if marks is None:
        return reading
    plain = _Try({}, put if folds else kept)
    names = [name for name in found.names if _SWITCH.search(name)][:_MOST_SWITCHES]
    settings = [switches for name in names for switches in _settings(name, template)]
    tried = render(template, [(folded if folds else native, {**opening, **switches}) for switches in settings])
    tries = [_Try(each, what.found) for each, what in zip(settings, tried.rendered, strict=True) if what.found]
    return _with_thinking(reading, marks, plain, tries)


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


def _with_thinking(reading: TemplateReading, marks: Marks, plain: _Try, tries: Sequence[_Try]) -> TemplateReading:
    """Add how the judge thinks: by the switch that opens or closes a thought, else by what the template always does."""
    for name in dict.fromkeys(name for each in tries for name in each.switches):
        own = [each for each in tries if name in each.switches]
        if spec := _switched(marks, own, plain):
            return replace(reading, thinking=spec, known=True, thinks=f"it can think, switched by {name}")
    state = plain.state(marks)
    if state == "open":
        # The prompt ends within a thought, so the reply begins by ending it.
        spec = ThinkingSpec(skip=f"\n{marks.closing}", end=marks.end, close=marks.close)
        return replace(reading, thinking=spec, known=True, thinks="it always opens a thought, which is closed at once")
    if marks.skip:
        spec = ThinkingSpec(skip=marks.skip, start=marks.start, end=marks.end, close=marks.close)
        return replace(reading, thinking=spec, known=True, thinks="it can think, in a channel before the reply")
    return replace(reading, known=state == "closed")


def _switched(marks: Marks, own: Sequence[_Try], plain: _Try) -> ThinkingSpec | None:
    """Return how one switch turns thinking off and on; None if its settings make no difference that we understand."""
    every = [*own, plain]
    states = {state: [each for each in every if each.state(marks) == state] for state in ("closed", "silent", "open")}
    if states["closed"] and states["open"]:
        off, on, start = states["closed"][0], states["open"][0], ""
    elif states["silent"] and states["open"]:
        off, on, start = states["silent"][0], states["open"][0], ""
    elif states["closed"] and states["silent"]:
        off, on = states["closed"][0], states["silent"][0]
        start = marks.start + "\n" * off.tail.partition(marks.start)[2].startswith("\n")
    elif len(own) > 1 and own[0].text != own[1].text and len(states["silent"]) == len(every):
        off, on, start = own[0], own[1], marks.start
    else:
        return None
    return ThinkingSpec(
        off_by=off.switches, on_by=on.switches, skip=marks.skip, start=start, end=marks.end, close=_close(marks, off)
    )


def _close(marks: Marks, off: _Try) -> str:
    """Return what leads from a thought to the answer, as the template writes it behind an empty one if it does so."""
    behind = off.tail.rpartition(marks.end)[2]
    shown = off.state(marks) == "closed" and not behind.strip()
    close = f"{marks.end}{behind}" if shown else marks.closing
    return "" if close == f"{marks.end}\n\n" else close


def _special_tokens(folder: Path) -> dict[str, str]:
    """Return the special tokens that a folder's tokenizer names, such as `eos_token`, by their names."""
    found: dict[str, str] = {}
    for name in ("special_tokens_map.json", "tokenizer_config.json"):
        for key, value in (read_json(folder / name) if (folder / name).is_file() else {}).items():
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


def _declared_ids(folder: Path) -> list[int]:
    path = folder / "generation_config.json"
    ends = read_json(path).get("eos_token_id") if path.is_file() else None
    return [each for each in (ends if isinstance(ends, list) else [ends]) if isinstance(each, int)]
