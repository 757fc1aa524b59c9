"""Child of `benchmarks.synthesize`: make the prompts, and print the figures for the parent."""

import json
import sys
import time
from pathlib import Path
from typing import Final

FOLDER: Final = Path(".tucano") / "benchmark-synthesize"


def make(count: int, mix: str) -> None:
    """Make the prompts; imports are timed by themselves."""
    started = time.perf_counter()
    import pyarrow.parquet

    from schemas.config.config import SynthesizeConfig
    from schemas.progress import silent
    from tasks.synthesize import stage
    from tasks.synthesize.mix import read_mix, split_count

    assert pyarrow.parquet
    imported = time.perf_counter()
    config = SynthesizeConfig(counts=split_count(count, read_mix(mix)))
    summary = stage.run(config, 1, FOLDER, silent, FOLDER / "state")
    ended = time.perf_counter()
    figures = {
        "made": sum(summary.made.values()),
        "orders": summary.store.orders,
        "import_seconds": imported - started,
        "seconds": ended - imported,
        "megabytes": (FOLDER / "prompts.parquet").stat().st_size / 1e6,
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    make(int(sys.argv[1]), sys.argv[2])
