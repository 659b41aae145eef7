"""`soak_fuzz.py FILES`: so many broken cases files, rubrics and registries through the command line.

Ends with 1 where a command ends with another code than those of its help, shows a traceback or a fault, takes
longer than a minute of processor time, or more than 500 MB of memory.
"""

import csv
import io
import json
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
from fuzz import PIECES, edited
from fuzz_bytes import CODES, Ended
from tiny_judge import make_tiny_judge
from typed import COMMAND, RUBRIC, Desk

MOST_SECONDS, MOST_MB = 60, 500
"""For a command and its engine."""


def main(files: int) -> int:
    """Try so many; the exit code."""
    rng, problems, codes = random.Random(5), [], Counter[int]()
    slowest, largest = 0.0, 0.0
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        judge = Path(folder) / "judge"
        judge.mkdir()
        desk = Desk(Path(folder) / "desk", make_tiny_judge(judge))
        whole = (desk.work / "models.yaml").read_text()
        for number in range(files):
            cases, rubric = desk.cases(3), desk.work / "small.prompty"
            rubric.write_text(RUBRIC)
            (desk.work / "models.yaml").write_text(whole)
            match number % 5:
                case 3:
                    rubric.write_text(edited(RUBRIC, rng), errors="replace")
                case 4:
                    (desk.work / "models.yaml").write_text(edited(whole, rng), errors="replace")
                case kind:
                    cases = _cases(desk, (number // 5 + kind) % len(KINDS), rng)
            ended = _run(desk, [*desk.judging(cases), "--run", f"{number}.run"])
            codes[ended.code] += 1
            slowest, largest = max(slowest, ended.seconds), max(largest, ended.mb)
            bad = ended.code not in CODES or "Traceback" in ended.said or "fault:" in ended.said
            if bad or ended.seconds > MOST_SECONDS or ended.mb > MOST_MB:
                problems.append(f"{number}: {cases.name}: {ended}")
    told = ", ".join(f"{codes[code]} ended with {code}" for code in sorted(codes))
    print(f"{files} files: {told}; at most {slowest:.0f} s of processor time and {largest:.0f} MB")
    print("\n".join(problems) or "an answer or a clean error every time")
    return 1 if problems else 0


def _run(desk: Desk, command: list[str]) -> Ended:
    with (desk.root / "said").open("w+", errors="replace") as said:
        process = subprocess.Popen(
            [*COMMAND, *command],
            cwd=desk.work,
            env=desk.environment,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
        )
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    text = (desk.root / "said").read_text(errors="replace")
    return Ended(process.returncode, text[-2000:], used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def _text(rng: random.Random) -> str:
    return "".join(rng.choice([*PIECES, "a", "b ", "Is it so? ", "1"]) for _ in range(rng.randint(0, 9)))


def _rows(rng: random.Random) -> list[list[str]]:
    return [["id", "question", "answer"], *([f"c{n}", _text(rng), _text(rng)] for n in range(rng.randint(1, 5)))]


def _csv(rng: random.Random) -> bytes:
    written = io.StringIO()
    csv.writer(written, delimiter=rng.choice(",;\t")).writerows(_rows(rng))
    codec = rng.choice(["utf-8", "utf-8-sig", "utf-16", "utf-32", "latin-1"])
    return edited(written.getvalue(), rng).encode(codec, "replace")


def _jsonl(rng: random.Random) -> bytes:
    head, *rows = _rows(rng)
    text = "".join(json.dumps(dict(zip(head, row, strict=True))) + "\n" for row in rows)
    return edited(text, rng).encode("utf-8", "replace")


def _xlsx(rng: random.Random) -> bytes:
    book = openpyxl.Workbook()
    for row in _rows(rng):
        book.active.append([_cell(text) for text in row])
    book.active.append(["=1/0", "=HYPERLINK(A1)", '=WEBSERVICE("http://x")'])
    return _damaged(_saved(book), rng)


def _cell(text: str) -> str:
    return "".join(character for character in text if character.isprintable())[:32_000]


def _saved(book: openpyxl.Workbook) -> bytes:
    written = io.BytesIO()
    book.save(written)
    return written.getvalue()


def _parquet(rng: random.Random) -> bytes:
    odd = [pa.array([[1], None]), pa.array([{"a": 1.5}, None]), pa.array([b"\xff", b""]), pa.array([None, None])]
    table = pa.table({"question": rng.choice(odd), "answer": ["a", "b"], "n": rng.choice(odd)})
    written = io.BytesIO()
    pq.write_table(table, written)
    return _damaged(written.getvalue(), rng)


def _damaged(data: bytes, rng: random.Random) -> bytes:
    found = bytearray(data)
    for _ in range(rng.choice([0, 0, 3, 30])):
        found[rng.randrange(len(found))] = rng.randrange(256)
    return bytes(found)


def _large_cell(rng: random.Random) -> bytes:
    return b"question,answer\nq," + b"word " * 2_000_000 + b"\n"


def _wide(rng: random.Random) -> bytes:
    return ",".join(["question", "answer", *(f"c{n}" for n in range(4998))]).encode() + b"\nq,a\n"


def _never_closed(rng: random.Random) -> bytes:
    return b'question,answer\nq,"' + (b"word " * 400 + b"\n") * 20_000


def _many_lines(rng: random.Random) -> bytes:
    return b'question,answer\nq,"' + b"w\n" * 400_000


KINDS = (
    ("a.csv", _csv),
    ("b.jsonl", _jsonl),
    ("c.xlsx", _xlsx),
    ("d.parquet", _parquet),
    ("e.tsv", _csv),
    ("f.csv", _large_cell),
    ("g.csv", _wide),
    ("h.csv", _never_closed),
    ("i.csv", _many_lines),
)


def _cases(desk: Desk, kind: int, rng: random.Random) -> Path:
    name, make = KINDS[kind]
    path = desk.work / name
    path.write_bytes(make(rng))
    path.chmod(0o600)
    return path


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
