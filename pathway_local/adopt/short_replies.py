"""Formats asked for in a sentence: a bare number, one of several words, a final line, [[rating]], [RESULT]."""

import re
from collections.abc import Iterator, Sequence

from pathway_local.adopt.finding import Candidate, Place, Source
from pathway_local.adopt.mentions import identifier
from pathway_local.adopt.number_phrases import scale_in
from pathway_local.adopt.scales import SCORE_WORDS
from pathway_local.adopt.word_order import ordered
from pathway_local.adopt.word_phrases import Run, specials_in, unquoted, word_runs

_RESULT = re.compile(r"(Feedback:|\()[^\n\[\]]{0,200}\[RESULT\]\s*([^\n]{0,200})")
_EITHER = re.compile(r"either\s+[\"“'`]?(\w{1,15})[\"”'`]?\s+or\s+[\"“'`]?(\w{1,15})\b", re.IGNORECASE)
_DOUBLED = re.compile(r"[\"“'`]?([A-Z][A-Za-z ]{2,30}:)?\s{0,8}\[\[\s{0,8}(\d+|[A-Za-z ]{3,20})\s{0,8}\]\]")
_ONLY = re.compile(
    r"(?i)\bonly\b|nothing else|\bjust\b|\bsingle\b|\bexactly\b|\bone of\b|without (?:any )?(?:other|explanation)"
)
_ASKS = re.compile(
    r"(?i)\b(?:respond|reply|answer|output|return|give|provide|write|print|say|end|finish|conclude|produce|must be)\b"
)
_NUMBER = re.compile(
    r"\b(?:only|just|single|nothing (?:but|except))\b[^.\n]{0,40}"
    r"\b(?:number|integer|digit|score|rating|float|decimal)\b"
    r"|\b(?:number|integer|digit|score|rating)\b[^.\n]{0,40}(?:\bonly\b|\balone\b|nothing else|no other)",
    re.IGNORECASE,
)
_LAST = re.compile(r"^[-•#*_\s]*([A-Za-z][\w ]{0,30}?)(?:\s*\([^()\n]{1,40}\))?[*_]*\s*:[*_]*\s*$")
# The X in "GRADE: X" is a slot, and so are [1-5], $LETTER, PASS in "Verdict: PASS", and X/5.
_FINAL = re.compile(
    r"[\"“'`]?(?P<label>#{3,4}(?=\s)|(?:\*\*)?(?:(?:final|overall)\s)?"
    r"(?:score|rating|grade|verdict|result|answer|judge?ment|decision|label|"
    r"(?:end)?note|bewertung|urteil|ergebnis|punkte|punktzahl|puntuación|calificación|nota|veredicto|résultat)"
    r"(?:\*\*)? ?:(?:\*\*)?)"
    r" ?(?P<slot>[XN#](?:/\d{1,3})?(?![\w/])|\$[A-Z]\w*|\[[^\]\n]{1,60}\]|<[^>\n]{1,60}>|"
    r"\d\s*[-–]\s*\d{1,3}(?!\w)|[A-Z]{2,20}(?=[\"”'`]))",
    re.IGNORECASE,
)
REASONS = re.compile(
    r"explain|explanation|reason|step[- ]by[- ]step|justif|analy[sz]|\bthink\b|feedback|rationale", re.IGNORECASE
)
# A label of reasons that the judge writes; behind the label of an input stands the input.
_REASON_LABEL = re.compile(
    r"(?im)(?:^[ \t*_]*|[\"“'`])"
    r"(?P<label>(?:reasons?|reasoning|explanation|rationale|justification|analysis|feedback):)(?![ \t]*[*_]*\{)"
)
_LATER = re.compile(
    r"(?i)\b(?:then|after|finally|at the end|end (?:with|your|by)|finish|conclude|last line|followed by)\b"
)
_TOLD_LETTER = re.compile(r"(?i)\bwhere\b|\bis\b|\bone of\b")

