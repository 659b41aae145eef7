"""Examples in a rubric: cases that people have scored, which the judge reads before each case.

Their texts may be hostile, as those of cases: the judge gets them as such, and each line of them is indented, so that
none can look like a heading of ours.
"""

from collections.abc import Mapping

from pathway_local.case import part_of_case
from pathway_local.errors import CaseError, RubricError
from pathway_local.rubrics.conversation import indented
from pathway_local.rubrics.fields import ScoreField
from pathway_local.rubrics.rubric import Example, Rubric
from pathway_local.system.safe_yaml import Places
from pathway_local.verdict import plain, storable

MOST = 12
"""Examples of a rubric at most: each prompt holds all of them."""

PARTS = 3
"""One in so many cases is set aside for examples."""

LONGEST = 3_000
"""Characters of a text in an example that is written for a person: prompts hold all examples."""

_KEYS = {"case", "inputs", "scores", "notes"}
_FORM = "Such as - {inputs: {answer: a text}, scores: {score: 4}, notes: why}; case and notes may be left out."


def is_set_aside(case_id: str) -> bool:
    """Whether a case may become an example, and its label is never compared with judges that read examples.

    Examples are chosen by their labels and by a judge's errors. Without them the other labels of the same cases would
    be no random sample any more: judges would look better on what is left. A third, drawn by id alone, leaves one.
    """
    return part_of_case(case_id, PARTS) == 0


def shortened(text: str) -> str:
    """Return a text as an example may have it, cut at its end and marked if it is long."""
    whole = storable(text)
    return whole if len(whole) <= LONGEST else f"{whole[:LONGEST]} [cut]"


def learns_from_cases(rubric: Rubric) -> bool:
    """Whether some of the rubric's examples are cases, not made up."""
    return any(each.case for each in rubric.examples)


def score_fields(rubric: Rubric) -> dict[str, ScoreField]:
    """Return the scores that the reply holds as fields of their own."""
    return {name: each for name, each in rubric.format.outputs.fields.items() if isinstance(each, ScoreField)}


def read_examples(block: object, rubric: Rubric, places: Places) -> tuple[Example, ...]:
    """Return the examples of an `examples:` block. Raises RubricError, which never quotes them."""
    if block is None:
        return ()
    where = places.of("examples")
    if not isinstance(block, list) or not 0 < len(block) <= MOST:
        raise RubricError(f"{where}: examples must be a list of 1 to {MOST}", _FORM)
    if rubric.pair or any(name not in score_fields(rubric) for name in rubric.format.given):
        said = "a comparison can't have examples, nor can a rubric whose score is made of several fields"
        raise RubricError(f"{where}: {said}", "Remove them.")
    places_of = [f"{places.of('examples', at)}: example {at + 1}" for at in range(len(block))]
    found = tuple(_example(each, where, rubric) for each, where in zip(block, places_of, strict=True))
    ids = [each.case for each in found if each.case]
    if len(set(ids)) < len(ids):
        raise RubricError(f"{where}: two examples are of the same case", "Remove one of them.")
    return found


def _example(given: object, where: str, rubric: Rubric) -> Example:
    """Return one example. What it holds is a case's, even a key, if a line is not indented: so errors quote nothing."""
    if not isinstance(given, Mapping) or not {"inputs", "scores"} <= given.keys() <= _KEYS:
        raise RubricError(f"{where} needs inputs and scores, and may have case and notes", _FORM)
    inputs, scores, fields = given["inputs"], given["scores"], score_fields(rubric)
    texts = [given.get("case", ""), given.get("notes", ""), *(inputs.values() if isinstance(inputs, Mapping) else [0])]
    if not all(isinstance(text, str) for text in texts):
        raise RubricError(f"{where}: case, notes and each input must be texts", "Put a number into quotes.")
    if not inputs or not inputs.keys() <= rubric.inputs.keys():
        raise RubricError(f"{where} has an input that is not the rubric's", f"Its are {', '.join(rubric.inputs)}.")
    try:
        rubric.completed(inputs)
    except CaseError as error:
        raise RubricError(f"{where}: {error}", "Give it as a text.") from None
    if not isinstance(scores, Mapping) or scores.keys() != fields.keys():
        raise RubricError(f"{where} must have each score of the rubric and no other", f"They are {', '.join(fields)}.")
    for name, field in fields.items():
        if isinstance(scores[name], bool) or scores[name] not in field.values:
            levels = f"They are {', '.join(map(str, field.values))}."
            raise RubricError(f"{where}: {name} is not the number of one of its levels", levels)
    numbers = {name: plain(scores[name]) for name in fields}
    return Example(given.get("case", ""), dict(inputs), numbers, given.get("notes", ""))


def examples_text(rubric: Rubric) -> str:
    """Return what the judge reads of the examples; empty without any. Raises RubricError if a run has left them out."""
    if rubric.needs_file:
        said = f"the rubric {rubric.name} has examples, whose texts a run does not keep"
        raise RubricError(said, "Name its file with --rubric, as when the run was first judged.")
    parts = ["Cases that people have scored. Score as they did."] if rubric.examples else []
    for number, each in enumerate(rubric.examples, 1):
        inputs = rubric.completed(each.inputs)
        reply = rubric.format.reply_of(each.scores, inputs)
        blocks = [*inputs.items(), ("their notes", each.notes), ("their reply", reply)]
        blocks = [(name, text) for name, text in blocks if text.strip()]
        parts.append("\n".join([f"Example {number}", *(f"{name}:\n{indented(text)}" for name, text in blocks)]))
    return "\n\n".join(parts)


def turns_with(examples: str, rubric: Rubric, texts: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return each turn's role and words; the examples stand in a system turn, before any text of a case."""
    said = [(turn.role, turn.render(texts)) for turn in rubric.turns]
    if not examples:
        return said
    if said[0][0] != "system":
        return [("system", examples), *said]
    parts = [examples, said[0][1]] if rubric.turns[0].variables else [said[0][1], examples]
    return [("system", "\n\n".join(parts)), *said[1:]]
