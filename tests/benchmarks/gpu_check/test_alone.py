"""The check where there is nothing but torch and transformers: not even what the project's schemas are made of."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.gpu_check.catalog import PROJECT

pytestmark = pytest.mark.integration

HIDDEN = (
    "accelerate", "bitsandbytes", "datasets", "mlflow", "pandera", "peft", "polars", "prefect", "pydantic", "trl",
    "unsloth", "vllm", "xformers",
)  # fmt: skip
HIDE = """
import os
import sys

HIDDEN = set(os.environ["HIDDEN"].split())


class Hiding:
    def __init__(self, finder):
        self.finder = finder

    def find_spec(self, name, path=None, target=None):
        return None if name.split(".")[0] in HIDDEN else self.finder.find_spec(name, path, target)

    def __getattr__(self, name):
        return getattr(self.finder, name)


sys.meta_path[:] = [Hiding(finder) for finder in sys.meta_path]
"""


def test_all_that_needs_only_torch_and_transformers_is_measured(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(HIDE, encoding="utf-8")
    repository = Path(__file__).resolve().parents[3]
    paths = os.pathsep.join([str(tmp_path), str(repository)])
    out = tmp_path / "figures.json"
    command = [sys.executable, "-m", "benchmarks.gpu_check", "--shape", "tiny", "--device", "cpu", "--out", str(out)]
    ended = subprocess.run(
        [*command, "--seconds", "3000"],
        env={**os.environ, "PYTHONPATH": paths, "HIDDEN": " ".join(HIDDEN)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    rows = {row["name"]: row for row in json.loads(out.read_text(encoding="utf-8"))["rows"]}
    assert rows["sampling by transformers"]["figures"]["tokens_per_second"] > 0
    assert rows["merged weights in bfloat16"]["verdict"] == "ok"
    memory = [row for name, row in rows.items() if name.startswith("tiny, 1 x 32 tokens")]
    assert len(memory) == 2
    assert all("no adapter: PEFT is not here" in row["measured"] for row in memory)
    needed = ", ".join(name for name in PROJECT if name in HIDDEN)
    assert rows["training by the real child"]["measured"] == f"needs {needed}"
    for group in ("training by the real child", "answers and merge", "rollouts by vLLM"):
        assert rows[group]["verdict"] == "not here"
