"""`pathway-local report`: the page says what the run holds, warns of what a reader must not miss, and holds no text."""

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from agreement_run import answers_run, write_cases
from browser import Browser
from html_page import PageParser, check_harmless, needs_browser
from rated_run import TINY, TWO, add, cases, judged_run, said, scored, several_run, store_draw
from typed_here import Run
from typed_here import rows as rows_of

from pathway_local.case import Case
from pathway_local.note import Note
from pathway_local.pages.page import warnings
from pathway_local.rater import Rater
from pathway_local.ratings.samples import samples
from pathway_local.results.summary import SummaryOptions, summary
from pathway_local.results.table import Table
from pathway_local.rubrics.rubric_file import parse_rubric
from pathway_local.runs.audit import AuditTrail
from pathway_local.runs.jobs import ENGINES
from pathway_local.runs.record import CaseOutcome
from pathway_local.runs.run_file import RunFile
from pathway_local.scores.scores import Scores
from pathway_local.statistics.figure import Estimate, Interval
from pathway_local.verdict import Failure, Score, Verdict
from pathway_local.words import languages
from pathway_local.words.language import Language

CODE = Path(__file__).parents[1] / "pathway_local" / "pages"
WORDS = CODE.parent / "words"


def reported(run: Run, *options: object) -> PageParser:
    told = run("report", "may.run", "--out", "may.html", "--force", *options)
    assert told.code == 0, told.err
    return check_harmless(Path("may.html").read_text(encoding="utf-8"))


def test_a_report_has_every_part_and_the_figures_of_the_commands(run: Run, tmp_path: Path) -> None:
    answers_run(tmp_path / "may.run")
    page = reported(run, "--by", "chatbot", "--between", "chatbot=v1,v2", "--pair-by", "question_id")
    ids = {attributes.get("id") for _, attributes in page.tags}
    assert {"scores", "comparison", "people", "failures", "provenance"} <= ids
    with RunFile.read(tmp_path / "may.run") as made:
        _, scores, *_ = summary(Scores(made), SummaryOptions())
    [mean] = [row["mean"] for row in scores.rows if row["rater"] == "demo"]
    assert isinstance(mean, Estimate)
    assert "helpful score: how good the answers are (bad: 1, 2; mean by demo)" in page.said
    assert "Of these answers, people would call about 19% (13% to 25%) bad" in page.said
    assert "Next: do not let the judge decide alone." in page.said
    assert f"demo: {mean.value:.2f}" in page.said
    [value, _] = [row["corrected"]["value"] for row in rows_of(run("agreement", "may.run", "--json").out, "corrected")]
    assert f"Under helpful, people would give these 320 cases {value:.2f} on average (95% interval " in page.said
    assert "and people's 120 labels (sample with seed 7)." in page.said
    judges = ("--rater", "demo", "--rater", "gpt")  # a report compares by judges, whom people's labels correct
    compared = run("compare", "may.run", "--between", "chatbot=v1,v2", "--pair-by", "question_id", *judges).words
    sentence = re.search("By demo, on [^:]*", compared)
    assert sentence and sentence[0] in page.said
    assert "name its column with --cluster" in page.said
    for words in (
        "beside the average person",
        "To quote: how well each agrees",
        "agreement of pairs",
        "prompt-too-long",
    ):
        assert words in page.said
    _check_tables_behind_charts(page)
    assert len(page.of("svg")) == 5 + 1 + 1 + 1 + 2  # five raters, groups, comparison, correction, two diagrams


def _check_tables_behind_charts(page: PageParser) -> None:
    names = [tag for tag, _ in page.tags]
    for place, tag in enumerate(names):
        if tag == "svg":
            rest = names[place + 1 :]
            following = rest.index("details")
            assert rest[following : following + 4] == ["details", "summary", "div", "table"]


def test_a_report_holds_no_text_and_no_id(run: Run, tmp_path: Path) -> None:
    answers_run(tmp_path / "may.run")
    write_cases(tmp_path / "may.csv")
    reported(run, "--by", "chatbot")
    text = Path("may.html").read_text(encoding="utf-8")
    assert not re.search(r"a-\d\d\d|answer \d|question \d|the words of|Warning", text)


