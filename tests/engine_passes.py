"""Passes that engines are tried on: the three kinds of free text, and the first token of a score."""

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec.structs import replace
from tiny_judge import PAD
from tokenizers import Tokenizer

from pathway_local.passes import GREEDY, Pass, PassResult, Sampling

SECTIONS = r"""start: "**Analysis:**\n" a "\n\n**Score:** " /[1-5]/ "\n\n**Justification:**\n" j
a[max_tokens=40]: %lark {
start: L1 ("\n" L1 | "\n\n" L2 | "\n\n*" L2 | "\n\n**" L4)*
L1: /[^\n]+/
L2: /[^\n*][^\n]*/
L4: /[^\nS][^\n]*/
}
j[max_tokens=30]: /(?s:.+)/
"""
TAGS = r"""start: "<S0>Let's think step by step:" s0 "</S0>\n<S1>" s1 "</S1>\n<S2>" /[1-5]/ "</S2>"
s0[max_tokens=40]: %lark {
start: (A | "<" B)+
A: /[^<]+/
B: /[^<\/]/
}
s1[max_tokens=20]: %lark {
start: (A | "<" B)+
A: /[^<]+/
B: /[^<\/]/
}
"""
JSON = r"""start: "{\"score\": " /[1-5]/ ", \"reason\": \"" r "\", \"missing\": [" list "]}"
list: (item (", " item){0,3})?
item: "\"" i "\""
r: p (ESC p){0,6}
p[max_tokens=12]: /[^"\\\x00-\x1f]*/
i: q (ESC q){0,2}
q[max_tokens=6]: /[^"\\\x00-\x1f]*/
ESC: /\\(["\\\/bfnrt]|u[0-9a-fA-F]{4})/
"""
DIGIT = "start: /[1-5]/\n"
FORMATS = {"sections": SECTIONS, "tags": TAGS, "json": JSON}
LIMIT = 400


def _matches(pattern: str) -> Callable[[str], bool]:
    return lambda text: re.fullmatch(pattern, text) is not None


def _is_json(text: str) -> bool:
    try:
        return set(json.loads(text)) == {"score", "reason", "missing"}
    except ValueError:
        return False


READABLE: dict[str, Callable[[str], bool]] = {
    "sections": _matches(r"\*\*Analysis:\*\*\n[\s\S]+\n\n\*\*Score:\*\* [1-5]\n\n\*\*Justification:\*\*\n[\s\S]+"),
    "tags": _matches(r"<S0>Let's think step by step:[\s\S]+</S0>\n<S1>[\s\S]+</S1>\n<S2>[1-5]</S2>"),
    "json": _is_json,
}


class Maker:
    """Makes passes in a judge's own ids."""

    def __init__(self, judge: Path) -> None:
        self.tokenizer = Tokenizer.from_file(str(judge / "tokenizer.json"))

    def ids(self, text: str) -> tuple[int, ...]:
        return tuple(self.tokenizer.encode(text, add_special_tokens=False).ids)

    def text(self, ids: tuple[int, ...]) -> str:
        return str(self.tokenizer.decode(list(ids), skip_special_tokens=False))

    def judging(self, kind: str, case: int, sampling: Sampling = GREEDY) -> Pass:
        """A case under one of the three formats."""
        return Pass(f"{kind}-{case}", self.ids(f"Judge case {case}, please.\n"), FORMATS[kind], LIMIT, sampling)

    def probing(self, case: int, sampling: Sampling = GREEDY) -> Pass:
        """The first token of a score."""
        digits = tuple(self.tokenizer.token_to_id(digit) for digit in "12345")
        ids = self.ids(f"Judge case {case}, please.\n**Score:** ")
        return Pass(f"probe-{case}", ids, DIGIT, 1, sampling, logprob_ids=digits)

    def refused(self, context: int) -> list[Pass]:
        """Passes that an engine with that context can't generate."""
        good = self.judging("tags", 3)
        return [
            replace(good, id="grammar", grammar='start: "a student\'s secret" ('),
            replace(good, id="long", ids=good.ids * context),
            replace(good, id="unknown id", ids=(3, 99_999)),
            replace(good, id="unknown probe", logprob_ids=(99_999,)),
            replace(good, id="no prompt", ids=()),
            replace(good, id="no room", max_tokens=0),
        ]

    def ending(self, context: int) -> list[Pass]:
        """Passes that end by a token of the judge, by the end token, by their budget, and by that context."""
        stop, end = self.ids("Judge."), self.tokenizer.token_to_id(PAD)
        brim = tuple(300 + at % 3000 for at in range(context - 3))
        return [
            Pass("stopped", stop, f'start: "a" <[{end}]>\n', 9, stop_ids=(end,)),
            Pass("ended", stop, 'start: "a"\n', 9),
            Pass("cut", stop, None, 3),
            Pass("brim", brim, None, 50),
        ]

    def check_ends(self, found: Mapping[str, PassResult]) -> None:
        """Check how those ended, and that the token that ended them is left out."""
        for name in ("stopped", "ended"):
            assert (found[name].finish, self.text(found[name].ids)) == ("stop", "a")
        for name in ("cut", "brim"):
            assert (found[name].finish, len(found[name].ids)) == ("length", 3)
