"""Asks what a yes to a proposal settles: forms left out, other replies, and the direction of a score."""

import re
from collections.abc import Iterator, Mapping

from pathway_local.adopt.language import language_of
from pathway_local.adopt.prompt import Source
from pathway_local.adopt.shown import Form
from pathway_local.adopt.values import BESIDE, stated
from pathway_local.adopt.words import any_of, as_name, in_quotes, is_in, told_words
from pathway_local.rubrics.fields import ScoreField
from pathway_local.rubrics.rubric import Rubric

TEXTS = ("text", "line", "list", "json", "[")
"""Spellings of fields that can hold reasons begin so."""
ENDINGS = ("brackets around a value", "a final line")
"""Kinds of forms that stand behind a text, unless the prompt forbids one."""
MOST = 4
"""Lines at most that are asked about."""


def questions(source: Source, form: Form, fields: Mapping[str, str], others: list[Form]) -> Iterator[str]:
    """Yield what a yes to this form settles, besides its values."""
    yield from [form.question] * bool(form.question)
    for other in others:
        if left_out := [slot.name for slot in other.slots if slot.name not in fields]:
            said = ", ".join(left_out)[:80]
            yield f"line {source.line(other.row)} also shows {said} ({other.kind}): is that the reply, or a part of it?"
    end = re.search(r"\n *([A-Z][\w ]{2,30}):\s*\Z", source.text)
    if end and form.kind == "labelled slots" and as_name(end[1]) not in fields:
        yield f'the prompt ends with "{end[1]}:": must the reply hold it?'
    for line in source.lines:
        named = in_quotes(line) if any_of("added").search(line) and any_of("key").search(line) else []
        yield from (f'must the reply hold "{key}"?' for key in named if key.isidentifier() and key not in fields)
    if any(each.startswith("prefer ") for each in fields.values()) and not any_of("better").search(source.text):
        yield "the response that the judge chooses counts as the better one: is that meant?"
    spoken = [line for line in source.lines if not any_of("silent").search(line)]
    found = [any_of("reasons").search(line) or any_of("last_line").search(line) for line in spoken]
    told = [f'the prompt says "{said[0]}": ' for said in found if said]
    ending = form.kind in ENDINGS and not any_of("silent").search(source.text)
    if (told or ending) and not any(each.startswith(TEXTS) for each in fields.values()):
        yield f"{told[0] if told else ''}does the judge write this alone, and no reasons before it?"
    scores = [each for each in fields.values() if not each.startswith((*TEXTS, "choice", "true", "number", "="))]
    if len(scores) == 1 and (line := _told(source, "each")):
        yield f'the prompt says "{line}": does the judge write this form only once?'
    if line := _told(source, "notation"):
        yield f'the prompt says "{line}": does the judge write the reply as it is shown here?'
    if form.closing:
        yield f'I found no form, so the rubric adds "{form.closing[:14]}" and this one to the prompt: is that right?'
    if not language_of(source.text) and not all(map(language_of, source.lines)):
        yield "I do not know the words of some of these lines: is all of this right?"


def _told(source: Source, group: str) -> str:
    """Return the beginning of the first line that has a word of the group and tells of the reply."""
    lines = (line for line in source.lines if any_of(group).search(line) and any_of("reply").search(line))
    return next(lines, "").strip()[:60]


def doubts(source: Source, rubric: Rubric) -> tuple[str, ...]:
    """Return a question for each sign that the rubric misses what the prompt says."""
    found = {name: each for name, each in rubric.format.outputs.fields.items() if isinstance(each, ScoreField)}
    ordinal = {name: each for name, each in found.items() if each.scale == "ordinal" and not rubric.pair}
    every = [*_turned(source, ordinal), *list(_beyond(source, found, rubric))[:MOST]]
    return tuple(dict.fromkeys(every))


def _turned(source: Source, scores: dict[str, ScoreField]) -> Iterator[str]:
    """Yield a question for each sign that a lower score is better; a comparison has its direction in its words."""
    harmful = [name for name in scores if is_in("harm", name.split(".")[-1])]
    yield from (f'a higher "{name}" is taken as better: is that meant?' for name in harmful)
    between = rf"(?:[\s(=:–—\"'*-]|{any_of('joins').pattern})+"
    far = r" (?:(?!\b(?:no|not|never|without|free)\b)[^.;,\n\d]){0,80}?"
    for score in scores.values():
        ends = [text.strip('"') for text, value in score.values_by_text(False).items() if value not in score.special]
        ends = [re.sub(r"(?<=\d)\.0+$", "", end) for end in ends]  # the judge writes 7.0 on a scale that ends at 7
        low, high = (rf"(?i)(?<![\w.,/-]){re.escape(end)}" for end in (ends[0], ends[-1]))
        signs = [low + between + any_of("top").pattern, high + between + any_of("bottom").pattern]
        names = [score.levels.get(value, "") for value in score.values if value not in score.special]
        if is_in("positive", names[0]) or is_in("negative", names[-1]):
            yield f'{ends[-1]} is taken as better, and its levels go from "{names[0]}" to "{names[-1]}": is that meant?'
        if all(is_in("yes_or_no", end) for end in ends):
            signs.append(any_of("harm").pattern)  # a yes to "is it toxic?" is worse
        elif not score.written:  # where levels have words, their order says which is better
            how_many = rf"{any_of('how_many').pattern} {any_of('harm').pattern}"
            signs += [high + far + any_of("harm").pattern, any_of("reversed").pattern, how_many]
        lines = [(row, re.search(f"(?i){sign}", line)) for row, line in enumerate(source.lines) for sign in signs]
        for row, said in [(row, said[0]) for row, said in lines if said][:1]:
            yield f'{ends[-1]} is taken as better, and line {source.line(row)} says "{said[:60]}": is that meant?'


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
        data = re.match(r'\s*(?:["{}\[]|\d+\s*[:=])', line)
        tells = not data and (any_of("give").search(line) or any_of("answer").search(line))
        given = [float(each) for each in re.findall(rf"{begins}\s+(\d+(?:\.\d+)?)(?![\w%]|[.,]\d)", line) if tells]
        strange = tells and any(word.lower() not in known for word in [*told_words(line), *BESIDE.findall(line)])
        never = numbers and tells and any_of("never").search(line)
        finer = numbers == {round(each) for each in numbers} and ends and any_of("score").search(line)
        finer = finer and any_of("fraction").search(any_of("negated").sub(" ", line))
        if strange or never or finer or row in others or (numbers and not numbers.issuperset(given)):
            yield f'line {source.line(row)} says "{line.strip()[:80]}": has the declaration all that this asks for?'
