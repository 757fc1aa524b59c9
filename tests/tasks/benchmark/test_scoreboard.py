"""The scoreboard compares what answered the same questions under the same rewards, and reads entries as text."""

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from schemas.errors import InputError
from schemas.tasks import TASK_NAMES
from tasks.benchmark.scoreboard import Entry, as_entry, page, read_entries, write_entry

CARD = {"seed": 1, "version": "0.1.0", "reward_versions": {"push": "abcd"}, "sha256": {"test.jsonl": "f00d" * 16}}


def entry(name: str, reward: float, card: Any = None, **other: Any) -> Entry:
    tasks = {task: {"n": 9, "reward": (reward, reward - 0.1, reward + 0.1), "truth": None} for task in TASK_NAMES}
    said = {"name": name, "kind": "model", "date": date(2026, 11, 25), "answered": "m", **other}
    return as_entry({"tasks": tasks}, card or CARD, **said)


def test_the_best_comes_first_and_equal_entries_give_equal_bytes(tmp_path: Path) -> None:
    for name, reward in (("worse", 0.2), ("better", 0.7)):
        write_entry(tmp_path / f"{name}.json", entry(name, reward, dollars_per_1000=0.5))
    found = read_entries(tmp_path)
    text = page(found)
    assert page(list(reversed(found))) == text
    rows = [line for line in text.splitlines() if line.startswith(("| better", "| worse"))]
    assert [row.split(" | ")[0] for row in rows[:2]] == ["| better", "| worse"]
    assert "0.700 (0.600 to 0.800)" in rows[0]
    assert "| 0.5 | 2026-11-25 | m |" in rows[0]


@pytest.mark.parametrize(
    "other", ({"seed": 2}, {"sha256": {"test.jsonl": "beef" * 16}}, {"reward_versions": {"push": "dcba"}})
)
def test_other_questions_and_other_rewards_have_a_table_of_their_own(other: dict[str, Any]) -> None:
    text = page([entry("one", 0.5), entry("two", 0.6, {**CARD, **other})])
    assert text.count("## Benchmark") == 2


def test_a_file_that_is_no_entry_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{}", encoding="utf-8")
    with pytest.raises(InputError, match=r"x\.json"):
        read_entries(tmp_path)
