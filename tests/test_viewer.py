"""`pathway-local view`: what a person sees and can do, and what nobody else can."""

import errno
import http.client
import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

import pytest
from browser import browser
from html_page import needs_browser
from rated_run import IDS, TWO, add, cases, said, write_lines
from test_hostile_pages import HOSTILE, make_run
from viewed import HOST, ORIGIN, Desk, viewing

from pathway_local.case import Case
from pathway_local.runs import run_file
from pathway_local.runs.run_file import RunFile
from pathway_local.verdict import Failure, Score, Verdict
from pathway_local.viewer import server, verdicts
from pathway_local.viewer.app import Viewer
from pathway_local.viewer.server import MOST_BYTES, Gate


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A judge, a panel and two people on four cases, under two rubrics."""
    with RunFile.create(tmp_path / "may.run") as made:
        rows = [Case(case.id, case.inputs, {"bot": f"v{case.row % 2}"}, case.row) for case in cases()]
        sure = {
            name: Verdict({"score": Score(value, {value: share, 3: 1 - share})}, {"reason": f"Überall {name}"}, marks)
            for name, value, share, marks in zip(
                IDS, (4, 1, 5, 2), (0.9, 0.6, 0.99, 0.7), ((), ("cut:reason",), (), ()), strict=True
            )
        }
        add(made, "demo", sure, rows=rows)
        add(made, "demo", said(1, 2, 3, 4, score="clear"), TWO)
        add(made, "ann", said(5, 4, 0, 3), kind="human", rows=rows)
        add(made, "bob", said(4, 4, 1, 1), kind="human", rows=rows)
    return tmp_path / "may.run"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    texts = [{"id": case.id, **case.inputs, "fq_id": f"the fq_id of {case.id}"} for case in cases()]
    return write_lines(tmp_path / "cases.jsonl", texts)


@pytest.fixture
def desk(run: Path, file: Path) -> Iterator[Desk]:
    with viewing(run, file) as desk:
        yield desk


def ids(desk: Desk, **form: str) -> list[str]:
    """The cases and rubrics of the table's rows."""
    return [" ".join(row.split()[:2]) for row in desk.chosen(**form).table]


TINY_ROWS, TWO_ROWS = ([f"{name} {rubric}" for name in IDS] for rubric in ("tiny", "two"))


def test_a_row_of_the_table_has_a_case_with_its_raters_side_by_side(desk: Desk) -> None:
    table = desk.get("/table/0").table
    assert len(table) == 8
    assert table[0] == (
        "s-1 tiny v1 the question of s-1 the answer of s-1 4 Good confidence 90% Überall s-1 5 Best because 5 "
        "4 Good because 4"
    )
    heads = re.findall('<th scope="col">(.*?)</th>', desk.get("/table/0").text.partition('class="cases"')[2])
    named = [" ".join(re.sub("<[^>]*>", " ", head).split()) for head in heads]
    assert named == ["case", "rubric", "bot", "question", "answer", "demo local judge", "ann person", "bob person"]


def test_the_table_filters_by_what_any_rater_said(desk: Desk) -> None:
    assert ids(desk, rubric="two") == TWO_ROWS
    assert ids(desk, rater="bob") == TINY_ROWS
    assert ids(desk, level="score=4") == ["s-1 tiny", "s-2 tiny"]
    assert ids(desk, level="score=4", rater="ann") == ["s-2 tiny"]
    assert ids(desk, outcome="failures") == ids(desk, outcome="kind:bad-row") == ["s-3 tiny"]
    assert ids(desk, outcome="verdicts", rater="ann") == ["s-1 tiny", "s-2 tiny", "s-4 tiny"]
    assert ids(desk, mark="cut:reason") == ["s-2 tiny"]
    assert ids(desk, **{"group:bot": "v0"}, rater="bob") == ["s-2 tiny", "s-4 tiny"]
    assert ids(desk, rater="bob", outcome="failures") == []
    assert len(desk.chosen(rater="ann", level="score=5").table[0].split("because")) == 3


def test_each_kept_column_has_a_filter_of_its_own(run: Path, file: Path) -> None:
    with RunFile.open(run) as opened:
        rows = [Case(each.id, each.inputs, {"bot": f"v{each.row % 2}", "who": "AABB"[at]}, each.row)
                for at, each in enumerate(cases())]  # fmt: skip
        add(opened, "cy", said(1, 2, 4, 5), kind="human", rows=rows)
    with viewing(run, file) as desk:
        names = [each["name"] for each in desk.get("/table/0").page.of("select")]
        assert names == ["rubric", "rater", "level", "outcome", "mark", "group:bot", "group:who", "order"]
        assert ids(desk, **{"group:bot": "v0", "group:who": "B"}, rater="cy") == ["s-4 tiny"]


