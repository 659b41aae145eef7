"""Says why a prompt can't become a rubric: it asks for something other than one verdict in one reply."""

import re
from collections.abc import Iterator

from pathway_local.adopt.declaration import verdict_list
from pathway_local.adopt.finding import Source
from pathway_local.adopt.scales import Scales
from pathway_local.adopt.skeletons import SCORED, scorable, skeletons
from pathway_local.errors import RubricError

_CHAT = re.compile(
    r"<\|(?:im_start|im_end|start_header_id|eot_id|begin_of_text|user|assistant|system|end)\|>|\[/?INST\]|<</?SYS>>|"
    r"<(?:start|end)_of_turn>"
)
_KIND = (
    "(?:responses?|answers?|repl(?:y|ies)|outputs?|assistants?|completions?|summar(?:y|ies)|candidates?|ones?|models?)"
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


def check_verdicts(source: Source, where: str) -> None:
    """Raise RubricError for a prompt that asks for several verdicts in one reply, or holds chat tokens."""
    for said, row, hint in _reasons(source.english):
        raise RubricError(f"{where} line {source.line(row)}: {said}", hint)


def _reasons(source: Source) -> Iterator[tuple[str, int, str]]:
    chat = _CHAT.search(source.text)
    if chat:
        hint = "Begin each turn with a line system: or user: instead, and leave out what follows the last user turn."
        yield f"the chat token {chat.group()} would stay text inside of a turn", source.row(chat.start()), hint
    ranks = _RANKS.search(source.text)
    if ranks:
        hint = "A rubric scores one response or compares two."
        yield "the prompt ranks several responses", source.row(ranks.start()), hint
    yield from _lists_of_verdicts(source)


def _lists_of_verdicts(source: Source) -> Iterator[tuple[str, int, str]]:
    several = "the prompt asks for several verdicts in one reply"
    scored = [each for each in skeletons(source) if any(scorable(place, source) for place in each.places)]
    if scored and all(skeleton.listed for skeleton in scored):
        hint = 'Ask for an object with the list under a key, such as {"verdicts": [{"claim": …, "verdict": …}]}.'
        yield f"{several}: a list of objects without a key", source.row(scored[0].start), hint
    scales = Scales(source)
    for skeleton in scored:
        own = [place for place in skeleton.places if place.kind not in ("objects", "list")]
        for place in skeleton.places:
            inner = place.kind == "objects" and any(SCORED.search(each.name) for each in place.inner)
            if inner and not any(SCORED.search(each.name) for each in own) and not verdict_list(place, scales):
                hint = "Say in the list which verdicts there are, such as yes or no, or ask for one score."
                yield f"{several}: a list of objects in {place.name!r}", place.row, hint


def no_score(source: Source, where: str) -> RubricError:
    """Return the error for a prompt without a format with a score: it says what the prompt asks for instead."""
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
