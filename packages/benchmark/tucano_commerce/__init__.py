"""Tucano's Brazilian-commerce benchmark: `Benchmark(folder).score(id, completion)`, and the adapters by their names.

`prime`'s and verifiers' commands find the taskset here, by the id `tucano-commerce`; lm-evaluation-harness reads
`LM_EVAL_FOLDER` as `--include_path`, and Inspect the task in `INSPECT_FILE`.
"""

from importlib import import_module
from pathlib import Path
from typing import Any

from tasks import benchmark
from tasks.benchmark.scorers import Benchmark, BenchmarkScore

__all__ = ["INSPECT_FILE", "LM_EVAL_FOLDER", "Benchmark", "BenchmarkScore", "TucanoCommerceTaskset"]

LM_EVAL_FOLDER = Path(str(benchmark.__file__)).parent / "adapters" / "lm_eval"
INSPECT_FILE = LM_EVAL_FOLDER.parent / "inspect_task.py"


def __getattr__(name: str) -> Any:
    # verifiers is imported where its taskset is asked for.
    if name == "TucanoCommerceTaskset":
        return getattr(import_module("tasks.benchmark.adapters.verifiers_taskset"), name)
    raise AttributeError(name)