REASONING = "reasoning before the score"


def short_candidates(source: Source) -> Iterator[Candidate]:
    """Yield the last candidate of each kind of short reply."""
    for find in (_result, _doubled, _final_line, _words, _number, _last_label):
        yield from list(find(source))[-1:]


def _result(source: Source) -> Iterator[Candidate]:
    for found in _RESULT.finditer(source.text):
        row = source.row(found.start())
        label = "Feedback: " if found.group(1) == "Feedback:" else ""
        result = Place("score", found.group(2), row, "number")
        if not scale_in(found.group(2)) and (either := _EITHER.search(found.group(2))):
            result = Place("result", "", row, "text", choices=either.groups())
        places = (Place("feedback", "feedback", row, "text"), result)
        yield Candidate("result", f"{label}{{feedback}} [RESULT] {{{result.name}}}", places, row)


def _doubled(source: Source) -> Iterator[Candidate]:
    for found in _DOUBLED.finditer(source.text):
        row = source.row(found.start())
        label = found.group(1) or "Rating:"
        places = (Place("explanation", "explanation", row, "text"), Place(identifier(label), "", row, "number"))
        yield Candidate("doubled", f"{{explanation}}\n\n{label} [[{{{identifier(label)}}}]]", places, row)


def _final_line(source: Source) -> Iterator[Candidate]:
    """Yield a line such as "GRADE: X", alone or behind the reasons that the prompt asks for."""
    every = list(_FINAL.finditer(source.text))
    for found in every[-1:]:
        row = source.row(found.start())
        label = found.group("label")
        name = identifier(label) or "score"
        shown = [each.group("slot") for each in every if each.group("label") == label]
        place = _final_place(source, found, name, [slot for slot in shown if re.fullmatch("[A-Z]{2,20}", slot)])
        rivals = tuple(_other_lines(source, every, name)[:1])
        if not asks_reasons(source, row):
            yield Candidate("inline", f"{label} {{{name}}}", (place,), row, rivals)
            continue
        reason = _labelled_reasons(source, row)
        text = Place(identifier(reason) or "reasoning", REASONING, row, "text")
        doubt = "the prompt does not say whether the reasons come before the score"
        doubts = rivals if follows_reasons(source, row) or reason else (*rivals, doubt)
        # One line break, not two: with two, a judge that writes one could never end its reasons.
        begin = f"{reason} {{{text.name}}}".strip()
        yield Candidate("inline", f"{begin}\n{label} {{{name}}}", (text, place), row, doubts)


def _other_lines(source: Source, every: Sequence[re.Match[str]], name: str) -> list[str]:
    """Return a doubt for each line with another label; "Score:" and "Final score:" are the same."""
    labels = {identifier(each.group("label")) or name: source.line(source.row(each.start())) for each in every}
    others = {label: line for label, line in labels.items() if not label.endswith(name) and not name.endswith(label)}
    return [f"line {line} shows another line, {label!r}" for label, line in others.items()]


def _labelled_reasons(source: Source, row: int) -> str:
    """Return the label of the reasons that the prompt shows right before a final line, such as `Reason:`."""
    near = "\n".join(source.lines[max(0, row - 2) : row + 1])
    found = [each.group("label") for each in _REASON_LABEL.finditer(near)]
    return found[-1] if found else ""


def asks_reasons(source: Source, row: int) -> bool:
    """Return whether the prompt asks for reasons beside what this line asks for."""
    alone = re.search(r"(?i)\bonly\b|nothing else|\bjust\b", source.english.lines[row])
    return not alone and bool(REASONS.search(source.english.text))


def follows_reasons(source: Source, row: int) -> bool:
    """Return whether the line, or the one above, says that it ends a reply which begins with reasons."""
    lines = source.english.lines
    near = [*[line for line in lines[max(0, row - 3) : row] if line.strip()][-1:], lines[row]]
    later = any(_LATER.search(line) for line in near)
    return later and bool(REASONS.search("\n".join(lines[: row + 1])))


