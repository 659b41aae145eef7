"""Finds the probability of each value of a score, at the score's place in a reply, and of all of them together.

While an engine writes a short reply, it also notes these probabilities. After a longer one, a further pass asks for
one more token at that place. Only this pass, which has no grammar, tells what the judge gave to all legal values.
"""

import math
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from pathway_local.passes import Pass, PassResult, new_pass_id
from pathway_local.rendering.tokenizer import JudgeTokenizer
from pathway_local.rubrics.fields import ScoreField
from pathway_local.rubrics.form import Form
from pathway_local.rubrics.grammar import literal
from pathway_local.verdict import Number

NEGLIGIBLE = 1e-3
"""Spellings that are less likely than this so far are not followed."""

FOLLOWED = 0.01
"""If only one value is left, its spelling is followed to its end if that is likelier than this; else it counts
the value as if the judge would have finished it."""

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


class Distribution(NamedTuple):
    """The share of each value among all legal values, and the probability of these together; None if it is unknown."""

    probabilities: Mapping[Number, float]
    mass: float | None


Passes = Generator[Pass, PassResult, Distribution]


class Place(NamedTuple):
    """A score's place: the text of each value, with bytes of the layout's own text before (`gap`) and `behind` it."""

    texts: Texts
    gap: int = 0
    behind: int = 0


@dataclass(slots=True)
class _Path:
    """Tokens of a spelling, the rest of each value's text behind them, and how likely they are.

    `share` is the product of their shares among the legal tokens, and `raw` that of their own probabilities: 0 once it
    is counted, because a value is complete.
    """

    tokens: Ids
    rests: Mapping[Number, bytes]
    share: float
    raw: float


_Fork = Mapping[int, dict[Number, bytes]]
"""The ids that may come next where spellings of values diverge; for each, the values left and the rest of their texts.

At the texts "1" and "10" the id of "10" leaves 10 alone, while the id of "1" leaves both: the texts left are "" and
"0", and the next token decides (an end of the reply, or a "0").
"""


class ValueProbabilities:
    """Finds how likely each value is, given everything that the judge wrote before it.

    Different tokens can spell a value's text (a blank joined with a digit or not), and one text can begin
    another (1 and 10). So this walks a tree of tokens and multiplies shares along each path: a token that leaves
    one value gives its probability to that value; at a token that leaves several, it asks for the next token.
    Without this, 10 would count as 1, and a value with two spellings would count as half.
    """

    def __init__(self, tokenizer: JudgeTokenizer) -> None:
        self.tokenizer = tokenizer
        self._forks: dict[tuple[bool, tuple[tuple[Number, bytes], ...]], _Fork] = {}
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
            found.update(fork)
            todo += [left for left in fork.values() if len(left) > 1]
        return tuple(sorted(found)) if len(found) <= MOST_WATCHED else ()

    def passes(self, ids: Ids, place: Place, after: str, noted: Noted = ()) -> Passes:
        """Return the distribution over the values of a place behind these ids.

        `after` is the id of the pass that wrote the reply. Log-probabilities that the reply `noted` there need no pass;
        the grammar's mask had changed them, so they give no mass. Raises RequestRefused.
        """
        found, mass = dict.fromkeys(place.texts, 0.0), 0.0
        open_paths = [_Path((), _rests(place.texts), 1.0, 0.0 if noted else 1.0)]
        while open_paths:
            path = open_paths.pop()
            fork = self._fork(path.rests, decided=path.share == 0)
            legal = tuple(fork)
            if path.raw <= FOLLOWED or any(len(rest) <= place.behind for rest in path.rests.values()):
                mass, path.raw = mass + path.raw, 0.0  # a value is complete, whatever follows it
            logprobs: Mapping[int, float] = dict.fromkeys(legal, 0.0)
            if len(legal) > 1 or (path.raw > 0 and not self._in_gap(path, legal[0], place)):
                logprobs = _noted_at(noted, path.tokens)
                if not fork.keys() <= logprobs.keys():
                    logprobs = yield from self._asked(ids + path.tokens, legal, after)
            among = _shares(legal, logprobs)
            for token, left in fork.items():
                share, raw = path.share * among[token], path.raw * math.exp(logprobs.get(token, -math.inf))
                if len(left) == 1:
                    [(value, rest)] = left.items()
                    found[value] += share
                    if raw <= FOLLOWED or len(rest) <= place.behind:
                        mass += raw
                    else:
                        open_paths.append(_Path((*path.tokens, token), left, 0.0, raw))
                elif share > NEGLIGIBLE:
                    open_paths.append(_Path((*path.tokens, token), left, share, raw))
                else:
                    mass += raw
        total = sum(found.values())  # below 1 by the paths that were negligible
        shares = {value: share / total for value, share in found.items()} if total > 0 else {}
        return Distribution(shares, None if noted else min(1.0, mass))

    def _in_gap(self, path: _Path, token: int, place: Place) -> bool:
        """Return whether the layout's own text in front of the values goes on at least to the end of this token."""
        value, rest = next(iter(path.rests.items()))
        read = len(place.texts[value].encode()) - len(rest)
        return read + len(self.tokenizer.bytes_of(token)) <= place.gap

    def _asked(self, ids: Ids, legal: Ids, after: str) -> Generator[Pass, PassResult, dict[int, float]]:
        """Return the log-probabilities of `legal` as the next token. Raises RequestRefused.

        These passes have no grammar: a mask changes the probabilities of all legal ids by one factor, so their shares
        in each other's sum are the same without it, for less work.
        """
        found: dict[int, float] = {}
        for at in range(0, len(legal), MOST_NAMED):
            named = legal[at : at + MOST_NAMED]
            result = yield Pass(new_pass_id(), ids, None, 1, logprob_ids=named, after=after)
            result.check()
            for each in result.logprobs:
                found.update(each)
        return found

    def _fork(self, rests: Mapping[Number, bytes], *, decided: bool = False) -> _Fork:
        """Return the fork at these rests of texts; if `decided`, all ids that continue the text of the one value left.

        A grammar that forces a text allows only one of those.
        """
        key = (decided, tuple(rests.items()))
        if key not in self._forks:
            if decided:
                [rest] = rests.values()
                ids = [token for at in range(1, len(rest) + 1) for token in self.tokenizer.ids_of(rest[:at])]
            else:
                grammar = _either(rests, self.tokenizer.end_ids)
                ids = [*self.tokenizer.legal_ids(self.tokenizer.matcher(grammar))]
            self._forks[key] = {token: self._left(rests, token) for token in ids}
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
