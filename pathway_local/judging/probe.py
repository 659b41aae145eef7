"""Finds the probability of each value of a score, at the score's place in a reply.

While an engine writes a short reply, it also notes these probabilities. After a longer one, a further pass asks for
one more token at that place.
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
from pathway_local.verdict import Number

NEGLIGIBLE = 1e-3
"""The probe does not follow spellings that are less likely than this so far."""

MOST_NAMED = 128
"""Ids in one pass; vLLM gives log-probabilities of no more."""

MOST_WATCHED = 64
"""The most ids to note at each token of a short reply; beyond that, a further pass costs less."""

FORMS = 64
"""Forms whose watched ids are cached; a form that holds a case's own texts is never used again."""

Ids = tuple[int, ...]

Noted = Sequence[tuple[int, Mapping[int, float]]]
"""Tokens of a reply from the score's place on, each with the log-probabilities that the engine noted there."""

Texts = Mapping[Number, str]
Probing = Generator[Pass, PassResult, dict[Number, float]]


@dataclass(frozen=True, slots=True)
class _Fork:
    """A place where the spellings of values diverge: the ids that may come next, and where each leads.

    `settled` has the ids that leave only one value, `open` those that leave several, with the rest of each text.
    For example, at the texts "1" and "10" the id of "10" settles on 10, while the id of "1" stays open: the texts
    left are "" and "0", and the next token decides (an end of the reply, or a "0").
    """

    legal: tuple[int, ...]
    settled: tuple[tuple[int, Number], ...]
    open: tuple[tuple[int, dict[Number, bytes]], ...]


class Probe:
    """Finds how likely each value is, given everything that the judge wrote before it.

    Different tokens can spell a value's text (a blank joined with a digit or not), and one text can begin
    another (1 and 10). So the probe walks a tree of tokens and multiplies shares along each path: a token that leaves
    one value gives its probability to that value; at a token that leaves several, the probe asks for the next token.
    Without this, 10 would count as 1, and a value with two spellings would count as half.
    """

    def __init__(self, tokenizer: JudgeTokenizer) -> None:
        self.tokenizer = tokenizer
        self._forks: dict[tuple[tuple[Number, bytes], ...], _Fork] = {}
        self.watched = lru_cache(FORMS)(self._watched)

    def _watched(self, form: Form) -> tuple[int, ...]:
        """Return the ids to note while the engine writes a reply; none if it has other fields, as noting takes time."""
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

    def passes(
        self, shared: Ids, own: Ids, texts: Texts, next_id: Callable[[], str], after: str, noted: Noted = ()
    ) -> Probing:
        """Return the distribution over the values of `texts`; each text would follow the ids `shared` and `own`.

        `after` is the id of the pass that wrote the reply. Log-probabilities that the reply `noted` there need no pass.
        Raises RequestRefused.
        """
        found = dict.fromkeys(texts, 0.0)
        # Each path: its tokens, the rest of each value's text behind them, and the product of their shares.
        open_paths: list[tuple[tuple[int, ...], dict[Number, bytes], float]] = [((), _rests(texts), 1.0)]
        while open_paths:
            path, rests, probability = open_paths.pop()
            fork = self._fork(rests)
            shares = {fork.legal[0]: 1.0}  # a single legal token has all the probability
            if len(fork.legal) > 1:
                logprobs = _noted_at(noted, path)
                if not all(token in logprobs for token in fork.legal):
                    logprobs = yield from self._asked(shared, own + path, fork.legal, next_id, after)
                shares = _shares(fork.legal, logprobs)
            for token, value in fork.settled:
                found[value] += probability * shares[token]
            for token, left in fork.open:
                share = probability * shares[token]
                if share > NEGLIGIBLE:
                    open_paths.append(((*path, token), left, share))
        mass = sum(found.values())  # below 1 by the paths that were negligible
        return {value: share / mass for value, share in found.items()} if mass > 0 else {}

    def _asked(
        self, shared: Ids, own: Ids, legal: Ids, next_id: Callable[[], str], after: str
    ) -> Generator[Pass, PassResult, dict[int, float]]:
        """Return the log-probabilities of `legal` as the next token. Raises RequestRefused.

        These passes have no grammar: a mask changes the probabilities of all legal ids by one factor, so their shares
        in each other's sum are the same without it, for less work.
        """
        found: dict[int, float] = {}
        for at in range(0, len(legal), MOST_NAMED):
            named = legal[at : at + MOST_NAMED]
            result = yield Pass(next_id(), own, None, 1, logprob_ids=named, shared=shared, after=after)
            result.check()
            for each in result.logprobs:
                found.update(each)
        return found

    def _fork(self, rests: Mapping[Number, bytes]) -> _Fork:
        key = tuple(rests.items())
        if key not in self._forks:
            grammar = _either(rests, self.tokenizer.end_ids)
            matcher = self.tokenizer.matcher(grammar)
            legal = self.tokenizer.legal_ids(matcher)
            lefts = [(token, self._left(rests, token)) for token in legal]
            settled = tuple((token, next(iter(left))) for token, left in lefts if len(left) == 1)
            self._forks[key] = _Fork(legal, settled, tuple(each for each in lefts if len(each[1]) > 1))
        return self._forks[key]

    def _left(self, rests: Mapping[Number, bytes], token: int) -> dict[Number, bytes]:
        """Return the values that `token` still allows, each with the rest of its text."""
        if token in (self.tokenizer.eos_id, *self.tokenizer.end_ids):
            return {value: rest for value, rest in rests.items() if not rest}
        said = self.tokenizer.bytes_of(token)
        return {value: rest[len(said) :] for value, rest in rests.items() if rest.startswith(said)}


def _rests(texts: Texts) -> dict[Number, bytes]:
    return {value: text.encode() for value, text in texts.items()}


def _noted_at(noted: Noted, path: tuple[int, ...]) -> Mapping[int, float]:
    """Return the log-probabilities noted after `path`, if the reply took that path."""
    if len(noted) <= len(path) or any(token != own for token, (own, _) in zip(path, noted, strict=False)):
        return {}
    return noted[len(path)][1]


def _shares(legal: tuple[int, ...], logprobs: Mapping[int, float]) -> dict[int, float]:
    """Return the share of each legal id in the sum of their probabilities; 0 for all if that sum is 0."""
    known = [logprobs.get(token, -math.inf) for token in legal]
    most = max(known)
    if most == -math.inf:
        return dict.fromkeys(legal, 0.0)
    # Relative to the largest: probabilities of unlikely ids would all be 0 in a float.
    weights = [math.exp(each - most) for each in known]
    mass = sum(weights)
    return {token: weight / mass for token, weight in zip(legal, weights, strict=True)}


def _either(rests: Mapping[Number, bytes], end_ids: Sequence[int]) -> str:
    """Return a grammar of exactly these texts; if one is empty, any of the judge's end tokens may end the reply."""
    texts = sorted({rest.decode() for rest in rests.values()})
    choices = [literal(text) for text in texts if text]
    if "" not in texts:
        return f"start: ({' | '.join(choices)})\n"
    return f"start: ({' | '.join([*choices, *(f'<[{token}]>' for token in end_ids)])})?\n"
