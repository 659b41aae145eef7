"""A working folder in which the demo judge's engine gives one reply to every case, at once."""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from benchmark import instant_engine
from pathway_local.engines import engine_list
from pathway_local.judges.registry import load_registry, weights_folder
from pathway_local.rendering.tokenizer import JudgeTokenizer


@contextmanager
def instant_replies(folder: Path, reply: str) -> Iterator[Path]:
    """Work in `folder` until the block ends, with an engine that replies so, and yield it."""
    instant_engine.register()
    with pytest.MonkeyPatch.context() as patched, TemporaryDirectory(dir="/dev/shm") as shared:
        write_reply(Path(shared, "reply.json"), reply)
        patched.setenv(instant_engine.REPLY, f"{shared}/reply.json")
        patched.setenv("PYTHONPATH", os.pathsep.join(sys.path))
        patched.setattr(engine_list, "ENGINES", [instant_engine.INSTANT])
        patched.chdir(folder)
        yield folder


def write_reply(path: Path, reply: str) -> None:
    path.write_text(json.dumps(JudgeTokenizer(weights_folder(load_registry().get("demo"))).encode(reply)))
