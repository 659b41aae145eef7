"""Finds a judge's folder on this disk, refuses what engines could misread in it, and hashes it; uses no network."""

import hashlib
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path

from safetensors import SafetensorError, safe_open

from pathway_local.errors import EngineError, WeightsMissing
from pathway_local.judges.limited_process import AGAIN
from pathway_local.system.shipped import packaged_folder

LARGEST_TEXT = 64 * 2**20
"""Bytes of a file beside the weights; the largest tokenizer that we know has half as many."""

PACKAGE = "package:"
"""How a source in this installation begins: package:FOLDER."""

_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", re.ASCII)

INDEX = "model.safetensors.index.json"
SETTINGS = (
    "config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json", "tokenizer.model",
    "special_tokens_map.json", "added_tokens.json", "vocab.json", "merges.txt", "tekken.json", "chat_template.jinja",
    "chat_template.json", "hf_quant_config.json", "preprocessor_config.json", "processor_config.json",
    "quant_config.json", "quantize_config.json", "video_preprocessor_config.json", INDEX,
)  # fmt: skip
"""The files beside the weights that libraries may read. A fetch takes these, and the hash covers them."""

_UNREAD = re.compile(
    r"\..*|(README|LICEN[CS]E|NOTICE|USE_POLICY)\b.*|.*\.(md|py|pdf|png|jpe?g|svg|gif|webp)"
    r"|(figures|self_test|training)\.json",
    re.IGNORECASE,
)
"""Names of files that no library reads: documents, code that comes with a model, and our own records."""

_REDIRECTS = {
    "config.json": ("speculators_config", "configuration_files"),
    "tokenizer_config.json": ("fast_tokenizer_files",),
}
"""Keys that make a library read another model's files, or a file anywhere on this machine."""

_COPY = "Put the file itself in its place if it is the judge's, else remove the link."
_STAGE = "or copy the model's folder to this machine: see docs/judges.md."
_hashes: dict[tuple[Path, int, int], str] = {}


def is_hub_id(source: str) -> bool:
    """Return whether a source names a repository of the model hub: `owner/name`."""
    return _HUB_ID.fullmatch(source) is not None and ".." not in source


def models_home() -> Path:
    """Return the folder with this user's own copies of judges, each in a subfolder."""
    data = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(data) / "pathway-local" / "models"


def find_folder(name: str, source: str, revision: str | None = None) -> Path:
    """Return the folder on this disk that should hold this judge's weights.

    For a hub id this is `models_home()/NAME`, else the hub's cache at `revision`. Raises WeightsMissing, and
    EngineError if one of its files can't be read, or is none that libraries may read.
    """
    folder = _place_of(name, source, revision)
    try:
        for path in folder.iterdir():
            _refuse_odd(path)
    except OSError as error:
        raise EngineError(f"{error.filename} can't be read: {error.strerror}", "Check its permissions.") from None
    return folder


def _refuse_odd(path: Path) -> None:
    """Raise EngineError for a file that libraries may read unhashed, one that has no end, and a link to other files.

    An engine may read where a link leads, so its model could read there, too. Weights may lie elsewhere, and all of a
    repository in the hub's cache, whose links lead to its blobs.
    """
    real = Path(os.path.realpath(path))  # `resolve` fails at a link that leads to itself
    blobs = path.parent.resolve().parent.parent / "blobs"
    if path.is_symlink() and real.parent != blobs and not (_is_weights(path) and _is_weights(real)):
        raise EngineError(f"{path} is a link, and what it leads to would be read with the model", _COPY)
    if _UNREAD.fullmatch(path.name):
        return
    if path.name not in SETTINGS and not _is_weights(path):
        said = f"{path} is no file of a judge that we know, and a library could read it unseen"
        raise EngineError(said, "Move it to another folder. Pickled weights and code of a model are never read.")
    if path.exists() and not path.is_file():
        raise EngineError(f"{path} is not an ordinary file", AGAIN)
    if path.name in SETTINGS and path.exists() and path.stat().st_size > LARGEST_TEXT:
        raise EngineError(f"{path} is too large for its kind", AGAIN)
    if path.is_file():
        path.open("rb").close()
    for key in _REDIRECTS.get(path.name, ()):
        if json_if_there(path).get(key):
            said = f"{path} names files that the judge's hash does not cover: {key}"
            raise EngineError(said, f"Remove {key} from it if the model works without, or use another judge.")


def _is_weights(path: Path) -> bool:
    # `consolidated` files are a second copy of the weights, which an engine may prefer.
    return path.suffix == ".safetensors" and not path.name.startswith("consolidated")


