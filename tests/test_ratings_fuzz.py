"""Whatever a file of ratings or a hosted reply holds, `import` stores all or nothing, soon, and quotes no text."""

import csv
import io
import json
import random
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from forked import Ended, Forks
from fuzz import EXAMPLES, PIECES, edited, fuzz
from hypothesis import given, settings
from hypothesis import strategies as st
from typed import RUBRIC

from pathway_local.runs.run_file import RunFile

SECRET = "the quiet pupil wrote zebra"
"""Words of every text; no message may hold them."""

JSON_RUBRIC = """---
name: several
inputs: {question: {type: string}, answer: {type: string}, fq_id: {type: string}}
outputs:
  layout: json
  fields:
    fq_id: {type: echo, input: fq_id}
    clear: {type: score, min: 1, max: 10}
    kind: {type: choice, choices: [praise, blame]}
    sure: {type: boolean}
    why: {type: text, tokens: 20}
---
user:
{{ question }} {{ answer }} {{ fq_id }}
"""
TEXT_REPLY = f"Reason: {SECRET}.\nScore: 3"
JSON_REPLY = json.dumps({"fq_id": "7", "clear": 4, "kind": "praise", "sure": True, "why": SECRET})
HOSTILE = (
    *PIECES, "Score: ", "Score: 4\n", "**Score**: 5", "score: 10/5", "٤", "½", "Score: " * 3000, "* " * 10_000,
    "{" * 20_000, '{"a":' * 5000, "[" * 100_000, "9" * 50_000, '"clear": 1', '"clear": 1e400', '"clear": NaN',
    "```json\n", "```", "<score>", "</score>", "\\ud800", "\ud800", "\u202e", "- " * 5000, "\n" * 20_000, "# " * 9000,
)  # fmt: skip
SECONDS, MEGABYTES = 30, 500