def test_the_search_finds_words_ids_and_texts_in_any_case(desk: Desk) -> None:
    assert ids(desk, text="ÜBERALL s-3") == ["s-3 tiny"]
    assert ids(desk, text="because 5") == ["s-1 tiny"]
    assert ids(desk, text="the ANSWER of s-2", rater="demo") == ["s-2 tiny", "s-2 two"]
    assert ids(desk, text="S-4", rater="ann") == ["s-4 tiny"]
    assert ids(desk, text="100%_' OR 1") == []


def test_the_table_sorts_and_turns_its_pages(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def order(name: str) -> list[str]:
        return [row.split()[0] for row in desk.chosen(rater="demo", rubric="tiny", order=name).table]

    assert order("low") == ["s-2", "s-4", "s-1", "s-3"]
    assert order("high") == ["s-3", "s-1", "s-4", "s-2"]
    assert order("unsure") == ["s-2", "s-4", "s-1", "s-3"]
    assert order("nonsense") == list(IDS)
    monkeypatch.setattr("pathway_local.viewer.verdicts.PAGE", 3)
    monkeypatch.setattr("pathway_local.viewer.app.PAGE", 3)
    where = desk.post("/select", {"rubric": "tiny"}).header("location").removeprefix(desk.gate.folder)
    pages = [[row.split()[0] for row in desk.get(f"{where}?page={page}").table] for page in (1, 2, 3, "no")]
    assert pages == [list(IDS[:3]), ["s-4"], ["s-4"], list(IDS[:3])]


def test_a_case_has_texts_everybody_s_words_and_probabilities(desk: Desk) -> None:
    told = desk.get("/case/0/2").said
    assert "the answer of s-2" in told and "case 2 of 4" in told and "bot v0" in told
    assert "demo local judge 1 Bad confidence 60%" in told and "Überall s-2" in told and "cut:reason" in told
    assert "3 Not asked 40%" in told and "bob person 4 Good" in told and "because 4" in told
    links = {each.get("rel"): each["href"] for each in desk.get("/case/0/2").page.of("a")}
    assert {rel for rel in links if rel} == {"prev", "next", "up"}
    assert "changed" not in told


def test_cases_before_and_after_are_those_of_the_table(desk: Desk) -> None:
    told = desk.post("/select", {"rater": "demo", "rubric": "tiny", "order": "low"}).header("location")
    number = told.partition("/table/")[2]

    def beside(key: int) -> list[str]:
        found = desk.get(f"/case/{number}/{key}").page.of("a")
        return [each["href"].rpartition("/")[2] for each in found if each.get("rel") in ("prev", "next")]

    assert [beside(key) for key in (2, 4, 1, 3)] == [["4"], ["2", "1"], ["4", "3"], ["1"]]


def test_a_run_can_be_judged_meanwhile(desk: Desk, run: Path) -> None:
    desk.get("/table/0")
    with RunFile.open(run) as writer:
        add(writer, "ann", {"s-3": Verdict({"score": Score(2)}), "s-1": Verdict({"score": Score(1)})}, kind="human")
        add(writer, "late", {"s-1": Failure("odd", "why")})
        assert ids(desk, rater="ann", order="low") == ["s-1 tiny", "s-3 tiny", "s-4 tiny", "s-2 tiny"]
        assert ids(desk, outcome="kind:odd") == ["s-1 tiny"]


def test_a_page_reads_its_own_verdicts_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    many = [f"c{number:05}" for number in range(2_000)]
    rows = cases(ids=many)
    with RunFile.create(tmp_path / "many.run") as made, made.together():
        add(made, "demo", {name: Verdict({"score": Score(1 + at % 5)}) for at, name in enumerate(many)}, rows=rows)
    with RunFile.read(tmp_path / "many.run") as opened:
        index = verdicts.Verdicts(opened, None)
        decoded: list[object] = []
        real = run_file.from_columns
        monkeypatch.setattr(
            run_file, "from_columns", lambda path, columns: decoded.append(columns) or real(path, columns)
        )
        assert index.show((("level", "score=5"), ("order", "high"))) == (400, 400)
        assert [case.case for _, case, _ in index.page(8)] == many[1754::5]
        assert len(decoded) == verdicts.PAGE


def test_without_a_cases_file_there_are_verdicts_alone(run: Path) -> None:
    with viewing(run, None) as desk:
        assert "started without --cases" in desk.get("/table/0").said
        told = desk.get("/case/0/2")
        assert "bob person 4 Good" in told.said and not told.page.of("form")


def test_a_changed_file_is_said_for_each_case(run: Path, file: Path) -> None:
    rows = [{**json.loads(text), "question": "another"} for text in file.read_text().splitlines()[:2]]
    write_lines(file, [rows[0], *map(json.loads, file.read_text().splitlines()[1:3])])
    with viewing(run, file) as desk:
        first, second, fourth = (desk.get(f"/case/0/{key}").said for key in (1, 2, 4))
        assert first.count("now has other texts than those that a rater saw") == 1  # "two" does not read the question
        assert "other texts" not in second and "has no such case" in fourth


def test_why_the_process_is_not_filtered_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EACCES, "a thread is under another filter")

    monkeypatch.setattr(server, "install", refuse)
    door, unfiltered = server.open_door()
    door.server_close()
    assert unfiltered == "a thread is under another filter"


