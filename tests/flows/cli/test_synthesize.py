"""`tucano synthesize`: a store and prompts by itself; a mistake is one sentence, exit code 2, and nothing on disk."""

import json
from pathlib import Path

import pytest

from schemas.store.files import read_store
from schemas.tables.prompts import read_prompts
from tests.flows.command import Ended, in_a_process, in_this_process
from tests.schemas.olist_sample import SAMPLE, needs_sample

COUNT = ("--count", "60", "--orders", "80", "--seed", "3")


def tucano(*arguments: str | Path) -> Ended:
    return in_this_process("synthesize", *arguments)


def refused(folder: Path, *arguments: str) -> str:
    """Run a command that must refuse, and return its one sentence."""
    before = sorted(folder.rglob("*"))
    ended = tucano("--out", str(folder / "out"), "--state", str(folder / "state"), *arguments)
    assert ended.returncode == 2, ended.text
    assert ended.stdout == ""
    assert "Traceback" not in ended.text
    assert sorted(folder.rglob("*")) == before
    last = ended.stderr.strip().splitlines()[-1]
    assert last.startswith("tucano: ")
    return last


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


def test_the_same_command_gives_the_same_bytes(made: Path, tmp_path: Path) -> None:
    tucano(*COUNT, "--out", str(tmp_path / "out"))
    files = [path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) > 5
    assert all((tmp_path / file).read_bytes() == (made / file).read_bytes() for file in files)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--count", "0"], "--count 0"),
        (["--count", "9", "--source", "kaggle"], "source: must be 'simulated', 'olist' or 'files'"),
        (["--count", "9", "--mix", "poems=3"], "--mix: 'poems=3' is not TASK=WEIGHT"),
        (["--count", "9", "--orders", "3"], "orders: must be greater than or equal to 50"),
        (["--count", "9", "--set", "train.max_steps=1"], "another section"),
        (["--count", "9", "--set", "synthesize.paraphrase.url=sk-1"], "paraphrasing was removed; leave it out"),
        (["--count", "99999999999"], "counts asks for 99999999999 prompts; 10,000,000 is the most"),
        (["--count", "9", "--orders", "99999999999"], "orders: must be less than or equal to 10000000"),
    ],
)
def test_a_wrong_option_is_named(tmp_path: Path, arguments: list[str], sentence: str) -> None:
    assert sentence in refused(tmp_path, *arguments)


@needs_sample
def test_kaggles_folder_makes_prompts(tmp_path: Path) -> None:
    arguments = ("--source", "olist", "--olist-dir", str(SAMPLE), "--count", "60", "--mix", "extraction=2,sentiment=1")
    ended = tucano(*arguments, "--out", str(tmp_path / "out"), "--json")
    assert ended.returncode == 0, ended.text
    made = json.loads(ended.stdout)["made"]
    assert (made["extraction"], made["sentiment"]) == (40, 20)
