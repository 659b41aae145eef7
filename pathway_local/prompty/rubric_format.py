"""The output format that a rubric's front matter declares: in our own form, or as a JSON Schema."""

from collections.abc import Iterator, Mapping

from pathway_local.errors import FormatError, RubricError
from pathway_local.prompty.prompty_file import Prompty
from pathway_local.rubrics.json_schema import outputs_of_schema
from pathway_local.rubrics.output_format import OutputFormat


def read_format(prompty: Prompty) -> tuple[OutputFormat, tuple[str, ...]]:
    """Return the format, and notes for the user. Raises RubricError."""
    output_format = _load_format(_declared(prompty), prompty)
    return output_format, tuple(_length_notices(output_format, prompty.model.max_tokens))


def _declared(prompty: Prompty) -> object:
    outputs = prompty.outputs if prompty.outputs is not None else prompty.model.schema
    if isinstance(outputs, str) or (isinstance(outputs, Mapping) and not {"layout", "fields"}.isdisjoint(outputs)):
        return outputs
    where = prompty.places.where
    if outputs is None:
        said = f"{where}: nothing declares the reply's format"
        raise RubricError(said, f"`pathway-local rubrics adopt {where} -o NEW.prompty` proposes one.")
    try:
        return outputs_of_schema(outputs)
    except ValueError as error:
        at = prompty.places.of("outputs") if prompty.outputs is not None else where
        raise FormatError(f"{at}: {error}", "docs/rubrics.md opens with the spellings of fields.") from None


def _load_format(outputs: object, prompty: Prompty) -> OutputFormat:
    try:
        return OutputFormat.load(outputs)
    except RubricError as error:
        keys = str(error).split(":")[0].split(".")
        where = prompty.places.of(*keys) if keys[0] == "outputs" else prompty.places.where
        raise type(error)(f"{where}: {error}", error.hint) from None


def _length_notices(output_format: OutputFormat, limit: int) -> Iterator[str]:
    needed = output_format.reply(dict.fromkeys(output_format.echoes.values(), "x")).form.reserve
    if limit and limit < needed:
        yield f"max_tokens {limit} can't hold the output format: raised to {needed}"
