"""The options that declare a reply's format, the same in each command that takes them."""

from collections.abc import Sequence
from typing import Annotated, Any

from pathway_local.cli.command_help import option
from pathway_local.errors import RubricError, UsageError
from pathway_local.rubrics.output_format import OutputFormat
from pathway_local.rubrics.spelling import outputs_in

Fields = Annotated[str, option("FIELDS", "Declare the reply's fields, such as 'reasons: text; score: 1-5'.")]
Lines = Annotated[
    list[str] | None,
    option("LINE", "A line of the reply, with fields' names in braces; repeatable (default: JSON).", "", "--line"),
]


def declared_outputs(fields: str, lines: Sequence[str] | None) -> dict[str, Any]:
    """Return the `outputs:` block that the options declare. Raises UsageError."""
    try:
        outputs = outputs_in(fields, lines or ())
        OutputFormat.load(outputs)
    except (ValueError, RubricError) as error:
        said = str(error).removeprefix("outputs.fields: ")
        raise UsageError(said, "docs/rubrics.md lists how to spell a field.") from None
    return outputs
