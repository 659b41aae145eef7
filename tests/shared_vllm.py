"""Commands in the tests' own process that judge with the one vLLM that all tests share: loading one takes 20 s."""

import io
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from typed_here import Said, leave_alone

from pathway_local.cli import main
from pathway_local.engines.engines import Engines
from pathway_local.judging.engine_cache import EngineCache
from pathway_local.passes import EngineConfig


def engine_of(host: Engines) -> Callable[..., Engines]:
    """Return what stands in for `EngineCache.engine`: it gives the host to who asks for what the host has loaded."""

    def engine(
        self: EngineCache,
        kind: str,
        config: EngineConfig,
        seal: str,
        notify: Callable[[str], None],
        stopped: Callable[[], bool],
        *_: Any,
    ) -> Engines:
        known = host.hosts[0]._config
        assert kind == "vllm" and config.dtype in ("auto", known.dtype) and config.max_model_len <= known.max_model_len
        assert all(known.settings.get(name, value) == value for name, value in config.settings.items())
        assert Path(config.model, "model.safetensors").samefile(Path(known.model, "model.safetensors"))
        host.notify, host.stopped = notify, stopped
        return host

    return engine


def type_with(host: Engines, folder: Path, *arguments: object) -> Said:
    """Type a command in this folder whose judge is the one that the host has loaded."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patched, redirect_stdout(out), redirect_stderr(err):
        leave_alone(patched)
        patched.chdir(folder)
        patched.setattr(EngineCache, "engine", engine_of(host))
        patched.setattr(sys, "argv", ["pathway-local", *map(str, arguments)])
        patched.setattr(sys.stdin, "isatty", lambda: False)
        with pytest.raises(SystemExit) as ended:
            main()
            sys.exit(0)
    return Said(int(ended.value.code or 0), out.getvalue(), err.getvalue())
