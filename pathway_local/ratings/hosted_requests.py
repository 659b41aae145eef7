"""Writes batch files for hosted judges: a rubric's prompts under random ids. Opens no connection."""

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, Literal

from pathway_local.case import Case
from pathway_local.errors import UsageError
from pathway_local.ratings.cases_given import CasesGiven
from pathway_local.ratings.samples import Handout, hand_out, store_handouts
from pathway_local.rubrics.fields import EchoField, ScoreField
from pathway_local.rubrics.form import Slot
from pathway_local.rubrics.output_format import OutputFormat
from pathway_local.rubrics.pair import BOTH, Order
from pathway_local.rubrics.rubric import Rubric
from pathway_local.sheets.row import json_text
from pathway_local.system.private_file import check_output
from pathway_local.verdict import Value

Service = Literal["openai", "azure", "anthropic"]


def strict_schema(output_format: OutputFormat, inputs: Mapping[str, str]) -> dict[str, Any]:
    """Return the schema of a whole reply to a case with these inputs: all keys required, echoes with one value."""
    schema: dict[str, Any] = output_format.schema()
    for part in output_format.parts:
        if not isinstance(part, Slot):
            continue
        *path, last = part.name.split(".")
        owner = schema["properties"]
        for key in path:
            owner = owner[key]["properties"]
        described = {"description": part.field.description} if part.field.description else {}
        if isinstance(part.field, EchoField):
            owner[last] = {"type": "string", "const": inputs[part.field.input], **described}
        elif isinstance(part.field, ScoreField) and part.field.written:
            # Words alone are strings; null beside numbers stays null.
            mixed = len(part.field.written) < len(part.field.values)
            texts = [json.loads(text) for text in part.field.texts(True)] if mixed else list(part.field.texts(False))
            owner[last] = {**({} if mixed else {"type": "string"}), "enum": texts, **described}
    return _strict(schema)


def _strict(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema without refused keywords; every object is closed and requires all its keys."""
    # Some service refuses this bound in a strict schema. Our reader checks it when results come back.
    kept = {key: value for key, value in schema.items() if key != "maxItems"}
    if "items" in kept:
        kept["items"] = _strict(kept["items"])
    if "properties" in kept:
        kept["properties"] = {name: _strict(each) for name, each in kept["properties"].items()}
        kept |= {"required": list(kept["properties"]), "additionalProperties": False}
    return kept


CHAT_URLS: Mapping[Service, str] = {"openai": "/v1/chat/completions", "azure": "/chat/completions"}
LEAST_TOKENS = 4096


class HostedRequests:
    """The requests for a service's model, of which `write` makes the file `out`.

    For the person who decides whether they may leave the institution: the number of `cases` and of the `characters` of
    their texts, the inputs `echoed` in schemas, and the `orders` in which each case is asked (both for a comparison of
    two responses). Many models refuse a `temperature`, so none is sent unless the user gives one.
    Raises UsageError, CasesError, OutputExists.
    """

    def __init__(
        self,
        given: CasesGiven,
        service: Service,
        model: str,
        out: Path,
        temperature: float | None = None,
        *,
        force: bool = False,
    ) -> None:
        check_output(out, force=force)
        self.given, self.service, self.model, self.out, self._force = given, service, model, out, force
        self.temperature = temperature
        rubric = given.rubric
        _check_turns(rubric, service)
        self.orders: Sequence[Order | None] = BOTH if rubric.pair else (None,)
        self.echoed = tuple(rubric.format.echoes.values()) if rubric.format.in_json else ()
        self.cases = self.characters = 0
        for case in given:
            self.cases += 1
            self.characters += len(self.orders) * sum(map(len, rubric.texts_of(case).values()))
        if not self.cases:
            hint = f"`pathway-local doctor {shlex.quote(str(given.file.path))}` shows its columns."
            raise UsageError(f"no case of {given.file.path.name} can be judged", hint)

    def write(self, command: Sequence[str]) -> None:
        """Write the file with mode 0600, and store in the run which case is behind each id."""
        run = self.given.run()
        facts: dict[str, Value] = {"service": self.service, "model": self.model, "rubric": self.given.rubric.name}
        facts |= {"cases": self.cases, "characters": self.characters, "temperature": self.temperature}
        begun = self.given.handing_out([self.out], command, {"hosted_export": facts}, force=self._force)
        with begun as ([file], job, counts):
            handouts: list[Handout] = []
            for case, order in product(self.given, self.orders):
                handout = hand_out(run.key, self.given.rubric, case, f"{self.service} {self.model}", order)
                handouts.append(handout)
                request: dict[str, Value] = self._request(handout.custom_id, case, order)
                file.write(json_text(request).encode() + b"\n")
            if len(handouts) != self.cases * len(self.orders):
                raise self.given.changed()
            store_handouts(run, job, handouts)
            counts |= {"cases": self.cases, "characters": self.characters}

    def _request(self, custom_id: str, case: Case, order: Order | None) -> dict[str, Any]:
        rubric = self.given.rubric
        texts = rubric.inputs_of(case, order or "ab")
        messages = [{"role": turn.role, "content": turn.render(texts)} for turn in rubric.turns]
        schema = strict_schema(rubric.format, texts) if rubric.format.in_json else None
        body: dict[str, Any] = {"model": self.model, "messages": messages}
        if self.temperature is not None:
            body["temperature"] = self.temperature
        if self.service == "anthropic":
            return {"custom_id": custom_id, "params": _anthropic(body, schema, rubric, texts)}
        if schema:
            named = {"name": re.sub(r"[^\w-]", "_", rubric.name, flags=re.ASCII)[:64], "strict": True, "schema": schema}
            body["response_format"] = {"type": "json_schema", "json_schema": named}
        return {"custom_id": custom_id, "method": "POST", "url": CHAT_URLS[self.service], "body": body}


def _check_turns(rubric: Rubric, service: Service) -> None:
    """Raise UsageError for examples, which are texts of other cases, and for turns that Anthropic refuses."""
    if rubric.examples:
        said = f"the rubric {rubric.name!r} has examples, which stay on this machine"
        raise UsageError(said, "Name the rubric without them.")
    roles = [turn.role for turn in rubric.turns]
    later = roles[next((at for at, role in enumerate(roles) if role != "system"), len(roles)) :]
    if service == "anthropic" and ("system" in later or not later):
        raise UsageError(
            f"the rubric {rubric.name!r} has a system turn after another turn, or only system turns",
            "Put the system turn first and a user turn after it: Anthropic's service accepts nothing else.",
        )


def _anthropic(
    body: dict[str, Any], schema: dict[str, Any] | None, rubric: Rubric, texts: Mapping[str, str]
) -> dict[str, Any]:
    messages = body.pop("messages")
    system = [message["content"] for message in messages if message["role"] == "system"]
    body["max_tokens"] = max(LEAST_TOKENS, 4 * rubric.format.reply(texts).form.reserve)
    if system:
        body["system"] = "\n\n".join(system)
    body["messages"] = [message for message in messages if message["role"] != "system"]
    if schema:
        body["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
    return body
