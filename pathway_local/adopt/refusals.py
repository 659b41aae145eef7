"""Says why a prompt can't become a rubric: what it asks for instead of one response's score in one reply."""

import re
from collections.abc import Collection, Iterator

from pathway_local.adopt.finding import Source
from pathway_local.adopt.skeletons import SCORED, skeletons
from pathway_local.errors import RubricError

_CHAT = re.compile(
    r"<\|(?:im_start|im_end|start_header_id|eot_id|begin_of_text|user|assistant|system|end)\|>|\[/?INST\]|<</?SYS>>|"
    r"<(?:start|end)_of_turn>"
)
_KIND = (
    "(?:responses?|answers?|repl(?:y|ies)|outputs?|assistants?|completions?|summar(?:y|ies)|candidates?|ones?|models?)"
)
_TWO = re.compile(rf"(?i)\b(?:two|both|pair of) (?:\w+ ){{0,2}}{_KIND}\b")
_WHICH = re.compile(
    rf"(?i)\bwhich (?:of the two |of them )?{_KIND}?[^.?\n]{{0,80}}\b(?:better|best|more|prefer\w*|superior|wins?)\b"
    r"|\bwinner\b"
)
_RANKS = re.compile(rf"(?i)\brank (?:the|these|all|each of)?\s*(?:following |given )?(?:\w+ )?{_KIND}\b")
_EACH = re.compile(
    r"(?i)\b(?:for )?(?:each|every) (?:\w+ )?"
    r"(?:claim|sentence|statement|fact|item|point|response|answer|line|step|turn)s?\b"
)
_VERDICT = re.compile(r"(?i)\b(?:scores?|verdicts?|labels?|rate|rating|output|yes|classif\w+|grade)\b")
_LISTS = re.compile(
    r"(?i)\b(?:break|split|decompose|extract|list)\b[^.\n]{0,60}\b(?:claims|statements|facts|sentences)\b"
)
_SCORES = re.compile(
    r"(?i)\b(?:scor\w+|rat(?:e|ing)|grad(?:e|es|ing)|marks?|verdict|judge|evaluate|assess\w*|decide|decision|classify|"
    r"points?)\b"
)
_LAYOUT = re.compile(r"(?i)\bjson\b|\bxml\b|\bformat\b|\b(?:output|respond|reply|answer) (?:only|with)\b|<\w+>.*</\w+>")
_PAIRED = re.compile(r"(?i)^(?P<stem>.*?)[_ ]?(?P<end>a|b|1|2|one|two|first|second|left|right)$")


def refusal(source: Source, inputs: Collection[str], where: str) -> RubricError | None:
    """Return the error for a prompt that asks for something else than one response's score, else None."""
    for said, row, hint in _reasons(source.english, inputs):
        return RubricError(f"{where}{f' line {source.line(row)}' if row >= 0 else ''}: {said}", hint)
    return None


def _reasons(source: Source, inputs: Collection[str]) -> Iterator[tuple[str, int, str]]:
    chat = _CHAT.search(source.text)
    if chat:
        hint = "Begin each turn with a line system: or user: instead, and leave out what follows the last user turn."
        yield f"the chat token {chat.group()} would stay text inside of a turn", source.row(chat.start()), hint
    one = "A rubric judges one response by itself: ask for its score."
    ranks = _RANKS.search(source.text)
    if ranks:
        yield "the prompt ranks several responses", source.row(ranks.start()), one
    choice = _WHICH.search(source.text)
    if choice and (_TWO.search(source.text) or _are_pair(inputs)):
        yield "the prompt compares two responses (a pairwise comparison)", source.row(choice.start()), one
    for skeleton in skeletons(source):
        own = [place for place in skeleton.places if place.kind not in ("objects", "list")]
        for place in skeleton.places:
            inner = place.kind == "objects" and any(SCORED.search(each.name) for each in place.inner)
            if inner and not any(SCORED.search(each.name) for each in own):
                said = f"the prompt asks for several verdicts in one reply: a list of objects in {place.name!r}"
                yield said, place.row, "Ask for one score of the whole response, or judge each part as its own case."


def no_score(source: Source, where: str) -> RubricError:
    """Return the error for a prompt in which no format with a score was found: what it asks for, and what to do."""
    standard = "Use the standard format: add --layout score-line."
    if not source.language:
        said = f"{where}: no format with a score was found, and sentences in the prompt's language are not read"
        return RubricError(said, standard)
    source = source.english
    for row, line in enumerate(source.lines):
        if _EACH.search(line) and _VERDICT.search(line):
            hint = "Ask for one score of the whole response, or judge each part as its own case."
            return RubricError(
                f"{where} line {source.line(row)}: the prompt asks for several verdicts, one for each part", hint
            )
    listed = _LISTS.search(source.text)
    if listed:
        at = source.line(source.row(listed.start()))
        hint = "Ask for a score; such a list is another program's first step."
        return RubricError(f"{where} line {at}: the prompt asks for a list of claims, and for no score", hint)
    layout = _LAYOUT.search(source.text)
    if not _SCORES.search(source.text) or re.search(
        r"(?i)\b(?:do not|don't|never) (?:score|rate|grade)\b", source.text
    ):
        hint = "Add what to score and on which scale, such as: Rate the answer from 1 to 5."
        return RubricError(f"{where}: the prompt asks for no score", hint)
    if layout:
        at = source.line(source.row(layout.start()))
        said = f"{where} line {at}: the prompt asks for a format, and no score was found in it"
        return RubricError(
            said, "Name its score and scale, or replace the format with the standard one: --layout score-line."
        )
    return RubricError(
        f"{where}: the text asks for no output format with a score; it looks like a rubric for people", standard
    )


def _are_pair(inputs: Collection[str]) -> bool:
    """Return whether two inputs have names that differ in their last part alone, such as answer_a and answer_b."""
    stems = [found.group("stem") for name in inputs if (found := _PAIRED.match(name)) and found.group("stem")]
    return len(set(stems)) < len(stems)
