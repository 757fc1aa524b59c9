"""Child of `benchmarks.curate`: curate as `tucano curate` does, and print the time without imports."""

import json
import sys
import time
from pathlib import Path
from typing import Final

import polars as pl

SMALL_COUNT: Final = 24_000
SMALL_SHARD: Final = 5_000
"""Small, so that each of four workers has something to do."""
HELD_OUT_SHARE: Final = 0.05


def curate(prompts: Path, output: Path, workers: int) -> None:
    """Curate prompts in that many processes."""
    from schemas.config.config import CurateConfig
    from schemas.config.train_sections import PolicyConfig
    from schemas.progress import silent
    from tasks.curate import stage
    from tasks.curate.processes import in_processes

    output.mkdir()
    rows = pl.scan_parquet(prompts / "prompts.parquet").select(pl.len()).collect().item()
    shard_rows = SMALL_SHARD if rows < 2 * SMALL_COUNT else CurateConfig().shard_rows
    config = CurateConfig(held_out_share=HELD_OUT_SHARE, max_prompt_tokens=1536, shard_rows=shard_rows)
    started = time.perf_counter()
    summary = stage.run(config, PolicyConfig(stand_in=True), prompts, output, silent, in_processes(workers))
    seconds = time.perf_counter() - started
    kept = sum(summary.rows.values())
    print(json.dumps({"prompts": kept + summary.quarantined, "kept": kept, "seconds": seconds}))


if __name__ == "__main__":
    curate(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
