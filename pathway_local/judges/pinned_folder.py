"""Shows libraries a judge's folder with the files that its hash covers, and no others.

Libraries look for more than we hash: further chat templates, tokenizers for other versions, adapters, a second copy of
the weights. A file that is not in the folder they get can't change a score.
"""

import atexit
import hashlib
import json
import os
import shutil
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path

from pathway_local.errors import EngineError
from pathway_local.judges.weights import (
    INDEX,
    WHOLE,
    describing_files,
    json_if_there,
    tensor_names,
    weight_files,
)
from pathway_local.system.private_file import whole_file
from pathway_local.system.private_process import own_cache

_REDIRECTS = {
    "config.json": ("speculators_config", "configuration_files"),
    "tokenizer_config.json": ("fast_tokenizer_files",),
}
"""Keys that make a library read another model's files, or a file anywhere on this machine."""


def pinned_folder(folder: Path, *, weights: bool = True) -> Path:
    """Return a folder of links to the judge's hashed files, for libraries to read in place of its own folder.

    Without `weights`, the folder has none, which a tokenizer does not need. Each stays at one path, since vLLM compiles
    a model anew if its path changes. Raises EngineError, and WeightsMissing for a damaged file of weights.
    """
    real = folder.resolve()
    _refuse_redirects(real)
    shards = weight_files(real) if weights else []
    links = {path.name: path.resolve() for path in [*describing_files(real), *shards]}
    index = b"" if [path.name for path in shards] in ([], [WHOLE]) else _index(shards)
    name = hashlib.sha256(os.fsencode("\0".join((str(real), *links)))).hexdigest()[:32]
    with suppress(OSError):  # a home that can't be written: this process alone gets the links
        return _linked(own_cache() / "judges" / name, links, index)
    try:
        return _linked(_temporary() / name, links, index)
    except OSError as error:
        hint = "Free space, or name a folder of yours with `export XDG_CACHE_HOME=FOLDER`."
        raise EngineError(f"the links to the judge's files can't be made: {error.strerror}", hint) from None


def _refuse_redirects(folder: Path) -> None:
    for name, keys in _REDIRECTS.items():
        found = json_if_there(folder / name)
        for key in keys:
            if found.get(key):
                said = f"{folder / name} names files that the judge's hash does not cover: {key}"
                raise EngineError(said, f"Remove {key} from it if the model works without, or use another judge.")


def _index(shards: list[Path]) -> bytes:
    """Return an index made from the shards themselves: the folder's own could name a tensor's place as it likes."""
    places = {tensor: path.name for path in shards for tensor in tensor_names(path)}
    size = sum(path.stat().st_size for path in shards)
    return json.dumps({"metadata": {"total_size": size}, "weight_map": places}).encode()


def _linked(home: Path, links: dict[str, Path], index: bytes) -> Path:
    """Make the folder hold these links and the index. Another process may do the same at the same time."""
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    names = {*links, INDEX} if index else set(links)
    for entry in home.iterdir():
        if entry.name not in names and not entry.name.startswith("."):
            entry.unlink()
    for name, target in links.items():
        link = home / name
        if not link.is_symlink() or link.readlink() != target:
            part = home / f".{name[:50]}.{os.getpid()}"
            part.unlink(missing_ok=True)
            part.symlink_to(target)
            part.replace(link)
    place = home / INDEX
    if index and not (place.is_file() and place.read_bytes() == index):
        with whole_file(place, replace=True) as file:
            file.write(index)
    return home


@cache
def _temporary() -> Path:
    """Return a folder for this process alone, for a home that can't be written."""
    made = tempfile.mkdtemp(prefix="pathway-")
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return Path(made)