def test_readers_are_warned(run: Run, tmp_path: Path) -> None:
    rows = [*cases(), *cases(ids=[f"t-{n}" for n in range(16)])]
    with judged_run(tmp_path / "may.run", rows=rows) as made:
        made.set_setting("label:demo", "a demonstration judge")
        failed = {case.id: Failure("too-long", "too long") for case in rows[:2]}
        add(made, "demo", failed, rows=rows)
    alone = reported(run).said
    assert "demo: a demonstration judge" in alone
    assert "No person has rated cases under tiny independently" in alone
    assert "demo has no verdict on 2 of 20 cases under tiny (10%)" in alone
    with RunFile.open(tmp_path / "may.run") as made:
        add(made, "ann", said(1, 4, 2, 5), kind="human", rows=rows)
    rated = reported(run).said
    assert "No person has rated" not in rated and "People have rated only 4 cases under tiny" in rated
    assert "were not drawn at random in this run" in rated
    markup = Path("may.html").read_text(encoding="utf-8")
    assert "<code>sample</code>" in markup and "<code>pathway-local runs audit</code>" in markup and "`" not in rated
    with RunFile.open(tmp_path / "may.run") as made:
        add(made, "demo", {case.id: Verdict({"clear": Score(4), "right": Score(2)}) for case in cases(TWO)}, TWO)
    assert "No person has rated cases under two independently." in reported(run).said


def test_what_holds_for_a_rater_is_said_once_and_not_of_each_group(run: Run, tmp_path: Path) -> None:
    rows = [*cases(audience="guest"), *cases(ids=[f"t-{n}" for n in range(4)], audience="staff")]
    with judged_run(tmp_path / "may.run", rows=rows) as made:
        cut = Verdict({"score": Score(2)}, {}, ("cut:reason",))
        add(made, "demo", {case.id: cut for case in rows}, rows=rows)
    page = reported(run, "--by", "audience", "--min-group", 1).said
    assert page.count("marked cut:reason") == 1 and "marked" in page
    found = run("summary", "may.run", "--by", "audience", "--min-group", 1).words
    assert "tiny score by audience, rater: demo audience" in found
    assert found.count("8 marked cut:reason: that is 100% of the verdicts") == found.count("marked cut:reason") == 1


def test_a_warning_that_does_not_hold_for_every_score_says_for_which_it_holds() -> None:
    both, one = Note("judge_stopped", {"judge": "demo"}, "warning"), Note("no_people", {"rubrics": ["tiny"]}, "warning")
    label = Note("caution", {"rater": "demo", "label": "a toy"}, "warning")
    tables = [Table("raters", {"rubric": "two", "score": name}, (), (), notes, heading=("rubric", "score"))
              for name, notes in (("clear", [both, one, label]), ("right", [both]))]  # fmt: skip
    say = Language("en")
    found = warnings(tables, say)
    assert found == [say.note(both), f"two clear: {say.note(one)}", "demo: a toy"]
    assert say.note(one) in warnings([*tables, Table("scores", {}, (), (), [one])], say)


def test_small_groups_stay_out_of_a_page(run: Run, tmp_path: Path) -> None:
    rows = [*cases(audience="guest"), *cases(ids=[f"t-{n}" for n in range(12)], audience="staff")]
    judged_run(tmp_path / "may.run", rows=rows).close()
    found = reported(run, "--by", "audience").said
    assert "staff" in found and "guest" not in found and "one value of audience has under 10 scored cases" in found
    assert "guest" in reported(run, "--by", "audience", "--min-group", 1).said


def test_a_report_names_the_seal_of_each_engine_of_a_job(run: Run, tmp_path: Path) -> None:
    with judged_run(tmp_path / "may.run") as made:
        engine = {"judge": "one", "seal": {"filter": True}}
        job = made.jobs.begin(["judge"], {ENGINES: [engine, {**engine, "seal": {"namespace": True}}]})
        made.jobs.end(job, "done", {})
    found = reported(run).said
    top, appendix = found.split("Whoever has the run")
    assert top.count("The local judges were kept from connecting to any network.") == 1
    assert "namespace" not in top and "judge one; seal filter" in appendix and "{" not in found