def _place_of(name: str, source: str, revision: str | None) -> Path:
    if not is_hub_id(source):
        packaged = source.startswith(PACKAGE)
        folder = packaged_folder(source.removeprefix(PACKAGE)) if packaged else local_path(source)
        if not is_folder(folder):
            raise WeightsMissing(f"judge {name!r}: no folder {folder}", f"Correct the entry's source, {_STAGE}")
        return folder.resolve()
    own = models_home() / name
    if is_folder(own):
        return own
    from huggingface_hub import snapshot_download  # takes a second to import, which help and the demo need not
    from huggingface_hub.errors import LocalEntryNotFoundError

    try:
        return Path(snapshot_download(source, revision=revision, local_files_only=True))
    except (LocalEntryNotFoundError, OSError):
        at = f" at revision {revision}" if revision else ""
        fetch = f"Run `pathway-local judges fetch {name}` (the one command that uses the network), {_STAGE}"
        raise WeightsMissing(f"judge {name!r}: no weights on this disk: no {own}, no {source}{at}", fetch) from None


def local_path(text: str) -> Path:
    """Return the path that a person wrote; `~/` is the home folder."""
    return Path.home() / text[2:] if text.startswith("~/") else Path(text)


def is_folder(path: Path) -> bool:
    """Return whether a folder exists; False for a name that no file system accepts."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def check_folder(folder: Path, name: str) -> Path:
    """Return the folder itself, if it holds a config and every safetensors file that its index names.

    Raises WeightsMissing.
    """
    if not (folder / "config.json").is_file():
        raise WeightsMissing(f"judge {name!r}: {folder} holds no config.json", "Name the folder of a model.")
    named = json_if_there(folder / INDEX).get("weight_map")
    shards = sorted(set(map(str, named.values()))) if isinstance(named, Mapping) else []
    there = {path.name for path in weight_files(folder)}
    absent = [shard for shard in shards if shard not in there]
    lack = f"lacks {len(absent)} of {len(shards)} weight files, first {absent[0][:60]!r}" if absent else ""
    lack = lack or ("" if there else "holds no safetensors files, and pickled ones are never read")
    if lack:
        raise WeightsMissing(f"judge {name!r}: {folder} {lack}", f"Fetch it again, {_STAGE}")
    return folder


def weight_files(folder: Path) -> list[Path]:
    """Return the safetensors files of a model, in order."""
    return sorted(path for path in folder.iterdir() if _is_weights(path))


def weights_bytes(folder: Path) -> int:
    """Return the bytes of the weights on disk, about the same as in memory."""
    return sum(path.stat().st_size for path in weight_files(folder))


def tensor_names(path: Path) -> list[str]:
    """Return the names of a safetensors file's tensors. Raises WeightsMissing unless header and size are right."""
    try:
        with safe_open(path, framework="np") as file:
            return list(file.keys())
    except (SafetensorError, OSError) as error:
        raise WeightsMissing(f"{path.name} is damaged: {str(error)[:200]}", AGAIN) from None


def read_files(folder: Path) -> list[Path]:
    """Return all files that libraries may read: first the settings, then the weights."""
    return [*(folder / name for name in sorted(SETTINGS) if (folder / name).is_file()), *weight_files(folder)]


def weights_hash(folder: Path) -> str:
    """Return the SHA-256 in hex of all files that libraries may read; the same in any folder.

    A file's own is kept in this process as long as the file's size and time stay the same.
    """
    told = "".join(f"{path.name}\0{_hash_of(path)}\n" for path in read_files(folder))
    return hashlib.sha256(told.encode()).hexdigest()


def _hash_of(path: Path) -> str:
    real = path.resolve()
    known = real.stat()
    key = (real, known.st_size, known.st_mtime_ns)
    if key not in _hashes:
        with real.open("rb") as stream:
            _hashes[key] = hashlib.file_digest(stream, "sha256").hexdigest()
    return _hashes[key]


def read_json(path: Path) -> dict[str, object]:
    """Return a JSON object from a model's folder. Raises EngineError that names the file."""
    try:
        found = json.loads(path.read_bytes())
    except OSError as error:
        raise EngineError(f"{path} can't be read: {error.strerror}", "Check its permissions.") from None
    except (ValueError, RecursionError):
        raise EngineError(f"{path} is not JSON", AGAIN) from None
    if not isinstance(found, dict):
        raise EngineError(f"{path} holds no JSON object", AGAIN)
    return found


def json_if_there(path: Path) -> dict[str, object]:
    """Return a JSON object as `read_json` does, or an empty one if there is no such file."""
    return read_json(path) if path.is_file() else {}


def declared_ends(folder: Path) -> list[int]:
    """Return the ids that end a reply by a model's `generation_config.json`."""
    declared = json_if_there(folder / "generation_config.json").get("eos_token_id")
    return [each for each in (declared if isinstance(declared, list) else [declared]) if isinstance(each, int)]


def chat_template(folder: Path) -> str:
    """Return the model's chat template; empty if its folder has none."""
    separate = folder / "chat_template.jinja"
    if separate.is_file() and separate.stat().st_size < LARGEST_TEXT:
        return separate.read_text("utf-8", "replace")
    for name in ("chat_template.json", "tokenizer_config.json"):
        found = json_if_there(folder / name).get("chat_template")
        if isinstance(found, list):  # several, each with a name
            found = next((each.get("template") for each in found if each.get("name") == "default"), None)
        if isinstance(found, str):
            return found
    return ""
