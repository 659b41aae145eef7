"""Errors about YAML from outside stay short, whatever it holds."""

from pathlib import Path

import pytest

import pathway_local
from pathway_local.errors import FormatError, UsageError
from pathway_local.rubrics.output_format import OutputFormat
from pathway_local.system.safe_yaml import LIMIT, load_ours, load_yaml


@pytest.mark.parametrize("tag", ["texd", "t" + "x" * 5000])
def test_a_type_that_does_not_exist_is_named_and_cut(tag: str) -> None:
    with pytest.raises(FormatError, match=f"'{tag[:60]}") as raised:
        OutputFormat.load({"fields": {"x": {"type": tag}}})
    assert len(str(raised.value)) < 350


def test_our_own_files_pass_the_checks_that_reading_them_leaves_out() -> None:
    files = sorted(Path(*pathway_local.__path__).rglob("*.yaml"))
    assert files
    for file in files:
        assert load_ours(file) == load_yaml(file.read_text("utf-8"), file.name, UsageError), file.name


def test_a_text_that_is_too_long_is_not_read() -> None:
    with pytest.raises(UsageError, match=f"{LIMIT + 1} characters are too many"):
        load_yaml("#" * (LIMIT + 1), "long.yaml", UsageError)