def test_a_judge_that_no_seal_kept_from_networks_is_said_in_plain_words(run: Run, tmp_path: Path) -> None:
    with judged_run(tmp_path / "may.run") as made:
        made.jobs.end(made.jobs.begin(["judge"], {ENGINES: [{"judge": "one", "seal": {"files": True}}]}), "done", {})
    assert "Nothing kept the judge from reaching a network." in reported(run, "--no-appendix").said


def test_the_appendix_can_be_left_out(run: Run, tmp_path: Path) -> None:
    with judged_run(tmp_path / "may.run") as made:
        head, sha256 = AuditTrail(made.database).head(), TINY.sha256
    page = reported(run)
    assert page.said.index("Appendix: how this was made") < page.said.index(head) and sha256 in page.said
    brief = reported(run, "--no-appendix")
    assert not re.search("Appendix|[0-9a-f]{64}|pathway-local report", brief.said)
    assert "provenance" not in {attributes.get("id") for _, attributes in brief.tags}


def test_a_title_stands_in_place_of_the_runs_name(run: Run, tmp_path: Path) -> None:
    judged_run(tmp_path / "may.run").close()
    page = reported(run, "--title", " <b>May</b> & \x1b[31mJune ", "--no-appendix")
    assert page.said.count("<b>May</b> & \\x1b[31mJune") == 2 and "report: may" not in page.said


def test_an_empty_run_and_wrong_names_are_refused_or_told(run: Run, tmp_path: Path) -> None:
    RunFile.create(tmp_path / "may.run").close()
    assert "The run holds no scores yet." in reported(run).said
    for options in (
        ["--out", "may.txt"],
        ["--out", "x.html", "--lang", "xx"],
        ["--out", "x.html", "--pair-by", "a"],
        ["--out", "x.html", "--against", "cleo"],
    ):
        assert run("report", "may.run", *options).code == 2
    assert run("report", "may.run", "--out", "may.html").err.startswith("error: may.html exists already")


TONE = scored("tone", "scale: nominal, levels: {1: Warm, 2: Cold, 3: Odd}", "question", "answer")
WIDE = scored("wide", "min: 0, max: 100", "question", "answer")


def test_kinds_without_an_order_and_long_scales(run: Run, tmp_path: Path) -> None:
    with RunFile.create(tmp_path / "may.run") as made:
        for rubric in (TONE, WIDE):
            add(made, "demo", said(1, 2, 1, 2), rubric)
            add(made, "ann", said(1, 1, 3, 2), rubric, "human")
        halves = {case.id: Verdict({"score": Score(2.5)}) for case in cases(WIDE)}
        add(made, "both", halves, WIDE, "combined")
    page = reported(run)
    assert "demo scored 4 of 4 cases under tone; most frequent: Warm, Cold (50%)." in page.said
    assert "wide score: how good the answers are (bad: 0–49; mean by demo)" in page.said
    assert "0–4 4 · 100%" in page.said and "2.50" in page.said
    bars = [each["aria-label"].partition(":")[0] for each in page.of("svg")]
    assert bars[:4] == ["demo, tone", "demo, wide", "ann, tone", "ann, wide"]


@pytest.mark.parametrize("name", languages())
def test_every_language_writes_its_numbers_on_its_paper(name: str, run: Run, tmp_path: Path) -> None:
    answers_run(tmp_path / "may.run")
    page, say = reported(run, "--lang", name, "--by", "chatbot"), Language(name)
    assert page.of("html") == [{"lang": name}]
    assert say.note(Note("next_people")) in page.said and say.number(3.64) in page.said
    own = " ".join(page.own_words)
    assert say.number(0.57) in own
    assert page.styles[0].endswith(f"@page {{ size: {'letter' if name == 'en' else 'A4'} }}\n")


def test_what_is_shown_of_an_interval_holds_all_of_it() -> None:
    interval = Interval(0.128, 0.561, "", 9, 0.95)
    assert Language("en").ends(interval) == "0.12 to 0.57"


