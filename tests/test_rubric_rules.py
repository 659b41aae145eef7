"""Each built-in rubric carries every rule of the prompt that it comes from, and says nothing else.

rubric_rules.yaml lists the rules of the sources in our words, each with the sentence that carries it.
"""

from pathlib import Path

import pytest
import yaml

from pathway_local.rubrics.rubric_file import load_rubric

TABLES = yaml.safe_load((Path(__file__).parent / "rubric_rules.yaml").read_text())


@pytest.mark.parametrize("name", TABLES)
def test_every_rule_of_the_source_has_its_sentence(name: str) -> None:
    text = load_rubric(name).turns[0].template
    assert [rule for rule, sentence in TABLES[name]["rules"].items() if sentence not in text] == []
    assert [sentence for sentence in TABLES[name]["ours"] if sentence not in text] == []


@pytest.mark.parametrize("name", TABLES)
def test_every_line_is_a_rule_of_the_source_or_said_to_be_ours(name: str) -> None:
    known = [*TABLES[name]["rules"].values(), *TABLES[name]["ours"]]
    lines = [line for line in load_rubric(name).turns[0].template.splitlines() if line]
    unknown = [line for line in lines if not line.startswith("# ") and not any(sentence in line for sentence in known)]
    assert unknown == []


def test_every_text_begins_with_the_case_and_ends_with_the_output() -> None:
    for name in TABLES:
        headings = [line for line in load_rubric(name).turns[0].template.splitlines() if line.startswith("# ")]
        assert headings[0] == "# The case"
        assert headings[-1] == "# Output"
