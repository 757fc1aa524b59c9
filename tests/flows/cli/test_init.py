"""`tucano init` as a person uses it: what it writes, prints and refuses."""

import json
from pathlib import Path

import pytest

from schemas.config.profiles import load_config
from schemas.store.column_map import read_column_map
from schemas.store.files import read_store
from schemas.store.store import Store
from schemas.tables.prompts import read_prompts
from tests.cases import cases_of
from tests.flows.command import in_this_process
from tests.tasks.synthesize.exports import CPF, EXPORTS, ROWS, opinion, write_export

CASES = cases_of(__file__)


def test_a_map_and_a_profile_are_written_and_the_next_command_is_told(tmp_path: Path) -> None:
    file, profile = write_export(tmp_path, "tickets.csv"), tmp_path / "loja" / "shop.toml"
    ended = in_this_process("init", file, "--out", tmp_path / "loja", "--json")
    assert ended.returncode == 0, ended.text
    assert load_config(str(profile)).synthesize.files == tmp_path / "loja" / "columns.toml"
    assert f"then: tucano retrain --profile {profile}" in ended.text
    assert "not recognised: Ticket ID" in ended.text
    assert "a1@" not in ended.text + ended.stdout
    again = in_this_process("init", file, "--out", tmp_path / "loja")
    assert (again.returncode, "may have been corrected by hand" in again.text) == (2, True)
    assert in_this_process("init", file, "--out", tmp_path / "loja", "--force").returncode == 0
    assert json.loads(ended.stdout)["tasks"]["sentiment"] == {"rows": 107, "count": 107, "missing": None}


ORDERS = (
    "Name,Email,Financial Status,Paid at,Fulfillment Status,Fulfilled at,Total,Created at,Lineitem quantity,"
    "Lineitem name,Lineitem price,Cancelled at,Refunded Amount\n"
)


def shopify(folder: Path, *rows: str) -> Path:
    file = folder / "orders_export.csv"
    file.write_text(ORDERS + "".join(f"{row}\n" for row in rows), encoding="utf-8")
    return file


def made_of(profile: Path, folder: Path) -> Store:
    assert in_this_process("synthesize", "--profile", profile, "--out", folder, "--state", folder / "s").returncode == 0
    return read_store(folder / "store")


def test_an_export_with_cancelled_and_refunded_orders_and_one_without_an_email_is_read_so(tmp_path: Path) -> None:
    at = "2025-01-19 07:10:05 -0300"
    file = shopify(
        tmp_path,
        f"#1,ana@exemplo.com,paid,{at},fulfilled,{at},57.90,{at},1,Caneca,57.90,,0.00",
        f"#2,,refunded,{at},unfulfilled,,57.90,{at},1,Caneca,57.90,{at},57.90",
        f"#2,,,,,,,{at},1,Bule,12.00,,",
        f"#3,,partially_refunded,{at},fulfilled,{at},100.00,{at},1,Caneca,100.00,,40.00",
        f"#4,rui@exemplo.com,voided,,unfulfilled,,10.00,{at},1,Caneca,10.00,,0.00",
    )
    ended = in_this_process("init", file, "--out", tmp_path / "loja")
    assert ended.returncode == 0, ended.text
    assert "then: tucano retrain" in ended.text
    store = made_of(tmp_path / "loja" / "shop.toml", tmp_path / "out")
    assert store.orders["order_status"].to_list() == ["shipped", "canceled", "shipped", "canceled"]
    assert store.payments["payment_value"].to_list() == [57.9, 0.0, 60.0, 10.0]
    assert store.customers["customer_unique_id"].n_unique() == 4


def sales(folder: Path, header: str, *rows: str) -> Path:
    file = folder / "export.csv"
    file.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return file


@pytest.mark.parametrize(
    ("header", "row", "column"), CASES["a_status_that_is_not_understood_is_refused_until_it_is_confirmed"]
)
def test_a_status_that_is_not_understood_is_refused_until_it_is_confirmed(
    tmp_path: Path, header: str, row: str, column: str
) -> None:
    rows = [row.format(n=n, status=("cancelado", "enviado", "voltou ao começo")[n % 3]) for n in range(9)]
    out = tmp_path / "loja"
    ended = in_this_process("init", sales(tmp_path, header, *rows), "--out", out)
    assert ended.returncode == 0, ended.text
    assert f"once the values of {column} are confirmed: tucano retrain" in " ".join(ended.text.split())
    run = ("synthesize", "--profile", out / "shop.toml", "--out", tmp_path / "o", "--state", tmp_path / "s")
    refused = in_this_process(*run)
    assert (refused.returncode, (tmp_path / "o").exists()) == (2, False)
    if column == "Cancelled at":
        return
    text = (out / "columns.toml").read_text(encoding="utf-8")
    assert '# "voltou ao começo" = ""  # confirm' in text
    text = text.replace('# "voltou ao começo" = ""', '"voltou ao começo" = "canceled"')
    (out / "columns.toml").write_text(text, encoding="utf-8")
    assert in_this_process(*run).returncode == 0
    assert (read_store(tmp_path / "o" / "store").orders["order_status"] == "canceled").sum() == 6