def test_shares_near_an_end_are_not_rounded_to_it() -> None:
    say = Language("en")
    assert [say.share(each) for each in (0, 0.0001, 0.25, 0.99999, 1)] == ["0%", "0.1%", "25%", "99.9%", "100%"]


def test_a_page_stays_small_however_many_cases_and_groups_there_are(run: Run, tmp_path: Path) -> None:
    rows = [Case(f"c-{n}", {"question": "q", "answer": "a"}, {"bot": f"bot {n}"}, n) for n in range(1, 3001)]
    judged_run(tmp_path / "may.run", rows=rows).close()
    page = reported(run, "--by", "bot", "--min-group", 1)
    assert Path("may.html").stat().st_size < 100_000
    assert "Rows left out here: 2,960." in page.said and "Rows left out here: 2,900." in page.said


def test_the_first_page_answers_three_questions_before_all_else(run: Run, tmp_path: Path) -> None:
    """How good each chatbot is, whether the judge can be trusted, what to do; then at most three warnings."""
    several_run(tmp_path / "may.run", labelled=True)
    with RunFile.open(tmp_path / "may.run") as made:
        made.jobs.end(made.jobs.begin(["judge"], {"raters": [{"rater": "demo", "rubric": "tiny"}]}), "stopped", {})
    text = reported(run, "--between", "bot").said
    parts = [
        "tiny score: how good the answers are (bad: 1, 2; mean by demo)", "Alfa", "Beta", "Gama",
        "Of these answers, ann", "Next: ", "Before you rely on it", "Judged 90 cases", "Bad answers",
    ]  # fmt: skip
    places = [text.index(part) for part in parts]
    assert places == sorted(places)
    rows = rows_of(run("compare", "may.run", "--between", "bot", "--json").out, "bad")
    for row in rows:
        share = Language("en").share(row["bad_by_people"]["value"])
        assert re.search(rf"{row['group']} {row['cases']} {share} ", text), row
    markup = Path("may.html").read_text(encoding="utf-8")
    header = markup[markup.index('class="warnings"') : markup.index('class="facts"')]
    assert 1 <= header.count("<li>") <= 3 and "\\n" not in text and str(tmp_path) not in markup


def test_a_chatbot_that_never_answered_is_on_the_first_page(run: Run, tmp_path: Path) -> None:
    every = [*cases(ids=[f"t-{n}" for n in range(12)], chatbot="TutorIA"), *cases(ids=["m-1", "m-2"], chatbot="Mudo")]
    with judged_run(tmp_path / "may.run", rows=every[:12]) as made:
        add(made, "demo", {row.id: Failure("missing-input", "it has no answer") for row in every[12:]}, rows=every[12:])
    assert re.search(r"Mudo 0 not defined \(1\).* TutorIA 12 .* \(1\) not defined, because", reported(run).said)


@needs_browser
@pytest.mark.parametrize("lang", ["es", "en"])  # on A4, and on letter paper
def test_a_study_of_three_chatbots_takes_at_most_eight_pages(lang: str, run: Run, tmp_path: Path) -> None:
    several_run(tmp_path / "may.run", {"Lucía": 0, "TutorIA": 0.2, "Campus Virtual": -1}, labelled=True, questions=100)
    with RunFile.open(tmp_path / "may.run") as made:
        labels = [*made.records("ann")]
        rows = [Case(each.case_id, {}, each.metadata, each.row) for each in labels]
        again = {each.case_id: each.outcome for each in labels}
        rater = made.add_rater(Rater("Íñigo Sáenz", "human", "tiny", {}))
        told = [CaseOutcome(row.ref(each.case_hash), again[row.id]) for row, each in zip(rows, labels, strict=True)]
        made.put_all(rater, told, keep=None, sheet=max(samples(made, "tiny")[-1].jobs))
    reported(run, "--between", "bot", "--by", "bot", "--lang", lang)
    assert 2 <= _printed() <= 8


def _printed() -> int:
    """Print may.html, and return the number of its pages."""
    subprocess.run(
        ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer",
         "--print-to-pdf=may.pdf", "may.html"],
        check=True, capture_output=True, timeout=120,
    )  # fmt: skip
    return len(re.findall(rb"/Type\s*/Page[^s]", Path("may.pdf").read_bytes()))


