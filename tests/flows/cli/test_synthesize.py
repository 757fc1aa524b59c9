"""`tucano synthesize`: a store and prompts by itself; a mistake is one sentence, exit code 2, and nothing on disk."""

import json
from pathlib import Path

import pytest

from schemas.store.files import read_store
from schemas.tables.prompts import read_prompts
from tests.flows.command import in_a_process

COUNT = ("--count", "60", "--orders", "80", "--seed", "3")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    ended = in_a_process("synthesize", *COUNT, "--out", folder / "out", "--json")
    assert ended.returncode == 0, ended.text
    (folder / "summary.json").write_text(ended.stdout)
    (folder / "said").write_text(ended.stderr)
    return folder


def test_it_makes_a_store_and_prompts_in_the_reports_mix(made: Path) -> None:
    tasks = [row.task for row in read_prompts(made / "out" / "prompts.parquet")]
    assert {task: tasks.count(task) for task in tasks} == {"extraction": 24, "sql_qa": 24, "insights": 6, "push": 6}
    assert read_store(made / "out" / "store").orders.height == 80
    assert sorted(path.name for path in made.iterdir()) == ["out", "said", "summary.json"]


def test_the_summary_is_one_document_on_stdout(made: Path) -> None:
    summary = json.loads((made / "summary.json").read_text())
    written = json.loads((made / "out" / "summary.json").read_text())
    assert {name: summary[name] for name in written} == written
    assert summary["out"] == str(made / "out")
    assert summary["seconds"] > 0
