"""The rating page in a real browser: keys rate, a reload keeps, `import` reads what is saved, and nothing else runs."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from browser import Browser
from html_page import needs_browser
from rated_run import TINY, TWO, scores_of
from rating_page_files import SCRIPT, parsed, rows_of, write_rows, write_sheet
from test_hostile_pages import HOSTILE, NAME, rubric_called
from test_rating_page import draw
from test_report_page import WIDE
from typed_here import Run

from pathway_local.rubrics.rubric import Rubric
from pathway_local.runs.run_file import RunFile

pytestmark = needs_browser

HOSTILE = HOSTILE | {
    "line ends": "a\u2028b\u2029c\r\nd",
    "marks": "\u200fאבג\u200e\u061c",
    "json": '"},{"rating_id":"\\u0000',
}

Drawn = Callable[..., Path]


@pytest.fixture
def drawn(run: Run, tmp_path: Path) -> Drawn:
    """Draws Ann's page of cases with these texts."""

    def draw_page(*texts: str, rubric: Rubric = TINY) -> Path:
        write_sheet(tmp_path, rubric, texts)
        draw(run, "--rater", "Ann", rubric=f"{rubric.name}.prompty", n=len(texts))
        return tmp_path / "rate.html"

    return draw_page


def text(web: Browser, selector: str) -> str:
    return str(web.run(f"document.querySelector({json.dumps(selector)}).innerText"))


def load(web: Browser, path: Path) -> None:
    """Open a saved file on the page."""
    document = web.call("DOM.getDocument")["root"]["nodeId"]
    node = web.call("DOM.querySelector", nodeId=document, selector="#load")["nodeId"]
    web.call("DOM.setFileInputFiles", files=[str(path)], nodeId=node)
    web.wait_for("document.getElementById('status').textContent !== '' && !document.getElementById('load').value")


def chosen(web: Browser) -> list[str]:
    found: list[str] = web.run("[...document.querySelectorAll(':checked')].map(each => each.value).filter(Boolean)")
    return found


def test_keys_rate_a_reload_keeps_and_import_reads_what_is_saved(web: Browser, drawn: Drawn, run: Run) -> None:
    page = drawn("a 1", "a 2", "a 3", "a 4")
    web.open(page)
    assert text(web, "#progress") == "0 of 4 rated" and "as you go" in text(web, "#kept")
    web.press("4")
    assert text(web, "#status") == "score: 4 – Good"
    web.press("5", "Enter", "?", "Enter")
    web.run("document.getElementById('notes').focus()")
    web.type("unclear 3")
    web.press("2", "Ctrl+Enter", "9", "x")
    assert text(web, "article:not([hidden]) h2") == "Case 4 of 4" and chosen(web) == []
    web.reload()
    assert text(web, "article:not([hidden]) h2") == "Case 4 of 4" and text(web, "#progress") == "2 of 4 rated"
    web.press("Shift+Enter")
    assert web.run("document.getElementById('notes').value") == "unclear 32" and chosen(web) == []
    web.press("Shift+Enter")
    assert chosen(web) == ["can't say"]
    web.click("#save")
    assert "Saved as rate.json: 2 of 4 rated" in text(web, "#status")
    saved = web.saved("rate.json")
    rows = json.loads(saved.read_text())
    given = {1: {"score": "5"}, 2: {"score": "can't say"}, 3: {"notes": "unclear 32"}}
    assert rows == rows_of(page, given)
    told = run("import", "a.run", saved, "--kind", "human")
    assert told.code == 0 and "Ann 3" in told.words
    with RunFile.read("a.run") as opened:
        assert list(scores_of(opened, "Ann").values()) == [5]
    saved.unlink()
    web.click("#open")
    assert text(web, "article:not([hidden]) h2") == "Case 3 of 4"
    web.press("1", "Shift+Enter", "Shift+Enter", "3")
    web.click("#save")
    saved = web.saved("rate.json")
    told = run("import", "a.run", saved, "--kind", "human")
    assert told.code == 3 and "item 1: Ann gave this case another rating" in told.err and "item 3" not in told.err
    assert run("runs", "remove-rater", "a.run", "Ann", "--yes").code == 0
    assert run("import", "a.run", saved, "--kind", "human").code == 0
    with RunFile.read("a.run") as opened:
        assert sorted(scores_of(opened, "Ann").values()) == [1, 3]