FOUR = parse_rubric(
    "---\nname: four\ninputs: {answer: {}}\noutputs:\n  layout: json\n  fields:\n"
    + "".join(f"    s{at}: {{type: score, min: 1, max: 5}}\n" for at in range(4))
    + "---\nuser:\n{{ answer }}\n",
    "four",
)


@needs_browser
def test_what_holds_for_four_scores_is_said_once_and_takes_twelve_pages(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    rows = [Case(f"c-{at}", {"answer": f"{at}"}, {"bot": ("Alfa", "Beta", "Gama")[at % 3]}, at) for at in range(300)]
    worth = {row.id: 3.2 - (row.row % 3 == 2) + rng.normal(0, 0.9, 4) for row in rows}
    drawn = sorted(rng.permutation(300)[:120].tolist())
    with RunFile.create(tmp_path / "may.run") as made:
        for name, noise, own in (
            ("demo", 0.5, rows),
            ("ann", 0.4, [rows[at] for at in drawn]),
            ("bob", 0.4, [rows[at] for at in drawn]),
        ):
            given = {row.id: np.clip(np.round(worth[row.id] + rng.normal(0, noise, 4)), 1, 5) for row in own}
            told = {
                name: Verdict({f"s{at}": Score(int(each)) for at, each in enumerate(every)})
                for name, every in given.items()
            }
            add(made, name, told, FOUR, "judge" if name == "demo" else "human", own, sheet=name != "demo")
            if name == "demo":
                store_draw(made, rows, drawn, FOUR)
    page = reported(run, "--between", "bot", "--by", "bot")
    for once in ("All of this is about these raters", "Corrected: the mean that", "Three estimates of the mean"):
        assert page.said.count(once) == 1
    assert max(int(each["height"]) for each in page.of("svg") if "height" in each) < 900, "no chart leaves its page"
    assert _printed() <= 12


CUT_WORDS = """[...document.querySelectorAll("th, td")].flatMap(cell => {
    const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT), found = [], range = document.createRange();
    while (texts.nextNode()) for (const word of texts.currentNode.data.matchAll(/[\\p{L}]+/gu)) {
        range.setStart(texts.currentNode, word.index); range.setEnd(texts.currentNode, word.index + word[0].length);
        if (new Set([...range.getClientRects()].map(each => Math.round(each.top))).size > 1) found.push(word[0]);
    } return found; })"""


GAPS = """[...document.querySelectorAll("svg:not(.square) text + text.said")]
    .filter(each => each.getClientRects().length).map(each =>
        each.getBoundingClientRect().left - each.previousElementSibling.getBoundingClientRect().right)"""
"""How far the figures in charts are from their labels."""


@needs_browser
def test_a_page_on_a_phone_cuts_no_word_and_no_label(web: Browser, run: Run, tmp_path: Path) -> None:
    several_run(tmp_path / "may.run", {"Vergleichsmodell": 0, "TutorIA": 0.2, "Campus Virtual": -1}, labelled=True)
    reported(run, "--between", "bot", "--by", "bot")
    web.open(tmp_path / "may.html")
    web.resize(390, 844)
    web.run("document.querySelectorAll('details').forEach(each => each.open = true)")
    assert web.run(CUT_WORDS) == []
    gaps = web.run(GAPS)
    assert len(gaps) > 10 and min(gaps) > 0 and web.run("!!document.querySelector('.tight text.said')")


@needs_browser
def test_a_printed_chart_has_room_for_the_names_of_levels(web: Browser, run: Run, tmp_path: Path) -> None:
    text = (Path(__file__).parents[1] / "prompts" / "pathway-answer.prompty").read_text(encoding="utf-8")
    with RunFile.create(tmp_path / "may.run") as made:
        for name in ("demo", "other", "third"):
            add(made, name, said(1, 2, 1, 2), parse_rubric(text, "pathway-answer"))
    reported(run)
    web.open(tmp_path / "may.html")
    web.resize(695, 1000)  # what margins leave of A4
    web.call("Emulation.setEmulatedMedia", media="print")
    gaps = web.run(GAPS)
    assert len(gaps) >= 15 and min(gaps) > 0
