"""The benchmark is the same for the same seed, of its own seeds, and free of any shop's rows."""

import json
import random
from pathlib import Path

from schemas.progress import silent
from tasks.benchmark.folder import read_items
from tasks.benchmark.write import write_benchmark
from tasks.synthesize.simulated import simulate_store
from tests.tasks.benchmark.conftest import ORDERS, PER_TASK, SEED

FILES = ("card.json", "store.json", "test.jsonl")


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(folder: Path, tmp_path: Path) -> None:
    again, other = tmp_path / "again", tmp_path / "other"
    for path, seed in ((again, SEED), (other, SEED + 1)):
        path.mkdir()
        write_benchmark(seed, PER_TASK, ORDERS, path, silent)
    assert {path.name for path in folder.iterdir()} == set(FILES)
    assert all((folder / name).read_bytes() == (again / name).read_bytes() for name in FILES)
    assert not {item.id for item in read_items(folder)} & {item.id for item in read_items(other)}


def test_its_store_is_of_a_seed_that_no_training_run_draws_from(folder: Path) -> None:
    written = json.loads((folder / "store.json").read_text(encoding="utf-8"))["copies"][0]["orders"]["rows"]
    ours = {row[0] for row in written}
    assert ours == set(simulate_store(ORDERS, random.Random(f"benchmark:{SEED}:store")).orders["order_id"])
    for seed in (SEED, 0, 1, 42):
        assert not ours & set(simulate_store(ORDERS, random.Random(f"{seed}:store")).orders["order_id"])
