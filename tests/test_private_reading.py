"""Every command that opens a cases file gives up sockets before, and tells who else can read the file."""

import os
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from typed import Desk

from pathway_local.system.private_file import exposed_to

NEEDS_STRACE = pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace: apt-get install strace")
CASES = ("--cases", "cases.jsonl")
HOSTED = ("--service", "openai", "--model", "m", "--yes")
READING = {
    "sample": ["sample", "may.run", *CASES, "--n", "2", "--seed", "1", "--out", "sheet.xlsx", "--force"],
    "hosted export": ["hosted", "export", "may.run", *CASES, *HOSTED, "--out", "requests.jsonl"],
    "import": ["import", "may.run", "ratings.csv", "--kind", "human"],
    "export --onto": ["export", "may.run", "--onto", "cases.jsonl", "--out", "onto.jsonl"],
    "doctor": ["doctor", "cases.jsonl"],
}
reading = pytest.mark.parametrize("command", READING.values(), ids=READING.keys())


@pytest.fixture(scope="module")
def desk() -> Iterator[Desk]:
    """Where the folders above are open to all, unlike those of pytest, with a run that people have rated."""
    root = Path("/tmp") / f"reading-{os.getpid()}"
    root.mkdir()
    try:
        desk = Desk(root / "d", root)
        desk.cases(4)
        ratings = "".join(f"case-{number},anna,{number + 1}\n" for number in range(4))
        (desk.work / "ratings.csv").write_text("id,rater,score\n" + ratings)
        (desk.work / "ratings.csv").chmod(0o600)
        desk.typed(*READING["sample"], "--rubric", "small.prompty")
        desk.typed(*READING["import"])
        yield desk
    finally:
        shutil.rmtree(root)


def _forget_what_was_made(desk: Desk) -> None:
    for made in ("requests.jsonl", "onto.jsonl"):
        (desk.work / made).unlink(missing_ok=True)


@NEEDS_STRACE
@reading
def test_sockets_are_given_up_before_the_file_is_opened(desk: Desk, command: Sequence[str]) -> None:
    log = desk.root / "calls"
    # With a filter of its own it stops at these calls alone. Calls that ours has refused don't show then.
    tracer = ["strace", "-f", "--seccomp-bpf", "-qq", "-e", "trace=openat,seccomp,socket,socketpair", "-o", str(log)]
    desk.typed(*command, before=tracer, code=None)
    calls = log.read_text().splitlines()
    command_itself = calls[0].split()[0]
    own = [call for call in calls if call.split()[0] == command_itself]
    [filtered] = [at for at, call in enumerate(own) if re.search(r"seccomp\(SECCOMP_SET_MODE_FILTER.* = 0", call)]
    file = "ratings.csv" if "import" in command else "cases.jsonl"
    opened = [at for at, call in enumerate(own) if "openat(" in call and f'{file}"' in call]
    assert opened
    # The doctor, and who looks at a file's kind, may open it for its first bytes alone.
    assert min(opened[1:] if "doctor" in command else opened) > filtered
    assert not [call for call in own[filtered:] if "socket" in call and " = -1" not in call]


@reading
def test_a_file_that_others_can_read_is_told_by_every_command(desk: Desk, command: Sequence[str]) -> None:
    file = desk.work / ("ratings.csv" if "import" in command else "cases.jsonl")
    for private in (file, desk.work, desk.root, desk.root.parent):
        private.chmod(0o700 if private.is_dir() else 0o600)
    _forget_what_was_made(desk)
    said = desk.typed(*command, code=None)
    assert "can read it" not in said.stdout.replace("nobody else can read it", "")
    assert "can be read by" not in said.stderr
    file.chmod(0o644)
    desk.work.chmod(0o755)
    desk.root.chmod(0o755)
    desk.root.parent.chmod(0o755)
    if not exposed_to(file):
        pytest.skip("a folder above the temporary one keeps others out")
    _forget_what_was_made(desk)
    said = desk.typed(*command, code=None)
    assert f"chmod 600 {file.name}" in said.stdout + said.stderr
    assert "other users of this machine" in said.stdout + said.stderr