def refused(desk: Desk, method: str = "GET", path: str | None = None, **headers: str) -> int:
    """The status of a request with these headers changed; an empty one is left out."""
    usual = {"host": HOST, "cookie": desk.cookie, "origin": ORIGIN if method != "GET" else ""}
    usual |= {"content-type": "application/x-www-form-urlencoded"} | {
        name.replace("_", "-"): value for name, value in headers.items()
    }
    given = tuple((name, value) for name, value in usual.items() if value)
    told = desk.ask(method, path or f"{desk.gate.folder}/table/0", b"rater=bob", given)
    if told.status not in (200, 303):
        assert "s-1" not in told.text
    if told.status in (403, 421):
        assert desk.gate.folder not in told.text
    return told.status


def test_only_the_browser_with_the_cookie_gets_in(desk: Desk) -> None:
    folder = desk.gate.folder
    assert refused(desk) == 200
    for host in ("localhost:4711", "127.0.0.1", "127.0.0.1:4712", "evil.example", "127.0.0.1:4711.evil.example", ""):
        assert refused(desk, host=host) == 421
    for origin in ("http://evil.example", "null", "http://127.0.0.1:4712", "https://127.0.0.1:4711"):
        assert refused(desk, origin=origin) == 403
        assert refused(desk, "POST", f"{folder}/select", origin=origin) == 403
    assert refused(desk, "POST", f"{folder}/select", origin="") == 403
    assert refused(desk, "POST", f"{folder}/select") == 303
    for cookie in ("", "viewer=", "viewer=x", f"{desk.cookie}x", f"x{desk.cookie}", desk.cookie.swapcase()):
        assert refused(desk, cookie=cookie) == 403
    two = (("host", HOST), ("host", "evil.example"), ("cookie", desk.cookie))
    assert desk.ask("GET", f"{folder}/table/0", b"", two).status == 421


def test_the_token_works_once(desk: Desk) -> None:
    path = desk.gate.address.removeprefix(ORIGIN)
    assert desk.ask("GET", path).status == 403
    assert desk.ask("GET", path[:-1]).status == desk.ask("GET", "/open/").status == 403
    assert desk.ask("HEAD", path).status == desk.ask("POST", path).status == 403


def test_paths_lead_nowhere_else(desk: Desk) -> None:
    folder = desk.gate.folder
    for path in ("/", "/table/0", folder, f"{folder}x/table/0", f"/x{folder}/table/0", "/favicon.ico", "//", "/../"):
        assert refused(desk, path=path) == 403
    inside = (
        "/../../etc/passwd",
        "/style.css/../app.py",
        "/table/1",
        "/table/-1",
        "/table/٣",
        "/case/0/99",
        "/nothing",
    )
    inside += (f"/table/{'9' * 5000}", f"/case/0/{'9' * 30}", "/case/0/1e1", "/templates/case.html", "/table/0/")
    for path in inside:
        assert desk.get(path).status == 404, path
    assert desk.get(f"/table/0?page={'9' * 5000}").status == 200
    assert desk.ask("DELETE", f"{folder}/table/0").status == 403
    assert refused(desk, "PUT", f"{folder}/table/0") == 404


