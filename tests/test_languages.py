"""Each page and table is wholly in its language: all keys are walked, all is rendered, and no English word is found."""

import re
from collections.abc import Iterator
from pathlib import Path
from string import Formatter

import openpyxl
import pytest
from agreement_run import answers_run
from compared_run import compared_run
from html_page import PageParser
from rated_run import TINY, add, cases, judged_run, several_run, write_lines
from rating_page_files import write_sheet
from studies import studies
from typed_here import typing_in

from pathway_local.errors import UsageError
from pathway_local.runs.run_file import RunFile
from pathway_local.statistics.coefficients import COEFFICIENTS
from pathway_local.statistics.figure import Estimate, Interval
from pathway_local.system.safe_yaml import load_yaml
from pathway_local.verdict import Failure, Outcome, Score, Verdict
from pathway_local.words import FOLDER, languages
from pathway_local.words.language import ENGLISH

SPOKEN = [name for name in languages() if name != ENGLISH]
BLANK = re.compile(r"\{[^}]*\}")
WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
DATA = {
    "answer", "bad", "best", "comparison", "fail", "fair", "good", "judge", "poor", "preference", "question", "reason",
    "score", "shift",
}  # fmt: skip
"""Words of the runs below (names of fields, inputs, levels and raters), and that of a key."""
NUMBER = re.compile(r"(?<![\w.])\d+\.\d{1,2}(?![\w.])|\d{4}-\d\d-\d\d")
"""A number or a day as English alone writes it."""


def words_in(name: str) -> dict[str, dict[str, object]]:
    """The sections of a language's file: its entries by key."""
    read = load_yaml((FOLDER / f"{name}.yaml").read_text(encoding="utf-8"), name, UsageError)
    assert isinstance(read, dict)
    return {section: entries for section, entries in read.items() if isinstance(entries, dict)}


def said_in(name: str) -> Iterator[str]:
    """What a language says: each form of each entry."""
    for section, entries in words_in(name).items():
        for entry in entries.values() if (name, section) != (ENGLISH, "reasons") else ():
            yield from map(str, entry.values() if isinstance(entry, dict) else [entry])


def blanks(entry: object) -> set[tuple[str, str]]:
    """The named values of an entry's forms, and how each is written."""
    forms = entry.values() if isinstance(entry, dict) else [entry]
    parsed = (part for form in forms for part in Formatter().parse(str(form)))
    return {(name, how or "") for _, name, how, _ in parsed if name}


def spoken_words(text: str) -> tuple[str, ...]:
    return tuple(word.lower() for word in WORD.findall(text))


def english_phrases(name: str) -> set[tuple[str, ...]]:
    """All that English says, cut at blanks, without what the other language says as well."""
    keys = [*words_in(ENGLISH)["reasons"], *(key for other in SPOKEN for key in words_in(other)["words"])]
    labels = [text for each in COEFFICIENTS.values() for text in (each.label, each.reading)]
    every = [part for text in (*said_in(ENGLISH), *keys, *labels) for part in BLANK.split(text)]
    own = {words for text in said_in(name) for part in BLANK.split(text) for words in runs_of(spoken_words(part))}
    return {words for part in every if (words := spoken_words(part)) and is_telling(words) and words not in own}


def is_telling(words: tuple[str, ...]) -> bool:
    """Whether words tell English from another language: several, or a long one that is no name in the runs."""
    return len(words) > 1 or (len(words[0]) > 3 and words[0] not in DATA)


def runs_of(words: tuple[str, ...], longest: int = 4) -> Iterator[tuple[str, ...]]:
    for start in range(len(words)):
        for end in range(start + 1, min(len(words), start + longest) + 1):
            yield words[start:end]


def leaks(texts: list[str], phrases: set[tuple[str, ...]]) -> set[str]:
    """The English phrases in these texts, other than in commands."""
    found = {f"number in {text[:120]!r}" for text in texts if NUMBER.search(text)}
    for text in texts:
        words = spoken_words(
            re.sub(r"A is better|`[^`]*`|--[\w-]+|pathway-local.*|[\w/-]+\.(html|xlsx|jsonl|csv|run)\b", " ", text)
        )
        for start in range(len(words)):
            for end in range(start + 1, len(words) + 1):
                if words[start:end] in phrases:
                    found.add(f"{' '.join(words[start:end])!r} in {text[:120]!r}")
    return found


def shown_on(page: Path | str) -> list[str]:
    parsed = PageParser(page.read_text(encoding="utf-8") if isinstance(page, Path) else page)
    told = ("aria-label", "title", "data-text", "data-done", "data-yes", "data-no", "data-failed", "data-sure")
    return [
        *parsed.own_words,
        *(attributes[name] for _, attributes in parsed.tags for name in told if name in attributes),
    ]


def shown_in(book: Path) -> list[str]:
    sheets = openpyxl.load_workbook(book).worksheets
    cells = (cell.value for sheet in sheets for row in sheet.iter_rows() for cell in row)
    return [
        *(sheet.title for sheet in sheets),
        *(value for value in cells if isinstance(value, str) and value[0] != "="),
    ]


NOT_IN_REPORTS = {"between", "fitted", "handover", "planning", "choices", "self_test", "scores"}
"""Modules whose sentences are in English alone, since no report shows them."""
OF_COMMANDS = {
    "nobody_named",
    "nobody_scored", "people_alone", "reference_is_judge", "untested_repeating",
}  # fmt: skip
"""Sentences about raters that only an option of a command can name."""
OF_FULL = ("full_shows_more", "how_to_read", "intervals")
"""What is said where all tables are shown."""


