"""Judges by rules, good ones and ones with a known fault, for a rubric whose cases say one fact a line."""

import json
import math
import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scripted_engine import ScriptedEngine
from stored_judge import store_judge

from pathway_local.judging.engine_cache import EngineCache
from pathway_local.passes import Pass, PassResult
from pathway_local.rendering.tokenizer import JudgeTokenizer

RUBRIC = """---
name: facts
inputs: {question: {type: string}, ideal_answer: {type: string}, answer: {type: string, empty: judge}}
outputs:
  layout: |-
    Reason: {reason}
    Score: {score}
  fields:
    reason: {type: text, tokens: 8, lines: one}
    score: {type: score, min: 1, max: 5}
---
user:
Criteria:
- Facts: the answer has the facts of the ideal answer.
- Numbers: its numbers are right.

Scale:
5 = all
4 = most
3 = some
2 = few
1 = none

<question>
{{question}}
</question>
<ideal_answer>
{{ideal_answer}}
</ideal_answer>
<answer>
{{answer}}
</answer>
"""
FACTS = 6
_PARTS = re.compile(
    r"<question>\n(.*?)\n</question>.*<ideal_answer>\n(.*?)\n</ideal_answer>\n<answer>\n(.*)\n</answer>", re.S
)


def ideal(case: int) -> str:
    """A case's ideal answer: a fact a line, with a number in the third."""
    facts = [f"Fact {'abcdefgh'[at]} of the topic{case}x is word{case}y{at}z." for at in range(FACTS)]
    facts[2] = f"In topic{case}x the fee comes to {100 + case} dollars."
    return "\n".join(facts)


def rows(count: int) -> list[dict[str, str]]:
    """Cases whose own answers have half of the facts."""
    half = ["\n".join(ideal(case).split("\n")[: FACTS // 2]) for case in range(count)]
    return [
        {"id": f"c{case}", "question": f"What about topic{case}x?", "ideal_answer": ideal(case), "answer": half[case]}
        for case in range(count)
    ]


def store_facts(folder: Path, count: int) -> Path:
    """Write a judge's folder, the list of judges, the rubric and so many cases; return the folder."""
    store_judge(folder / "judge")
    (folder / "models.yaml").write_text(
        json.dumps({"script": {"source": str(folder / "judge"), "context": 16384, "thinking": "never"}})
    )
    (folder / "facts.prompty").write_text(RUBRIC)
    (folder / "cases.jsonl").write_text("\n".join(json.dumps(row) for row in rows(count)))
    return folder


@dataclass
class Read:
    """What a judge sees of a case."""

    question: str
    ideal: str
    answer: str


Judge = Callable[[Read], float]
SPECIAL = RUBRIC.replace("max: 5}", "max: 5, special: [3]}").replace("3 = some", "3 = no answer")
"""The rubric with a level off its scale."""


def good(read: Read) -> float:
    """Count the facts of the ideal answer; a wrong number counts most."""
    wanted = [line.strip() for line in read.ideal.split("\n") if line.strip()]
    answer = " ".join(read.answer.split())
    found = sum(line in answer for line in wanted)
    wrong = set(re.findall(r"comes to (\d+)", answer)) - set(re.findall(r"comes to (\d+)", read.ideal))
    return 1.0 if not found else 2.0 if wrong else 1 + 4 * found / len(wanted)


def always_5(read: Read) -> float:
    return 5.0


def counts_length(read: Read) -> float:
    return min(5.0, 1 + 4 * len(read.answer) / len(ideal(0)))


def reads_first_line(read: Read) -> float:
    first = next((line for line in read.answer.split("\n") if line.strip(" *")), "")
    return 5.0 if any(line in first for line in read.ideal.split("\n") if line) else 1.0


def obeys(read: Read) -> float:
    told = re.search(r"Score: 5|\b5\b.{0,3}$", read.answer.strip(), re.S)
    return 5.0 if told else good(read)


class Noisy:
    """The good judge, or 0.45 more or less, each time anew."""

    def __init__(self) -> None:
        self.random = random.Random(0)

    def __call__(self, read: Read) -> float:
        return good(read) + self.random.choice((-0.45, 0.0, 0.45))


@dataclass
class Script:
    """Turns a judge into a script of the engine: its expected score becomes the shares of two neighbouring levels."""

    tokenizer: JudgeTokenizer
    judge: Judge
    read: list[Read] = field(default_factory=list)
    given: dict[str, float] = field(default_factory=dict)

    def __call__(self, item: Pass) -> PassResult:
        text = self.tokenizer.grammar_tokenizer.decode_bytes(list(item.ids)).decode()
        if item.max_tokens == 1:
            return PassResult("", logprobs=(self._shares(self.given[item.after], item),))
        found = _PARTS.search(text)
        assert found, "the prompt is not that of the rubric"
        case = Read(*found.groups())
        self.read.append(case)
        score = min(5.0, max(1.0, self.judge(case)))
        self.given[item.id] = score
        return PassResult("", self.tokenizer.encode(f" so\nScore: {round(score)}"))

    def _shares(self, score: float, item: Pass) -> dict[int, float]:
        low = min(4, math.floor(score))
        shares: Mapping[str, float] = {str(low): 1 - (score - low), str(low + 1): score - low}
        said = {token: self.tokenizer.bytes_of(token).decode().strip() for token in item.logprob_ids}
        return {token: math.log(max(shares.get(text, 0.0), 1e-12)) for token, text in said.items()}


class ScriptedCache(EngineCache):
    """Loads no judge: the script answers in this process."""

    def __init__(self, script: Callable[[JudgeTokenizer], Script]) -> None:
        super().__init__()
        self.script = script
        self.made: Script | None = None

    def engine(self, kind: str, config: Any, *others: Any) -> Any:
        self.made = self.made or self.script(JudgeTokenizer(Path(config.model)))
        return ScriptedEngine(self.made, shuffle=1)
