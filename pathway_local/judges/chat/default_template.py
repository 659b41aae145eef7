"""Chat templates for judges that come without one. We use none unasked: a wrong one spoils every score."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from pathway_local.errors import UnknownName, UsageError
from pathway_local.judges.weights import chat_template
from pathway_local.system.output_file import whole_file

FILE = "chat_template.jinja"


@dataclass(frozen=True, slots=True)
class DefaultTemplate:
    """The usual template of a family; `marks` are the tokens that identify the family."""

    name: str
    marks: tuple[str, ...]
    text: str


_LOOP = "{{ bos_token or '' }}{% for m in messages %}"
_ASK = "{% endfor %}{% if add_generation_prompt %}"

TEMPLATES = {
    template.name: template
    for template in (
        DefaultTemplate(
            "chatml",
            ("<|im_start|>", "<|im_end|>"),
            "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n"
            + _ASK
            + "<|im_start|>assistant\n{% endif %}",
        ),
        DefaultTemplate(
            "llama3",
            ("<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"),
            _LOOP
            + "<|start_header_id|>{{ m.role }}<|end_header_id|>\n\n{{ m.content }}<|eot_id|>"
            + _ASK
            + "<|start_header_id|>assistant<|end_header_id|>\n\n{% endif %}",
        ),
        DefaultTemplate(
            "gemma",
            ("<start_of_turn>", "<end_of_turn>"),
            _LOOP
            + "{% if m.role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}"
            + "<start_of_turn>{{ 'model' if m.role == 'assistant' else m.role }}\n{{ m.content }}<end_of_turn>\n"
            + _ASK
            + "<start_of_turn>model\n{% endif %}",
        ),
        DefaultTemplate(
            "mistral",
            ("[INST]", "[/INST]"),
            _LOOP
            + "{% if m.role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}"
            + "{% if m.role == 'user' %}[INST] {{ m.content }} [/INST]"
            + "{% else %} {{ m.content }}{{ eos_token }}{% endif %}{% endfor %}",
        ),
        DefaultTemplate(
            "plain",
            (),
            _LOOP
            + "{% if m.role == 'assistant' %}### Answer:\n{{ m.content }}{{ eos_token }}\n\n"
            + "{% else %}### {{ 'Instructions' if m.role == 'system' else 'Input' }}:\n{{ m.content }}\n\n{% endif %}"
            + _ASK
            + "### Answer:\n{% endif %}",
        ),
    )
}
"""By name. Those that a vocabulary identifies come first; `plain` fits any."""


def default_template(vocabulary: Collection[str] | Mapping[str, int]) -> DefaultTemplate:
    """Return the template that a vocabulary suggests."""
    return next(each for each in TEMPLATES.values() if all(mark in vocabulary for mark in each.marks))


def write_template(folder: Path, name: str) -> Path:
    """Write the default template of that name into a judge's folder that has none.

    From then on it is part of the judge and of its hash. Raises UnknownName, UsageError.
    """
    if name not in TEMPLATES:
        raise UnknownName("chat template", name, TEMPLATES)
    if chat_template(folder):
        raise UsageError(f"{folder} already has a chat template", "Leave --template out: the judge uses its own.")
    path = folder / FILE
    try:
        with whole_file(path) as file:
            file.write(TEMPLATES[name].text.encode())
    except OSError as error:
        hint = "Copy the folder to a place where you can write, and name the copy."
        raise UsageError(f"{path} can't be written: {error.strerror}", hint) from None
    return path
