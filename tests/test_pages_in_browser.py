"""Reports and pages to read in a real browser: narrow columns, and print."""

from pathlib import Path

import pytest
from agreement_run import answers_run, write_cases
from browser import Browser
from html_page import needs_browser
from typed_here import Run

PRINTABLE = 672
"""Pixels of A4 between the margins; letter has 20 more."""


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
    assert web.run("document.querySelectorAll('figure').length") >= 10 and web.run(whole)
    above = """[...document.querySelectorAll('.block:has(> .pair)')].flatMap(each => {
        const before = [each.querySelector('figcaption')];
        let other = each;
        while ((other = other.previousElementSibling)?.matches('h2, h3, .lead')) before.push(other);
        return before;
    })"""
    kept = f"{above}.every(each => {style.format('each', 'breakAfter')} === 'avoid')"
    assert web.run(f"{above}.some(each => each.matches('.lead'))") and web.run(kept)
    assert web.run("document.documentElement.scrollWidth") <= PRINTABLE