def test_a_form_that_can_not_be_read_leads_nowhere(desk: Desk) -> None:
    form = (("host", HOST), ("cookie", desk.cookie), ("origin", ORIGIN))
    for body in (b"a=b&" * 200, b"\xff", b"a=%ff&b" * 101):
        assert desk.ask("POST", f"{desk.gate.folder}/select", body, form).status == 404
    for level in ("[", "[" * 10_000, "score=", "=4", "score=1e999", "score=NaN"):
        assert desk.chosen(level=level, order=level[:99], **{f"group:{level[:99]}": "x"}).status == 200


def test_every_answer_keeps_the_browser_from_keeping_loading_and_framing(desk: Desk) -> None:
    paths = ("/table/0", "/case/0/1", "/style.css", "/keys.js", "/nothing")
    answers = [*map(desk.get, paths), desk.ask("GET", "/"), desk.post("/select", {})]
    for told in answers:
        assert told.header("cache-control") == "no-store" and told.header("x-content-type-options") == "nosniff"
        policy = told.header("content-security-policy")
        assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy and "unsafe" not in policy
    for told in answers[:2]:
        names = {name for _, attributes in told.page.tags for name in attributes}
        assert not {name for name in names if name.startswith("on") or name == "style"}
        assert [each["src"] for each in told.page.of("script")] == [f"{desk.gate.folder}/keys.js"]
        assert all(each["href"].startswith(("#", f"{desk.gate.folder}/")) for each in told.page.of("a"))


def test_the_address_is_not_used_up_by_its_head_and_the_cookie_is_for_this_folder_alone(desk: Desk) -> None:
    gate = Gate(Viewer(desk.index, print), 4711)
    other = Desk(gate, desk.index, [])
    path = gate.address.removeprefix(ORIGIN)
    assert other.ask("HEAD", path).status == 403 and gate.folder.removeprefix("/") not in gate.address
    told = other.ask("GET", path).header("set-cookie")
    assert "HttpOnly" in told and "SameSite=strict" in told and f"Path={gate.folder}/" in told
    assert told.startswith("viewer=") and desk.cookie not in told


def test_no_address_holds_what_a_person_searches_for(desk: Desk) -> None:
    told = desk.post("/select", {"text": "the answer of s-2", "rater": "demo"})
    page = desk.ask("GET", told.header("location"))
    addresses = [each["href"] for each in page.page.of("a")] + [told.header("location")]
    assert page.table and not [each for each in addresses if "answer" in each or "s-2" in each or "demo" in each]
    assert "<title>Viewer</title>" in page.text
    assert all(each["autocomplete"] == "off" for each in desk.get("/table/0").page.of("form"))


