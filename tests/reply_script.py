"""A script for the scripted engine that can be judged with under any rubric: a reply follows from its prompt alone."""

import json
import math
import os
import random
import re
import signal
import socket
import time
import zlib
from array import array
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

import llguidance
from scripted_engine import Reply

from pathway_local.passes import Pass, PassResult

JUDGE = "REPLY_SCRIPT_JUDGE"
"""Environment variable: the folder with the judge's tokenizer."""

SECONDS = "REPLY_SCRIPT_SECONDS"
"""Environment variable: how long each reply takes."""

LOADING = "REPLY_SCRIPT_LOADING"
"""Environment variable: how many seconds the engine takes to load."""

POISON = "poisonouscase"
HANGING = "hangingcase"
MARK = "REPLY_SCRIPT_MARK"
"""Environment variable: a file that is there once the engine has hung, so that it hangs but once."""


if LOADING in os.environ:
    print(f"loading takes {os.environ[LOADING]} s")
    time.sleep(float(os.environ[LOADING]))


@lru_cache(1)
def _tokenizer() -> llguidance.LLTokenizer:
    """Without transformers and numpy, since to import them would take most of a quick command's time."""
    folder = Path(os.environ[JUDGE])
    end = json.loads((folder / "config.json").read_text())["eos_token_id"]
    return llguidance.LLTokenizer((folder / "tokenizer.json").read_text(), eos_token=end)


def _drawn(biases: bytes, rng: random.Random) -> int:
    """One of the ids that have a bias. Where many have one, a few tries find it sooner than a list of them all."""
    tries = (rng.randrange(len(biases)) for _ in range(20))
    found = next((at for at in tries if biases[at]), None)
    return rng.choice([at for at, bias in enumerate(biases) if bias]) if found is None else found


def reply(item: Pass) -> Reply:
    """A random walk under the grammar, seeded by the prompt; its probabilities are random, too."""
    time.sleep(float(os.environ.get(SECONDS, "0")))
    rng = random.Random(zlib.crc32(array("q", item.ids).tobytes()))
    if item.max_tokens == 1:
        parts = {token: rng.expovariate(1.0) for token in item.logprob_ids}
        whole = sum(parts.values())
        return PassResult("", logprobs=({token: math.log(part / whole) for token, part in parts.items()},))
    assert item.grammar is not None
    tokenizer = _tokenizer()
    matcher = llguidance.LLMatcher(tokenizer, llguidance.grammar_from("lark", item.grammar))
    ids: list[int] = []
    while len(ids) < item.max_tokens and not matcher.is_stopped():
        ids.append(_drawn(matcher.compute_logit_bias(), rng))
        matcher.consume_token(ids[-1])
    return PassResult("", tuple(ids[:-1] if ids[-1] == tokenizer.eos_token else ids))


def learner(item: Pass) -> Reply:
    """Replies to "worth N" of a case: one more than that, and N itself behind examples."""
    if item.max_tokens == 1:
        return reply(item)
    text = bytes(_tokenizer().decode_bytes(list(item.ids))).decode("utf-8", "replace")
    worth = int(re.findall(r"worth (\d)", text)[-1])
    given = worth if "Cases that people have scored" in text else min(5, worth + 1)
    return _tokenizer().tokenize_str(f" so\nScore: {given}")


def reply_and_call(item: Pass) -> Reply:
    """As `reply`, after trying to reach somebody by every way that a library could."""
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        with suppress(OSError), socket.socket(socket.AF_INET, kind) as outside:
            outside.settimeout(1)
            outside.connect(("192.0.2.1", 53))
            outside.send(b"x")
    with suppress(OSError):
        socket.getaddrinfo("pathway-test.example.org", 80)
    with suppress(OSError), socket.socket(socket.AF_UNIX) as daemon:
        daemon.connect("/run/docker.sock")
    return reply(item)


def loud(item: Pass) -> Reply:
    """As `reply`, after printing the prompt; the first one kills the engine."""
    text = bytes(_tokenizer().decode_bytes(list(item.ids))).decode("utf-8", "replace")
    os.write(2, text.encode())
    mark = Path(os.environ[MARK])
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return reply(item)


def moody(item: Pass) -> Reply:
    """As `reply`, but one case kills the engine each time, and one hangs it the first time."""
    text = bytes(_tokenizer().decode_bytes(list(item.ids))).decode("utf-8", "replace")
    if POISON in text:
        os.kill(os.getpid(), signal.SIGKILL)
    mark = Path(os.environ[MARK])
    if HANGING in text and not mark.exists():
        mark.touch()
        time.sleep(3600)
    return reply(item)
