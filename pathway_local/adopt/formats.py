"""Chooses the format that a prompt asks for among all candidates, or gives it the standard one."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pathway_local.adopt.declaration import Declared, declare, levels_of, promoted, verdict_list, with_special
from pathway_local.adopt.demands import Demand, special_values, texts_of, unmet
from pathway_local.adopt.finding import Candidate, Finding, Place, Source
from pathway_local.adopt.key_lists import key_list_candidates, named_key_candidates
from pathway_local.adopt.labels import label_candidates
from pathway_local.adopt.scales import Scales
from pathway_local.adopt.schemas import shown_schema_candidates
from pathway_local.adopt.short_replies import short_candidates
from pathway_local.adopt.skeletons import SCORED, skeleton_candidates
from pathway_local.adopt.tags import named_tag_candidates, tag_candidates

MOST = 60
"""Fields of a format at most: a candidate with more is something else, such as a table."""

KINDS: Mapping[str, tuple[int, str]] = {
    "bracketed": (7, "a choice in [[ ]]"),
    "schema": (6, "JSON, from the front matter's own schema"),
    "shown-schema": (6, "JSON, from the schema in the prompt"),
    "skeleton": (5, "JSON, from a skeleton"),
    "tags": (5, "tagged parts"),
    "labels": (5, "labelled parts"),
    "result": (5, "feedback, then [RESULT] and the score"),
    "named-tags": (4, "tagged parts, as a sentence names them"),
    "doubled": (4, "a rating in [[ ]]"),
    "keys": (4, "JSON, from a list of keys"),
    "named-keys": (3, "JSON, from the keys that a sentence names"),
    "example": (3, "JSON, from an example"),
    "inline": (2, "a line with the score"),
    "words": (1, "one word"),
    "last": (1, "what follows the last label"),
    "number": (0, "a bare number"),
    "standard": (0, "the standard one (--layout score-line)"),
}
"""For each kind of candidate how plainly it shows the format, and its name in the table of findings.

The highest rank wins: an example to fill in beats a sentence.
"""

SCORE_LINE = "**Analysis:**\n{analysis}\n\n**Score:** {score}\n\n**Justification:**\n{justification}"
"""The standard layout, for a prompt that asks for no format."""


@dataclass(frozen=True, slots=True)
class FoundFormat:
    """A format in a prompt: its fields by name, and why its layout is not certain. Each field has its own doubt.

    `swap` maps the input of the first of two responses that are compared to the second's.
    """

    candidate: Candidate
    fields: Mapping[str, Declared]
    source: Source
    doubts: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    swap: Mapping[str, str] = field(default_factory=dict)

    @property
    def outputs(self) -> dict[str, object]:
        """The `outputs:` block."""
        fields = {name: declared.field for name, declared in self.fields.items()}
        return {"layout": self.candidate.layout, "fields": fields}

    @property
    def unmet(self) -> list[Demand]:
        """Return the demands of the prompt that the format does not meet."""
        return unmet(self.source, self.outputs, self.inputs)

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

    @property
    def findings(self) -> list[Finding]:
        """The rows of the table of findings: the format, its fields, and levels on another line."""
        found = self.candidate
        kind = KINDS[found.kind][1] + (f"; {found.note}" if found.note else "")
        rows = [Finding("compares", f"{one} with {two}, in both orders") for one, two in self.swap.items()]
        rows.append(Finding("format", kind, self.source.line(found.row), "; ".join(self.doubts)))
        for place in found.places:
            declared = self.fields[place.name]
            row = place.row if place.row >= 0 else declared.row
            said = f"{place.name}: {declared.said}"
            rows.append(Finding(declared.field["type"], said, self.source.line(row), declared.doubt))
            if declared.field.get("levels") and declared.row not in (-1, row):
                rows.append(Finding("levels", f"of {place.name}", self.source.line(declared.row)))
        return rows


READERS = (
    shown_schema_candidates,
    tag_candidates,
    named_tag_candidates,
    label_candidates,
    skeleton_candidates,
    key_list_candidates,
    named_key_candidates,
    short_candidates,
)
"""Each yields the formats of its kind that a prompt may ask for."""


def find_format(source: Source, inputs: Collection[str], extra: Sequence[Candidate] = ()) -> FoundFormat | None:
    """Return the format; None if the prompt asks for no format with a score."""
    scales = Scales(source)
    every = [*extra, *(candidate for read in READERS for candidate in read(source))]
    found = [candidate for candidate in every if len(candidate.places) <= MOST]
    for candidate in sorted(found, key=lambda one: (KINDS[one.kind][0], one.row), reverse=True):
        fields = _declared(candidate, scales, inputs)
        if any(declared.field["type"] in ("score", "verdicts") for declared in fields.values()):
            _add_special_values(fields, source)
            doubts = (*candidate.doubts, *_rivals(candidate, found, source), *_unread(source))
            return FoundFormat(candidate, fields, source, doubts, tuple(inputs))
    return None


def _declared(candidate: Candidate, scales: Scales, inputs: Collection[str]) -> dict[str, Declared]:
    in_json = candidate.layout == "json"
    fields = {place.name: declare(place, scales, inputs, in_json=in_json) for place in candidate.places}
    if not any(declared.field["type"] == "score" for declared in fields.values()):
        verdict = promoted(candidate.places, fields, scales.source.text)
        parts = {place.name: verdict_list(place, scales) for place in candidate.places if place.kind == "objects"}
        lists = {name: declared for name, declared in parts.items() if declared}
        if len(lists) == 1 and not (verdict and SCORED.search(verdict[0])):
            fields |= lists
        elif verdict:
            fields[verdict[0]] = verdict[1]
    return fields


def _add_special_values(fields: dict[str, Declared], source: Source) -> None:
    """Add to a format's only score the values that a sentence elsewhere names for some cases."""
    scores = [name for name, declared in fields.items() if declared.field["type"] == "score"]
    if len(scores) == 1:
        [name] = scores
        for value in special_values(source, texts_of(fields[name].field)):
            fields[name] = with_special(fields[name], value)


