"""How many random examples a fuzzing test tries: few in the suite, as many as the environment says in a soak."""

import os
import random

from hypothesis import HealthCheck, settings

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "40"))
fuzz = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), database=None)

REGISTRY = """
mine:
  source: /models/mine
  context: 8192
  dtype: bfloat16
  weights_gb: 16
  sha256: "0000000000000000000000000000000000000000000000000000000000000000"
  engine: {tensor_parallel_size: auto, max_num_seqs: 64}
  thinking: {start: "<think>", end: "</think>"}
  end_of_turn: ["<|im_end|>"]
demo: {notes: changed}
"""

PIECES = (
    "\0", "\t", "\r", "\n", "\n---\n", ": ", "- ", "{{", "}}", "{% for x in y %}", "{reason}", "[", "]", "{", "}",
    '"', "'", "|-\n", "&a ", "*a", "!!python/object/apply:os.system [ls]", "!!binary x", "? ", "# ", "é", "\u2028",
    "\ufeff", "1e999", "-1", "99999999999999999999", ".nan", "null", "0x", "2026-13-45", "user:\n", "system:\n",
    "../../../etc/passwd", "x" * 3000,
)  # fmt: skip


def edited(text: str, rng: random.Random) -> str:
    """The text after one to six edits: pieces put in, lines dropped, doubled or moved, or its end cut."""
    for _ in range(rng.randint(1, 6)):
        lines = text.splitlines(keepends=True) or [""]
        at, place = rng.randrange(len(lines)), rng.randrange(len(text) + 1)
        match rng.randrange(6):
            case 0 | 1:
                text = text[:place] + rng.choice(PIECES) + text[place:]
            case 2:
                text = text[:place] + rng.choice(PIECES) + text[place + rng.randint(1, 20) :]
            case 3:
                text = "".join(lines[:at] + lines[at + 1 :])
            case 4:
                text = "".join(lines[: at + 1] + lines[at:])
            case _:
                lines.insert(rng.randrange(len(lines)), lines.pop(at))
                text = "".join(lines)
    return text[: rng.randrange(len(text) + 1)] if rng.random() < 0.1 else text


def memory_of_a_fork() -> float:
    """What a fork of this process holds from the start, in MiB: a command in one took what it held beyond this."""
    child = os.fork()
    if not child:
        os._exit(0)
    return os.wait4(child, 0)[2].ru_maxrss / 1024