@pytest.mark.parametrize("lang", SPOKEN)
def test_a_language_has_each_entry_and_no_english_word_in_it(lang: str) -> None:
    english, german, own, phrases = words_in(ENGLISH), words_in("de"), words_in(lang), english_phrases(lang)
    assert {name: {*entries} for name, entries in own.items()} == {name: {*each} for name, each in german.items()}
    for section, entries in own.items():
        for key, entry in entries.items():
            forms = entry.values() if isinstance(entry, dict) else [entry]
            assert blanks(entry) == blanks(english.get(section, {}).get(key) or german[section][key]), key
            assert not leaks([BLANK.sub(" 0 ", str(form)) for form in forms], phrases), key


@pytest.mark.parametrize("lang", SPOKEN)
@pytest.mark.parametrize("ends", [(1.0, 2.0), (-2.0, -1.0), (-1.0, 1.0)])
def test_which_side_is_higher_is_said_in_every_language(lang: str, ends: tuple[float, float]) -> None:
    shown = Estimate(0.0, Interval(*ends, "jackknife", 30, 0.95)).shown
    assert shown in words_in(lang)["words"]


def lacking(section: str) -> set[str]:
    """The keys of entries with a word that stand in English alone."""
    english = words_in(ENGLISH)[section]
    return {key for key in english.keys() - words_in("de")[section] if WORD.search(BLANK.sub("", str(english[key])))}


def test_what_a_report_can_show_is_in_every_language() -> None:
    code = {path.stem: path.read_text(encoding="utf-8") for path in FOLDER.parent.rglob("*.py")}
    assert {key for key in lacking("phrases") if not key.startswith("view_")} == {*OF_FULL}  # the viewer is in English
    for key in lacking("notes") - OF_COMMANDS:
        named = {name for name, text in code.items() if f'"{key}"' in text}
        assert named and named <= NOT_IN_REPORTS, (key, named)


def make_runs(folder: Path) -> dict[str, list[str]]:
    """Runs that show all that a report can say, with options for each."""
    for place, study in enumerate(studies().values()):
        study.make(folder / f"r{place}.run")
    made = {f"r{place}": ["--by", "chatbot"] for place in range(len(studies()))}
    answers_run(folder / "kk.run")
    several_run(folder / "ss.run", labelled=True)
    compared_run(folder / "cc.run", people=[1, 0, -1, 1]).close()
    marks = ("cut:reason", "loop:reason", "flipped")
    with judged_run(folder / "mm.run") as run:
        kinds = ("bad-row", "missing-input", "prompt-too-long")
        failed: dict[str, Outcome] = {
            case.id: Failure(kind, "no text") for case, kind in zip(cases(), kinds, strict=False)
        }
        add(run, "demo", failed | {cases()[3].id: Verdict({"score": Score(3)}, {}, marks)})
        add(
            run,
            "ann",
            {case.id: Verdict({}, {"notes": "hm"}, ("no-score", "cant-say:score")) for case in cases()},
            kind="human",
        )
        run.set_setting("label:demo", "x")
    RunFile.create(folder / "nn.run").close()
    sides = ["--by", "chatbot", "--between", "chatbot=v1,v2", "--pair-by", "question_id", "--cluster", "student"]
    return made | {"kk": sides, "ss": ["--between", "bot"], "cc": [], "mm": [], "nn": []}


@pytest.mark.parametrize("lang", SPOKEN)
def test_no_page_and_no_table_mixes_two_languages(
    lang: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run, phrases, found = typing_in(tmp_path, monkeypatch, capsys), english_phrases(lang), dict[str, set[str]]()
    assert len(phrases) > 300

    def check(name: str, texts: list[str]) -> None:
        if leaked := leaks(texts, phrases):
            found[name] = leaked

    for name, options in make_runs(tmp_path).items():
        told = run("report", f"{name}.run", "--out", f"{name}.html", "--lang", lang, *options)
        assert told.code == 0, told.err
        check(f"report of {name}", shown_on(tmp_path / f"{name}.html"))
        by = options[:2] if options[:1] == ["--by"] else []
        check(f"summary of {name}", run("summary", f"{name}.run", "--lang", lang, *by).out.splitlines())
    write_lines(tmp_path / "cases.jsonl", [{"id": case.id, **case.inputs} for case in cases()])
    for by in ("score", "confidence", "failure", "disagreement"):
        told = run("read", "mm.run", "--cases", "cases.jsonl", "--by", by, "--out", f"{by}.html", "--lang", lang)
        assert told.code == 0, told.err
        check(f"read by {by}", shown_on(tmp_path / f"{by}.html"))
    write_sheet(tmp_path, TINY, [f"answer {number}" for number in range(1, 13)])
    for out in ("rate.html", "rate.xlsx"):
        draw = ("sample", "new.run", "--rubric", "tiny.prompty", "--cases", "cases.csv", "--n", 6, "--out", out)
        told = run(*draw, "--rater", "Zoe", "--lang", lang, "--seed", 7, "--force")
        assert told.code == 0, told.err
        check(out, shown_on(tmp_path / out) if out.endswith("html") else shown_in(tmp_path / out))
    assert not found, "\n".join(f"{name}: {each}" for name, leaked in found.items() for each in sorted(leaked))
