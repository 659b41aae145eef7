import errno
import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest
from huggingface_hub import close_session, snapshot_download
from huggingface_hub.errors import (
    DryRunError,
    GatedRepoError,
    LocalEntryNotFoundError,
    OfflineModeIsEnabled,
    RevisionNotFoundError,
)
from stored_judge import store_judge

from pathway_local.errors import EngineError, UsageError, WeightsMissing
from pathway_local.judges.fetch import fetch
from pathway_local.judges.judge_spec import JudgeSpec
from pathway_local.judges.weights import find_folder, weights_hash

COMMIT = "c0ffee" * 6 + "c0ff"
SMALL = JudgeSpec(name="small", source="someone/small", revision=COMMIT)


@pytest.fixture(autouse=True)
def _homes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "HF_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the hub holds: a judge, and beside it what is never to be taken."""
    folder = store_judge(tmp_path_factory.mktemp("hub"))
    (folder / "pytorch_model.bin").write_bytes(b"pickled")
    (folder / "modeling_small.py").write_text("print('code of a stranger')")
    (folder / "consolidated.safetensors").write_bytes(b"the same once more")
    (folder / "README.md").write_text("a model")
    (folder / "original").mkdir()
    (folder / "original" / "model.safetensors").write_bytes(b"another layout")
    return folder


NEVER = {"pytorch_model.bin", "modeling_small.py", "consolidated.safetensors", "README.md", "original"}


@pytest.mark.parametrize(("source", "why"), [("package:demo", "comes with"), ("/models/x", "is a folder, /models/x")])
def test_only_what_is_on_the_hub_can_be_fetched(source: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        fetch(JudgeSpec(name="j", source=source))


def _response(status: int) -> httpx2.Response:
    return httpx2.Response(status, request=httpx2.Request("GET", "http://127.0.0.1/"))


def _caused(cause: BaseException, outer: type[Exception] = DryRunError) -> Exception:
    error = outer("it did not work")
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (_caused(GatedRepoError("Access is\nrestricted", response=_response(401))), "GatedRepoError: Access is restr"),
        (RevisionNotFoundError("no revision", response=_response(404)), "RevisionNotFoundError: no revision"),
        (_caused(OfflineModeIsEnabled("offline")), "OfflineModeIsEnabled: offline"),
        (_caused(httpx2.ConnectError("refused"), LocalEntryNotFoundError), "ConnectError: refused"),
        (OSError(errno.ENOSPC, "No space left on device"), "OSError: [Errno 28] No space left on device"),
    ],
)
@pytest.mark.parametrize("listed", [True, False])
def test_a_fetch_that_fails_says_why_in_the_words_of_the_hubs_client(error: Exception, said: str, listed: bool) -> None:
    def download(*_: object, dry_run: bool, **__: object) -> list[SimpleNamespace]:
        if listed and dry_run:
            return [SimpleNamespace(commit_hash=COMMIT, filename="model.safetensors")]
        raise error

    with pytest.raises(WeightsMissing) as raised:
        fetch(SMALL, download)
    assert f"judge 'small' can't be fetched: {said}" in str(raised.value)
    assert "\n" not in str(raised.value)
    assert "hf auth login" in raised.value.hint and "complete files are kept" in raised.value.hint
    assert raised.value.__suppress_context__


@dataclass
class Hub:
    """What a stand-in for the hub, on loopback, holds and was asked for."""

    folder: Path
    gated: bool = False
    commit: str = COMMIT
    planted: dict[str, int] = field(default_factory=dict)
    """Further paths of the tree, with their sizes; each is served endlessly."""

    asked: list[str] = field(default_factory=list)


@pytest.fixture
def hub(repository: Path) -> Iterator[tuple[Hub, str]]:
    """A hub on loopback, as its own client expects it: a model's commit, its tree, its files."""
    state = Hub(repository)
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"hub": state}))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield state, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


class _Handler(BaseHTTPRequestHandler):
    hub: Hub
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self._serve(body=False)

    def do_GET(self) -> None:
        self._serve(body=True)

    def _serve(self, *, body: bool) -> None:
        path = self.path.partition("?")[0]
        self.hub.asked.append(f"{self.command} {path}")
        if path.startswith("/api/models/someone/small/revision/"):
            return self._json({"id": "someone/small", "sha": self.hub.commit, "siblings": []})
        if path.startswith("/api/models/someone/small/tree/"):
            return self._json(list(self._tree()))
        prefix = f"/someone/small/resolve/{COMMIT}/"
        file = self.hub.folder / path.removeprefix(prefix)
        if not path.startswith(prefix) or not file.is_file():
            return self._send(404, b"", {"X-Error-Code": "RepoNotFound"}, body=body)
        if self.hub.gated:
            return self._send(403, b"", {"X-Error-Code": "GatedRepo"}, body=body)
        return self._file(file, body=body)

    def _tree(self) -> Iterator[dict[str, object]]:
        for file in sorted(self.hub.folder.rglob("*")):
            if file.is_file():
                name = str(file.relative_to(self.hub.folder))
                yield {"type": "file", "path": name, "size": file.stat().st_size, "oid": _etag(file)}
        for name, size in self.hub.planted.items():
            yield {"type": "file", "path": name, "size": size, "oid": "00"}

    def _file(self, file: Path, *, body: bool) -> None:
        content, headers = file.read_bytes(), {"ETag": f'"{_etag(file)}"', "X-Repo-Commit": COMMIT}
        return self._send(200, content, headers, body=body)

    def _json(self, value: object) -> None:
        self._send(200, json.dumps(value).encode(), {"Content-Type": "application/json"})

    def _send(self, status: int, content: bytes, headers: dict[str, str], *, body: bool = True) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        if body:
            self.wfile.write(content)


