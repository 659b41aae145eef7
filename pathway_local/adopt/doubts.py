"""Points out what a prompt says against a declaration: another direction of a score, or a reply that it can't have."""

import re
from collections.abc import Iterator

from pathway_local.adopt.scales import stated
from pathway_local.adopt.slots import Source
from pathway_local.adopt.values import BESIDE, told_words
from pathway_local.adopt.words import any_of, is_in
from pathway_local.rubrics.fields import ScoreField
from pathway_local.rubrics.rubric import Rubric

MOST = 4
"""Lines at most that are asked about."""


def doubts(source: Source, rubric: Rubric) -> tuple[str, ...]:
    """Return a question for each sign that the rubric misses what the prompt says."""
    found = {name: each for name, each in rubric.format.outputs.fields.items() if isinstance(each, ScoreField)}
    ordinal = {name: each for name, each in found.items() if each.scale == "ordinal" and not rubric.pair}
    every = [*_turned(source, ordinal), *list(_beyond(source, found, rubric))[:MOST]]
    return tuple(dict.fromkeys(every))


def _turned(source: Source, scores: dict[str, ScoreField]) -> Iterator[str]:
    """Yield a question for each sign that a lower score is better; a comparison has its direction in its words."""
    harms = [name for name in scores if is_in("harm", name.split(".")[-1])]
    yield from (f'a higher "{name}" is taken as better: is that meant?' for name in harms)
    for score in scores.values():
        ends = [text for text, value in score.values_by_text(False).items() if value not in score.special]
        between = rf"(?:[\s(=:–—\"'*-]|{any_of('joins').pattern})+"
        sides = ((ends[0], "top"), (ends[-1], "bottom"))
        signs = [
            re.compile(rf"(?i)(?<![\w.,/-]){re.escape(end)}{between}{any_of(word).pattern}") for end, word in sides
        ]
        if not score.written:
            far = r"(?:(?!\b(?:no|not|never|without|free)\b)[^.;,\n\d]){0,60}?"
            signs.append(re.compile(rf"(?i)(?<![\w.,/-]){re.escape(ends[-1])} {far}{any_of('harm').pattern}"))
        # Where levels have words, their order says which is better.
        signs += [any_of("reversed")] * (not score.written)
        told = [
            (row, found[0]) for row, line in enumerate(source.lines) for sign in signs if (found := sign.search(line))
        ]
        for row, said in told[:1]:
            yield f'a higher score is taken as better, and line {source.line(row)} says "{said[:60]}": is that meant?'
    counted = re.search(rf"(?i){any_of('how_many').pattern} {any_of('harm').pattern}", source.text)
    if counted and len(scores) == 1 and not harms:
        yield f'a higher score is taken as better, and the prompt asks "{counted[0]}": is that meant?'


def _beyond(source: Source, scores: dict[str, ScoreField], rubric: Rubric) -> Iterator[str]:
    """Yield a question for each line that tells of a reply, or a scale, which no declared score has."""
    texts = {text.strip('"').lower() for each in scores.values() for text in each.values_by_text(False)}
    numbers = {float(text) for text in texts if re.fullmatch(r"-?\d+(?:\.\d+)?", text)}
    levels = {name.lower() for each in scores.values() for name in each.levels.values()}
    known = {*texts, *levels, *(name.lower() for name in rubric.format.outputs.fields), *rubric.inputs}
    ends = {(min(each.values), max(each.values)) for each in scores.values() if not each.written and not each.special}
    others = {each.row for each in stated(source) if len(ends) == 1 and (each.low, each.high) not in ends}
    begins = rf"(?i){any_of('give').pattern}(?: \w+){{0,3}}?"
    for row, line in enumerate(source.lines):
        tells = (any_of("give").search(line) or any_of("answer").search(line)) and not re.match(
            r'\s*(?:["{}\[]|\d+\s*[:=])', line
        )
        given = [float(each) for each in re.findall(rf"{begins}\s+(\d+(?:\.\d+)?)(?![\w%]|[.,]\d)", line) if tells]
        said = [*told_words(line), *BESIDE.findall(line)] if tells else []
        halves = ends and any_of("fraction").search(any_of("negated").sub(" ", line)) and any_of("score").search(line)
        never = numbers and tells and any_of("never").search(line)
        strange = any(word.lower() not in known for word in said) or (numbers and not numbers.issuperset(given))
        if never or strange or row in others or (halves and numbers == {round(each) for each in numbers}):
            yield f'line {source.line(row)} says "{line.strip()[:80]}": has the declaration all that this asks for?'
