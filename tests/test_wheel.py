"""What ships: an installed wheel finds its rubrics, its registry and the demo judge away from the repository."""

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import yaml

from pathway_local import __version__
from pathway_local.system.shipped import with_pages

ROOT = Path(__file__).parents[1]
SHOWN = """
from pathway_local.rubrics.rubric_file import builtin_names
from pathway_local.judges.registry import load_registry, weights_folder
from pathway_local.system.shipped import shipped
import pathway_local
from pathway_local.system.shipped import with_pages
print(pathway_local.__file__, with_pages("docs/judges.md"), shipped("models.yaml"), *builtin_names())
print(weights_folder(load_registry().get("demo")))
"""


def test_a_wheel_brings_rubrics_registry_and_demo_judge(tmp_path: Path) -> None:
    build = "import sys; from hatchling.build import build_wheel; print(build_wheel(sys.argv[1]))"
    done = subprocess.run(
        [sys.executable, "-c", build, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    clean = tmp_path / "clean"
    with zipfile.ZipFile(tmp_path / done.stdout.split()[-1]) as wheel:
        names = wheel.namelist()
        assert not [name for name in names if "benchmark/" in name or "demo_judge" in name], (
            "they run from the repository"
        )
        assert not [name for name in names if "/demo/" in name and name.endswith(".py")], (
            "of the demo judge, its weights"
        )
        data = ("templates/report.html", "templates/rate.js")
        assert {"pathway_local/words/de.yaml", *(f"pathway_local/pages/{name}" for name in data)} <= set(names)
        wheel.extractall(clean)
    found = subprocess.run(
        [sys.executable, "-c", SHOWN],
        cwd=clean,
        env={"PYTHONPATH": str(clean)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert all(str(clean) in path for path in (*found[:3], found[-1]))
    assert Path(found[1]).read_text() == (ROOT / "docs" / "judges.md").read_text()
    assert found[3:-1] == [
        "contextual-relevance",
        "criteria",
        "gold-answer",
        "groundedness",
        "pair-answer",
        "pathway-answer",
    ]


def test_messages_name_pages_that_a_wheel_brings() -> None:
    """In a checkout they keep the name that stands in the code."""
    named = {
        page
        for file in (ROOT / "pathway_local").rglob("*.py")
        for page in re.findall(r"docs/[\w-]+\.md", file.read_text())
    }
    assert named and all((ROOT / page).is_file() for page in named)
    assert with_pages("see docs/judges.md.") == "see docs/judges.md."


def test_the_citation_is_of_this_version() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert (cited["version"], cited["license"], cited["title"]) == (__version__, "MIT", "pathway_local")
    assert {"cff-version", "message", "authors"} <= set(cited)
