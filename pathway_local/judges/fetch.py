"""Fetches a judge's weights from the model hub; the only module that uses a network.

It takes only safetensors, and the JSON and text files that describe model, tokenizer and chat template. A record beside
the weights lists what was fetched, so that a copy on another machine can be checked without a network.
"""

import errno
import os
import resource
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from huggingface_hub import snapshot_download
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)
from huggingface_hub.utils.tqdm import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars

from pathway_local.errors import EngineError, PathwayError, UsageError, WeightsMissing
from pathway_local.judges.judge_spec import JudgeSpec
from pathway_local.judges.weights import (
    PACKAGE,
    TAKEN,
    Fetched,
    check_folder,
    file_hashes,
    is_hub_id,
    models_home,
    read_record,
    weights_hash,
    write_record,
)
from pathway_local.system.machine import GB, free_disk

NOT_TAKEN = ("*/*", "consolidated*.safetensors")
"""Never fetched: files in subfolders, and second copies of the weights in another layout."""

SMALL_FILES = 1 << 20
"""Bytes that any file may have beside the announced size of the largest, such as the client's own records."""

_KEPT = ": complete files are kept"
_STAGE = "Or fetch it on another machine and copy the folder: see docs/judges.md."

Download = Callable[..., Any]
"""The hub client's `snapshot_download`. With `dry_run` it returns commit_hash, filename, file_size and will_download of
each file."""


def fetch(spec: JudgeSpec, download: Download = snapshot_download) -> tuple[Path, Fetched]:
    """Fetch a judge's weights, or the missing part of them, into `models_home()`; return the folder and its record.

    Raises UsageError if the judge is not on the hub, WeightsMissing with what to do if the fetch
    fails, EngineError if their hash is neither the registry's nor that of an earlier fetch of the same revision.
    """
    check_source(spec)
    folder = models_home() / spec.name.replace(":", "-")
    before = read_record(folder)
    commit = _take(spec, folder, download)
    check_folder(folder, spec.name)
    record = Fetched(spec.source, commit, weights_hash(folder), file_hashes(folder))
    if spec.sha256 and spec.sha256 != record.sha256:
        said = f"judge {spec.name!r}: the fetched files have the hash {record.sha256}, the registry has {spec.sha256}"
        raise EngineError(said, f"Delete {folder} and fetch again; if it is wrong again, do not use them.")
    if before and (before.source, before.revision) == (record.source, commit) and before.sha256 != record.sha256:
        said = f"judge {spec.name!r}: revision {commit[:12]} has other files than at its first fetch"
        raise EngineError(said, f"If you changed none of them, do not use them. Else delete {folder} and fetch again.")
    write_record(folder, record)
    return folder, record


def check_source(spec: JudgeSpec) -> None:
    """Raise UsageError if a judge does not come from the hub."""
    if not is_hub_id(spec.source):
        where = "comes with the installation" if spec.source.startswith(PACKAGE) else f"is a folder, {spec.source}"
        raise UsageError(f"judge {spec.name!r} {where}: there is nothing to fetch")


def registry_line(spec: JudgeSpec, record: Fetched) -> str:
    """Return a line for models.yaml that accepts only these exact files; a variant becomes a separate entry."""
    pinned = f"revision: {record.revision}, sha256: {record.sha256}"
    if ":" in spec.name:
        return f"{spec.name.replace(':', '-')}: {{source: {spec.source}, {pinned}}}"
    return f"{spec.name}: {{{pinned}}}"


def _take(spec: JudgeSpec, folder: Path, download: Download) -> str:
    """Download what is missing and return the commit. The first call only lists the files."""
    take = partial(download, spec.source, local_dir=folder, allow_patterns=list(TAKEN), ignore_patterns=list(NOT_TAKEN))
    try:
        with _no_bars():
            planned = take(revision=spec.revision, dry_run=True)
        commit = _commit(spec, planned)
        _check_disk(spec, sum(file.file_size or 0 for file in planned if file.will_download), folder)
        folder.mkdir(parents=True, exist_ok=True)
        with _files_of_at_most(max(file.file_size or 0 for file in planned)):
            take(revision=commit, dry_run=False)
    except PathwayError:
        raise
    except Exception as error:  # noqa: BLE001  the client's libraries raise many kinds of errors; `explained` knows them
        raise explained(spec, folder, error) from None
    return commit


