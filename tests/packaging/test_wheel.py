"""The wheel, installed away from the clone, has all that commands read, and the clone's keys and reward versions."""

import json
import os
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from schemas.source import REPOSITORY
from tests.flows.test_stage_keys import DIGESTS, STAGES, digests

pytestmark = pytest.mark.integration

FOLDER: Final = "tucano2_commerce"
WHOLE: Final = ("constraints", "data", "flows", "infra/profiles", "schemas", "tasks")
"""Folders of the clone that the wheel has with every file."""
WHERE: Final = """
import json
from importlib.util import find_spec
from schemas.source import REPOSITORY
print(json.dumps([str(REPOSITORY), find_spec("benchmarks") is None]))
"""


@dataclass(frozen=True)
class Installed:
    """An environment with the wheel, and an empty folder to work in."""

    wheel: Path
    python: Path
    folder: Path

    def tucano(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        return self._run(self.python.with_name("tucano"), *arguments)

    def answer(self, code: str, *arguments: str) -> Any:
        ended = self._run(self.python, "-c", code, *arguments)
        assert ended.returncode == 0, ended.stderr
        return json.loads(ended.stdout)

    def _run(self, *command: object) -> subprocess.CompletedProcess[str]:
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        return subprocess.run(
            [str(part) for part in command],
            cwd=self.folder, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The wheel that the sdist gives; what it depends on is this environment's, which takes minutes to install."""
    place = tmp_path_factory.mktemp("packaging")
    sdist = _build(REPOSITORY, "sdist", place)
    with tarfile.open(sdist) as archive:
        archive.extractall(place, filter="data")
    wheel = _build(place / sdist.name.removesuffix(".tar.gz"), "wheel", place)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place / "venv"], check=True)
    python = place / "venv" / "bin" / "python"
    libraries = sysconfig.get_path("purelib", vars={"base": str(place / "venv")})
    # A folder that a .pth file names is searched, and its own .pth files, such as the clone's, are not read.
    Path(libraries, "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    pip = [sys.executable, "-m", "pip", "--python", str(python), "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "install", "--no-deps", "--no-index", wheel], check=True)
    (place / "empty").mkdir()
    return Installed(wheel, python, place / "empty")


def _build(source: Path, kind: str, to: Path) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "--target", kind, "--directory", str(to)]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    (built,) = to.glob("*.tar.gz" if kind == "sdist" else "*.whl")
    return built


def test_the_wheel_has_every_file_and_one_name_beside_other_packages(installed: Installed) -> None:
    with zipfile.ZipFile(installed.wheel) as archive:
        names = set(archive.namelist())
    assert {name.partition("/")[0] for name in names if ".dist-info/" not in name} == {FOLDER, f"{FOLDER}.pth"}
    files = {
        f"{FOLDER}/{file.relative_to(REPOSITORY).as_posix()}"
        for folder in WHOLE
        for file in (REPOSITORY / folder).rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    assert {name for name in names if name.startswith(tuple(f"{FOLDER}/{folder}/" for folder in WHOLE))} == files
    assert any(name.endswith("/licenses/LICENSE") for name in names)


def test_its_code_is_its_own_and_has_the_clones_keys_and_reward_versions(installed: Installed) -> None:
    place, no_clone = installed.answer(WHERE)
    assert Path(place).is_relative_to(installed.python.parents[1])
    assert no_clone
    assert installed.answer(DIGESTS, json.dumps(STAGES)) == [*digests(REPOSITORY)]


def test_an_older_python_reads_one_sentence(tmp_path: Path) -> None:
    code = "import sys; sys.version_info = (3, 10, 13, 'final', 0); sys.path.insert(0, sys.argv[1]); import flows.cli"
    command = [sys.executable, "-c", code, str(REPOSITORY)]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    (sentence,) = ended.stderr.splitlines()
    assert "3.11" in sentence
