"""`fuzz_bytes.py INPUTS [SEED]`: files from outside, damaged byte by byte, through the command line.

Each input goes through `main` in a fork of this process. It ends with 1 if a command ends with another code than those
of its help, hangs, takes too much memory, shows a traceback, or shows four words of a case.
"""

import hashlib
import importlib
import io
import json
import os
import random
import resource
import signal
import sqlite3
import sys
import tempfile
import traceback
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
from fuzz import PIECES, REGISTRY, edited, memory_of_a_fork
from rated_run import add, judged_run, said
from typed import RUBRIC

from pathway_local.case import Case
from pathway_local.cli import main
from pathway_local.cli.command_line import COMMANDS
from pathway_local.rubrics.rubric_file import builtin_names, rubric_path
from pathway_local.system.shipped import shipped
from pathway_local.verdict import Score, Verdict

CODES = (0, 1, 2, 3, 4, 5)
MOST_SECONDS, MOST_MB = 30, 400
SECRET = "the student Marta Quill failed chemistry twice"
WINDOWS = [" ".join(SECRET.split()[start : start + 4]) for start in range(4)]
IDS = [f"c-{number}" for number in range(12)]

Damage = Callable[[bytes, random.Random], bytes]


@dataclass(frozen=True, slots=True)
class Kind:
    """Files of one kind: whole ones, how they are damaged, and the commands that read them as `{}`."""

    suffix: str
    whole: Sequence[bytes]
    damage: Damage
    commands: Sequence[str]


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended; `mb` is the memory that it took beyond what this process held before."""

    code: int
    said: str
    seconds: float
    mb: float

    @property
    def problem(self) -> str:
        """What is wrong with it; empty if nothing is."""
        if self.code == -signal.SIGALRM or self.seconds > MOST_SECONDS:
            return "hangs"
        if self.code not in CODES or "Traceback" in self.said or "fault:" in self.said:
            return f"ends with {self.code}"
        if self.mb > MOST_MB:
            return f"takes {self.mb:.0f} MB"
        return "shows a case's text" if any(map(self.said.__contains__, WINDOWS)) else ""


def damaged_bytes(data: bytes, rng: random.Random) -> bytes:
    """Change, drop, double or move a few bytes, or cut the end off."""
    found = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 5, 30])):
        place, length = rng.randrange(len(found) + 1), rng.choice([1, 1, 2, 4, 60])
        match rng.randrange(6):
            case 0 | 1:
                found[place : place + length] = rng.randbytes(length)
            case 2:
                found[place : place + length] = b""
            case 3:
                found[place:place] = found[place : place + length] * rng.choice([1, 1, 50])
            case 4:
                found[place : place + length] = rng.choice([b"\0", b"\xff", b"\x7f\xff\xff\xff", b"\x80"]) * length
            case _:
                found[place:place] = rng.choice(PIECES).encode("utf-8", "surrogatepass")
    return bytes(found[: rng.randrange(len(found) + 1)] if rng.random() < 0.05 else found)


def damaged_text(data: bytes, rng: random.Random) -> bytes:
    if rng.random() < 0.4:
        return damaged_bytes(data, rng)
    codec = rng.choice(["utf-8", "utf-8", "utf-8", "utf-8-sig", "utf-16", "latin-1"])
    return edited(data.decode(), rng).encode(codec, "replace")


def damaged_archive(data: bytes, rng: random.Random) -> bytes:
    if rng.random() < 0.3:
        return damaged_bytes(data, rng)
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as archive, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as copy:
        hit = rng.choice(archive.namelist())
        for name in archive.namelist():
            part = archive.read(name)
            copy.writestr(name, damaged_bytes(part, rng) if name == hit else part)
    return made.getvalue()


def damaged_parquet(data: bytes, rng: random.Random) -> bytes:
    """Mostly write over bytes in the pages or the footer, so that the rest keeps its places."""
    if rng.random() < 0.2:
        return damaged_bytes(data, rng)
    found = bytearray(data)
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    for _ in range(rng.choice([1, 1, 2, 4])):
        place = rng.randrange(4, footer) if rng.random() < 0.5 else rng.randrange(footer, len(data) - 8)
        found[place] = rng.choice([0, 1, 0x7F, 0xFF, found[place] ^ 1 << rng.randrange(8), rng.randrange(256)])
    return bytes(found)


def _changed_run(data: bytes, rng: random.Random, change: Callable[[sqlite3.Connection], None]) -> bytes:
    """Return a run's file after a change of its tables; `drawn(n)` is 0 in one of n rows."""
    with tempfile.NamedTemporaryFile(suffix=".run") as file:
        file.write(data)
        file.flush()
        with closing(sqlite3.connect(file.name, isolation_level=None)) as run:
            run.execute("PRAGMA journal_mode = DELETE")
            run.create_function("drawn", 1, rng.randrange)
            change(run)
        return Path(file.name).read_bytes()