def _final_place(source: Source, found: re.Match[str], name: str, shown: Sequence[str]) -> Place:
    """Return the value of a final line: the words `shown` in its slot, or what the slot or the sentence says."""
    row = source.row(found.start())
    slot = found.group("slot").strip("[]<>")
    rest = source.text[found.end() : found.end() + 300].split("\n\n")[0]
    if len(set(shown)) > 1:
        return Place(name, "", row, "text", choices=tuple(dict.fromkeys(shown)))
    if not re.fullmatch(r"[XN#](?:/\d{1,3})?|\$\w+", slot, re.IGNORECASE):
        return Place(name, slot, row, "" if not scale_in(slot) else "number")
    runs = [run.words for run in word_runs(rest.replace("\n", " ")) if _TOLD_LETTER.search(rest)]
    if runs and not scale_in(rest):
        return Place(name, "", row, "text", choices=max(runs, key=len))
    return Place(name, rest if scale_in(rest) else "", row, "number")


def _words(source: Source) -> Iterator[Candidate]:
    """Yield one word out of several, alone or behind the reasons that the prompt asks for first."""
    for row in range(len(source.lines) - 1, -1, -1):
        line = source.english.lines[row]
        # A JSON object in the line shows another format.
        bare = re.sub(r"\{[^{}]*\{[^{}]*\}[^{}]*\}|\{[^{}]*\"[^{}]*\}", " ", line)
        found = word_runs(bare, source.lines, row) if _ASKS.search(bare) else ()
        # The judge writes words of the prompt's own language, never our English for them.
        runs = [run for run in found if _is_answer(run, bare) and all(word in source.text for word in run.words)]
        if not runs:
            continue
        words = max((run.words for run in runs), key=len)
        choices = (*words, *(word for word in specials_in(line) if word not in words))
        before = "\n".join(source.english.lines[:row]) + "\n" + line[: max(line.lower().find("then"), 0)]
        place = Place("verdict", "", row, "text", choices=choices)
        if REASONS.search(before) and _LATER.search(line):
            listed = ", ".join(choices)
            places = (Place("reasoning", REASONING, row, "text"), place)
            told = f'After your reasoning, write the last line as "Verdict: " and one of {listed}.'
            note = 'the last line begins with "Verdict: ", as the end of the prompt tells the judge'
            yield Candidate("words", "{reasoning}\nVerdict: {verdict}", places, row, note=note, closing=told)
        else:
            yield Candidate("words", "{verdict}", (place,), row)
        return


def _is_answer(run: Run, line: str) -> bool:
    """Return whether the judge answers with one of these words; others are part of some other sentence."""
    asked = _ONLY.search(line) or len(line) < 80
    return bool(asked) and (bool(ordered(run.words)) or (run.plain and bool(_ONLY.search(line))))


def _number(source: Source) -> Iterator[Candidate]:
    for row, line in enumerate(source.english.lines):
        english, own = (re.split(r"(?<=[.!?])\s", each) for each in (line, source.lines[row]))
        if any(_NUMBER.search(part) and _ASKS.search(part) for part in english):
            said = " ".join(told for part, told in zip(english, own, strict=False) if _NUMBER.search(part))
            yield Candidate("number", "{score}", (Place("score", said, row),), row)


def _last_label(source: Source) -> Iterator[Candidate]:
    """Yield a label on the last line that the judge completes, such as `stars:`."""
    last = max((row for row, line in enumerate(source.lines) if line.strip()), default=0)
    found = _LAST.match(source.lines[last])
    if found and (SCORE_WORDS.search(found.group(1)) or scale_in(source.text)):
        name = identifier(unquoted(found.group(1)))
        about = [line for line in source.lines if found.group(1).lower() in line.lower() and scale_in(line)]
        yield Candidate("last", f"{{{name}}}", (Place(name, next(iter(about), ""), last, "number"),), last)
