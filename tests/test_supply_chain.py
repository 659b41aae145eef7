"""Nothing that comes with a model is run, nothing pickled is read, and weights are those that the registry names."""

import ast
import json
import shutil
from pathlib import Path

import pytest
import yaml
from test_floors import modules
from typed import Desk
from yaml.constructor import SafeConstructor

from pathway_local.sealing import launch
from pathway_local.system import safe_yaml

UNSAFE_MODULES = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "shelve", "marshal", "diskcache"}
UNSAFE_CALLS = {"eval", "exec", "yaml.unsafe_load", "yaml.full_load", "numpy.load", "np.load"}
SAFE_IF = {"torch.load": {"weights_only=True"}, "yaml.load": {"_Loader", "_FastLoader"}}
"""Calls that are safe with such an argument: torch's own reader without pickles, loaders that make plain values."""


@pytest.fixture
def desk(tmp_path: Path, tiny_judge: Path) -> Desk:
    return Desk(tmp_path / "d", shutil.copytree(tiny_judge, tmp_path / "judge"))


def test_no_module_reads_pickles_or_runs_what_it_reads() -> None:
    assert len(modules()) > 100
    for node in (each for tree in modules().values() for each in ast.walk(tree)):
        if isinstance(node, ast.Import):
            assert not {alias.name.partition(".")[0] for alias in node.names} & UNSAFE_MODULES
        elif isinstance(node, ast.ImportFrom):
            assert (node.module or "").partition(".")[0] not in UNSAFE_MODULES
        elif isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            assert called not in UNSAFE_CALLS
            if called in SAFE_IF:
                assert SAFE_IF[called] & set(map(ast.unparse, [*node.args, *node.keywords]))
            for keyword in node.keywords:
                if keyword.arg in ("trust_remote_code", "allow_pickle", "weights_only"):
                    safe = keyword.arg == "weights_only"
                    assert isinstance(keyword.value, ast.Constant)
                    assert keyword.value.value is safe
        elif isinstance(node, ast.Dict):
            pairs = zip(node.keys, node.values, strict=True)
            switches = [v for k, v in pairs if isinstance(k, ast.Constant) and k.value == "trust_remote_code"]
            assert all(isinstance(switch, ast.Constant) and switch.value is False for switch in switches)


@pytest.mark.parametrize("loader", [safe_yaml._Loader, safe_yaml._FastLoader])
def test_yaml_makes_plain_values_alone(loader: type[yaml.SafeLoader]) -> None:
    assert issubclass(loader, SafeConstructor)
    with pytest.raises(yaml.MarkedYAMLError):
        yaml.load("!!python/object/apply:os.getpid []", loader)


def test_a_registry_that_asks_for_it_is_refused(desk: Desk) -> None:
    registry = {"scripted": {"source": str(desk.judge), "engine": {"trust_remote_code": True}}}
    (desk.work / "models.yaml").write_text(json.dumps(registry))
    refused = desk.typed(*desk.judging(desk.cases(1)), code=2)
    assert "never run" in refused.stderr


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pt", "model.pkl"])
def test_a_folder_of_pickles_is_refused(desk: Desk, name: str) -> None:
    (desk.judge / "model.safetensors").rename(desk.judge / name)
    refused = desk.typed(*desk.judging(desk.cases(1)), code=5)
    assert "never read" in refused.stderr
    assert not (desk.work / "may.run").exists()


def test_weights_that_are_not_those_of_the_registry_are_refused_before_anything_is_loaded(desk: Desk) -> None:
    told = json.loads(desk.typed("doctor", "--judge", "tiny", "--models", "models.yaml", "--json").stdout)
    found = next(each["found"] for each in told if each["name"] == "weights")
    right = found.rpartition(" ")[2]
    entry = {"source": str(desk.judge), "context": 8192, "engine": {"script": "reply_script:reply"}, "sha256": right}
    (desk.work / "models.yaml").write_text(json.dumps({"scripted": entry}))
    desk.typed(*desk.judging(desk.cases(1)))
    (desk.judge / "chat_template.jinja").write_text("{{ messages }}")
    refused = desk.typed(*desk.judging(desk.cases(1), "--run", "other.run"), code=5)
    assert "the registry has" in refused.stderr
    assert "sealed:" not in refused.stderr
    assert not (desk.work / "other.run").exists()


def test_caches_lie_in_the_engines_own_folder_where_the_home_takes_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "no-folder").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "no-folder"))
    monkeypatch.setenv(launch.TEMPORARY, str(tmp_path))
    assert {Path(place).parent for place in launch._caches().values()} == {tmp_path}
