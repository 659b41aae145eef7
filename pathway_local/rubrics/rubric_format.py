"""The output format of a rubric: declared in its front matter, or found in its prompt."""

from collections.abc import Iterator, Mapping

from pathway_local.adopt.comparisons import comparison_row
from pathway_local.adopt.finding import Source
from pathway_local.adopt.formats import FoundFormat, find_format
from pathway_local.adopt.refusals import check_verdicts
from pathway_local.adopt.schemas import schema_candidates
from pathway_local.errors import FormatError, RubricError
from pathway_local.prompty.prompty_file import Prompty
from pathway_local.rubrics.fields import TextField
from pathway_local.rubrics.output_format import OutputFormat, text_budgets

LEAST_TOKENS = 32
"""Tokens that a text keeps at least when a prompt's own limit shortens it."""


def read_format(prompty: Prompty, source: Source) -> tuple[OutputFormat, object, tuple[str, ...]]:
    """Return the format, the `rules:` block that goes with it, and notes for the user. Raises RubricError."""
    limit = prompty.model.max_tokens
    if declares_format(prompty):
        declared = _load_format(prompty.outputs, prompty)
        return declared, prompty.rules, tuple(_length_notices(declared, limit))
    found = _found_format(prompty, source)
    whole = _load_format(found.outputs, prompty)
    output_format = _fitted(whole, found, limit)
    notice = f"the output format was found in the prompt: {found.findings[0].value}"
    rules = prompty.rules if prompty.rules is not None else found.rules or None
    lengths = (*_shortened(whole, output_format, limit), *_length_notices(output_format, limit))
    return output_format, rules, (notice, *lengths)


def declares_format(prompty: Prompty) -> bool:
    """Whether the front matter has the format in our own form, with a layout or fields; a schema has neither."""
    outputs = prompty.outputs
    return isinstance(outputs, str) or (isinstance(outputs, Mapping) and not {"layout", "fields"}.isdisjoint(outputs))


def _found_format(prompty: Prompty, source: Source) -> FoundFormat:
    where = prompty.places.where
    adopt = f"`pathway-local rubrics adopt {where} -o NEW.prompty`"
    declared = prompty.outputs if prompty.outputs is not None else prompty.model.schema
    check_verdicts(source, where)
    if (row := comparison_row(source, list(prompty.inputs))) >= 0:
        said = f"{where} line {source.line(row)}: the prompt compares two responses, and no swap: says which"
        raise RubricError(said, f"{adopt} finds the inputs that change places.")
    found = find_format(source, list(prompty.inputs), list(schema_candidates(declared)))
    if prompty.outputs is not None and (found is None or found.candidate.kind != "schema"):
        said = f"{prompty.places.of('outputs')}: outputs has neither a layout with fields nor properties with a score"
        raise FormatError(said, 'See "Write your own front matter" in docs/rubrics.md.')
    if found is None:
        said = f"{where}: the file has no outputs: block, and its prompt asks for no format with a score"
        raise RubricError(said, f"Declare a format, or add the standard one: {adopt[:-1]} --layout score-line`.")
    if found.candidate.closing and not prompty.template.closing:
        said = f"{where} line {source.line(found.candidate.row)}: nothing marks where the reasoning ends"
        raise RubricError(said, f"{adopt} adds a last line for the verdict.")
    if found.doubt:
        open_point = next(finding for finding in found.findings if finding.doubt)
        at = f" line {open_point.line}" if open_point.line else ""
        hint = f"Settle it with {adopt}."
        raise RubricError(f"{where}{at}: the output format is not certain: {found.doubt}", hint)
    return found


def _load_format(outputs: object, prompty: Prompty) -> OutputFormat:
    try:
        return OutputFormat.load(outputs)
    except RubricError as error:
        keys = str(error).split(":")[0].split(".")
        where = prompty.places.of(*keys) if keys[0] == "outputs" else prompty.places.where
        raise type(error)(f"{where}: {error}", error.hint) from None


def _fitted(output_format: OutputFormat, found: FoundFormat, limit: int) -> OutputFormat:
    """Return the format with texts shortened to the prompt's own `limit`, unless that leaves too little of them."""
    texts = {name: slot.tokens for name, slot in output_format.fields.items() if isinstance(slot, TextField)}
    fixed = _plan(output_format) - sum(texts.values())
    if not texts or not limit or _plan(output_format) <= limit or limit - fixed < LEAST_TOKENS * len(texts):
        return output_format
    share = (limit - fixed) / sum(texts.values())
    fields = {
        name: declared.field | ({"tokens": max(LEAST_TOKENS, int(texts[name] * share))} if name in texts else {})
        for name, declared in found.fields.items()
    }
    return OutputFormat.load({"layout": found.candidate.layout, "fields": fields})


def _plan(output_format: OutputFormat) -> int:
    return output_format.reply(dict.fromkeys(output_format.echoes.values(), "x")).form.reserve


def _shortened(whole: OutputFormat, fitted: OutputFormat, limit: int) -> Iterator[str]:
    """Say how a prompt's own limit was divided among its texts."""
    before, after = text_budgets(whole), text_budgets(fitted)
    if before != after:
        parts = ", ".join(f"{name} {tokens} instead of {before[name]} tokens" for name, tokens in after.items())
        yield f"max_tokens {limit} is divided among the texts by their length: {parts}"


def _length_notices(output_format: OutputFormat, limit: int) -> Iterator[str]:
    needed = _plan(output_format)
    if limit and limit < needed:
        yield f"max_tokens {limit} can't hold the output format: raised to {needed}"
