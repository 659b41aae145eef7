"""Finds a judge's weights on this disk, checks that they can be used, and hashes them; refuses hostile folders.

It reads and writes the record of a fetch, and uses no network.
"""

import hashlib
import json
import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct
from safetensors import SafetensorError, safe_open

from pathway_local.errors import EngineError, WeightsMissing
from pathway_local.system.private_file import output_file
from pathway_local.system.shipped import packaged_folder

LARGEST_TEXT = 64 * 2**20
"""Bytes of a file beside the weights; the largest tokenizer that we know has half as many."""

MOST_ADDED_TOKENS = 20_000
"""Tokens beside the vocabulary; Gemma 3 has 6,415. The library needs minutes and gigabytes for 100,000."""

MOST_GROWTH = 64
"""How many times longer a tokenizer's normalizer may make a text; Unicode's longest expansion is 18 times."""

_OTHER_WEIGHTS = "Fetch or copy the judge again, from a source that you trust."


def refuse_odd_files(folder: Path) -> None:
    """Raise EngineError for a pipe, device or endless file where a judge's file should be: reading it would hang."""
    with suppress(OSError):  # an unreadable folder is reported by whoever reads its files
        for path in folder.iterdir():
            if path.suffix in (".json", ".jinja", ".txt", ".model", ".safetensors"):
                _refuse_odd(path)


def _refuse_odd(path: Path) -> None:
    try:
        found = path.stat()
    except OSError:
        return
    if not stat.S_ISREG(found.st_mode) and not stat.S_ISDIR(found.st_mode):
        raise EngineError(f"{path} is not an ordinary file", _OTHER_WEIGHTS)
    if path.suffix != ".safetensors" and found.st_size > LARGEST_TEXT:
        raise EngineError(f"{path} is too large for its kind", _OTHER_WEIGHTS)


def refuse_hostile_tokenizer(path: Path) -> None:
    """Raise EngineError for a tokenizer.json that would end this process: the library aborts if memory runs out."""
    try:
        described = json.loads(path.read_bytes())
        added = len(described.get("added_tokens") or ())
        growth = _growth(described.get("normalizer"))
    except (OSError, ValueError, AttributeError, TypeError, RecursionError):
        raise EngineError(f"{path} can't be read", _OTHER_WEIGHTS) from None
    if added > MOST_ADDED_TOKENS:
        raise EngineError(
            f"{path} adds {added:,} tokens to its vocabulary, over the limit of {MOST_ADDED_TOKENS:,}", _OTHER_WEIGHTS
        )
    if growth > MOST_GROWTH:
        raise EngineError(f"{path} would make texts over {MOST_GROWTH} times longer", _OTHER_WEIGHTS)


def _growth(normalizer: Mapping[str, object] | None) -> float:
    """Return how many times longer a normalizer can make a text."""
    growth = 1.0
    for step in _steps(normalizer):
        if step.get("type") == "Replace":
            content, pattern = step.get("content"), step.get("pattern")
            replaced = pattern.get("String") if isinstance(pattern, Mapping) else None
            # A regex may match nothing, so that its content is put between all characters.
            matched = len(replaced) if isinstance(replaced, str) else 0
            length = len(content) if isinstance(content, str) else 0
            growth *= max(1.0, length / matched) if matched else 1.0 + length
    return growth


def _steps(normalizer: Mapping[str, object] | None) -> Iterator[Mapping[str, object]]:
    """Yield each step of a normalizer, those of sequences inside it included."""
    for inner in (normalizer or {}).get("normalizers") or ():  # type: ignore[attr-defined]
        yield from _steps(inner)
    if normalizer:
        yield normalizer


PACKAGE = "package:"
"""How a source in this installation begins: package:FOLDER."""

_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", re.ASCII)
REVISION = re.compile(r"[A-Za-z0-9][\w.-]*", re.ASCII)
"""The name of a commit or a branch."""

_PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl")
WHOLE = "model.safetensors"
INDEX = f"{WHOLE}.index.json"
_DESCRIBING = (
    "config.json",
    "generation_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "tokenizer.model",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "merges.txt",
    "tekken.json",
    "chat_template.jinja",
    "chat_template.json",
    "hf_quant_config.json",
    "params.json",
    "preprocessor_config.json",
    "processor_config.json",
    "quant_config.json",
    "quantize_config.json",
    "video_preprocessor_config.json",
)

_AGAIN = "Fetch or copy it again."
_STAGE = "or copy the model's folder to this machine: see docs/judges.md."
_hashes: dict[tuple[Path, int, int], str] = {}


