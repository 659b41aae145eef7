"""Pages show hostile data as words: nothing runs, nothing loads, and the layout holds."""

from collections import defaultdict
from pathlib import Path

import pytest
from browser import Browser
from html_page import check_harmless, needs_browser
from rated_run import write_lines
from typed_here import Run

from pathway_local.case import Case, fingerprint
from pathway_local.rater import Rater, RaterKind
from pathway_local.rubrics.rubric import Rubric
from pathway_local.rubrics.rubric_file import parse_rubric
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.run_rubrics import store_rubric
from pathway_local.verdict import Failure, Outcome, Score, Verdict

HOSTILE = {
    "html": "<img src=x onerror=document.title='ran'><b>bold</b>",
    "svg": "<svg onload=\"document.title='ran'\"><a xlink:href='javascript:1'>x</a></svg>",
    "script": "</script></style></title><script>document.title='ran'</script>",
    "attribute": "\" onmouseover=\"document.title='ran'\" x='",
    "address": "javascript:document.title='ran'",
    "template": "{{ say.phrases }}{% for x in y %}",
    "escape": "\x1b[31mred\x1b]0;ran\x07\x9b",
    "direction": "abc\u202edef\u2066ghi\u200f",
    "megabyte": "M" * 1_000_000,
    "emoji": "👩‍👩‍👧 \ufffd ﷽ " * 3,
}
SOAKED = pytest.mark.soak
KINDS = [pytest.param(kind, marks=[SOAKED] if kind == "megabyte" else []) for kind in HOSTILE]
SHOWN = [pytest.param(kind, marks=[] if kind in ("script", "svg", "attribute") else [SOAKED]) for kind in HOSTILE]
"""A browser shows some kinds in the suite, and all in `scripts/soak disturbed`."""

PAGES = ("report.html", "read.html", "alone.html")
NAME = 150
"""Characters of a hostile name: rubrics and raters have short ones."""


def rubric_called(name: str) -> Rubric:
    quoted = '"' + "".join(f"\\U{ord(letter):08x}" for letter in name) + '"'
    return parse_rubric(
        f"""---
name: hostile
description: {quoted}
inputs: {{question: {{type: string}}, answer: {{type: string}}}}
outputs:
  layout: "{{score}} {{reason}}"
  fields:
    score: {{type: score, levels: {{1: {quoted}, 2: Fair, 3: Good}}}}
    reason: {{type: text, tokens: 20}}
---
user:
Judge {{{{ answer }}}} to {{{{ question }}}}.
""",
        "hostile",
    )


def make_run(folder: Path, hostile: str) -> None:
    """A run and its cases file with this text wherever data can stand; a judge and two people rated."""
    name = hostile[:NAME]  # a slash in it divides a group from a person, so people differ before and after it
    rubric = rubric_called(name)
    rows = [
        Case(f"{row} {hostile}", {"question": hostile, "answer": f"{row}"}, {"bot": f"{row % 2} {hostile}"}, row)
        for row in range(1, 31)
    ]
    with RunFile.create(folder / "may.run") as run:
        store_rubric(run, rubric)
        run.set_setting(f"label:judge {name}", name)
        raters: dict[str, RaterKind] = {
            f"judge {name}": "judge",
            f"one {name} one": "human",
            f"two {name} two": "human",
        }
        for place, (who, kind) in enumerate(raters.items()):
            rater = run.add_rater(Rater(who, kind, "hostile", {"x": name}))
            for case in rows:
                score = Score(1 + (case.row + place) % 3, {1: 0.2, 2: 0.8})
                given: Outcome = Verdict({"score": score}, {"reason": hostile})
                if kind == "judge" and case.row % 7 == 0:
                    given = Failure(name, hostile, name, case.row, name)
                run.put(rater, case.ref(fingerprint(run.key, rubric.texts_of(case))), given, keep=None)
        job = run.jobs.begin(["pathway-local", name], {"cases": {"file": name}, name: [name]})
        run.jobs.end(job, name, {name: 1})
    cases = [{"id": case.id, **case.inputs, **case.metadata} for case in rows]
    write_lines(folder / "cases.jsonl", cases)


def write_pages(run: Run) -> None:
    told = run("report", "may.run", "--by", "bot", "--out", "report.html")
    assert told.code == 0, told.err
    told = run("read", "may.run", "--cases", "cases.jsonl", "--by", "failure", "--top", 3, "--out", "read.html")
    assert told.code == 0, told.err
    assert run("report", "may.run", "--by", "bot", "--out", "alone.html", "--lang", "de").code == 0


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders by the text that the run in them holds."""
    return defaultdict(lambda: tmp_path_factory.mktemp("pages"))


def pages_of(text: str, folders: dict[str, Path], run: Run, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder with the pages of a run that holds this text, made when they are first asked for."""
    if not list(folders[text].glob("*.html")):
        make_run(folders[text], text)
        monkeypatch.chdir(folders[text])
        write_pages(run)
    return folders[text]


@pytest.mark.parametrize("kind", KINDS)
def test_hostile_data_change_no_tag_of_a_page(
    kind: str, run: Run, folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []
    for text in (HOSTILE[kind], "x" * max(50, len(HOSTILE[kind]) // 1000 * 1000)):  # one for all short ones
        folder = pages_of(text, folders, run, monkeypatch)
        made.append({name: check_harmless((folder / name).read_text(encoding="utf-8")) for name in PAGES})
        assert all((folder / name).stat().st_size < 3_000_000 for name in PAGES)
    hostile, harmless = made
    for name, page in hostile.items():
        assert page.skeleton == harmless[name].skeleton


@needs_browser
@pytest.mark.parametrize("kind", SHOWN)
def test_a_browser_runs_nothing_and_the_layout_holds(
    kind: str, run: Run, folders: dict[str, Path], web: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = pages_of(HOSTILE[kind], folders, run, monkeypatch)
    web.resize(360, 800)
    for name in ("report.html", "read.html"):
        web.open(folder / name)
        assert web.run("document.documentElement.scrollWidth") <= web.run("innerWidth") == 360
        assert web.run("document.title").endswith(": may") and not web.dialogs