SYSTEMS = CASES["SYSTEMS"]


@pytest.mark.parametrize("system", list(SYSTEMS))
def test_an_export_is_read_without_a_question(tmp_path: Path, system: str) -> None:
    header, row, statuses = SYSTEMS[system]
    rows = [row.format(n=n, status=status) for n, status in enumerate(statuses, 1)]
    ended = in_this_process("init", sales(tmp_path, header, *rows), "--out", tmp_path / "loja")
    assert ended.returncode == 0, ended.text
    assert "then: tucano retrain" in ended.text
    assert "review_" not in ended.text.split("Tasks that")[0]
    store = made_of(tmp_path / "loja" / "shop.toml", tmp_path / "out")
    assert store.orders["order_status"].to_list() == list(statuses.values())
    assert set(store.customers["customer_state"]) == {"SP"}
    assert store.payments["payment_value"].to_list() == [20.0] * len(statuses)
    assert store.items["price"].sum() == 20 * len(statuses)


def test_a_run_refuses_by_its_row_a_cell_that_init_did_not_see(tmp_path: Path) -> None:
    right = [f"#{n},a{n}@b.com,paid,,fulfilled,,1.00,2025-01-{n % 28 + 1:02},1,Caneca {n},1.00,," for n in range(80)]
    row = "#80,a@b.com,paid,,fulfilled,,1.00,31/02/2025,1,Caneca,1.00,,"
    ended = in_this_process("init", shopify(tmp_path, *right, row), "--out", tmp_path / "loja")
    assert ended.returncode == 0
    run = ("synthesize", "--profile", tmp_path / "loja" / "shop.toml", "--out", tmp_path / "o", "--state", tmp_path)
    ended = in_this_process(*run)
    assert ended.returncode == 2
    assert "'Created at': row 82 is not a date" in " ".join(ended.text.split())


# What is mapped of each export: columns, then what is known of the right answer.
MAPPED = CASES["MAPPED"]


def mapped(column_map: Path) -> dict[str, str]:
    read = read_column_map(column_map)
    sections = {str(file.table): file.columns for file in read.tables}
    sections |= {str(file.task): file.columns | file.reference for file in read.prompts}
    return {
        name: " ".join(f"{ours}={theirs}" for ours, theirs in columns.items()) for name, columns in sections.items()
    }


@pytest.mark.parametrize("name", EXPORTS)
def test_synthesize_reads_each_column_that_init_maps(tmp_path: Path, name: str) -> None:
    ended = in_this_process("init", write_export(tmp_path, name), "--out", tmp_path / "loja", "--json")
    assert (ended.returncode, CPF in ended.text) == (0, False), ended.text
    assert mapped(tmp_path / "loja" / "columns.toml") == MAPPED[name]
    planned, run = json.loads(ended.stdout)["tasks"], ("synthesize", "--profile", tmp_path / "loja" / "shop.toml")
    made = in_this_process(*run, "--out", tmp_path / "out", "--state", tmp_path / "s")
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
        # A complaint of one star, and a ticket that was rated well.
        number, polarity = (0, "positive") if name == "tickets.csv" else (5, "negative")
        assert [row.reference["polarity"] for row in rows if opinion(number) in row.prompt] == [polarity]
    said = "70 of 80 reviews could be used for sentiment; 10 have no text"
    assert (said in " ".join(made.text.split())) == (name == "avaliacoes.csv")


def test_a_file_that_cannot_be_read_leaves_the_others(tmp_path: Path) -> None:
    for name in EXPORTS:
        write_export(tmp_path, name)
    (tmp_path / "quebrado.csv").write_text("Nota;Texto\n5;bom\n1;ruim;demais\n", encoding="utf-8")
    (tmp_path / "senha.xlsx").write_bytes(b"\xd0\xcf\x11\xe0" * 9)
    ended = in_this_process("init", tmp_path, "--out", tmp_path / "loja")
    said = " ".join(ended.text.split())
    assert ended.returncode == 0, ended.text
    assert "quebrado.csv: line 3 has 3 cells where the header has 2" in said
    assert "senha.xlsx has a password" in said
    assert "then: tucano retrain" in said
    alone = in_this_process("init", tmp_path / "senha.xlsx", "--out", tmp_path / "nada")
    assert (alone.returncode, (tmp_path / "nada").exists()) == (2, False)


def test_reviews_of_which_little_can_be_learned_say_so(tmp_path: Path) -> None:
    rows = [["Comentário", "Nota"], *([f"O produto {n} chegou antes do prazo", str(1 + n % 5)] for n in range(12))]
    file = write_export(tmp_path, "avaliacoes.csv", rows)
    ended = in_this_process("init", file, "--out", tmp_path / "loja", "--task", "sentiment")
    assert ended.returncode == 0, ended.text
    assert "only 12 different texts, and 60 are the least" in " ".join(ended.text.split())
    assert "extraction" not in ended.text + (tmp_path / "loja" / "columns.toml").read_text(encoding="utf-8")
