"""A worker of a Ray cluster: runs an engine's process beside itself and carries its messages."""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from msgspec import structs
from msgspec.msgpack import decode, encode

from pathway_local.check import Check
from pathway_local.engines.cluster import folder_check, network_checks, own_versions, refuse_problems, without_ray
from pathway_local.engines.process import LOOK, EngineProcess, Gone
from pathway_local.engines.wire import TO_ENGINE, Failed, Frames, Load, Place, Ready, Said, frame
from pathway_local.errors import EngineError, PathwayError
from pathway_local.judges.weights import models_home, weights_hash
from pathway_local.system.machine import this_machine
from pathway_local.system.private_process import make_private

PIECE = 1 << 16
"""Most bytes of a call: 8 to 16 passes. Ray puts what exceeds 100 KiB into shared memory, from where it can spill."""


class Worker:
    """Starts one engine with `begin`; then takes messages with `send` and yields the engine's with `listen`.

    One thread calls `begin` and `send`, another one `listen`. All that crosses is our MessagePack.
    """

    def look(self) -> bytes:
        """Return this machine with all its GPUs, and what checks of its node found."""
        os.environ.pop("CUDA_VISIBLE_DEVICES", None)  # Ray names those that this small task may use
        return encode((this_machine(), node_checks()))

    def begin(self, place: bytes, load: bytes) -> bytes:
        """Start the engine's process; return an empty text, or the message why this worker is refused."""
        make_private()
        try:
            self._begin(decode(place, type=Place), decode(load, type=Load))
        except PathwayError as error:
            return frame(Failed(type(error).__name__, message=str(error), hint=error.hint))
        except OSError as error:
            said = f"a worker can't read the judge's files: {error.strerror}"
            return frame(Failed("EngineError", message=said, hint=_COPY))
        return b""

    def send(self, piece: bytes) -> None:
        """Hand a piece of the messages to the engine."""
        for message in self._frames.feed(piece):
            self._process.send(message)
        self._process.flush()

    def listen(self) -> Iterator[bytes]:
        """Yield what the engine says until its process ends, and at last how it ended."""
        process = self._process
        try:
            while True:
                messages = process.receive(LOOK)
                if any(isinstance(each, Ready) for each in messages):
                    yield from _printed(process.output.text)
                    process.output.forget()
                    process.note_shared_memory()
                said = b"".join(frame(each) for each in messages)
                for at in range(0, len(said), PIECE):
                    yield encode(Said(piece=said[at : at + PIECE]))
        except Gone:
            process.kill()
        yield from _printed(process.output.text or ("out of memory" if process.output.memory_ran_out else ""))
        yield encode(Said(ended=process.status))

    def _begin(self, place: Place, load: Load) -> None:
        refuse_problems(place.address, node_checks())
        _check_same("versions", place.versions, own_versions())
        if place.gpus:
            names = {gpu.name for gpu in this_machine().gpus[: place.gpus]}
            _check_same("GPU", {"GPU": place.gpu}, {"GPU": ", ".join(sorted(names))})
        config = load.config
        if place.weights:
            folder = models_home() / place.folder
            if place.weights != weights_hash(folder):
                said = f"a worker has other weights in {folder} than the judge's"
                raise EngineError(said, _COPY)
            config = replace(config, model=str(folder))
        load = structs.replace(load, config=config)
        self._frames = Frames(TO_ENGINE)
        environment = without_ray(os.environ)
        self._process = EngineProcess(load, place.seal, several=place.several, environment=environment)  # type: ignore[arg-type]


def own_node() -> tuple[Path, str]:
    """Return the session folder and the address of this process's node of the cluster."""
    from ray._private import worker

    node = worker._global_node
    return Path(node.get_session_dir_path()), node.node_ip_address


def node_checks() -> list[Check]:
    """Check this node, which may have joined after the cluster was checked, or have a session folder of its own."""
    session, address = own_node()
    found = (folder_check(session), *network_checks([address], os.environ))
    return [replace(check, name=f"{check.name} of a worker") for check in found]


_COPY = "Copy the judge's folder to the same place on all nodes."


def _printed(text: str) -> Iterator[bytes]:
    """Yield what a loading process printed, in pieces; a character takes four bytes at most."""
    for at in range(0, len(text), PIECE // 4):
        yield encode(Said(text[at : at + PIECE // 4]))
    if text:
        yield encode(Said("\n"))


def _check_same(what: str, wanted: dict[str, str], found: dict[str, str]) -> None:
    differ = [
        f"{name} {found.get(name) or 'missing'} instead of {wanted.get(name) or 'none'}"
        for name in sorted(wanted.keys() | found.keys())
        if wanted.get(name) != found.get(name)
    ]
    if differ:
        said = f"a worker would be another rater, its {what} differ: {', '.join(differ)[:300]}"
        raise EngineError(said, "Install the same on all nodes, or use the nodes that are alike.")