def _damaged_run(data: bytes, rng: random.Random) -> bytes:
    """Change bytes of the file, or values of its tables to others of any type."""

    def change(run: sqlite3.Connection) -> None:
        tables = [name for (name,) in run.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in rng.choices(tables, k=rng.choice([1, 2, 6])):
            columns = [row[1] for row in run.execute(f"PRAGMA table_info('{table}')")]
            value = rng.choice([None, -1, 2**62, 0.5, b"\xff\0", "", "{}", "[[]]", '{"a": NaN}', *PIECES])
            with suppress(sqlite3.Error, UnicodeEncodeError):
                run.execute(f'UPDATE "{table}" SET "{rng.choice(columns)}" = ? WHERE {rng.choice(WHERE)}', [value])

    return damaged_bytes(data, rng) if rng.random() < 0.4 else _changed_run(data, rng, change)


def _damaged_json(data: bytes, rng: random.Random) -> bytes:
    """Change the JSON that a run holds: still JSON in most cases, of a rater with its fingerprint made right again."""

    def change(run: sqlite3.Connection) -> None:
        triggers = run.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            run.execute(f"DROP TRIGGER {name}")
        run.create_function("changed", 1, lambda text: _changed_json(text, rng))
        run.create_function("printed", 1, lambda text: hashlib.sha256(text.encode()).hexdigest())
        for table, column in rng.choices(JSON_COLUMNS, k=rng.choice([1, 1, 2])):
            where = f"{column} IS NOT NULL AND {rng.choice(WHERE)}"
            run.execute(f"UPDATE {table} SET {column} = changed({column}) WHERE {where}")
        run.execute("UPDATE raters SET fingerprint = printed(spec)")
        for _, sql in triggers:
            run.execute(sql)

    return _changed_run(data, rng, change)


WHERE = ("1", "drawn(2) = 0", "drawn(5) = 0")
JSON_COLUMNS = (
    ("settings", "value"), ("jobs", "command"), ("jobs", "facts"), ("jobs", "counts"), ("rubrics", "compiled"),
    ("raters", "spec"), ("cases", "metadata"), ("outcomes", "scores"), ("outcomes", "fields"),
    ("outcomes", "marks"), ("samples", "strata"), ("audit", "entry"),
)  # fmt: skip


def _changed_json(text: str, rng: random.Random) -> str:
    try:
        return edited(text, rng) if rng.random() < 0.1 else json.dumps(_changed(json.loads(text), rng))
    except ValueError:
        return edited(text, rng)


def _changed(value: Any, rng: random.Random) -> Any:
    """The value with one part of it replaced, dropped, doubled or renamed."""
    if not value or not isinstance(value, dict | list) or rng.random() < 0.2:
        number = [value + 1, -value, value / 3] if isinstance(value, int | float) else []
        return rng.choice([None, True, -1, 0.5, 10**30, 1e300, "", "x", [], [[]], {}, {"a": None}, [1, "x"], *number])
    found: Any = dict(value) if isinstance(value, dict) else list(value)
    key = rng.choice(list(found)) if isinstance(found, dict) else rng.randrange(len(found))
    match rng.randrange(6):
        case 0:
            del found[key]
        case 1 if isinstance(found, dict):
            found[rng.choice(["", "x", "1e9", "٣", f"{key} "])] = found.pop(key)
        case 2 if isinstance(found, list):
            found *= 3
        case _:
            found[key] = _changed(found[key], rng)
    return found


def kinds(folder: Path) -> dict[str, Kind]:
    """Every kind of file that a command reads, but files of ratings. `folder` gets what the commands need besides."""
    whole = _run(folder)
    (folder / "small.prompty").write_text(RUBRIC)
    given = "--service openai --model m --yes --force --out out.jsonl"
    reading = (
        f"hosted export new.run --rubric small.prompty --cases {{}} {given}",
        "sample new.run --rubric small.prompty --cases {} --n 5 --seed 1 --strata group --out out.xlsx --force",
        "runs keep whole.run --cases {} --column group",
        "read whole.run --cases {} --out out.html --force",
    )
    onto = ("export whole.run --onto {} --out out{suffix} --force",)
    rubrics = [rubric_path(name).read_bytes() for name in builtin_names()] + [RUBRIC.encode()]
    rubrics += [path.read_bytes() for path in (Path(__file__).parent / "rubric_files").iterdir() if path.is_file()]
    looks = ("rubrics check {}", "rubrics show {}")
    judges = ("judges list --models {}", "judges show mine --models {}")
    run = (
        "summary {} --by group --min-group 1",
        "summary {} --json",
        "export {} --out out.csv --force",
        "export {} --out out.parquet --force",
        "export {} --onto cases.csv --out new.csv --force",
        "runs audit {}",
        "agreement {} --by group",
        "agreement {} --against ann --cluster group --full",
        "compare {} --between group=a,b --pair-by asked",
        "doctor {}",
        "report {} --out out.html --by group --between group=a,b --pair-by asked --min-group 1 --force",
        "read {} --cases cases.csv --out out.html --force",
        "runs remove-rater {} ann --yes",
        "runs keep {} --cases cases.csv --column group",
        "runs purge {} --all --yes",
        f"hosted export {{}} --cases cases.csv {given}",
        "sample {} --cases cases.csv --n 5 --seed 2 --out out.xlsx --force",
    )
    parquet = [parquet_file(*each) for each in (("snappy", True), ("none", True), ("none", False), ("zstd", False))]
    return {
        "CSV": Kind(".csv", [csv_file(",")], damaged_text, reading),
        "TSV": Kind(".tsv", [csv_file("\t")], damaged_text, reading),
        "JSONL": Kind(".jsonl", [json_lines()], damaged_text, reading),
        "Parquet": Kind(".parquet", parquet, damaged_parquet, reading),
        "workbook": Kind(".xlsx", [workbook()], damaged_archive, reading),
        "CSV copied": Kind(".csv", [csv_file(",")], damaged_text, onto),
        "JSONL copied": Kind(".jsonl", [json_lines()], damaged_text, onto),
        "workbook copied": Kind(".xlsx", [workbook()], damaged_archive, onto),
        "rubric": Kind(".prompty", rubrics, damaged_text, looks),
        "prompt": Kind(".txt", rubrics, damaged_text, ("rubrics adopt {} -o out.prompty --force",)),
        "registry": Kind(".yaml", [REGISTRY.encode(), shipped("models.yaml").read_bytes()], damaged_text, judges),
        "run": Kind(".run", [whole], _damaged_run, run),
        "JSON in a run": Kind(".run", [whole], _damaged_json, run),
        "key": Kind(".key", [b"ab" * 32], damaged_bytes, (f"{reading[0].format('cases.csv')} --pseudonyms {{}}",)),
    }


def _rows() -> Iterator[dict[str, str]]:
    for at, name in enumerate(IDS):
        yield {
            "id": name,
            "question": f"Is it so that {SECRET}?",
            "answer": f'Yes, "{SECRET}", \n{at}.',
            "group": "ab"[at % 2],
            "asked": f"q{at // 2}",
        }


def csv_file(delimiter: str) -> bytes:
    quoted = [[f'"{cell.replace(chr(34), chr(34) * 2)}"' for cell in row.values()] for row in _rows()]
    head = [list(next(_rows()))]
    return "".join(f"{delimiter.join(row)}\r\n" for row in head + quoted).encode()


def json_lines() -> bytes:
    return "".join(json.dumps(row | {"more": {"list": [at, None]}}) + "\n" for at, row in enumerate(_rows())).encode()


def parquet_file(compression: str, use_dictionary: bool) -> bytes:
    table = pa.Table.from_pylist([row | {"n": at, "list": [{"a": SECRET}, None]} for at, row in enumerate(_rows())])
    made = io.BytesIO()
    pq.write_table(table, made, row_group_size=5, compression=compression, use_dictionary=use_dictionary)
    return made.getvalue()


def workbook() -> bytes:
    book, made = openpyxl.Workbook(), io.BytesIO()
    for row in [list(next(_rows())), *(list(row.values()) for row in _rows())]:
        book.active.append(row)
    book.active.append(["x", "=1/0", '=WEBSERVICE("http://x")'])
    book.create_sheet("more").append([SECRET, 1.5, True])
    book.save(made)
    return made.getvalue()


def _run(folder: Path) -> bytes:
    """A run with a judge, two people, a sample and a failure; it lies as `whole.run` beside its cases."""
    (folder / "cases.csv").write_bytes(csv_file(","))
    rows = [
        Case(
            row["id"],
            {"question": row["question"], "answer": row["answer"]},
            {"group": row["group"], "asked": row["asked"]},
            at,
        )
        for at, row in enumerate(_rows(), 1)
    ]
    judged = {name: Verdict({"score": Score(4, {1: 0.2, 4: 0.8})}, {"reason": SECRET}) for name in IDS}
    with judged_run(folder / "whole.run", rows=rows) as made:
        add(made, "ann", said(*(1, 5, 4, 2) * 3, ids=IDS), kind="human", rows=rows)
        add(made, "bob", judged | said(1, 0, 5, ids=IDS), kind="human", rows=rows)
        made.database.rows("PRAGMA wal_checkpoint(TRUNCATE)")
    return (folder / "whole.run").read_bytes()


def end_of(arguments: Sequence[str], folder: Path) -> Ended:
    """Run a command in a fork of this process."""
    said_path = folder / "said"
    at_rest = memory_of_a_fork()
    child = os.fork()
    if child == 0:
        code = 99
        try:
            resource.setrlimit(resource.RLIMIT_DATA, (4 << 30, 4 << 30))
            signal.alarm(MOST_SECONDS)
            os.chdir(folder)
            said_to = os.open(said_path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            for number in (1, 2):
                os.dup2(said_to, number)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            sys.argv = ["pathway-local", *arguments]
            main()
            code = 0
        except SystemExit as ended:
            code = int(ended.code or 0)
        except BaseException:  # noqa: BLE001  a traceback is what this looks for
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    _, status, used = os.wait4(child, 0)
    text = said_path.read_text(errors="replace")
    seconds, mb = used.ru_utime + used.ru_stime, used.ru_maxrss / 1024 - at_rest
    return Ended(os.waitstatus_to_exitcode(status), text, seconds, mb)


def trials(folder: Path, inputs: int, seed: int, only: str = "") -> Iterator[tuple[str, Ended]]:
    """Damage so many files, each kind in turn or `only` one, and yield how the command that reads it ended."""
    for module, _ in COMMANDS.values():
        importlib.import_module(f"pathway_local.cli.{module}")
    os.environ |= {name: str(folder / "home") for name in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "HF_HUB_CACHE")}
    files = kinds(folder)
    whole = (folder / "whole.run").read_bytes()
    for number in range(seed, seed + inputs):
        rng = random.Random(number)
        name = only or list(files)[number % len(files)]
        kind = files[name]
        path = folder / f"input{kind.suffix}"
        path.unlink(missing_ok=True)
        path.write_bytes(kind.damage(rng.choice(kind.whole), rng))
        path.chmod(0o600)
        for other in ("new.run", "whole.run"):
            for left in folder.glob(f"{other}*"):
                left.unlink()
        (folder / "whole.run").write_bytes(whole)
        command = rng.choice(kind.commands).format(path.name, suffix=kind.suffix).split()
        yield f"{number}: {name}: {' '.join(command)}", end_of(command, folder)


def tell(inputs: int, seed: int) -> int:
    """Try so many and print how they ended; the exit code."""
    codes, problems, slowest, largest = Counter[int](), 0, 0.0, 0.0
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        for what, ended in trials(Path(folder), inputs, seed):
            codes[ended.code] += 1
            slowest, largest = max(slowest, ended.seconds), max(largest, ended.mb)
            if ended.problem:
                problems += 1
                print(f"{what}: {ended.problem}\n{ended.said[-1500:]}", flush=True)
    told = ", ".join(f"{codes[code]} ended with {code}" for code in sorted(codes))
    print(
        f"{inputs} inputs, {problems} problems: {told}; at most {slowest:.1f} s of processor time and {largest:.0f} MB"
    )
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(tell(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0))
