"""Reports and pages to read in a real browser: filters without a script, a logo, and print."""

import base64
import zlib
from pathlib import Path

import pytest
from agreement_run import answers_run, write_cases
from browser import Browser
from html_page import check_harmless, needs_browser
from rated_run import judged_run
from typed_here import Run, typing_in

PRINTABLE = 672
"""Pixels of A4 between the margins; letter has 20 more."""


def png(width: int, height: int = 2) -> bytes:
    """A PNG that says it has this size; the smallest one is whole."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return len(data).to_bytes(4) + kind + data + zlib.crc32(kind + data).to_bytes(4)

    head = width.to_bytes(4) + height.to_bytes(4) + bytes([8, 0, 0, 0, 0])
    lines = zlib.compress(bytes((1 + width) * height)) if width < 100 else b""
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", lines) + chunk(b"IEND", b"")


def jpeg(width: int) -> bytes:
    """The beginning of a JPEG of this width, with a segment before the one that has its size."""
    size = bytes([8]) + (3).to_bytes(2) + width.to_bytes(2) + bytes([1, 1, 17, 0])
    return b"\xff\xd8\xff\xe0\x00\x04JF\xff\xc0" + (2 + len(size)).to_bytes(2) + size


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return typing_in(tmp_path, monkeypatch, capsys)


@pytest.mark.parametrize(("name", "data", "kind"), [("logo.txt", png(3), "png"), ("logo.png", jpeg(5), "jpeg")])
def test_a_logo_is_what_its_bytes_say(name: str, data: bytes, kind: str, run: Run, tmp_path: Path) -> None:
    judged_run(tmp_path / "may.run").close()
    Path(name).write_bytes(data)
    told = run("report", "may.run", "--out", "may.html", "--logo", name)
    assert told.code == 0, told.err
    address = f"data:image/{kind};base64,{base64.b64encode(data).decode()}"
    check_harmless(Path("may.html").read_text(encoding="utf-8"), logo=address)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "neither a PNG"),
        (b'<svg xmlns="http://www.w3.org/2000/svg"/>', "neither a PNG"),
        (b"\x89PNG\r\n\x1a\n", "neither a PNG"),
        (png(50_000), "50,000 by 2 pixels"),
        (png(0), "0 by 2 pixels"),
        (jpeg(60_000), "60,000 by 3 pixels"),
        (b"\xff\xd8\xff" + b"\xff" * 90, "0 by 0 pixels"),
        (png(3) + bytes(500_000), "more than 500,000 bytes"),
    ],
)
def test_a_logo_that_is_no_plain_picture_is_refused(data: bytes, said: str, run: Run, tmp_path: Path) -> None:
    judged_run(tmp_path / "may.run").close()
    Path("logo.png").write_bytes(data)
    told = run("report", "may.run", "--out", "may.html", "--logo", "logo.png")
    assert told.code == 2 and said in told.err and not Path("may.html").exists()
    for lost in ("none.png", "."):
        assert run("report", "may.run", "--out", "may.html", "--logo", lost).code == 2


@needs_browser
def test_a_logo_is_shown_and_loads_nothing(web: Browser, run: Run, tmp_path: Path) -> None:
    judged_run(tmp_path / "may.run").close()
    Path("logo.png").write_bytes(png(20, 10))
    assert run("report", "may.run", "--out", "may.html", "--logo", "logo.png").code == 0
    web.open(tmp_path / "may.html")
    assert web.run("document.images[0].complete && document.images[0].naturalWidth > 0")
    assert (
        web.run("performance.getEntriesByType('resource').filter(each => !each.name.startsWith('data:')).length") == 0
    )


@needs_browser
def test_a_reader_filters_cases_by_each_column_without_a_script(web: Browser, run: Run, tmp_path: Path) -> None:
    answers_run(tmp_path / "may.run")
    write_cases(tmp_path / "may.csv")
    assert run("read", "may.run", "--cases", "may.csv", "--out", "read.html").code == 0
    page = check_harmless(Path("read.html").read_text(encoding="utf-8"))
    assert [each["id"] for each in page.of("select")] == ["filter-0", "filter-1", "filter-2"]
    assert "committee/Bob, v2" in page.said and "helpful score by audience" in page.said
    assert "helpful score by student" not in page.said  # 50 of them are no groups to compare
    web.open(tmp_path / "read.html")
    rows = "[...document.querySelectorAll('.cases tbody tr, article')].filter(each => each.getClientRects().length)"
    every = web.run(f"{rows}.length")
    assert every == 2 * 20

    def choose(name: str, value: str) -> None:
        web.run(f"[...document.getElementById('{name}').options].find(each => each.text === '{value}').selected = true")

    choose("filter-0", "v2")
    shown = web.run(f"{rows}.map(each => each.innerText)")
    assert 0 < len(shown) < every and all("v2" in each and "v1" not in each for each in shown)
    choose("filter-2", "staff")
    both = web.run(f"{rows}.map(each => each.innerText)")
    assert 0 < len(both) < len(shown) and all("v2" in each and "staff" in each for each in both)
    assert web.run("document.querySelector('.cases a').hash") == "#case-1-1"
    # What CSS writes is in no text of the document, but in the height of its section.
    height = "document.querySelector('#results > section').lastElementChild.getBoundingClientRect().bottom"
    below = f"document.querySelector('#results > section').getBoundingClientRect().bottom - {height}"
    some = web.run(below)
    web.run("document.querySelectorAll('[data-filter-0]').forEach(each => each.setAttribute('data-filter-0', 'other'))")
    assert web.run(f"{rows}.length") == 0 and web.run(below) > some + 10


@needs_browser
def test_a_word_of_a_narrow_column_is_not_broken(web: Browser, run: Run, tmp_path: Path) -> None:
    answers_run(tmp_path / "may.run")
    write_cases(tmp_path / "may.csv")
    assert run("read", "may.run", "--cases", "may.csv", "--out", "read.html").code == 0
    web.open(tmp_path / "read.html")
    for cell, word in (("thead th", "Assistentes"), ("td", "20261942812")):
        found = f"document.querySelector('.cases {cell}:nth-child(2) bdi')"
        web.run(f"{found}.textContent = '{word}'")
        assert web.run(f"{found}.getBoundingClientRect().height") < 24  # one line


@needs_browser
@pytest.mark.parametrize("lang", ["en", "de"])
def test_print_keeps_headings_with_charts_and_tables_on_the_page(
    lang: str, web: Browser, run: Run, tmp_path: Path
) -> None:
    answers_run(tmp_path / "may.run")
    by = ("--by", "chatbot", "--between", "chatbot=v1,v2", "--pair-by", "question_id")
    assert run("report", "may.run", "--out", "may.html", "--lang", lang, *by).code == 0
    web.open(tmp_path / "may.html")
    web.call("Emulation.setEmulatedMedia", media="print")
    web.call("Emulation.setDeviceMetricsOverride", width=PRINTABLE, height=900, deviceScaleFactor=1, mobile=False)
    style = "getComputedStyle({}).{}"
    whole = f"[...document.querySelectorAll('figure')].every(each => {style.format('each', 'breakInside')} === 'avoid')"
    assert web.run("document.querySelectorAll('figure').length") > 15 and web.run(whole)
    above = """[...document.querySelectorAll('.block:has(> .pair)')].flatMap(each => {
        const before = [each.querySelector('figcaption')];
        let other = each;
        while ((other = other.previousElementSibling)?.matches('h2, h3, .lead')) before.push(other);
        return before;
    })"""
    kept = f"{above}.every(each => {style.format('each', 'breakAfter')} === 'avoid')"
    assert web.run(f"{above}.some(each => each.matches('.lead'))") and web.run(kept)
    assert web.run("document.documentElement.scrollWidth") <= PRINTABLE
