"""The standard layout for a prompt that asks for none: analysis, a line with the score, justification."""

from collections.abc import Mapping

from pathway_local.adopt.declaration import Declared
from pathway_local.adopt.finding import Finding, Source
from pathway_local.adopt.formats import FoundFormat
from pathway_local.adopt.scales import Range, Scales

LAYOUT = "**Analysis:**\n{analysis}\n\n**Score:** {score}\n\n**Justification:**\n{justification}"
GUESS: Range = (1, 5)


def score_line(source: Source) -> FoundFormat:
    """The layout with the scale of the text, whose levels become the score's labels."""
    scales = Scales(source)
    found = scales.range_of("score")
    (low, high), row = found or (GUESS, -1)
    levels = scales.levels_of("score", (low, high))
    score: dict[str, object] = {"type": "score", "scale": "ordinal"}
    score |= {"levels": dict(levels.labels)} if levels else {"min": low, "max": high}
    row = levels.row if levels else row
    doubt = "" if found else f"the text does not tell the scale; {low} to {high} is a guess"
    fields = {
        "analysis": Declared({"type": "text", "tokens": 300}, "text"),
        "score": Declared(score, f"{low} to {high}", doubt, row),
        "justification": Declared({"type": "text", "tokens": 160}, "text"),
    }
    named = f", {', '.join(levels.labels.values())}" if levels else ""
    table = (
        Finding("format", "none in the text: the score line was asked for"),
        Finding("score", f"score: {low} to {high}{named}", source.line(row) if row >= 0 else 0, doubt),
    )
    return FoundFormat(LAYOUT, fields, table)


def closing(found: FoundFormat) -> str:
    """What the user turn says at its end, as the prompt itself tells the judge of no layout."""
    field = found.fields["score"].field
    levels = field.get("levels")
    numbers = list(levels) if isinstance(levels, Mapping) else [field["min"], field["max"]]
    shown = LAYOUT.format(
        analysis="[what speaks for and against the answer, held against the rubric]",
        score=f"[one whole number from {numbers[0]} to {numbers[-1]}]",
        justification="[why this number and no neighbouring one]",
    )
    return f"Write exactly these three parts and nothing else:\n\n{shown}"
