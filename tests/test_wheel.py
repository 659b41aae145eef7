"""What ships: an installed wheel finds its rubrics, its registry and the demo judge away from the repository."""

import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
SHOWN = """
from pathway_local.prompty.rubric_file import builtin_names
from pathway_local.judges.registry import load_registry, weights_folder
from pathway_local.system.shipped import shipped
import pathway_local
print(pathway_local.__file__, shipped("models.yaml"), *builtin_names(), weights_folder(load_registry().get("demo")))
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
    assert all(str(clean) in path for path in (found[0], found[1], found[-1]))
    assert found[2:-1] == [
        "contextual-relevance",
        "criteria",
        "gold-answer",
        "groundedness",
        "pair-answer",
        "pathway-answer",
    ]
