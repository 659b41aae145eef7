"""A judge's entry in `models.yaml`: its keys and their checks, how it takes turns, and how long it thinks."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    StringConstraints,
    field_validator,
)

from pathway_local.errors import RegistryError, UsageError
from pathway_local.judges.model_config import Count
from pathway_local.judges.weights import is_hub_id
from pathway_local.passes import Sampling

Positive = Annotated[float, Field(gt=0, le=1e7)]
Text = Annotated[str, StringConstraints(max_length=4000)]
Word = Annotated[str, StringConstraints(min_length=1, max_length=300)]
Precision = Literal["fp32", "bf16", "fp16", "fp8", "int8", "w4a16", "mxfp4", "nvfp4", "awq", "gptq", "quantized"]
System = Literal["native", "fold"]
Dtype = Literal["auto", "bfloat16", "float16", "float32"]
Switch = bool | int | str

USUAL_CONTEXT = 32_768
"""Tokens of a context that neither an entry nor a config names; the engine knows."""

FOLDER = "its folder"
"""The origin of a judge that no registry file names."""

_SOURCE = re.compile(r"(package:[A-Za-z0-9][\w/-]*|~?/.*|\.{1,2}/.*)", re.ASCII)


class Keys(BaseModel):
    """Keys of an entry in a registry file; unknown ones are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class SamplingSpec(Keys):
    """The sampling that the model's maker recommends."""

    temperature: Annotated[float, Field(ge=0, le=5)]
    top_p: Annotated[float, Field(gt=0, le=1)] = 1.0
    top_k: Annotated[int, Field(ge=0)] = 0


class ThinkingSpec(Keys):
    """The switches of a judge's thinking, and the marks around it.

    `off_by` and `on_by` are switches of its chat template. `skip` starts an answer without thinking, if the template
    does not. `start` opens the thinking, if the template does not. `end` is the token that ends it; `close` is the
    whole text between the thinking and the answer, `end` included.
    """

    off_by: Mapping[str, Switch] = Field(default_factory=dict)
    on_by: Mapping[str, Switch] = Field(default_factory=dict)
    skip: Text = ""
    start: Text = ""
    end: Word
    close: Text = ""
    budget: Annotated[int, Field(gt=0, le=1_000_000)] = 2048
    sampling: SamplingSpec | None = None

    @property
    def closing(self) -> str:
        """The text between the thinking and the answer."""
        return self.close or f"{self.end}\n\n"


def _source(text: str) -> str:
    if not (is_hub_id(text) or _SOURCE.fullmatch(text)):
        raise ValueError("must be owner/name on the model hub, or a folder that begins with /, ./ or ~/")
    return text


