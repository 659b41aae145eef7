"""The output format that a rubric's front matter declares."""

import shlex
from collections.abc import Iterator, Mapping

from pathway_local.errors import RubricError
from pathway_local.prompty.prompty_file import Prompty
from pathway_local.rubrics.output_format import OutputFormat


def read_format(prompty: Prompty) -> tuple[OutputFormat, tuple[str, ...]]:
    """Return the declared format and notes for the user. Raises RubricError if the front matter declares none."""
    if not declares_format(prompty.outputs):
        where = prompty.places.where
        said = "outputs is not a declaration" if prompty.outputs is not None else "the file declares no outputs"
        adopt = f"pathway-local rubrics adopt {shlex.quote(where)} -o NEW.prompty"
        raise RubricError(
            f"{where}: {said}", f"Declare them, such as outputs: 'reasons: text; score: 1-5', or run: {adopt}"
        )
    declared = _load_format(prompty.outputs, prompty)
    return declared, tuple(_length_notices(declared, prompty.model.max_tokens))


def declares_format(outputs: object) -> bool:
    """Whether the block is a format in our own form, with a layout or fields; a schema has neither."""
    return isinstance(outputs, str) or (isinstance(outputs, Mapping) and not {"layout", "fields"}.isdisjoint(outputs))


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
