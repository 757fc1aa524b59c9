"""`tucano init` as a person uses it: what it writes, prints and refuses."""

import json
from pathlib import Path

import pytest

from schemas.config.profiles import load_config
from schemas.store.column_map import read_column_map
from schemas.store.files import read_store
from schemas.store.store import Store
from tests.flows.command import in_this_process


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    rows = [f"{n};ana{n}@exemplo.com;Produto {n} chegou antes do prazo, adorei;{n % 5 + 1}" for n in range(80)]
    file = tmp_path / "avaliações.csv"
    file.write_bytes("\r\n".join(["Canal;E-mail;Comentário;Nota", *rows]).encode("cp1252"))
    return file


def test_a_map_and_a_profile_are_written_and_the_next_command_is_told(shop: Path, tmp_path: Path) -> None:
    ended = in_this_process("init", shop, "--out", tmp_path / "loja", "--json")
    assert ended.returncode == 0, ended.stderr
    assert [file.task for file in read_column_map(tmp_path / "loja" / "columns.toml").prompts] == [
        "extraction",
        "sentiment",
    ]
    profile = tmp_path / "loja" / "shop.toml"
    assert load_config(str(profile)).synthesize.files == tmp_path / "loja" / "columns.toml"
    assert f"then: tucano retrain --profile {profile}" in ended.stderr
    assert "not recognised: Canal" in ended.stderr
    assert "ana1@" not in ended.stderr + ended.stdout
    document = json.loads(ended.stdout)
    assert document["tasks"]["sentiment"] == {"rows": 80, "count": 80, "missing": None}
    assert document["tasks"]["churn"]["count"] == 0


def test_nothing_is_overwritten_without_force(shop: Path, tmp_path: Path) -> None:
    (tmp_path / "columns.toml").write_text("# à mão", encoding="utf-8")
    ended = in_this_process("init", shop, "--out", tmp_path)
    assert ended.returncode == 2
    assert "columns.toml exists, and may have been corrected by hand" in ended.stderr
    assert not (tmp_path / "shop.toml").exists()
    assert in_this_process("init", shop, "--out", tmp_path, "--force").returncode == 0
    assert read_column_map(tmp_path / "columns.toml").prompts


def test_files_that_tell_nothing_leave_a_map_to_be_completed(tmp_path: Path) -> None:
    (tmp_path / "xpto.csv").write_bytes(b"a;b\n1;2\n")
    ended = in_this_process("init", tmp_path / "xpto.csv", "--out", tmp_path)
    assert ended.returncode == 0
    assert "nothing was recognised" in ended.stderr
    assert "no task can be trained yet: confirm what is right in both, or give more files" in ended.stderr


def test_a_file_that_cannot_be_read_writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "torto.csv").write_bytes(b"a;b\n1\n")
    ended = in_this_process("init", tmp_path / "torto.csv", "--out", tmp_path / "loja")
    assert ended.returncode == 2
    assert "line 2 has 1 cells where the header has 2" in ended.stderr
    assert not (tmp_path / "loja").exists()


@pytest.mark.parametrize("below", ["", "loja"])
def test_a_file_in_place_of_the_folder_is_one_sentence(shop: Path, tmp_path: Path, below: str) -> None:
    (tmp_path / "notes.txt").write_text("à mão", encoding="utf-8")
    ended = in_this_process("init", shop, "--out", tmp_path / "notes.txt" / below)
    assert ended.returncode == 2
    assert "cannot be written" in ended.stderr
    assert "give a folder that you may write" in ended.stderr
    assert (tmp_path / "notes.txt").read_text(encoding="utf-8") == "à mão"


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
    assert ended.returncode == 0, ended.stderr
    assert "then: tucano retrain" in ended.stderr
    store = made_of(tmp_path / "loja" / "shop.toml", tmp_path / "out")
    assert store.orders["order_status"].to_list() == ["shipped", "canceled", "shipped", "canceled"]
    assert store.payments["payment_value"].to_list() == [57.9, 0.0, 60.0, 10.0]
    assert store.customers["customer_unique_id"].n_unique() == 4


