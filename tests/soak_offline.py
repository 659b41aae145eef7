"""Makes the processor's bundle, installs it in a network namespace without any network, and judges the samples there.

`soak_offline.py` needs the internet, about 6 GB of disk and a few minutes. It ends with 1 if a damaged bundle is
installed, or if a sample gets no verdict.
"""

import csv
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tiny_judge import make_tiny_judge

ROOT = Path(__file__).parents[1]
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
SEALED_OFF = ("unshare", "--map-root-user", "--net")
SAMPLES = 80


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="soak-offline-") as work:
        root = Path(work)
        home, folder, bundle, noise = root / "home", root / "the program", root / "bundle", root / "noise"
        home.mkdir()
        noise.mkdir()
        make_tiny_judge(noise)
        options = ["--python", PYTHON, "--judge", str(noise), "--judge", "demo"]
        _timed("made", [str(ROOT / "scripts/bundle"), "--out", str(bundle), *options], {"PYTHON": sys.executable})
        print(f"{_gigabytes(bundle):.2f} GB in {sum(path.is_file() for path in bundle.rglob('*'))} files")

        there = {"HOME": str(home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "OMP_WAIT_POLICY": "PASSIVE"}
        install = [*SEALED_OFF, "bash", str(bundle / "install.sh"), str(folder)]
        refused = [_refused(path, install, there) for path in _spoilt(bundle)]
        _timed("installed", install, there, fresh=True)
        print(f"{_gigabytes(folder):.2f} GB installed")
        _timed("judged", [*SEALED_OFF, "./scripts/quickstart"], there, fresh=True, folder=folder)
        with (folder / "runs/quickstart/verdicts.csv").open(encoding="utf-8", newline="") as file:
            verdicts = sum(not row["failure"] for row in csv.DictReader(file))
        words = ["judge", "examples/groundedness.jsonl", "--rubric", "groundedness", "--detail", "score"]
        command = [*SEALED_OFF, ".venv/bin/pathway-local", *words, "--judge", "noise", "--run", "noise.run"]
        _timed("judged by the judge of the bundle", command, there, fresh=True, folder=folder)
    print(f"{verdicts} of {SAMPLES} samples judged; {sum(refused)} of {len(refused)} spoilt bundles refused")
    return int(verdicts != SAMPLES or not all(refused))


def _spoilt(bundle: Path) -> list[Path]:
    """Return files of each kind: wheels, a judge's weights, the project."""
    kinds = ("wheels/torch-*", "wheels/numpy-*", "judges/noise/model.safetensors", "project.tar.gz")
    return [next(bundle.glob(kind)) for kind in kinds]


def _refused(path: Path, install: list[str], environment: dict[str, str]) -> bool:
    """Whether the installer refuses the bundle with this file changed, and with it missing."""
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    changed = subprocess.run(install, env=environment, capture_output=True, text=True, check=False)
    path.unlink()
    missing = subprocess.run(install, env=environment, capture_output=True, text=True, check=False)
    path.write_bytes(content)
    print(changed.stderr + missing.stderr, end="")
    return all(done.returncode == 1 and path.name in done.stderr for done in (changed, missing))


def _timed(
    done: str, command: list[str], environment: dict[str, str], *, fresh: bool = False, folder: Path = ROOT
) -> None:
    began = time.monotonic()
    given = environment if fresh else {**os.environ, **environment}
    subprocess.run(command, cwd=folder, env=given, check=True)
    print(f"{done} in {time.monotonic() - began:.0f} s", flush=True)


def _gigabytes(folder: Path) -> float:
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file()) / 1e9


if __name__ == "__main__":
    sys.exit(main())