def is_hub_id(source: str) -> bool:
    """Return whether a source names a repository of the model hub: `owner/name`."""
    return _HUB_ID.fullmatch(source) is not None and ".." not in source


def models_home() -> Path:
    """Return the folder with this user's own copies of judges, each in a subfolder."""
    data = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(data) / "pathway-local" / "models"


def hub_home() -> Path:
    """Return the folder of the model hub's cache, where its own client puts it."""
    if cache := os.environ.get("HF_HUB_CACHE"):
        return Path(cache)
    home = os.environ.get("HF_HOME") or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "huggingface"
    return Path(home) / "hub"


def find_folder(name: str, source: str, revision: str | None = None) -> Path:
    """Return the folder on this disk that should hold this judge's weights.

    For a hub id this is `models_home()/NAME`, else the hub's cache at `revision`, or at the
    commit of `main`. Raises WeightsMissing, and EngineError if reading one of its files would never end.
    """
    folder = _place_of(name, source, revision)
    refuse_odd_files(folder)
    return folder


def _place_of(name: str, source: str, revision: str | None) -> Path:
    if source.startswith(PACKAGE):
        folder = packaged_folder(source.removeprefix(PACKAGE))
        if not (folder / "config.json").is_file():
            raise WeightsMissing(f"judge {name!r}: this installation lacks its weights", "Reinstall pathway-local.")
        return folder
    if not is_hub_id(source):
        folder = local_path(source)
        if not is_folder(folder):
            raise WeightsMissing(f"judge {name!r}: no folder {folder}", f"Correct the entry's source, {_STAGE}")
        return folder.resolve()
    own = models_home() / name.replace(":", "-")
    if own.is_dir():
        return own
    fetch = f"Run `pathway-local judges fetch {name}` (the one command that uses the network), {_STAGE}"
    cached = hub_home() / f"models--{source.replace('/', '--')}"
    commit = _commit(cached, revision)
    if commit and (cached / "snapshots" / commit).is_dir():
        return cached / "snapshots" / commit
    there = sorted(path.name for path in (cached / "snapshots").glob("*"))
    if there and revision:
        raise WeightsMissing(f"judge {name!r}: this disk has revision {there[0]}, its entry asks for {revision}", fetch)
    raise WeightsMissing(f"judge {name!r}: no weights on this disk: neither {own} nor {cached}", fetch)


def local_path(text: str) -> Path:
    """Return the path that a person wrote; `~/` is the home folder."""
    return Path.home() / text[2:] if text.startswith("~/") else Path(text)


def is_folder(path: Path) -> bool:
    """Return whether a folder exists; False for a name that no file system accepts."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def _commit(cached: Path, revision: str | None) -> str | None:
    """Return the commit of a revision in a hub cache: the one that a branch of this name points to, or itself."""
    wanted = revision or "main"
    if not REVISION.fullmatch(wanted):
        return None
    branch = cached / "refs" / wanted
    if branch.is_file():
        pointed = branch.read_text("utf-8", "replace")[:200].strip()
        return pointed if REVISION.fullmatch(pointed) else None
    return wanted


def check_folder(folder: Path, name: str) -> Path:
    """Return the folder itself, if it holds a config and every safetensors file that its index names.

    Raises WeightsMissing; also for pickled weights, since reading one can run code.
    """
    if not (folder / "config.json").is_file():
        raise WeightsMissing(f"judge {name!r}: {folder} holds no config.json", "Name the folder of a model.")
    files = weight_files(folder)
    absent = [path.name for path in files if not path.is_file()]
    if absent:
        few = f"{len(absent)} of {len(files)} weight files, first {absent[0]}"
        raise WeightsMissing(f"judge {name!r}: {folder} lacks {few}", f"Fetch or copy it again: {_STAGE}")
    if files:
        return folder
    pickled = sorted(path.name for pattern in _PICKLES for path in folder.glob(pattern))
    if pickled:
        raise WeightsMissing(
            f"judge {name!r}: {folder} holds only pickled weights ({pickled[0]}), which we never read",
            "Get the model's safetensors files: reading a pickle can run code.",
        )
    raise WeightsMissing(f"judge {name!r}: {folder} holds no safetensors files", f"Fetch or copy it again: {_STAGE}")


def weight_files(folder: Path) -> list[Path]:
    """Return the safetensors files of a model, in order: those of its index, else all in the folder.

    Some folders hold a second copy of the weights, called `consolidated`; it is ignored. Raises EngineError if the
    index names other files.
    """
    if (folder / INDEX).is_file():
        shards = read_json(folder / INDEX).get("weight_map")
        names = sorted(set(map(str, shards.values()))) if isinstance(shards, Mapping) else []
        for name in names:
            if Path(name).name != name or not name.endswith(".safetensors"):
                said = f"{folder / INDEX} names {name[:60]!r}, which is not a safetensors file of this folder"
                raise EngineError(said, _AGAIN)
        return [folder / name for name in names]
    files = sorted(folder.glob("*.safetensors"))
    return [path for path in files if not path.name.startswith("consolidated")] or files


def weights_bytes(folder: Path) -> int:
    """Return the bytes of the weights on disk, about the same as in memory."""
    return sum(path.stat().st_size for path in weight_files(folder))


def tensor_names(path: Path) -> list[str]:
    """Return the names of a safetensors file's tensors. Raises WeightsMissing unless header and size are right."""
    try:
        with safe_open(path, framework="np") as file:
            return list(file.keys())
    except (SafetensorError, OSError) as error:
        raise WeightsMissing(f"{path.name} is damaged: {str(error)[:200]}", _AGAIN) from None


