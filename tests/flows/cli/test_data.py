"""`tucano init`, `synthesize` and `curate`: a shop's exports, a store and prompts, and one dataset."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import polars as pl
import psutil
import pytest

from schemas.config.profiles import load_config
from schemas.store.column_map import read_column_map
from schemas.store.files import read_store
from schemas.store.store import Store
from schemas.tables.prompts import read_prompts
from tests.cases import cases_of
from tests.flows.command import Ended, in_this_process
from tests.prompt_tables import write_prompts
from tests.tasks.curate.prompt_rows import independent_rows
from tests.tasks.synthesize.exports import CPF, EXPORTS, ROWS, opinion, write_export

pytestmark = pytest.mark.integration

CASES = cases_of(__file__)
SYSTEMS = CASES["SYSTEMS"]
MAPPED = CASES["MAPPED"]
"""Of each export, the columns, and then those of the right answer."""
SHOPIFY = (
    "Name,Email,Financial Status,Paid at,Fulfillment Status,Fulfilled at,Total,Created at,Lineitem quantity,"
    "Lineitem name,Lineitem price,Cancelled at,Refunded Amount"
)


def init(folder: Path, file: Path, *options: str) -> Ended:
    return in_this_process("init", file, "--out", folder / "loja", *options)


def synthesize(folder: Path) -> Ended:
    options = ("--out", folder / "out", "--state", folder / "state")
    return in_this_process("synthesize", "--profile", folder / "loja" / "shop.toml", *options)


def sales(folder: Path, header: str, *rows: str) -> Path:
    file = folder / "export.csv"
    file.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return file


def read_without_a_question(folder: Path, file: Path) -> tuple[Ended, Store]:
    ended = init(folder, file)
    assert ended.returncode == 0, ended.text
    assert "then: tucano retrain" in ended.text
    assert synthesize(folder).returncode == 0
    return ended, read_store(folder / "out" / "store")


def test_a_map_and_a_profile_are_written_and_the_next_command_is_told(tmp_path: Path) -> None:
    file, profile = write_export(tmp_path, "nps.csv"), tmp_path / "loja" / "shop.toml"
    ended = init(tmp_path, file, "--json")
    assert ended.document()["tasks"]["sentiment"] == {"rows": 80, "count": 80, "missing": None}
    assert load_config(str(profile)).synthesize.files == tmp_path / "loja" / "columns.toml"
    assert f"then: tucano retrain --profile {profile}" in ended.text
    assert "not recognised: Respondido em" in ended.text
    assert "a1@" not in ended.text
    assert "may have been corrected by hand" in init(tmp_path, file).refusal()
    assert init(tmp_path, file, "--force").returncode == 0


def test_an_export_with_cancelled_and_refunded_orders_and_one_without_an_email_is_read_so(tmp_path: Path) -> None:
    at = "2025-01-19 07:10:05 -0300"
    file = sales(
        tmp_path,
        SHOPIFY,
        f"#1,ana@exemplo.com,paid,{at},fulfilled,{at},57.90,{at},1,Caneca,57.90,,0.00",
        f"#2,,refunded,{at},unfulfilled,,57.90,{at},1,Caneca,57.90,{at},57.90",
        f"#2,,,,,,,{at},1,Bule,12.00,,",
        f"#3,,partially_refunded,{at},fulfilled,{at},100.00,{at},1,Caneca,100.00,,40.00",
        f"#4,rui@exemplo.com,voided,,unfulfilled,,10.00,{at},1,Caneca,10.00,,0.00",
    )
    _, store = read_without_a_question(tmp_path, file)
    assert store.orders["order_status"].to_list() == ["shipped", "canceled", "shipped", "canceled"]
    assert store.payments["payment_value"].to_list() == [57.9, 0.0, 60.0, 10.0]
    assert store.customers["customer_unique_id"].n_unique() == 4


@pytest.mark.parametrize("system", list(SYSTEMS))
def test_an_export_is_read_without_a_question(tmp_path: Path, system: str) -> None:
    header, row, statuses = SYSTEMS[system]
    rows = [row.format(n=n, status=status) for n, status in enumerate(statuses, 1)]
    ended, store = read_without_a_question(tmp_path, sales(tmp_path, header, *rows))
    assert "review_" not in ended.text.split("Tasks that")[0]
    assert store.orders["order_status"].to_list() == list(statuses.values())
    assert set(store.customers["customer_state"]) == {"SP"}
    assert store.payments["payment_value"].to_list() == [20.0] * len(statuses)
    assert store.items["price"].sum() == 20 * len(statuses)


@pytest.mark.parametrize(
    ("header", "row", "column"), CASES["a_status_that_is_not_understood_is_refused_until_it_is_confirmed"]
)
def test_an_unknown_status_is_refused_until_it_is_confirmed(tmp_path: Path, header: str, row: str, column: str) -> None:
    rows = [row.format(n=n, status=("cancelado", "enviado", "voltou ao começo")[n % 3]) for n in range(9)]
    ended = init(tmp_path, sales(tmp_path, header, *rows))
    assert ended.returncode == 0, ended.text
    assert f"once the values of {column} are confirmed: tucano retrain" in ended.words
    synthesize(tmp_path).refusal()
    assert not (tmp_path / "out").exists()
    if column == "Cancelled at":
        return
    column_map = tmp_path / "loja" / "columns.toml"
    text = column_map.read_text(encoding="utf-8")
    assert '# "voltou ao começo" = ""  # confirm' in text
    text = text.replace('# "voltou ao começo" = ""', '"voltou ao começo" = "canceled"')
    column_map.write_text(text, encoding="utf-8")
    assert synthesize(tmp_path).returncode == 0
    assert (read_store(tmp_path / "out" / "store").orders["order_status"] == "canceled").sum() == 6


def mapped(column_map: Path) -> dict[str, str]:
    read = read_column_map(column_map)
    sections = {str(file.table): file.columns for file in read.tables}
    sections |= {str(file.task): file.columns | file.reference for file in read.prompts}
    return {
        name: " ".join(f"{ours}={theirs}" for ours, theirs in columns.items()) for name, columns in sections.items()
    }


@pytest.mark.parametrize("name", EXPORTS)
def test_an_export_that_init_maps_is_read_by_synthesize(tmp_path: Path, name: str) -> None:
    ended = init(tmp_path, write_export(tmp_path, name), "--json")
    planned = ended.document()["tasks"]
    assert CPF not in ended.text
    assert mapped(tmp_path / "loja" / "columns.toml") == MAPPED[name]
    made = synthesize(tmp_path)
    assert made.returncode == 0, made.text
    store = read_store(tmp_path / "out" / "store")
    rows = [row for row in read_prompts(tmp_path / "out" / "prompts.parquet") if row.task == "sentiment"]
    assert len(rows) == planned["sentiment"]["count"]
    assert not any("@" in f"{row.prompt} {row.customer_id}" for row in rows)
    if name == "mercado.xlsx":
        assert str(store.orders["order_purchase_timestamp"].min()) == "2025-01-01 22:04:00"
        assert store.payments["payment_value"].sum() == 20.5 * ROWS
        assert store.orders["order_status"].to_list() == ["delivered", "shipped", "canceled", "canceled"] * 20
        assert (store.items.height, store.customers["customer_state"].unique().to_list()) == (2 * ROWS, ["SP"])
    elif rows:
        # A complaint of one star or of five points, and a ticket that was rated well.
        number, polarity = (0, "positive") if name == "tickets.csv" else (5, "negative")
        assert [row.reference["polarity"] for row in rows if opinion(number) in row.prompt] == [polarity]
    said = "70 of 80 reviews could be used for sentiment; 10 have no text"
    assert (said in made.words) == (name == "avaliacoes.csv")


def test_a_file_that_cannot_be_read_leaves_the_others(tmp_path: Path) -> None:
    for name in EXPORTS:
        write_export(tmp_path, name)
    (tmp_path / "quebrado.csv").write_text("Nota;Texto\n5;bom\n1;ruim;demais\n", encoding="utf-8")
    (tmp_path / "senha.xlsx").write_bytes(b"\xd0\xcf\x11\xe0" * 9)
    init(tmp_path, tmp_path / "senha.xlsx").refusal()
    assert not (tmp_path / "loja").exists()
    ended = init(tmp_path, tmp_path)
    assert ended.returncode == 0, ended.text
    for said in (
        "quebrado.csv: line 3 has 3 cells where the header has 2",
        "senha.xlsx has a password",
        "then: tucano retrain",
    ):
        assert said in ended.words


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        ([f"El producto {n} llegó roto y nadie responde, muy mal" for n in range(80)], "is hardly in Portuguese"),
        ([f"O produto {n} chegou antes do prazo" for n in range(12)], "only 12 different texts, and 60 are the least"),
    ],
)
def test_reviews_of_which_little_can_be_learned_say_so(tmp_path: Path, texts: list[str], said: str) -> None:
    rows = [["Comentário", "Nota"], *([text, str(1 + n % 5)] for n, text in enumerate(texts))]
    ended = init(tmp_path, write_export(tmp_path, "avaliacoes.csv", rows), "--task", "sentiment")
    assert (ended.returncode, said in ended.words) == (0, True), ended.text
    assert "extraction" not in ended.text + (tmp_path / "loja" / "columns.toml").read_text(encoding="utf-8")


LINE = {"task": "churn", "prompt": "Vai voltar?", "reference": {"churn": True}, "customer_id": "c1"}
SIZES = {"test_per_task": 3, "validation_per_task": 2, "held_out_share": 0.5}
SMALL = tuple(part for name, value in SIZES.items() for part in ("--set", f"curate.{name}={value}"))


def require_as_written(document: dict[str, Any], out: Path) -> None:
    """Require that the document on stdout has the figures of `summary.json`, and the folder."""
    written = json.loads((out / "summary.json").read_text(encoding="utf-8"))
    assert {name: document[name] for name in written} == written
    assert document["out"] == str(out)


def test_a_store_and_prompts_are_made_in_the_reports_mix_and_become_a_dataset(tmp_path: Path) -> None:
    made, out = tmp_path / "prompts", tmp_path / "out"
    options = ("--count", "240", "--orders", "300", "--seed", "3", "--json")
    document = in_this_process("synthesize", *options, "--out", made).document()
    require_as_written(document, made)
    tasks = [row.task for row in read_prompts(made / "prompts.parquet")]
    counts = {task: tasks.count(task) for task in tasks}
    assert counts == {"extraction": 96, "sql_qa": 96, "insights": 24, "push": 24}
    assert read_store(made / "store").orders.height == 300
    document = in_this_process("curate", made, "--out", out, *SMALL, "--json").document()
    require_as_written(document, out)
    assert document["seconds"] > 0
    assert "Tucano2-Commerce" in (out / "README.md").read_text(encoding="utf-8")
    assert document["tasks"].keys() >= counts.keys()
    assert sum(document[part] for part in ("train", "validation", "test", "quarantined")) == 240
    assert sorted(tmp_path.iterdir()) == [out, made]


def test_an_interruption_leaves_neither_files_nor_workers(tmp_path: Path) -> None:
    path = write_prompts(independent_rows(push=8_000), tmp_path / "prompts.parquet")
    settings = ("--set", "curate.shard_rows=1000", "--set", "curate.workers=2")
    command = [sys.executable, "-m", "flows", "curate", str(path), "--out", str(tmp_path / "made" / "out"), *settings]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        while not list(tmp_path.rglob("kept-*.parquet")):
            assert process.poll() is None
            time.sleep(0.02)
        children = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(signal.SIGTERM)
        out, said = process.communicate()
    assert (process.returncode, out) == (4, ""), said
    (sentence,) = (line for line in said.strip().splitlines() if not line.startswith("curate: "))
    assert sentence.startswith("tucano: interrupted, and nothing ")
    assert list(tmp_path.rglob("*")) == [path]
    assert len(children) > 2
    assert psutil.wait_procs(children, timeout=60)[1] == []


def test_lines_of_a_shops_own_become_a_dataset_without_personal_data(tmp_path: Path) -> None:
    own = [{**LINE, "prompt": f"Pedidos: {number}. Vai voltar?", "customer_id": f"c{number}"} for number in range(80)]
    own += [{**LINE, "prompt": f"{CPF} pergunta: {number}?", "customer_id": f"d{number}"} for number in range(9)]
    own += [{**LINE, "prompt": "De quem?", "customer_id": CPF}, {**LINE, "reference": {"churn": True, CPF: [CPF]}}]
    own.append({**LINE, "prompt": f"{CPF} {'x' * 9000}"})
    own.append({**LINE, "system": f"Fale com {CPF}.", "reference": {"churn": CPF}})
    (tmp_path / "own.jsonl").write_text("\n".join(map(json.dumps, own)), encoding="utf-8")
    dataset = tmp_path / "out"
    ended = in_this_process("curate", tmp_path / "own.jsonl", "--out", dataset, *SMALL, "--json")
    summary = ended.document()
    reasons = summary["reasons"]
    assert reasons["schema"] == reasons["personal id"] == reasons["too long"] == {"churn": 1}
    assert summary["scrubbed"]["CPF"] == 9 + 2 + 1 + 2
    assert "| own |" in (dataset / "README.md").read_text(encoding="utf-8")
    assert "[CPF]" in ended.text
    tables = [pl.read_parquet(path).write_csv() for path in dataset.rglob("*.parquet")]
    texts = [path.read_text(encoding="utf-8") for path in dataset.iterdir() if path.suffix in {".md", ".json"}]
    for text in (*tables, *texts, ended.text):
        assert not [form for form in ("111.444", "777-35", "11144477735") if form in text]