def _etag(file: Path) -> str:
    return hashlib.sha1(file.read_bytes()).hexdigest()


PINNED = f"small: {{source: someone/small, revision: {COMMIT}, notes: Name it where you use it.}}\n"


def _run(url: str, tmp_path: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    registry = tmp_path / "mine.yaml"
    registry.write_text(PINNED)
    command = [sys.executable, "-c", "from pathway_local.cli import main; main()", "judges", *arguments]
    told = {**os.environ, "HF_ENDPOINT": url, "HF_HUB_DISABLE_XET": "1", "HF_HUB_DOWNLOAD_TIMEOUT": "2", **environment}
    command += ["--models", str(registry)]
    return subprocess.run(command, env=told, capture_output=True, text=True, timeout=60, check=False)


def _client(url: str) -> Callable[..., Any]:
    """The hub's own client, in this process, without connections that another test left."""
    close_session()
    return partial(snapshot_download, endpoint=url)


def test_what_is_not_pinned_is_taken_at_the_commit_that_was_seen(hub: tuple[Hub, str]) -> None:
    state, url = hub
    folder, line = fetch(SMALL.model_copy(update={"revision": None}), _client(url))
    assert line == f"small: {{revision: {COMMIT}, sha256: {weights_hash(folder)}}}"
    assert any(f"/resolve/{COMMIT}/model.safetensors" in asked for asked in state.asked)


def test_files_that_are_not_those_of_the_registry_are_refused(hub: tuple[Hub, str]) -> None:
    with pytest.raises(EngineError, match="the registry has 0000") as error:
        fetch(SMALL.model_copy(update={"sha256": "0" * 64}), _client(hub[1]))
    assert "copy the judge's folder again" in error.value.hint
    right = SMALL.model_copy(update={"sha256": weights_hash(find_folder("small", SMALL.source))})
    assert right.sha256 and right.sha256 in fetch(right, _client(hub[1]))[1]


def test_the_command_fetches_from_a_hub_by_its_own_client(hub: tuple[Hub, str], tmp_path: Path) -> None:
    state, url = hub
    done = _run(url, tmp_path, "fetch", "small")
    assert done.returncode == 0, done.stderr
    folder = find_folder("small", SMALL.source, COMMIT)
    there = {path.name for path in folder.iterdir()}
    assert {"config.json", "model.safetensors", "tokenizer.json", "chat_template.jinja"} <= there
    assert not there & NEVER
    assert not any(name in line for line in state.asked for name in NEVER)
    assert done.stdout == f"small: {{revision: {COMMIT}, sha256: {weights_hash(folder)}}}\n"
    assert "this fetch trusts their source" in " ".join(done.stderr.split())
    assert "licence: not stated; notes: Name it where you use it." in done.stderr
    assert not any("agent" in line for line in state.asked), (
        "the hub's client looks for what runs it, unless told not to"
    )
    state.asked.clear()
    assert _run(url, tmp_path, "fetch", "small").returncode == 0
    assert not [line for line in state.asked if line.startswith("GET /someone")], "what is there is not fetched again"


def test_a_gated_judge_says_how_to_get_it(hub: tuple[Hub, str], tmp_path: Path) -> None:
    state, url = hub
    state.gated = True
    done = _run(url, tmp_path, "fetch", "small")
    assert (done.returncode, "GatedRepoError" in done.stderr) == (5, True), done.stderr
    assert "hf auth login" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "name", ["../../planted.json", "/{}/planted.json", "..\\planted.json", "planted.json", "a/../../planted.json"]
)
def test_a_hostile_hub_writes_nowhere_else(name: str, hub: tuple[Hub, str], tmp_path: Path) -> None:
    state, url = hub
    state.planted = {name.format(tmp_path): 9}
    fetch(SMALL, _client(url))
    models = tmp_path / "XDG_DATA_HOME" / "pathway-local" / "models" / "small"
    assert all(path.is_relative_to(models) for path in tmp_path.rglob("*planted*")), list(tmp_path.rglob("*planted*"))


@pytest.mark.parametrize("commit", ["../../../planted", "c0ffee", "", "x" * 300])
def test_a_hub_with_an_impossible_commit_is_refused(commit: str, hub: tuple[Hub, str], tmp_path: Path) -> None:
    state, url = hub
    state.commit = commit
    with pytest.raises(WeightsMissing) as refused:
        fetch(SMALL.model_copy(update={"revision": None}), _client(url))
    assert refused.value.exit_code == 5
    assert not list(tmp_path.rglob("*planted*"))


def test_an_environment_without_network_is_obeyed(tmp_path: Path) -> None:
    done = _run("http://127.0.0.1:9", tmp_path, "fetch", "small", HF_HUB_OFFLINE="1")
    assert (done.returncode, "HF_HUB_OFFLINE" in done.stderr) == (5, True), done.stderr
