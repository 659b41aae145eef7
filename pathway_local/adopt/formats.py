"""Chooses the format that a prompt asks for among all candidates, or gives it the standard one."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pathway_local.adopt.declaration import GUESS, Declared, declare, promoted
from pathway_local.adopt.finding import Candidate, Finding, Source
from pathway_local.adopt.key_lists import key_list_candidates
from pathway_local.adopt.labels import label_candidates
from pathway_local.adopt.scales import Scales
from pathway_local.adopt.short_replies import short_candidates
from pathway_local.adopt.skeletons import skeleton_candidates
from pathway_local.adopt.tags import tag_candidates

MOST = 60
"""Fields of a format at most: a candidate with more is something else, such as a table."""

RANKS = {
    "schema": 6,
    "skeleton": 5,
    "tags": 5,
    "labels": 5,
    "result": 5,
    "doubled": 4,
    "keys": 4,
    "example": 3,
    "inline": 2,
    "words": 1,
    "last": 1,
    "number": 0,
}
"""How plainly a kind of candidate shows the format. The highest rank wins: an example to fill in beats a sentence."""

KINDS = {
    "schema": "JSON, from the front matter's own schema",
    "skeleton": "JSON, from a skeleton",
    "tags": "tagged parts",
    "labels": "labelled parts",
    "result": "feedback, then [RESULT] and the score",
    "doubled": "a rating in [[ ]]",
    "keys": "JSON, from a list of keys",
    "example": "JSON, from an example",
    "inline": "a line with the score",
    "words": "one word",
    "last": "what follows the last label",
    "number": "a bare number",
}

SCORE_LINE = "**Analysis:**\n{analysis}\n\n**Score:** {score}\n\n**Justification:**\n{justification}"
"""The standard layout, for a prompt that asks for no format."""


@dataclass(frozen=True, slots=True)
class FoundFormat:
    """The parts of an `outputs:` block, and why the layout or a field is not certain."""

    layout: str
    fields: Mapping[str, Declared]
    findings: tuple[Finding, ...]
    doubts: tuple[str, ...] = ()
    kind: str = ""

    @property
    def outputs(self) -> dict[str, object]:
        """The `outputs:` block."""
        return {"layout": self.layout, "fields": {name: declared.field for name, declared in self.fields.items()}}

    @property
    def doubt(self) -> str:
        """The first reason why the format is not certain; empty if it is."""
        return next((said for said in (*self.doubts, *(field.doubt for field in self.fields.values())) if said), "")

    @property
    def rules(self) -> list[dict[str, object]]:
        """A rule that marks verdicts whose status is "skipped": their score means nothing."""
        return [
            {"name": "skipped", "expect": [{"field": name, "equals": "completed"}]}
            for name, declared in self.fields.items()
            if declared.field.get("choices") in (["completed", "skipped"], ["skipped", "completed"])
        ]


def find_format(source: Source, inputs: Collection[str], extra: Sequence[Candidate] = ()) -> FoundFormat | None:
    """Return the format; None if the prompt asks for no format with a score."""
    scales = Scales(source)
    found = [
        *extra,
        *tag_candidates(source),
        *label_candidates(source),
        *skeleton_candidates(source),
        *key_list_candidates(source),
        *short_candidates(source),
    ]
    found = [candidate for candidate in found if len(candidate.places) <= MOST]
    for candidate in sorted(found, key=lambda one: (RANKS[one.kind], one.row), reverse=True):
        fields = _declared(candidate, scales, inputs)
        if any(declared.field["type"] == "score" for declared in fields.values()):
            doubts = (*candidate.doubts, *_rivals(candidate, found, source))
            table = tuple(_findings(candidate, fields, source, doubts))
            return FoundFormat(candidate.layout, fields, table, doubts, candidate.kind)
    return None


def _declared(candidate: Candidate, scales: Scales, inputs: Collection[str]) -> dict[str, Declared]:
    in_json = candidate.layout == "json"
    fields = {place.name: declare(place, scales, inputs, in_json=in_json) for place in candidate.places}
    if not any(declared.field["type"] == "score" for declared in fields.values()):
        verdict = promoted(candidate.places, fields)
        if verdict:
            fields[verdict[0]] = verdict[1]
    return fields


def _rivals(chosen: Candidate, found: Sequence[Candidate], source: Source) -> Iterator[str]:
    """Yield a doubt for each other format that the prompt shows just as plainly."""
    for other in found:
        if other.kind != chosen.kind and RANKS[other.kind] == RANKS[chosen.kind] == 5:
            yield f"line {source.line(other.row)} shows another format ({KINDS[other.kind]})"


def _findings(
    candidate: Candidate, fields: Mapping[str, Declared], source: Source, doubts: Sequence[str]
) -> Iterator[Finding]:
    kind = KINDS[candidate.kind] + (f"; {candidate.note}" if candidate.note else "")
    yield Finding("format", kind, source.line(candidate.row), "; ".join(doubts))
    for place in candidate.places:
        declared = fields[place.name]
        value = f"{place.name}: {declared.said}"
        yield Finding(str(declared.field["type"]), value, source.line(place.row), declared.doubt)
        if declared.field.get("levels") and declared.row not in (-1, place.row):
            yield Finding("levels", f"of {place.name}", source.line(declared.row))


def score_line(source: Source) -> FoundFormat:
    """Return the standard format. Its scale and the names of its levels come from the text."""
    scales = Scales(source)
    found = scales.range_of("score")
    (low, high), row = found or (GUESS, -1)
    levels = scales.levels_of("score", (low, high))
    score: dict[str, object] = {"type": "score", "scale": "ordinal"}
    score |= {"levels": dict(levels.labels)} if levels else {"min": low, "max": high}
    row = levels.row if levels else row
    doubt = "" if found else f"the text does not state the scale; {low} to {high} is a guess"
    fields = {
        "analysis": Declared({"type": "text", "tokens": 300}, "text"),
        "score": Declared(score, f"{low} to {high}", doubt, row),
        "justification": Declared({"type": "text", "tokens": 160}, "text"),
    }
    named = f", {', '.join(levels.labels.values())}" if levels else ""
    table = (
        Finding("format", "the standard one (--layout score-line)"),
        Finding("score", f"score: {low} to {high}{named}", source.line(row) if row >= 0 else 0, doubt),
    )
    return FoundFormat(SCORE_LINE, fields, table)


def closing(found: FoundFormat) -> str:
    """Return the end of the user turn, which tells the judge the layout, since the prompt itself does not."""
    field = found.fields["score"].field
    levels = field.get("levels")
    numbers = list(levels) if isinstance(levels, Mapping) else [field["min"], field["max"]]
    shown = SCORE_LINE.format(
        analysis="[what speaks for and against the answer, held against the rubric]",
        score=f"[one whole number from {numbers[0]} to {numbers[-1]}]",
        justification="[why this number and no neighbouring one]",
    )
    return f"Write exactly these three parts and nothing else:\n\n{shown}"
