"""The shipped example: rows as the browser makes them today, small, and kept from a page as they were."""

import gzip
import json
from pathlib import Path

from tasks.evaluate.completions.example import EXAMPLE_FILE, keep_example, read_example
from tasks.evaluate.completions.page import unpacked, write_page
from tasks.personal_data.scrub import scrub
from tests.tasks.evaluate.completions.logged import steps
from tests.tasks.evaluate.completions.test_rows import document


def test_the_shipped_rows_have_the_form_that_the_page_reads(tmp_path: Path) -> None:
    example, made = read_example(), document(tmp_path, steps())
    assert example.keys() == made.keys()
    for name in ("prompts", "rollouts", "answers", "texts"):
        assert example[name].keys() == made[name].keys()
    assert len(example["rollouts"]["step"]) == example["logged"] > 1_000
    assert example["models"][:2] == ["base", "tuned"]
    assert EXAMPLE_FILE.stat().st_size < 300_000


def test_the_shipped_rows_hold_nothing_personal() -> None:
    assert [found for text in read_example()["texts"]["text"] if (found := scrub(text)[1])] == []


def test_the_rows_of_a_page_are_kept_as_they_are(tmp_path: Path) -> None:
    rows = document(tmp_path, steps())
    keep_example(write_page(rows, tmp_path), tmp_path / "kept.json.gz")
    carried = unpacked((tmp_path / "completions.html").read_text(encoding="utf-8"))
    kept = json.loads(gzip.decompress((tmp_path / "kept.json.gz").read_bytes()))
    assert kept == {name: value for name, value in carried.items() if name != "words"}
