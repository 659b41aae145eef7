"""The register of the kinds of field."""

from typing import Annotated

from pydantic import Field

from pathway_local.rubrics.fields import (
    BooleanField,
    ChoiceField,
    EchoField,
    JsonField,
    NumberField,
    ScoreField,
    TextField,
    TextListField,
)
from pathway_local.rubrics.verdict_list import VerdictListField

AnyField = Annotated[
    TextField
    | ScoreField
    | EchoField
    | ChoiceField
    | BooleanField
    | NumberField
    | TextListField
    | VerdictListField
    | JsonField,
    Field(discriminator="type"),
]
