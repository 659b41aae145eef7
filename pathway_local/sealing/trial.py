"""Tries a seal: `python -m pathway_local.sealing.trial [cuda]` prints as JSON which seal an engine's process gets."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict

from pathway_local.errors import EngineError
from pathway_local.sealing.landlock import keep_to
from pathway_local.sealing.launch import engine_files, settle
from pathway_local.sealing.seal import Seal, Wanted, close_off
from pathway_local.system.shipped import python_path

_PATIENCE = 300.0
"""Seconds; importing torch from a slow disk for the first time can take a minute."""


def try_seal(*, cuda: bool = False) -> tuple[Seal, str]:
    """Return the seal that an engine's process gets here, tried in another process, since a seal can't be taken off.

    With `cuda` also what torch finds inside: the first GPU's name, or "no: " and why it finds none. Raises EngineError
    if the process fails.
    """
    environment = os.environ | {"PYTHONPATH": python_path()}
    try:
        command = [sys.executable, "-P", "-m", "pathway_local.sealing.trial", *(["cuda"] if cuda else [])]
        done = subprocess.run(command, capture_output=True, timeout=_PATIENCE, check=True, env=environment, cwd="/")
        seal, found = json.loads(done.stdout.splitlines()[-1])
    except (OSError, subprocess.SubprocessError, ValueError, IndexError) as error:
        raise EngineError(f"the seal can't be tried ({type(error).__name__})") from None
    return Seal(**seal), found


def check_seal(wanted: Wanted) -> None:
    """Raise EngineError, before any work, if the seal is required and an engine's process would not get it here."""
    if wanted == "required":
        try_seal()[0].require()


def _cuda() -> str:
    """Return the first GPU's name as torch sees it, or "no: " and why there is none."""
    try:
        import torch

        if not torch.cuda.is_available():
            return "no: torch finds no GPU that it can use"
        torch.zeros(1, device="cuda")
        return str(torch.cuda.get_device_name(0))
    except Exception as error:  # noqa: BLE001  drivers raise anything, and any exception is the answer
        return f"no: {type(error).__name__}"


def main(arguments: Sequence[str]) -> None:
    """Seal this process and print what it then finds."""
    settle()
    files = engine_files("")
    seal = close_off("auto", -1, files)
    if seal.files:
        keep_to(files)
    print(json.dumps([asdict(seal), _cuda() if "cuda" in arguments else ""]))


if __name__ == "__main__":
    main(sys.argv[1:])
