"""Fetches a judge's weights from the model hub; the only module that uses a network.

It takes only safetensors, and the JSON and text files that describe model, tokenizer and chat template.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from huggingface_hub import snapshot_download
from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled

from pathway_local.errors import PathwayError, UsageError, WeightsMissing
from pathway_local.judges.engine_settings import checked_hash
from pathway_local.judges.judge_spec import JudgeSpec
from pathway_local.judges.weights import PACKAGE, SETTINGS, check_folder, is_hub_id, models_home

NOT_TAKEN = ("*/*", "consolidated*.safetensors")
"""Never fetched: files in subfolders, and second copies of the weights in another layout."""

_STAGE = "Or fetch it on another machine and copy the folder: see docs/judges.md."

Download = Callable[..., Any]
"""The hub client's `snapshot_download`. With `dry_run` it returns commit_hash, filename, file_size and will_download of
each file."""


def fetch(spec: JudgeSpec, download: Download = snapshot_download) -> tuple[Path, str]:
    """Fetch a judge's weights, or the missing part of them, into `models_home()`.

    Returns the folder, and a line for models.yaml that accepts only these exact files. Raises UsageError if the judge
    is not on the hub, WeightsMissing with what to do if the fetch fails, EngineError if their hash is not the
    registry's.
    """
    check_source(spec)
    folder = models_home() / spec.name
    taken = {"allow_patterns": ["*.safetensors", *SETTINGS], "ignore_patterns": [*NOT_TAKEN]}
    try:
        # The first call only lists the files.
        planned = download(spec.source, revision=spec.revision, local_dir=folder, dry_run=True, **taken)
        if not any(file.filename.endswith(".safetensors") for file in planned):
            raise WeightsMissing(
                f"judge {spec.name!r}: {spec.source} holds no safetensors files at this revision",
                "We never fetch pickled weights, since reading one can run code: name a source with safetensors.",
            )
        commit = str(planned[0].commit_hash)
        folder.mkdir(parents=True, exist_ok=True)
        download(spec.source, revision=commit, local_dir=folder, dry_run=False, **taken)
    except PathwayError:
        raise
    except Exception as error:  # noqa: BLE001  the client's libraries raise many kinds of errors
        raise _explained(spec, error) from None
    check_folder(folder, spec.name)
    return folder, f"{spec.name}: {{revision: {commit}, sha256: {checked_hash(spec, folder)}}}"


def check_source(spec: JudgeSpec) -> None:
    """Raise UsageError if a judge does not come from the hub."""
    if not is_hub_id(spec.source):
        where = "comes with the installation" if spec.source.startswith(PACKAGE) else f"is a folder, {spec.source}"
        raise UsageError(f"judge {spec.name!r} {where}: there is nothing to fetch")


def _explained(spec: JudgeSpec, error: BaseException) -> WeightsMissing:
    """Return an error that says why a fetch failed, as the hub's client does, and what helps most often."""
    causes = [error]
    while cause := causes[-1].__cause__ or causes[-1].__context__:
        causes.append(cause)
    told = next((each for each in causes if isinstance(each, HfHubHTTPError | OfflineModeIsEnabled)), causes[-1])
    said = f"judge {spec.name!r} can't be fetched: {type(told).__name__}: {' '.join(str(told).split())[:300]}"
    hint = (
        "Check the network and its proxy, the disk, and the entry's source and revision. A gated judge needs its terms "
        "accepted on its hub page, and `hf auth login` (if HF_TOKEN is set, it decides). Then run "
        f"`pathway-local judges fetch {spec.name}` again: complete files are kept. {_STAGE}"
    )
    return WeightsMissing(said, hint)
