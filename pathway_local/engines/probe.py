"""The probability of each value of a score, from one more token at the place where the score stands."""

import math
from collections.abc import Callable, Generator, Mapping

import llguidance

from pathway_local.engines.passes import Pass, PassResult
from pathway_local.rubrics.fields import literal
from pathway_local.tokenizer import JudgeTokenizer

NEGLIGIBLE = 1e-3
"""A spelling that begins with less probability than this is not followed any further."""

Texts = Mapping[int, str]
Probing = Generator[Pass, PassResult, dict[int, float]]


class Probe:
    """Reads off how likely each value is, given all that the judge has written before it.

    A value's text can be spelled by different tokens (a blank joined with a digit or not), and one text can begin
    another (1 and 10). So the probability is followed along the spellings: where a token leaves one value
    only, its probability is that value's; where it leaves several, the next token is asked for as well.
    """

    def __init__(self, tokenizer: JudgeTokenizer) -> None:
        self.tokenizer = tokenizer
        self._legal: dict[str, tuple[int, ...]] = {}

    def passes(self, prefix: tuple[int, ...], texts: Texts, next_id: Callable[[], str]) -> Probing:
        """The distribution over the values of `texts`, each the text that would stand behind `prefix`."""
        found = dict.fromkeys(texts, 0.0)
        open_paths: list[tuple[tuple[int, ...], dict[int, bytes], float]] = [
            ((), {value: text.encode() for value, text in texts.items()}, 1.0)
        ]
        while open_paths:
            path, rests, probability = open_paths.pop()
            grammar = _either(rests)
            legal = self._legal_ids(grammar)
            shares = {legal[0]: 1.0} if len(legal) == 1 else {}
            if not shares:
                result = yield Pass(next_id(), prefix + path, grammar, 1, logprob_ids=legal)
                shares = {token: math.exp(logprob) for token, logprob in result.logprobs.items()}
            for token, share in shares.items():
                left = self._left(rests, token)
                if len(left) == 1:
                    found[next(iter(left))] += probability * share
                elif left and probability * share > NEGLIGIBLE:
                    open_paths.append(((*path, token), left, probability * share))
        mass = sum(found.values())
        return {value: share / mass for value, share in found.items()} if mass > 0 else {}

    def _left(self, rests: Mapping[int, bytes], token: int) -> dict[int, bytes]:
        """The values that `token` still allows, each with what remains of its text."""
        if token == self.tokenizer.eos_id:
            return {value: rest for value, rest in rests.items() if not rest}
        said = self.tokenizer.bytes_of(token)
        return {value: rest[len(said) :] for value, rest in rests.items() if rest.startswith(said)}

    def _legal_ids(self, grammar: str) -> tuple[int, ...]:
        if grammar not in self._legal:
            matcher = llguidance.LLMatcher(self.tokenizer.grammar_tokenizer, llguidance.grammar_from("lark", grammar))
            self._legal[grammar] = self.tokenizer.legal_ids(matcher)
        return self._legal[grammar]


def _either(rests: Mapping[int, bytes]) -> str:
    """A grammar of exactly these texts."""
    texts = sorted({rest.decode() for rest in rests.values()})
    choices = " | ".join(literal(text) for text in texts if text)
    return f"start: ({choices}){'?' if '' in texts else ''}\n"