few = settings(fuzz, max_examples=max(1, EXAMPLES // 4))
seeds = st.integers(0, 2**32)


@dataclass
class Desk:
    """A run of three judged cases and one handed out to a service, with the random ids of that."""

    forks: Forks
    folder: Path
    custom_ids: list[str]

    def imports(self, name: str, content: bytes, kind: str, *more: str) -> Ended:
        """Import a file into a copy of the run; the promises that hold for any file."""
        for path in self.folder.glob("may.run*"):
            path.unlink()
        shutil.copy(self.folder / "judged.run", self.folder / "may.run")
        (self.folder / name).write_bytes(content)
        (self.folder / name).chmod(0o600)
        before = _records(self.folder / "may.run")
        ended = self.forks.typed(self.folder, "import", "may.run", name, "--kind", kind, *more)
        assert ended.code in (0, 1, 2, 3), ended
        said = ended.out + ended.err
        assert "Traceback" not in said and "fault:" not in said
        assert SECRET not in said and "zebra" not in said, said
        assert ended.seconds <= SECONDS and ended.megabytes <= MEGABYTES, ended
        after = _records(self.folder / "may.run")
        failed = re.search(r"\d (unreadable-reply|unfinished-reply|refused|hosted-error|no-result)", said)
        assert bool(failed) == (ended.code == 1)
        if ended.code > 1:
            assert after == before
            assert "\x1b" not in ended.err.replace("\x1b[", "")
        else:
            assert {key: after[key] for key in before} == before
        return ended


@pytest.fixture(scope="module", params=["small", "several"])
def desk(tiny_judge: Path, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Desk:
    forks = Forks(tiny_judge)
    folder = tmp_path_factory.mktemp("ratings") / "work"
    folder.mkdir()
    (folder / "rubric.prompty").write_text(RUBRIC if request.param == "small" else JSON_RUBRIC)
    (folder / "cases.jsonl").write_text("".join(json.dumps(row) + "\n" for row in _cases()))
    (folder / "cases.jsonl").chmod(0o600)
    judging = "judge cases.jsonl -r rubric.prompty -j scripted --engine scripted --run judged.run --seal off"
    export = "hosted export judged.run --cases cases.jsonl --service openai --model m --out requests.jsonl --yes"
    for command in (judging, export):
        ended = forks.typed(folder, *command.split())
        assert ended.code == 0, ended
    requests = [json.loads(line) for line in (folder / "requests.jsonl").read_text().splitlines()]
    return Desk(forks, folder, [each["custom_id"] for each in requests])


def _cases() -> list[dict[str, str]]:
    return [
        {"id": f"case-{n}", "question": f"{SECRET} {n}?", "answer": f"{SECRET} too, {n}.", "fq_id": "7"}
        for n in range(3)
    ]


def _records(run: Path) -> dict[tuple[str, str], object]:
    with RunFile.read(run) as read:
        return {(record.rater, record.case_id): record.outcome for record in read.records()}


def _reply(rng: random.Random, desk: Desk) -> str:
    reply = rng.choice([TEXT_REPLY, JSON_REPLY])
    for _ in range(rng.randint(0, 3)):
        at = rng.randrange(len(reply) + 1)
        reply = reply[:at] + rng.choice(HOSTILE) + reply[at + rng.choice([0, 0, 1, 5]) :]
    return edited(reply, rng) if rng.random() < 0.3 else reply


def _result(rng: random.Random, custom_id: str, reply: str) -> Any:
    """A line of a service's results, with values of the wrong kind here and there."""
    parts = rng.choice([reply, [{"type": "text", "text": reply}]])
    usage = {"prompt_tokens": 5, "completion_tokens": 2**70}
    chat = {"model": "m", "choices": [{"message": {"content": parts}, "finish_reason": "stop"}], "usage": usage}
    message = {"model": "m", "content": [{"type": "text", "text": reply}], "stop_reason": "end_turn", "usage": usage}
    openai = {"response": {"status_code": 200, "body": chat}, "error": None}
    anthropic = {"result": {"type": "succeeded", "message": message}}
    return _odd({"custom_id": custom_id, **rng.choice([openai, anthropic])}, rng)


def _odd(value: Any, rng: random.Random) -> Any:
    if rng.random() < 0.02:
        return rng.choice([None, [], {}, "", -1, 1e308, True, "x" * 500, SECRET, [[]], {"type": SECRET}])
    if isinstance(value, dict):
        return {name: _odd(each, rng) for name, each in value.items()}
    return [_odd(each, rng) for each in value] if isinstance(value, list) else value


def _damaged(data: bytes, rng: random.Random) -> bytes:
    if rng.random() < 0.85 or not data:
        return data
    found = bytearray(data)
    for _ in range(rng.choice([1, 3, 30])):
        found[rng.randrange(len(found))] = rng.randrange(256)
    return bytes(found[: rng.randrange(len(found))] if rng.random() < 0.2 else found)


@few
@given(seeds)
def test_results_of_services(desk: Desk, seed: int) -> None:
    rng = random.Random(seed)
    ids = [*desk.custom_ids, rng.choice(desk.custom_ids), "f" * 24]
    chosen = ids[: rng.choice([1, 1, 2, 3, 3, 4, 5])]
    text = "\n".join(json.dumps(_result(rng, own, _reply(rng, desk))) for own in chosen)
    text = edited(text, rng) if rng.random() < 0.1 else text
    content = _damaged(text.encode("utf-8", "surrogatepass"), rng)
    desk.imports("results.jsonl", content, "hosted", "--rater", "far")


@few
@given(seeds)
def test_raw_replies_and_ratings_in_sheets(desk: Desk, seed: int) -> None:
    rng = random.Random(seed)
    rows = list(_rows(rng, desk))
    kind = "hosted" if "reply" in rows[0] else "human"
    name, content = rng.choice([_as_csv, _as_lines, _as_book])(rng, rows)
    hostile = rng.choice(HOSTILE).replace("\0", "")[:500].encode("utf-8", "replace").decode() or "x"
    desk.imports(name, content, kind, *rng.choice([[], ["--rater", "ann"], ["--rater", hostile]]))


def _rows(rng: random.Random, desk: Desk) -> Iterator[dict[str, str]]:
    shape = rng.randrange(4)
    for case in _cases():
        odd = ["3 or 4", rng.choice(HOSTILE), _reply(rng, desk)]
        text = rng.choice(odd if rng.random() < 0.2 else ["3", "5", "4/5", "**2**", ""])
        texts = case if rng.random() < 0.9 else {**case, "answer": case["answer"] + rng.choice(HOSTILE)}
        scores = {"score": text, "clear": text}
        rater = rng.choice(["ann", "ben", rng.choice(HOSTILE)])
        own = rng.choice([*desk.custom_ids, "f" * 24, rng.choice(HOSTILE)])
        yield [
            {**texts, "reply": _reply(rng, desk)},
            {**texts, **scores, "notes": f"{SECRET} {rng.choice(HOSTILE)}"},
            {"id": case["id"], **scores, "rater": rater},
            {"rating_id": own, **scores, "notes": SECRET},
        ][shape]


def _as_csv(rng: random.Random, rows: list[dict[str, str]]) -> tuple[str, bytes]:
    written = io.StringIO()
    csv.writer(written, delimiter=rng.choice(",;\t")).writerows([list(rows[0]), *(list(row.values()) for row in rows)])
    head, _, rest = written.getvalue().partition("\n")
    rest = edited(rest, rng) if rng.random() < 0.15 else rest
    codec = rng.choice(["utf-8", "utf-8", "utf-8-sig", "utf-16", "latin-1"])
    return "ratings.csv", _damaged(f"{head}\n{rest}".encode(codec, "replace"), rng)


def _as_lines(rng: random.Random, rows: list[dict[str, str]]) -> tuple[str, bytes]:
    text = "\n".join(json.dumps(row) for row in rows)
    text = edited(text, rng) if rng.random() < 0.15 else text
    return "ratings.jsonl", _damaged(text.encode("utf-8", "replace"), rng)


def _as_book(rng: random.Random, rows: list[dict[str, str]]) -> tuple[str, bytes]:
    book = openpyxl.Workbook()
    for row in [list(rows[0]), *(list(row.values()) for row in rows)]:
        book.worksheets[0].append(["".join(filter(str.isprintable, cell))[:30_000] for cell in row])
    written = io.BytesIO()
    book.save(written)
    return "ratings.xlsx", _damaged(written.getvalue(), rng)
