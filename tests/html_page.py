"""Reads a page as a browser would, to see what it could load, run or show."""

import base64
import hashlib
import re
import shutil
from html.parser import HTMLParser

import pytest

VOID = {"meta", "br", "line", "rect", "circle", "link", "input", "img"}
CHROMIUM = shutil.which("chromium")

needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="needs a browser: apt-get install chromium")


class PageParser(HTMLParser):
    """Collects tags with their attributes, and texts; complains of tags that are not closed in order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.texts: list[str] = []
        self.styles: list[str] = []
        self.scripts: list[str] = []
        self.own_words: list[str] = []
        """Texts outside elements that are marked as English."""
        self._open: list[tuple[str, bool]] = []
        self.feed(page)
        self.close()
        assert not self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            english = bool(self._open) and (self._open[-1][1] or ("lang", "en") in attrs)
            self._open.append((tag, english))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        tag, english = self._open[-1] if self._open else ("", False)
        {"style": self.styles, "script": self.scripts}.get(tag, self.texts).append(data)
        if tag not in ("style", "script") and not english:
            self.own_words.append(data)

    @property
    def said(self) -> str:
        """All texts in one line."""
        return " ".join(" ".join(self.texts).split())

    @property
    def skeleton(self) -> list[tuple[str, tuple[str, ...]]]:
        """Tags with the names of their attributes: what data can't change."""
        return [(tag, tuple(attributes)) for tag, attributes in self.tags]

    def of(self, tag: str) -> list[dict[str, str]]:
        """The attributes of each such tag."""
        return [attributes for name, attributes in self.tags if name == tag]


def _allowed(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def check_harmless(page: str, script: str = "") -> PageParser:
    """Return the page as parsed, if nothing in it could load, run, send or hide anything but this script."""
    parsed = PageParser(page)
    assert parsed.scripts == ([script] if script else [])
    assert not {"iframe", "object", "embed", "link", "form", "base", "use", "img"} & {tag for tag, _ in parsed.tags}
    names = {name for tag, attributes in parsed.tags for name in attributes}
    assert not {name for name in names if name.startswith("on") or name in ("style", "src", "srcdoc", "xlink:href")}
    assert all(attributes["href"].startswith("#") for attributes in parsed.of("a"))
    (style,) = parsed.styles
    policies = [each["content"] for each in parsed.of("meta") if each.get("http-equiv") == "Content-Security-Policy"]
    policy = f"default-src 'none'; style-src {_allowed(style)}; base-uri 'none'; form-action 'none'"
    policy += f"; script-src {_allowed(script)}" if script else ""
    assert policies == [policy]
    assert "url(" not in style and "@import" not in style
    ids = [attributes["id"] for _, attributes in parsed.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    named = [each for _, attributes in parsed.tags for each in attributes.get("aria-labelledby", "").split()]
    assert set(named) | {each["href"][1:] for each in parsed.of("a")} <= set(ids)
    assert all(each["role"] == "img" and each["aria-label"] for each in parsed.of("svg"))
    assert not re.search("[\0-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", page)
    return parsed
