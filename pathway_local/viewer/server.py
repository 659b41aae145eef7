"""Serves the viewer on this machine alone, from a process that can't open any other connection."""

import logging
import socket
from collections.abc import Callable
from contextlib import suppress

import uvicorn

from pathway_local.sealing.filter import install
from pathway_local.viewer.app import Viewer
from pathway_local.viewer.gate import HOST, Gate

SECONDS_TO_END = 2
"""How long an interrupt waits for an answer that is under way."""

MOST_CONNECTIONS = 64


def open_door() -> tuple[socket.socket, str]:
    """Take a free port on this machine, then give up all other sockets; return why that failed, or "".

    Afterwards the process can accept on that port, which leads to loopback alone, and neither connect nor open another
    socket. The port already accepts connections, which wait until `serve`.
    """
    door = socket.create_server((HOST, 0))
    try:
        install("no-new-sockets")
    except OSError as error:
        return door, error.strerror or "the kernel refused"
    return door, ""


def serve(
    door: socket.socket, viewer: Viewer, report: Callable[[Exception], None], ready: Callable[[str], None]
) -> None:
    """Answer requests until a signal asks to end; `ready` gets the address that lets a browser in, once."""
    gate = Gate(viewer.application(report), door.getsockname()[1], viewer.refusal)
    viewer.folder = gate.folder
    # uvicorn writes addresses and tracebacks, which quote texts, to its log.
    logging.getLogger("uvicorn").disabled = logging.getLogger("uvicorn.error").disabled = True
    config = uvicorn.Config(
        gate,
        loop="asyncio",
        http="h11",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        limit_concurrency=MOST_CONNECTIONS,
        timeout_graceful_shutdown=SECONDS_TO_END,
    )
    ready(gate.address)
    with suppress(KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[door])