def test_a_status_that_is_left_unread_is_said_before_the_retraining(tmp_path: Path) -> None:
    rows = (
        f"#{n},a@b.com,{status},,fulfilled,,1.00,2025-01-19,1,Caneca,1.00,,"
        for n, status in enumerate(("paid", "em análise interna"))
    )
    ended = in_this_process("init", shopify(tmp_path, *rows), "--out", tmp_path / "loja")
    assert "canceled orders count as sales until Financial Status is confirmed" in " ".join(ended.stderr.split())


@pytest.mark.parametrize(
    ("row", "refusal"),
    [
        ("#80,a@b.com,paid,,fulfilled,,1.00,31/02/2025,1,Caneca,1.00,,", "'Created at': row 82 is not a date"),
        ("#80,a@b.com,paid,,fulfilled,,1.00,2025-01-19,1,Caneca,um real,,", "'Lineitem price': row 82 is no number"),
        ("#7,a@b.com,paid,,fulfilled,,1.00,2024-11-19,1,Caneca,1.00,,", "row 9 and row 82 have the same order_id"),
    ],
)
def test_the_refusal_of_a_run_is_that_of_init(tmp_path: Path, row: str, refusal: str) -> None:
    right = [f"#{n},a{n}@b.com,paid,,fulfilled,,1.00,2025-01-{n % 28 + 1:02},1,Caneca {n},1.00,," for n in range(80)]
    ended = in_this_process("init", shopify(tmp_path, *right, row), "--out", tmp_path / "loja")
    assert ended.returncode == 2
    assert refusal in " ".join(ended.stderr.split())
    assert "then: tucano retrain" not in ended.stderr
    profile = tmp_path / "loja" / "shop.toml"
    assert {file.name for file in (tmp_path / "loja").iterdir()} == {"columns.toml", "shop.toml"}
    run = in_this_process("synthesize", "--profile", profile, "--out", tmp_path / "out", "--state", tmp_path / "s")
    assert run.returncode == 2
    assert refusal in " ".join(run.stderr.split())


def test_what_a_person_has_to_confirm_hides_no_refusal(tmp_path: Path) -> None:
    rows = [f"#{n},a{n}@b.com,paid,,fulfilled,,1.00,03/04/2025,1,Caneca {n},1.00,," for n in range(80)]
    file = shopify(tmp_path, *rows)
    assert "once dates and decimals are confirmed: tucano" in in_this_process("init", file, "--out", tmp_path).stderr
    shopify(tmp_path, *rows, "#9,a@b.com,paid,,fulfilled,,1.00,03/04/2025,1,Caneca,um real,,")
    ended = in_this_process("init", file, "--out", tmp_path, "--force")
    assert (ended.returncode, "row 82 is no number" in " ".join(ended.stderr.split())) == (2, True)


@pytest.mark.parametrize(
    ("column", "cells"),
    [
        ("Quando", ["3 de janeiro de 2025 09:00 hs.", "4 de janeiro de 2025 16:00 hs."]),
        ("Onde", ["Rua das Laranjeiras, 120, apto 31, São Paulo", "Avenida Brasil, 45, Belo Horizonte"]),
        ("Título do anúncio", ["Caneca de porcelana 300 ml, muito bonita", "Mochila escolar que não molha"]),
        ("Itens", ["CAN-300 Caneca branca, MOC-15 Mochila preta", "VAS-01 Vaso de barro, BUL-02 Bule azul"]),
        ("Andamento", ["Não entregue, foi devolvido ao vendedor", "Chegou ao centro de distribuição"]),
        ("Observações", ["Entregar na portaria, não tocar a campainha", "Ligar para Ana quando chegar, muito cuidado"]),
    ],
)
def test_a_column_of_other_texts_is_no_review(tmp_path: Path, column: str, cells: list[str]) -> None:
    repeats = column in {"Andamento", "Título do anúncio"}
    rows = [f'"{cells[n % 2]} {n % 2 if repeats else n}"' for n in range(80)]
    if column == "Quando":
        rows = [f'"{n % 28 + 1} de janeiro de {2000 + n} 09:00 hs."' for n in range(80)]
    file = tmp_path / "vendas.csv"
    file.write_text("\n".join([f"Canal;{column}", *(f"x{n};{row}" for n, row in enumerate(rows))]), encoding="utf-8")
    ended = in_this_process("init", file, "--out", tmp_path)
    assert "review = " not in ended.stderr + (tmp_path / "columns.toml").read_text(encoding="utf-8")