def _unread(source: Source) -> Iterator[str]:
    """Yield a doubt for a prompt whose sentences can't be read: they may demand more than its format shows."""
    if not source.language:
        yield (
            "the prompt's language is not read (English, German, French and Spanish are): see that outputs has all "
            "that its sentences demand, such as half points or a value for an empty answer"
        )


def _rivals(chosen: Candidate, found: Sequence[Candidate], source: Source) -> Iterator[str]:
    """Yield a doubt for each other format that the prompt shows just as plainly."""
    # Below rank 5 stand sentences and examples, which usually repeat the format that was chosen.
    for other in found:
        rank, name = KINDS[other.kind]
        if other.kind != chosen.kind and rank == KINDS[chosen.kind][0] == 5:
            yield f"line {source.line(other.row)} shows another format ({name})"


def score_line(source: Source) -> FoundFormat:
    """Return the standard format. Its scale and the names of its levels come from the text."""
    score = Place("score", "", -1, "number")
    fields = {
        "analysis": Declared({"type": "text", "tokens": 300}, "text"),
        "score": declare(score, Scales(source), (), in_json=False),
        "justification": Declared({"type": "text", "tokens": 160}, "text"),
    }
    return FoundFormat(Candidate("standard", SCORE_LINE, (score,), -1), fields, source)


def closing(found: FoundFormat, *, replaces: bool) -> str:
    """Return instructions to add at the end of the user turn, since the prompt lacks them; empty if it lacks none."""
    if found.candidate.kind != "standard":
        return found.candidate.closing
    score = found.fields["score"].field
    levels = levels_of(score)
    kind = "number" if score.get("step") else "whole number"
    shown = SCORE_LINE.format(
        analysis="[what speaks for and against the answer, held against the rubric]",
        score=f"[one {kind} from {levels[0]} to {levels[-1]}]",
        justification="[why this number and no neighbouring one]",
    )
    instead = "Instead of the format that is asked for above, write" if replaces else "Write"
    return f"{instead} exactly these three parts and nothing else:\n\n{shown}"