def weights_hash(folder: Path) -> str:
    """Return the SHA-256 in hex of weights, config, tokenizer and chat template; the same in any folder."""
    digest = hashlib.sha256()
    for path in [*describing_files(folder), *weight_files(folder)]:
        digest.update(f"{path.name}\0{file_hash(path)}\n".encode())
    return digest.hexdigest()


def file_hash(path: Path) -> str:
    """Return the SHA-256 of a file in hex, kept in this process as long as the file's size and time stay the same."""
    real = path.resolve()
    known = real.stat()
    key = (real, known.st_size, known.st_mtime_ns)
    if key not in _hashes:
        with real.open("rb") as stream:
            _hashes[key] = hashlib.file_digest(stream, "sha256").hexdigest()
    return _hashes[key]


def describing_files(folder: Path) -> list[Path]:
    """Return the files beside the weights that can change a score, in order; see `weights_hash`."""
    return sorted(folder / name for name in _DESCRIBING if (folder / name).is_file())


def read_json(path: Path) -> dict[str, object]:
    """Return a JSON object from a model's folder. Raises EngineError that names the file."""
    try:
        if path.stat().st_size > LARGEST_TEXT:
            raise EngineError(f"{path} is too large for its kind", "Fetch or copy the model again.")
        found = json.loads(path.read_bytes())
    except OSError as error:
        raise EngineError(f"{path} can't be read: {error.strerror}", "Check its permissions.") from None
    except (ValueError, RecursionError):
        raise EngineError(f"{path} is not JSON", "Fetch or copy the model again.") from None
    if not isinstance(found, dict):
        raise EngineError(f"{path} holds no JSON object", "Fetch or copy the model again.")
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
        if isinstance(found, str):
            return found
    return ""


RECORD = "fetched.json"
TAKEN = ("*.safetensors", "*.json", "*.jinja", "tokenizer.model", "merges.txt")
"""Files to fetch and record: weights, and the texts that describe model, tokenizer and chat template."""


class Fetched(Struct, frozen=True):
    """A fetch: its commit, the SHA-256 of all files (`weights_hash`) and of each."""

    source: str
    revision: str
    sha256: str
    files: dict[str, str] = {}

    def as_json(self) -> bytes:
        """Return the record as a file holds it."""
        return msgspec.json.format(msgspec.json.encode(self), indent=2) + b"\n"


def read_record(folder: Path) -> Fetched | None:
    """Return the record beside weights that were fetched. Raises EngineError for a broken one."""
    path = folder / RECORD
    if not path.is_file():
        return None
    try:
        return msgspec.convert(read_json(path), Fetched)
    except msgspec.ValidationError:
        hint = "Delete it and fetch the judge again; that fetch then trusts what it gets, as the first one did."
        raise EngineError(f"{path} is not a valid record of a fetch", hint) from None


def changed_files(folder: Path, record: Fetched) -> list[str]:
    """Return the files of the record that are gone or have changed, in order."""
    now = file_hashes(folder)
    return sorted(name for name, digest in record.files.items() if now.get(name) != digest)


def write_record(folder: Path, record: Fetched) -> None:
    """Write the record beside the weights, over an earlier one. Raises UsageError if it can't be written."""
    with output_file(folder / RECORD, force=True) as file:
        file.write(record.as_json())


def file_hashes(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of each file that a fetch would take, by its name."""
    taken = {path for pattern in TAKEN for path in folder.glob(pattern) if path.name != RECORD}
    return {path.name: file_hash(path) for path in sorted(taken)}
