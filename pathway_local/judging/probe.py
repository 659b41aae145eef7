"""The probability of each value of a score, at the place where the score stands.

A short reply gives them as it is written; behind a longer one, one more token is asked for in passes of their own.
"""

import math
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from pathway_local.passes import Pass, PassResult
from pathway_local.rendering.tokenizer import JudgeTokenizer
from pathway_local.rubrics.fields import ScoreField
from pathway_local.rubrics.lark import literal
from pathway_local.rubrics.output_format import Form

NEGLIGIBLE = 1e-3
"""A spelling that begins with less probability than this is not followed any further."""

MOST_NAMED = 128
"""Ids that one pass is asked about; vLLM gives log-probabilities of no more."""

MOST_WATCHED = 64
"""Ids whose probabilities are worth asking for at each token of a short reply."""

FORMS = 64
"""Forms whose watched ids are kept; a form that holds a case's own texts is that case's alone."""

Ids = tuple[int, ...]

Said = Sequence[tuple[int, Mapping[int, float]]]
"""Tokens of a reply from the score's place on, each with the log-probabilities that were noted there."""

Texts = Mapping[int, str]
Probing = Generator[Pass, PassResult, dict[int, float]]


@dataclass(frozen=True, slots=True)
class _Fork:
    """A place where a text's spellings part: the ids that may come next, and where each leads.

    `settled` has the ids that leave one value only, `open` those that leave several, with what remains of each text.
    """

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
        self.watched = lru_cache(FORMS)(self._watched)

    def _watched(self, form: Form) -> tuple[int, ...]:
        """The ids to watch while a reply is written; none where it is more than scores, and each token would cost."""
        if not all(isinstance(slot.field, ScoreField) for slot in form.slots):
            return ()
        befores = [(slot, form.before(slot.name)) for slot in form.slots]
        todo = [_rests(form.score_texts(slot, before[len(before.rstrip()) :])) for slot, before in befores]
        found: set[int] = set()
        while todo and len(found) <= MOST_WATCHED:
            fork = self._fork(todo.pop())
            found.update(fork.legal)
            todo += [left for _, left in fork.open]
        return tuple(sorted(found)) if len(found) <= MOST_WATCHED else ()

    def passes(self, shared: Ids, own: Ids, texts: Texts, next_id: Callable[[], str], said: Said = ()) -> Probing:
        """The distribution over the values of `texts`, each the text that would stand behind the ids `shared`, `own`.

        What was `said` there by a reply that was watched needs no pass. Raises RequestRefused.
        """
        found = dict.fromkeys(texts, 0.0)
        open_paths: list[tuple[tuple[int, ...], dict[int, bytes], float]] = [((), _rests(texts), 1.0)]
        while open_paths:
            path, rests, probability = open_paths.pop()
            fork = self._fork(rests)
            shares = {fork.legal[0]: 1.0}
            if len(fork.legal) > 1:
                logprobs = _noted(said, path)
                if not all(token in logprobs for token in fork.legal):
                    logprobs = yield from self._asked(shared, own + path, fork.legal, next_id)
                shares = _shares(fork.legal, logprobs)
            for token, value in fork.settled:
                found[value] += probability * shares[token]
            for token, left in fork.open:
                share = probability * shares[token]
                if share > NEGLIGIBLE:
                    open_paths.append(((*path, token), left, share))
        mass = sum(found.values())
        return {value: share / mass for value, share in found.items()} if mass > 0 else {}

    def _asked(
        self, shared: Ids, own: Ids, legal: Ids, next_id: Callable[[], str]
    ) -> Generator[Pass, PassResult, dict[int, float]]:
        """The log-probabilities of `legal` as the next token. Raises RequestRefused.

        No grammar holds these passes: without one the ids have the same shares among each other, for less work.
        """
        found: dict[int, float] = {}
        for at in range(0, len(legal), MOST_NAMED):
            named = legal[at : at + MOST_NAMED]
            result = yield Pass(next_id(), own, None, 1, logprob_ids=named, shared=shared, continues=True)
            result.check()
            for each in result.logprobs:
                found.update(each)
        return found

    def _fork(self, rests: Mapping[int, bytes]) -> _Fork:
        key = tuple(rests.items())
        if key not in self._forks:
            grammar = _either(rests, self.tokenizer.end_ids)
            matcher = self.tokenizer.matcher(grammar)
            legal = self.tokenizer.legal_ids(matcher)
            lefts = [(token, self._left(rests, token)) for token in legal]
            settled = tuple((token, next(iter(left))) for token, left in lefts if len(left) == 1)
            self._forks[key] = _Fork(legal, settled, tuple(each for each in lefts if len(each[1]) > 1))
        return self._forks[key]

    def _left(self, rests: Mapping[int, bytes], token: int) -> dict[int, bytes]:
        """The values that `token` still allows, each with what remains of its text."""
        if token in (self.tokenizer.eos_id, *self.tokenizer.end_ids):
            return {value: rest for value, rest in rests.items() if not rest}
        said = self.tokenizer.bytes_of(token)
        return {value: rest[len(said) :] for value, rest in rests.items() if rest.startswith(said)}


def _rests(texts: Texts) -> dict[int, bytes]:
    return {value: text.encode() for value, text in texts.items()}


def _noted(said: Said, path: tuple[int, ...]) -> Mapping[int, float]:
    """The log-probabilities that were noted behind `path`, if the reply took that path."""
    if len(said) <= len(path) or any(token != own for token, (own, _) in zip(path, said, strict=False)):
        return {}
    return said[len(path)][1]


def _shares(legal: tuple[int, ...], logprobs: Mapping[int, float]) -> dict[int, float]:
    """The share of each of `legal` in what they have together; 0 for all where that is nothing."""
    known = [logprobs.get(token, -math.inf) for token in legal]
    most = max(known)
    if most == -math.inf:
        return dict.fromkeys(legal, 0.0)
    weights = [math.exp(each - most) for each in known]
    mass = sum(weights)
    return {token: weight / mass for token, weight in zip(legal, weights, strict=True)}


def _either(rests: Mapping[int, bytes], end_ids: Sequence[int]) -> str:
    """A grammar of exactly these texts; where one is empty, the reply may end, by any of the judge's end tokens."""
    texts = sorted({rest.decode() for rest in rests.values()})
    choices = [literal(text) for text in texts if text]
    if "" not in texts:
        return f"start: ({' | '.join(choices)})\n"
    return f"start: ({' | '.join([*choices, *(f'<[{token}]>' for token in end_ids)])})?\n"
