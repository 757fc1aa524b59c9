"""Tucano's Brazilian-commerce benchmark: `Benchmark(folder).score(id, completion)`.

lm-evaluation-harness reads `LM_EVAL_FOLDER` as `--include_path`.
"""

from pathlib import Path

from tasks import benchmark
from tasks.benchmark.scorers import Benchmark, BenchmarkScore

__all__ = ["LM_EVAL_FOLDER", "Benchmark", "BenchmarkScore"]

LM_EVAL_FOLDER = Path(str(benchmark.__file__)).parent / "adapters" / "lm_eval"
