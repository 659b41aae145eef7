"""Errors about YAML from outside stay short, whatever it holds."""

from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from pathway_local.system.safe_yaml import first_complaint


class _Text(BaseModel):
    type: Literal["text"]


class _Number(BaseModel):
    type: Literal["number"]


_ANY: TypeAdapter[_Text | _Number] = TypeAdapter(Annotated[_Text | _Number, Field(discriminator="type")])


@pytest.mark.parametrize("tag", ["texd", "t" + "x" * 5000])
def test_a_type_that_does_not_exist_is_named_and_cut(tag: str) -> None:
    with pytest.raises(ValidationError) as raised:
        _ANY.validate_python({"type": tag})
    _, kind, said = first_complaint(raised.value)
    assert kind == "union_tag_invalid"
    assert f"'{tag[:60]}" in said
    assert len(said) < 300
