import json
import re
from pathlib import Path

import pytest

from schemas.store.column_map import NEEDED, mapped_columns
from schemas.tables.prompts import read_prompts
from tests.flows.command import in_this_process

PAGE = Path(__file__).resolve().parents[2] / "docs" / "your-data.md"
EXAMPLE = re.compile(r"^`([\w.-]+)`:\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the page's examples."""
    folder = tmp_path_factory.mktemp("page")
    for name, text in EXAMPLE.findall(PAGE.read_text(encoding="utf-8")):
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def test_the_example_rows_make_a_prompt_of_each_task(folder: Path) -> None:
    mix = "extraction=1,sentiment=1,churn=1,push=1,insights=1,sql_qa=1"
    files = ("--source", "files", "--files", folder / "linhas.toml", "--state", folder / "state")
    ended = in_this_process("synthesize", *files, "--count", "6", "--mix", mix, "--out", folder / "rows", "--json")
    assert ended.returncode == 0, ended.stderr
    rows = {row.task: row for row in read_prompts(folder / "rows" / "prompts.parquet")}
    assert json.loads(ended.stdout)["origins"] == {task: {"files": 1} for task in mix.replace("=1", "").split(",")}
    assert {task: row.reference for task, row in rows.items() if task != "extraction"} == {
        "sentiment": {"polarity": "positive", "score": 5},
        "churn": {"churn": True},
        "push": {"product": "fone de ouvido", "offer": "20% de desconto"},
        "insights": {"facts": ["fev: receita de R$ 30,00"]},
        "sql_qa": {"sql": "SELECT COUNT(*) FROM orders WHERE order_status = 'delivered'"},
    }
    assert rows["extraction"].reference["fields"]["complaint_category"] == "product"


def test_the_example_export_is_a_store_without_an_address_of_a_person(folder: Path) -> None:
    files = ("--source", "files", "--files", folder / "mapa.toml", "--state", folder / "state")
    ended = in_this_process("synthesize", *files, "--count", "20", "--mix", "push=1", "--out", folder / "tables")
    assert ended.returncode == 0, ended.stderr
    assert "identities of customer hold e-mail addresses" in ended.stderr
    assert len(read_prompts(folder / "tables" / "prompts.parquet")) == 20
    items = (folder / "tables" / "store" / "olist_order_items_dataset.csv").read_text().splitlines()
    assert len(items) == 1 + 4
    written = [path.read_bytes() for path in (folder / "tables").rglob("*") if path.is_file()]
    assert not any(b"example.com" in content for content in written)


def test_all_columns_are_on_the_page() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE))
    assert rows.keys() == NEEDED.keys()
    for name, needed in NEEDED.items():
        if name != "review_causes":
            named = set(re.findall(r"`([a-z]+_[a-z_]+|churned|hazard|price|quantity)`", rows[name]))
            assert set(mapped_columns(name)) <= named, name
            assert set(needed) == set(re.findall(r"\*\*`(\w+)`\*\*", rows[name])), name
