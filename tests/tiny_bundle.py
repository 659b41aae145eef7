"""A bundle of a few tiny wheels and a project of one module, made and installed as real ones are."""

import base64
import hashlib
import importlib.metadata
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
BUILDS = ("hatchling", "packaging", "pathspec", "pluggy", "trove-classifiers", "pip")
"""Distributions that building the project needs; they are packed again from this environment."""

TOOLS = (
    *("bash", "cat", "cp", "cut", "dirname", "ln", "ls", "mkdir", "mv", "realpath", "rm"),
    *("sha256sum", "sort", "tail", "uname"),
)
"""The programs that the other machine has: bash and those of coreutils that the installer needs."""


@dataclass(frozen=True, slots=True)
class Site:
    """Both machines: `project` and `index` on the one with internet, `bin` and `home` on the other."""

    root: Path

    @property
    def project(self) -> Path:
        return self.root / "project"

    @property
    def index(self) -> Path:
        return self.root / "index"

    @property
    def home(self) -> Path:
        return self.root / "home of the user"

    def bundle(self, name: str, *options: object) -> Path:
        """Make a bundle of the project."""
        out = self.root / name
        environment = {**os.environ, "PYTHON": sys.executable, "PIP_CONFIG_FILE": os.devnull, "PIP_NO_INDEX": "1"}
        environment |= {"PIP_FIND_LINKS": str(self.index), "PYTHONPATH": str(REPOSITORY)}
        words = [str(self.project / "scripts" / "bundle"), "--out", str(out), "--python", PYTHON, *map(str, options)]
        done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False, timeout=240)
        assert done.returncode == 0, done.stderr
        return out

    def install(self, bundle: Path, **environment: str) -> "subprocess.CompletedProcess[str]":
        """Run a bundle's installer with nothing but shell tools and a Python; pip has no index to turn to."""
        given = {"PATH": str(self.root / "bin"), "HOME": str(self.home), **environment}
        command = ["bash", str(bundle / "install.sh")]
        return subprocess.run(command, env=given, capture_output=True, text=True, check=False, timeout=240)

    def says(self) -> str:
        """Return what the installed program says."""
        command = [str(self.home / "pathway_local" / ".venv" / "bin" / "pathway-local")]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.strip()


def make_site(root: Path) -> Site:
    """Return two machines with a project whose program says which version of `tiny` it found."""
    site = Site(root)
    for folder in (site.project / "requirements", site.project / "pathway_local", site.index, site.home, root / "bin"):
        folder.mkdir(parents=True)
    for name in ("scripts/bundle", "scripts/setup", "pyproject.toml", "README.md", "LICENSE", "models.yaml"):
        (site.project / name).parent.mkdir(exist_ok=True)
        shutil.copy(REPOSITORY / name, site.project / name)
    for name in ("scripts/bundling", "prompts", "docs"):
        shutil.copytree(REPOSITORY / name, site.project / name, ignore=shutil.ignore_patterns("__pycache__"))
    (site.project / "pathway_local" / "__init__.py").write_text('__version__ = "0.1.0"\n')
    (site.project / "pathway_local" / "cli.py").write_text("import tiny\n\ndef main():\n    print(tiny.FOUND)\n")
    make_wheel(site.index, "torch", "2.13.0+cpu", {"torch.py": ""})
    packed = [_pack(site.index, name) for name in BUILDS]
    for version in ("1.0", "1.1"):
        make_wheel(site.index, "tiny", version, {"tiny.py": f"FOUND = {version!r}\n"})
    write_list(site, *packed[:-1], "tiny==1.0", "tiny==0.9; python_version < '3.11'")
    write_list(site, "torch==2.13.0+cpu", name="torch-cpu.txt")
    write_list(site, packed[-1], name="tools.txt")
    for tool in TOOLS:
        (root / "bin" / tool).symlink_to(str(shutil.which(tool)))
    (root / "bin" / "python3").symlink_to(sys.executable)
    return site


def write_list(site: Site, *lines: str, name: str = "cpu.txt") -> None:
    """Write a list of exact versions with the hashes of their wheels, as those in requirements/ are."""
    hashed = [f"{line} \\\n    {_hash(site, line)}\n" for line in lines]
    (site.project / "requirements" / name).write_text("".join(hashed))


def _hash(site: Site, line: str) -> str:
    project, _, version = line.partition(";")[0].partition("==")
    wheels = list(site.index.glob(f"{project.replace('-', '_')}-{version}-*.whl"))
    digest = hashlib.sha256(wheels[0].read_bytes()).hexdigest() if wheels else "0" * 64
    return f"--hash=sha256:{digest}"


def make_wheel(
    folder: Path, name: str, version: str, files: Mapping[str, str | bytes], tags: str = "py3-none-any"
) -> Path:
    """Write a wheel of these modules."""
    info = f"{name}-{version}.dist-info"
    told = {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    contents = {**files, **told}.items()
    members = {member: text.encode() if isinstance(text, str) else text for member, text in contents}
    return _write_wheel(folder / f"{name}-{version}-{tags}.whl", info, members)


def _pack(folder: Path, name: str) -> str:
    """Pack an installed distribution into a wheel again; return its line for a list."""
    found = importlib.metadata.distribution(name)
    kept = [file for file in found.files or () if file.parts[0] != ".." and file.suffix != ".pyc"]
    members = {file.as_posix(): file.read_binary() for file in kept if file.name not in ("RECORD", "INSTALLER")}
    info = next(file.parts[0] for file in kept if file.parts[0].endswith(".dist-info"))
    _write_wheel(folder / f"{info.removesuffix('.dist-info')}-py3-none-any.whl", info, members)
    return f"{name}=={found.version}"


def _write_wheel(path: Path, info: str, members: Mapping[str, bytes]) -> Path:
    lines = [f"{name},sha256={_digest(content)},{len(content)}\n" for name, content in members.items()]
    with zipfile.ZipFile(path, "w") as wheel:
        for name, content in members.items():
            wheel.writestr(name, content)
        wheel.writestr(f"{info}/RECORD", "".join([*lines, f"{info}/RECORD,,\n"]))
    return path


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
