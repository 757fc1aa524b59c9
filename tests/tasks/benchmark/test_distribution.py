"""The wheel works with its four dependencies alone, gives the same rewards, and is the same bytes each time."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tasks.benchmark.distribution import build_wheel
from tasks.benchmark.scorers import Benchmark
from tasks.commerce.registry import TASKS, reward_versions

pytestmark = pytest.mark.integration

NEEDED = ("json_repair", "orjson", "pydantic", "regex")
"""The distribution's dependencies, and below what these import."""
WITH_THESE = ("annotated_types", "pydantic_core", "typing_extensions", "typing_inspection")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel's files and its dependencies, and nothing else of this environment."""
    folder = tmp_path_factory.mktemp("installed")
    wheel = build_wheel(folder / "wheel")
    assert build_wheel(folder / "again").read_bytes() == wheel.read_bytes()
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-compile", "--target",
         folder / "site", wheel],
        check=True,
    )  # fmt: skip
    for name in (*NEEDED, *WITH_THESE):
        spec = find_spec(name)
        assert spec is not None
        assert spec.origin is not None
        origin = Path(spec.origin)
        origin = origin.parent if origin.name == "__init__.py" else origin
        (folder / "site" / origin.name).symlink_to(origin)
    return folder / "site"


def run(installed: Path, code: str, *arguments: object) -> str:
    # Without site-packages, and away from this checkout.
    command = [sys.executable, "-S", "-c", code, *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    ended = subprocess.run(command, capture_output=True, text=True, cwd=installed.parent, env=environment, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_it_scores_as_this_checkout_does(installed: Path, folder: Path) -> None:
    code = (
        "import json, sys\n"
        "from tucano_commerce import Benchmark, LM_EVAL_FOLDER\n"
        "from tasks.commerce.registry import TASKS, reward_versions\n"
        "assert (LM_EVAL_FOLDER / 'tucano_commerce.yaml').exists()\n"
        "benchmark = Benchmark(sys.argv[1])\n"
        "answers = [(item, TASKS[item.task].answer(item.reference)[:-1]) for item in benchmark.items.values()]\n"
        "scores = [benchmark.score(item, answer) for item, answer in answers]\n"
        "print(json.dumps([[score.reward for score in scores], reward_versions()]))"
    )
    rewards, versions = json.loads(run(installed, code, folder))
    benchmark = Benchmark(folder)
    ours = [benchmark.score(item, TASKS[item.task].answer(item.reference)[:-1]) for item in benchmark.items.values()]
    assert rewards == [score.reward for score in ours]
    assert versions == reward_versions()