def test_a_fault_shows_no_text(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ValueError("the answer of s-1")

    monkeypatch.setattr(desk.index, "current", broken)
    told = desk.get("/table/0")
    assert told.status == 500 and "the answer" not in told.text and "fault of the program" in told.said
    assert len(desk.faults) == 1
    desk.faults.clear()


@pytest.mark.parametrize("kind", sorted(HOSTILE.keys() - {"megabyte"}))  # 90 of these take long: the browser gets one
def test_hostile_data_change_no_tag(kind: str, tmp_path: Path) -> None:
    made = []
    for text in (HOSTILE[kind], "x" * len(HOSTILE[kind])):
        folder = tmp_path / str(len(made))
        folder.mkdir()
        make_run(folder, text)
        with viewing(folder / "may.run", folder / "cases.jsonl") as desk:
            pages = [desk.get("/table/0"), desk.get("/case/0/7")]
            pages.append(desk.chosen(text=text[:5000]))
            assert all(len(page.text) < 3_000_000 for page in pages)
            made.append([page.page.skeleton for page in pages[:2]] + [pages[2].page.skeleton[:30]])
    assert made[0] == made[1]


@contextmanager
def served(*arguments: object) -> Iterator[tuple["subprocess.Popen[str]", str, IO[str]]]:
    """The command, its address, and what it says."""
    command = [sys.executable, "-c", "from pathway_local.cli import main; main()", "view", *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout and process.stderr
            yield process, process.stdout.readline().strip(), process.stderr
        finally:
            process.kill()


def test_the_command_serves_one_port_under_a_filter_and_ends_with_ctrl_c(run: Path, file: Path) -> None:
    before = {path.name: path.read_bytes() for path in run.parent.iterdir()}
    with served(run, "--cases", file, "--id", "id") as (process, address, said):
        _, _, host, path = address.split("/", 3)
        connection = http.client.HTTPConnection(host, timeout=60)
        connection.request("GET", f"/{path}")
        told = connection.getresponse()
        assert told.status == 200 and told.read()
        cookie = told.headers["set-cookie"]
        folder = cookie.partition("Path=")[2].partition(";")[0]
        connection.request("GET", f"{folder}case/0/1", headers={"Cookie": cookie.partition(";")[0]})
        assert "the answer of s-1" in connection.getresponse().read().decode()
        for method, size in (("POST", MOST_BYTES + 1), ("POST", "x"), ("BREW", 0), ("GET", "٣")):
            connection.putrequest(method, f"{folder}select")
            connection.putheader("Content-Length", str(size).encode())
            connection.endheaders()
            refused = connection.getresponse()
            assert refused.status in (413, 501) and refused.headers["cache-control"] == "no-store"
            assert folder not in refused.read().decode()
        status = [path.read_text() for path in Path(f"/proc/{process.pid}/task").glob("*/status")]
        assert status and all("Seccomp:\t2" in each for each in status)
        sockets = list[str]()
        for path in Path(f"/proc/{process.pid}/fd").iterdir():
            with suppress(FileNotFoundError):  # the connection of the last request may close meanwhile
                sockets.append(str(path.readlink()))
        inodes = {each.removeprefix("socket:[")[:-1] for each in sockets if each.startswith("socket:")}
        listed = [row.split() for row in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        listening = [row[1] for row in listed if row[3] == "0A" and row[9] in inodes]
        assert [each.partition(":")[0] for each in listening] == ["0100007F"]
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
        assert "Traceback" not in said.read()
    assert {path.name: path.read_bytes() for path in run.parent.iterdir()} == before


def test_a_fault_behind_the_gate_is_told_and_a_broken_connection_is_not(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "install", lambda *_, **__: None)
    door, _ = server.open_door()
    door.gate = desk.gate
    for error in (ConnectionResetError(), TimeoutError(), UnicodeEncodeError("latin-1", "s-1", 0, 1, "no")):
        try:
            raise error
        except (OSError, UnicodeEncodeError):
            door.handle_error(None, None)
    door.server_close()
    assert [type(each) for each in desk.faults] == [UnicodeEncodeError]
    desk.faults.clear()


WIDTH = "document.documentElement.scrollWidth"


@needs_browser
def test_in_a_browser_nothing_of_a_case_runs_and_keys_turn_pages(tmp_path: Path) -> None:
    with RunFile.create(tmp_path / "may.run") as made:
        rows = [
            Case(f"{row} {text}", {"question": text, "answer": text}, {"bot": text[:60]}, row)
            for row, text in enumerate(HOSTILE.values(), 1)
        ]
        verdicts = {
            case.id: Verdict({"score": Score(4, {4: 0.7, 5: 0.3})}, {"reason": case.inputs["answer"]}) for case in rows
        }
        add(made, "demo", verdicts, rows=rows)
    file = write_lines(tmp_path / "cases.jsonl", [{"id": case.id, **case.inputs} for case in rows])
    with (
        served(tmp_path / "may.run", "--cases", file, "--id", "id") as (_, address, _said),
        browser(tmp_path / "browser") as page,
    ):
        page.resize(360, 900)
        page.open(address)
        page.wait_for("!!document.querySelector('.cases') && document.readyState == 'complete'")
        assert page.run(WIDTH) <= 360 and page.run("document.title") == "Viewer"
        page.click(".cases tbody a")
        for place in range(1, len(rows) + 1):
            ready = f"document.querySelector('.where')?.textContent.trim() == 'case {place} of {len(rows)}'"
            page.wait_for(f"{ready} && document.readyState == 'complete'")
            page.run("for (const each of document.querySelectorAll('details')) each.open = true")
            assert page.run(WIDTH) <= 360 and page.run("document.title") == "Viewer"
            if place < len(rows):
                page.press("ArrowRight")
        page.press("u")
        page.wait_for("!!document.querySelector('.cases') && document.readyState == 'complete'")
        assert page.run("document.querySelectorAll('.cases tbody tr').length") == len(rows)
        assert page.run("document.cookie") == "" and not page.errors