def _check_disk(spec: JudgeSpec, needed: float, folder: Path) -> None:
    """Raise WeightsMissing if the folder's disk has not this many bytes left for a judge."""
    free = free_disk(folder)
    if needed > free:
        said = f"judge {spec.name!r}: needs {needed / GB:.1f} GB, but {folder} has {free / GB:.1f} GB free"
        raise WeightsMissing(said, "Free some space, or set XDG_DATA_HOME to a folder on a larger disk.")


@contextmanager
def _no_bars() -> Iterator[None]:
    """Hide the client's progress bars, which would show the listing of files as a download."""
    shown = not are_progress_bars_disabled()
    disable_progress_bars()
    try:
        yield
    finally:
        if shown:
            enable_progress_bars()


@contextmanager
def _files_of_at_most(size: int) -> Iterator[None]:
    """Let this process write no larger file, so that an answer without an end can't fill the disk (setrlimit(2))."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    limit = size + SMALL_FILES
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit if soft == resource.RLIM_INFINITY else min(limit, soft), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def _commit(spec: JudgeSpec, planned: Sequence[Any]) -> str:
    if not any(file.filename.endswith(".safetensors") for file in planned):
        raise WeightsMissing(
            f"judge {spec.name!r}: {spec.source} holds no safetensors files at this revision",
            "We never fetch pickled weights, since reading one can run code: name a source with safetensors.",
        )
    return str(planned[0].commit_hash)


def explained(spec: JudgeSpec, folder: Path, error: BaseException) -> WeightsMissing:
    """Return an error that explains why a fetch failed and what to do, from the error and its causes."""
    chain = list(_chain(error))
    name = f"judge {spec.name!r}"
    again = f"`pathway-local judges fetch {spec.name}` again"
    account = (
        "check that HF_TOKEN belongs to that account" if "HF_TOKEN" in os.environ else "log in with `hf auth login`"
    )
    for each in chain:
        if isinstance(each, GatedRepoError):
            said = f"{name}: {spec.source} is gated, and this account has no access"
            return WeightsMissing(said, f"Accept its terms on its hub page, {account}, and run {again}.")
        if isinstance(each, RevisionNotFoundError):
            said = f"{name}: {spec.source} has no revision {spec.revision}"
            return WeightsMissing(said, "Correct the entry's revision, or leave it out.")
        if isinstance(each, RepositoryNotFoundError):
            said = f"{name}: the hub has no {spec.source}, or shows it only to some accounts"
            return WeightsMissing(said, f"Correct the entry's source, or log in with `hf auth login` and run {again}.")
        if isinstance(each, OfflineModeIsEnabled):
            said = f"{name}: the environment forbids the network (HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE is set)"
            return WeightsMissing(said, f"Unset it for this one command. {_STAGE}")
        if isinstance(each, OSError) and each.errno in (errno.ENOSPC, errno.EDQUOT):
            return WeightsMissing(f"{name}: the disk of {folder} is full", f"Free some, and run {again}{_KEPT}.")
        if isinstance(each, PermissionError):
            return WeightsMissing(f"{name}: {folder} can't be written", "Check its permissions, or XDG_DATA_HOME.")
        if isinstance(each, OSError) and each.errno == errno.EFBIG:
            said = f"{name}: the hub sends more bytes for a file than it announced"
            return WeightsMissing(said, f"Do not use what it sent: delete {folder}, and check HF_ENDPOINT.")
    for each in chain:
        if isinstance(each, HfHubHTTPError) and each.response is not None:
            said = f"{name}: the hub answered with status {each.response.status_code}"
            return WeightsMissing(said, f"Wait a while, then run {again}{_KEPT}.")
    said = f"{name}: the model hub can't be reached ({type(chain[-1]).__name__})"
    return WeightsMissing(said, f"Check the network and its proxy, then run {again}{_KEPT}. {_STAGE}")


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