def test_the_keyboard_alone_reaches_everything(web: Browser, drawn: Drawn) -> None:
    web.open(drawn("a 1", "a 2"))
    reached = []
    for _ in range(7):
        web.press("Tab")
        reached.append(
            web.run("document.activeElement.id || document.activeElement.type || document.activeElement.tagName")
        )
    assert reached == ["A", "radio", "notes", "on", "open", "save", "SUMMARY"]
    web.run("document.querySelector('input[type=radio]').focus()")
    web.press(" ", "ArrowDown")
    assert chosen(web) == ["4"] and text(web, "#progress") == "1 of 2 rated"


def test_everything_has_a_name_for_a_screen_reader(web: Browser, drawn: Drawn) -> None:
    web.open(drawn("a 1", "long " * 1000))
    web.run("document.querySelector('#panel details').open = true")
    nodes = web.call("Accessibility.getFullAXTree")["nodes"]
    named = [
        (node["role"]["value"], node.get("name", {}).get("value", "")) for node in nodes if not node.get("ignored")
    ]
    roles = {"radio", "textbox", "button", "progressbar", "region", "combobox"}
    assert [each for each in named if each[0] in roles and not each[1]] == []
    assert ("group", "score") in named and ("radio", "5 – Best") in named and ("textbox", "Comment (optional)") in named
    assert ("region", "Your rating") in named and ("progressbar", "0 of 2 rated") in named


def test_it_follows_a_light_or_dark_setting_and_fits_a_phone(web: Browser, drawn: Drawn) -> None:
    page, seen = drawn("a 1", "a 2"), []
    for dark in (False, True):
        web.resize(360, 800, dark=dark)
        web.open(page)
        assert web.run("document.documentElement.scrollWidth") <= 360
        colours = web.run("[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]")
        seen.append([sum(map(int, re.findall(r"\d+", each)[:3])) for each in colours])
    (ink, paper), (light_ink, dark_paper) = seen
    assert ink < paper and light_ink > dark_paper


def test_the_pages_of_two_raters_and_two_tabs_do_not_mix(web: Browser, run: Run, tmp_path: Path) -> None:
    write_sheet(tmp_path, TINY, ["a 1", "a 2"])
    draw(run, "--rater", "Ann", "--rater", "Bob", n=2)
    web.open(tmp_path / "rate-Ann.html")
    web.press("4")
    web.open(tmp_path / "rate-Bob.html")
    assert chosen(web) == []
    web.open(tmp_path / "rate-Ann.html")
    key, kept = web.run("Object.entries(localStorage).find(([key]) => key.includes('Ann'))")
    other = json.dumps(
        {"place": 1, "ratings": {parsed(tmp_path / "rate-Ann.html").of("article")[1]["data-id"]: {"score": "2"}}}
    )
    assert json.loads(kept)["place"] == 0
    change = f"localStorage.setItem({json.dumps(key)}, {json.dumps(other)})"
    web.run(f"{change}; dispatchEvent(new StorageEvent('storage', {{key: {json.dumps(key)}}}))")
    assert text(web, "article:not([hidden]) h2") == "Case 1 of 2" and text(web, "#progress") == "1 of 2 rated"


def test_a_browser_that_keeps_nothing_is_said_and_a_saved_file_goes_on(
    web: Browser, drawn: Drawn, tmp_path: Path
) -> None:
    page = drawn("a 1", "a 2")
    inside = tmp_path / "inside.html"
    web.open(page)
    refusing = "Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError') }"
    script = web.call("Page.addScriptToEvaluateOnNewDocument", source=refusing)["identifier"]
    web.reload()
    assert "This browser keeps nothing" in text(web, "#kept")
    rows = rows_of(page, {1: {"score": "5", "notes": "fine"}, 2: {"score": "4"}})
    write_rows(inside, rows)
    web.press("1")
    load(web, inside)
    web.wait_for("document.getElementById('progress').textContent === '2 of 2 rated'")
    assert chosen(web) == ["1"]
    web.press("Enter")
    assert chosen(web) == ["4"]
    for strange in ("[", "null", "[null]", '[{"rater": "Bob"}]', json.dumps([{**rows[0], "rating_id": "__proto__"}])):
        inside.write_text(strange)
        web.run("document.getElementById('status').textContent = ''")
        load(web, inside)
        assert "This file was not saved for Ann" in text(web, "#status")
    web.call("Page.removeScriptToEvaluateOnNewDocument", identifier=script)
    web.reload()
    assert web.dialogs == ["beforeunload"] and text(web, "#progress") == "0 of 2 rated"
    assert "as you go" in text(web, "#kept")


