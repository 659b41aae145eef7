"""The probability of each value of a score, from one more token at the place where the score stands."""

import math
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass

import llguidance

from pathway_local.engines.passes import Pass, PassResult
from pathway_local.rubrics.lark import literal
from pathway_local.tokenizer import JudgeTokenizer

NEGLIGIBLE = 1e-3
"""A spelling that begins with less probability than this is not followed any further."""

Texts = Mapping[int, str]
Probing = Generator[Pass, PassResult, dict[int, float]]


@dataclass(frozen=True, slots=True)
class _Fork:
    """A place where a text's spellings part: the grammar and ids of what may come next, and where each id leads.

    `settled` has the ids that leave one value only, `open` those that leave several, with what remains of each text.
    """

    grammar: str
    legal: tuple[int, ...]
    settled: tuple[tuple[int, int], ...]
    open: tuple[tuple[int, dict[int, bytes]], ...]


class Probe:
    """Reads off how likely each value is, given all that the judge has written before it.

    A value's text can be spelled by different tokens (a blank joined with a digit or not), and one text can begin
    another (1 and 10). So the probability is followed along the spellings: where a token leaves one value
    only, its probability is that value's; where it leaves several, the next token is asked for as well.
    """

    def __init__(self, tokenizer: JudgeTokenizer) -> None:
        self.tokenizer = tokenizer
        self._forks: dict[tuple[tuple[int, bytes], ...], _Fork] = {}

    def passes(self, prefix: tuple[int, ...], texts: Texts, next_id: Callable[[], str]) -> Probing:
        """The distribution over the values of `texts`, each the text that would stand behind `prefix`."""
        found = dict.fromkeys(texts, 0.0)
        open_paths: list[tuple[tuple[int, ...], dict[int, bytes], float]] = [
            ((), {value: text.encode() for value, text in texts.items()}, 1.0)
        ]
        while open_paths:
            path, rests, probability = open_paths.pop()
            fork = self._fork(rests)
            logprobs: Mapping[int, float] = {fork.legal[0]: 0.0}
            if len(fork.legal) > 1:
                result = yield Pass(next_id(), prefix + path, fork.grammar, 1, logprob_ids=fork.legal)
                logprobs = result.logprobs
            for token, value in fork.settled:
                if token in logprobs:
                    found[value] += probability * math.exp(logprobs[token])
            for token, left in fork.open:
                share = probability * math.exp(logprobs.get(token, -math.inf))
                if share > NEGLIGIBLE:
                    open_paths.append(((*path, token), left, share))
        mass = sum(found.values())
        return {value: share / mass for value, share in found.items()} if mass > 0 else {}

    def _fork(self, rests: Mapping[int, bytes]) -> _Fork:
        key = tuple(rests.items())
        if key not in self._forks:
            grammar = _either(rests)
            matcher = llguidance.LLMatcher(self.tokenizer.grammar_tokenizer, llguidance.grammar_from("lark", grammar))
            legal = self.tokenizer.legal_ids(matcher)
            lefts = [(token, self._left(rests, token)) for token in legal]
            settled = tuple((token, next(iter(left))) for token, left in lefts if len(left) == 1)
            self._forks[key] = _Fork(grammar, legal, settled, tuple(each for each in lefts if len(each[1]) > 1))
        return self._forks[key]

    def _left(self, rests: Mapping[int, bytes], token: int) -> dict[int, bytes]:
        """The values that `token` still allows, each with what remains of its text."""
        if token == self.tokenizer.eos_id:
            return {value: rest for value, rest in rests.items() if not rest}
        said = self.tokenizer.bytes_of(token)
        return {value: rest[len(said) :] for value, rest in rests.items() if rest.startswith(said)}


def _either(rests: Mapping[int, bytes]) -> str:
    """A grammar of exactly these texts."""
    texts = sorted({rest.decode() for rest in rests.values()})
    choices = " | ".join(literal(text) for text in texts if text)
    return f"start: ({choices}){'?' if '' in texts else ''}\n"