class RegistryEntry(Keys):
    """One entry of a registry file. It needs only `source`; the model's folder supplies what is missing.

    Units: tokens, billions of parameters, decimal GB.
    """

    source: Annotated[Word, AfterValidator(_source)]
    revision: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")] | None = None
    sha256: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")] | None = None
    licence: Text = "not stated"
    gated: bool = False
    verified: bool = False
    template: Literal["own", "base", "copy"] | None = None
    checked: Text = ""
    parameters: Positive | None = None
    active: Positive | None = None
    context: Count | None = None
    precision: Precision = "bf16"
    dtype: Dtype = "auto"
    weights_gb: Positive | None = None
    system: System = "native"
    thinking: ThinkingSpec | None = None
    end_of_turn: tuple[Word, ...] = ()
    engine: Mapping[str, JsonValue] = Field(default_factory=dict)
    cpu: bool = False
    label: Text = ""
    notes: Text = ""

    @field_validator("thinking", mode="before")
    @classmethod
    def _never(cls, value: object) -> object:
        return None if value == "never" else value

    @field_validator("engine")
    @classmethod
    def _no_foreign_code(cls, value: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
        if value.get("trust_remote_code"):
            raise ValueError("asks for trust_remote_code, but we never run code that comes with a model")
        return value


class JudgeSpec(RegistryEntry):
    """A judge in the registry; `origin` is the file of its entry."""

    name: str
    origin: str = ""

    @property
    def key(self) -> str:
        """The name under which the registry finds it again: its own, or its folder."""
        return self.source if self.origin == FOLDER else self.name

    @property
    def thinks(self) -> Literal["can", "never", "not known"]:
        """Whether it can think before a reply; not known if its chat template speaks of it and its entry does not."""
        if self.thinking is not None:
            return "can"
        return "never" if "thinking" in self.model_fields_set else "not known"

    @property
    def most_tokens(self) -> int:
        """Tokens of prompt and reply together, at most; the engine may have memory for fewer."""
        return self.context or USUAL_CONTEXT

    def to_add(self, keys: str) -> str:
        """Return the line of a models.yaml that adds these keys to its entry."""
        if self.origin == FOLDER:
            return f"`mine: {{source: {self.source}, {keys}}}`"
        return f"`{self.name}: {{{keys}}}`"


@dataclass(frozen=True, slots=True)
class Chat:
    """A judge's turns: whether the system turn is folded into the user turn, the switches of the chat template, and the
    text that opens a reply before the reply's own start."""

    folds_system: bool = False
    switches: tuple[tuple[str, object], ...] = ()
    opening: str = ""


def think_budget(wanted: str, judge: JudgeSpec) -> int:
    """Return the judge's thinking budget in tokens; `wanted` is a number, or "auto" for the judge's own budget.

    Raises UsageError if it is neither, or if the judge never thinks, and RegistryError if its entry has yet to say so.
    """
    if wanted != "auto" and not (wanted.isdecimal() and len(wanted) < 10):
        raise UsageError(
            f"--think {wanted[:20]} is not a number of tokens", "Give a number, such as --think 1024, or --think auto."
        )
    if judge.thinks == "not known":
        raise RegistryError(f"judge {judge.name!r}: {UNKNOWN_THINKING}", say_how(judge))
    if wanted != "auto" and int(wanted) == 0:
        return 0
    if judge.thinking is None:
        hint = "Leave --think out, or take a judge that can; `pathway-local judges list` shows which."
        raise UsageError(f"judge {judge.name!r} never thinks", hint)
    return judge.thinking.budget if wanted == "auto" else int(wanted)


UNKNOWN_THINKING = "its chat template speaks of thinking, and its entry does not say whether and how it thinks"


def say_how(judge: JudgeSpec) -> str:
    """Return a hint for a judge whose thinking is not known."""
    usual = "{off_by: {enable_thinking: false}, on_by: {enable_thinking: true}, end: </think>}"
    return f"Put {judge.to_add('thinking: never')} into your models.yaml, or in place of never such as {usual}."


def chat_of(judge: JudgeSpec, budget: int) -> Chat:
    """Return how the judge takes turns if it may think for `budget` tokens."""
    how = judge.thinking
    folds = judge.system == "fold"
    if how is None:
        return Chat(folds)
    switches, opening = (how.on_by, how.start) if budget else (how.off_by, how.skip)
    return Chat(folds, tuple(switches.items()), opening)


def thinking_sampling(judge: JudgeSpec, reply: Sampling) -> Sampling:
    """Return how to draw the judge's thoughts: as its maker recommends, or else as the reply.

    A judge that always takes the likeliest token can think in circles.
    """
    how = judge.thinking.sampling if judge.thinking else None
    return Sampling(how.temperature, how.top_p, how.top_k, reply.seed) if how else reply


def chat_settings(judge: JudgeSpec, budget: int, reply: Sampling) -> dict[str, JsonValue]:
    """Return everything in the judge's entry that changes its prompts or thinking, as JSON for the rater's spec."""
    chat, how = chat_of(judge, budget), judge.thinking
    thinks: dict[str, JsonValue] = {}
    if how and budget:
        thinks = {"end": how.end, "closing": how.closing, "sampling": asdict(thinking_sampling(judge, reply))}
    return {
        "system": judge.system,
        "switches": dict(how.on_by if budget else how.off_by) if how else {},
        "opening": chat.opening,
        "end_of_turn": list(judge.end_of_turn),
        "thinking": thinks,
    }
