"""`tucano synthesize` makes a store and prompts by itself, and one document on stdout."""

import json
from pathlib import Path

from schemas.store.files import read_store
from schemas.tables.prompts import read_prompts
from tests.flows.command import in_this_process


def test_a_store_and_prompts_are_made_in_the_reports_mix(tmp_path: Path) -> None:
    out = tmp_path / "out"
    ended = in_this_process("synthesize", "--count", "60", "--orders", "80", "--seed", "3", "--out", out, "--json")
    assert ended.returncode == 0, ended.text
    tasks = [row.task for row in read_prompts(out / "prompts.parquet")]
    assert {task: tasks.count(task) for task in tasks} == {"extraction": 24, "sql_qa": 24, "insights": 6, "push": 6}
    assert read_store(out / "store").orders.height == 80
    summary, written = json.loads(ended.stdout), json.loads((out / "summary.json").read_text())
    assert {name: summary[name] for name in written} == written
    assert summary["out"] == str(out)
    assert list(tmp_path.iterdir()) == [out]