def test_a_saved_file_adds_the_score_to_a_case_with_a_comment_alone(web: Browser, drawn: Drawn, tmp_path: Path) -> None:
    page = drawn("a 1", "a 2")
    web.open(page)
    web.run("notes.value = 'mine'; notes.dispatchEvent(new Event('input'))")
    saved = write_rows(tmp_path / "saved.json", rows_of(page, {1: {"score": "5", "notes": "old"}, 2: {"score": "4"}}))
    load(web, saved)
    web.wait_for("document.getElementById('progress').textContent === '2 of 2 rated'")
    assert chosen(web) == ["5"] and web.run("notes.value") == "mine"


@pytest.mark.parametrize(
    "kept",
    [
        "{",
        "null",
        "[]",
        '{"place": -1, "ratings": null}',
        '{"place": "x", "ratings": {"X": {"score": "9", "notes": [1]}}}',
    ],
)
def test_what_the_browser_keeps_may_be_broken(kept: str, web: Browser, drawn: Drawn) -> None:
    page = drawn("a 1", "a 2")
    web.open(page)
    first = parsed(page).of("article")[0]["data-id"]
    web.run(f"localStorage.setItem(KEY, {json.dumps(kept.replace('X', first))})")
    web.reload()
    assert text(web, "article:not([hidden]) h2") == "Case 1 of 2" and text(web, "#progress") == "0 of 2 rated"
    web.press("3")
    assert chosen(web) == ["3"]


def test_ratings_can_be_deleted_from_the_browser(web: Browser, drawn: Drawn) -> None:
    web.open(drawn("a 1", "a 2"))
    web.press("3")
    web.click("#forget")
    web.wait_for("document.getElementById('progress').textContent === '0 of 2 rated'")
    assert web.dialogs == ["confirm"] and web.run("localStorage.getItem(KEY)") is None


def test_several_scores_take_keys_in_turn(web: Browser, drawn: Drawn) -> None:
    web.open(drawn("f-1", "f-2", rubric=TWO))
    web.press("4")
    assert text(web, "#progress") == "0 of 2 rated"
    web.press("2", "5")
    assert chosen(web) == ["4", "2"] and text(web, "#progress") == "1 of 2 rated"


def test_a_long_scale_is_chosen_from_its_list(web: Browser, drawn: Drawn) -> None:
    web.open(drawn("a 1", rubric=WIDE))
    web.run("document.querySelector('select').focus()")
    web.press("8", "5")
    assert chosen(web) == ["85"] and text(web, "#progress") == "1 of 1 rated"
    web.reload()
    assert chosen(web) == ["85"]


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_texts_run_nothing_and_the_layout_holds(kind: str, web: Browser, drawn: Drawn, run: Run) -> None:
    text_of_case = HOSTILE[kind]
    page = drawn(text_of_case, "a 2", rubric=rubric_called(text_of_case[:NAME]))
    assert len(parsed(page).of("article")) == 2
    for width in (1280, 360):
        web.resize(width, 800)
        web.open(page)
        assert web.run("document.title") == "Rating: hostile"
        assert web.run("document.documentElement.scrollWidth") <= width
    note = text_of_case[:2000].replace("\r\n", "\n") + "\ud800"
    web.run(f"notes.value = {json.dumps(note)}; notes.dispatchEvent(new Event('input'))")
    web.press("1")
    web.click("#save")
    told = run("import", "a.run", web.saved("rate.json"), "--kind", "human")
    assert told.code == 0, told.err
    with RunFile.read("a.run") as opened:
        (record,) = opened.records("Ann")
    assert record.outcome.fields["notes"] == (note[:-1] + "\ufffd").strip()  # type: ignore[union-attr]


def test_only_the_pages_own_script_runs(web: Browser, drawn: Drawn, tmp_path: Path) -> None:
    page = drawn("a 1", "a 2")
    changed = tmp_path / "changed.html"
    whole = page.read_text(encoding="utf-8")
    injected = (
        "<script>document.title='ran'</script><img src=x onerror=\"document.title='ran'\"><style>*{color:red}</style>"
    )
    changed.write_text(whole.replace("<footer>", injected + "<footer>"), encoding="utf-8")
    web.open(changed)
    assert web.run("document.title") == "Rating: tiny" and len(web.errors) == 4
    web.errors.clear()
    changed.write_text(whole.replace(SCRIPT, SCRIPT + " "), encoding="utf-8")
    web.open(changed)
    assert text(web, "#progress") == "" and len(web.errors) == 1
    web.errors.clear()
