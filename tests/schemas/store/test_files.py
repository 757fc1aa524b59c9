import contextlib
import csv
import io
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from schemas.errors import InputError
from schemas.store.files import finish_replacement, read_store, read_table, replace_store, write_store
from schemas.store.store import FILE_NAMES, HIDDEN_TABLES, Store
from tasks.synthesize.simulated import simulate_store
from tests.schemas.olist_sample import SAMPLE, needs_sample

ITEMS = FILE_NAMES["items"]
ORDERS = FILE_NAMES["orders"]
PRODUCTS = FILE_NAMES["products"]
PAYMENTS = FILE_NAMES["payments"]
REVIEWS = FILE_NAMES["reviews"]


@pytest.fixture(scope="module")
def store() -> Store:
    return simulate_store(60, random.Random(0))


@pytest.fixture
def folder(store: Store, tmp_path: Path) -> Path:
    write_store(store, tmp_path)
    return tmp_path


def same(first: Store, second: Store) -> bool:
    frames = [(getattr(first, table), getattr(second, table)) for table in FILE_NAMES]
    return all(one is other is None or one.equals(other) for one, other in frames)


def message_of_reading(folder: Path) -> str:
    with pytest.raises(InputError) as caught:
        read_store(folder, complete=True)
    return str(caught.value)


def test_what_is_written_is_read_again_with_its_types(store: Store, folder: Path) -> None:
    again = read_store(folder)
    assert same(store, again)
    assert again.orders.schema["order_purchase_timestamp"] == pl.Datetime("us")
    assert again.review_causes is not None
    assert again.review_causes.schema["delivery_issue"] == pl.Boolean


def test_empty_text_and_no_text_stay_apart(store: Store, folder: Path) -> None:
    again = read_store(folder)
    assert again.review_causes is not None
    assert "" in again.review_causes["main_complaint"]
    assert again.reviews["review_comment_message"].null_count() == store.reviews["review_comment_message"].null_count()


def test_equal_stores_give_equal_bytes(store: Store, folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("other")
    write_store(store, other)
    assert all((folder / name).read_bytes() == (other / name).read_bytes() for name in FILE_NAMES.values())


def test_an_older_store_that_knows_no_words_of_complaints_is_a_store(store: Store, folder: Path) -> None:
    path = folder / FILE_NAMES["review_causes"]
    pl.read_csv(path).drop("complaint_words").write_csv(path)
    causes = read_store(folder).review_causes
    assert store.review_causes is not None
    assert causes is not None
    assert causes.equals(store.review_causes.drop("complaint_words"))


def test_a_store_without_hidden_truth_is_a_store(folder: Path) -> None:
    for table in HIDDEN_TABLES:
        (folder / FILE_NAMES[table]).unlink()
    store = read_store(folder)
    assert store.review_causes is None
    assert store.customer_hazards is None


def test_other_files_in_the_folder_are_left_alone(folder: Path) -> None:
    (folder / "olist_geolocation_dataset.csv").write_text("anything\n")
    read_store(folder)


def test_quoted_line_ends_commas_and_a_byte_order_mark_are_read(folder: Path) -> None:
    path = folder / REVIEWS
    header, rest = path.read_bytes().split(b"\n", 1)
    review = b'r1,o1,5,"T\xc3\xadtulo, ""bom""","linha um\r\nlinha dois",2018-01-01 00:00:00,2018-01-02 00:00:00\n'
    path.write_bytes(b"\xef\xbb\xbf" + header + b"\n" + review + rest)
    first = read_table(path, "reviews").row(0, named=True)
    assert first["review_comment_title"] == 'Título, "bom"'
    assert first["review_comment_message"] == "linha um\r\nlinha dois"


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    assert str(tmp_path / "nowhere") in message_of_reading(tmp_path / "nowhere")


def test_a_file_in_place_of_the_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "olist.zip").write_bytes(b"PK")
    assert "olist.zip cannot be read (Not a directory)" in message_of_reading(tmp_path / "olist.zip")


def test_a_missing_table_is_named(folder: Path) -> None:
    (folder / PAYMENTS).unlink()
    message = message_of_reading(folder)
    assert PAYMENTS in message
    assert ORDERS not in message


def after_header(line: bytes) -> Callable[[bytes], bytes]:
    return lambda content: content.replace(b"\n", b"\n" + line + b"\n", 1)


@pytest.mark.parametrize(
    ("name", "damage", "words"),
    [
        pytest.param(ORDERS, lambda _: b"", ["is empty"], id="no content"),
        pytest.param(ORDERS, lambda content: content.split(b"\n")[0] + b"\n", ["no rows"], id="header alone"),
        pytest.param(
            ORDERS,
            lambda content: content.replace(b"order_status", b"status", 1),
            ["no column order_status", "unknown column status"],
            id="renamed column",
        ),
        pytest.param(
            PAYMENTS, after_header(b"a,1,boleto,1,caro"), ["payment_value", "row 2", "'caro'"], id="not a number"
        ),
        pytest.param(PAYMENTS, after_header(b"a,1,boleto,1,nan"), ["payment_value", "row 2"], id="not finite"),
        pytest.param(PAYMENTS, after_header(b"a,1,boleto,1.5,3"), ["payment_installments", "row 2"], id="not whole"),
        pytest.param(PAYMENTS, after_header(b"a,1,boleto,1,-3"), ["payment_value", "row 2", "-3"], id="negative"),
        pytest.param(
            PAYMENTS, after_header(b"a,1,fiado,1,3"), ["payment_type", "row 2", "'fiado'"], id="unknown value"
        ),
        pytest.param(PAYMENTS, after_header(b",1,boleto,1,3"), ["order_id", "row 2", "empty"], id="missing value"),
        pytest.param(PAYMENTS, after_header(b"a,1,boleto"), ["row 2 has 3 fields"], id="too few fields"),
        pytest.param(PAYMENTS, after_header(b"a,1,boleto,1,3,4"), ["row 2", "6 fields"], id="too many fields"),
        pytest.param(
            PAYMENTS,
            after_header(b'a,1,"bo"leto,1,3'),
            ["payment_type", "row 2", "quotation mark"],
            id="text after a quote",
        ),
        pytest.param(
            PAYMENTS,
            after_header(b'a,1,bo"leto,1,3'),
            ["payment_type", "row 2", "quotation mark"],
            id="quote inside a text",
        ),
        pytest.param(ORDERS, lambda content: content.split(b"\n", 1)[1], ["no column order_id"], id="no header"),
        pytest.param(PRODUCTS, after_header(b"p,livros"), ["row 2 has 2 fields", "has 9"], id="row that ends early"),
        pytest.param(
            ORDERS,
            lambda content: content.replace(b",delivered,", b",entregue,", 1),
            ["order_status", "row", "'entregue'"],
            id="unknown status",
        ),
        pytest.param(
            ORDERS,
            lambda content: content + content.split(b"\n")[1] + b"\n",
            ["order_id", "row 2", "twice"],
            id="repeated primary key",
        ),
        pytest.param(
            ITEMS,
            after_header(b"nowhere,1,p,s,2018-01-01 00:00:00,10.0,1.0"),
            ["order_id", "row 2", "'nowhere'", ORDERS],
            id="item of no order",
        ),
        pytest.param(
            ITEMS,
            lambda content: content.replace(content.split(b"\n")[1].split(b",")[2], b"nothing"),
            ["product_id", "row 2", "'nothing'", PRODUCTS],
            id="item of no product",
        ),
        pytest.param(
            PAYMENTS,
            after_header(b"a,1,boleto,1,3\na,1,boleto,1,3"),
            ["row 2", "order_id and payment_sequential"],
            id="repeated key",
        ),
        pytest.param(
            PAYMENTS, after_header(b"a\xe7,1,boleto,1,3"), ["order_id", "row 2", "UTF-8"], id="another encoding"
        ),
        pytest.param(
            PAYMENTS, after_header(b'a,1,"boleto'), ["payment_type", "row 2", "quotation mark"], id="open quote"
        ),
        pytest.param(
            REVIEWS,
            after_header(b"r,o,5,,,17-01-01 00:00:00,2018-01-02 00:00:00"),
            ["review_creation_date", "row 2", "2018-01-31 23:59:59"],
            id="year of two digits",
        ),
        pytest.param(
            REVIEWS,
            after_header(b"r,o,6,,,2018-01-01 00:00:00,2018-01-02 00:00:00"),
            ["review_score", "row 2", "'6'"],
            id="score out of range",
        ),
    ],
)
def test_a_broken_table_is_named_with_its_column_and_row(
    folder: Path, name: str, damage: Callable[[bytes], bytes], words: list[str]
) -> None:
    path = folder / name
    path.write_bytes(damage(path.read_bytes()))
    message = message_of_reading(folder)
    assert str(path) in message
    assert "\n" not in message
    assert [word for word in words if word not in message] == []


@pytest.mark.parametrize("row", [0, 7, 41])
def test_the_row_is_the_one_that_a_spreadsheet_shows(folder: Path, row: int) -> None:
    # As a spreadsheet reads it: line ends inside quotation marks start no row.
    path = folder / REVIEWS
    header, *rows = csv.reader(io.StringIO(path.read_bytes().decode(), newline=""))
    rows[0][4] = "linha um\nlinha dois\n\nlinha quatro"
    rows[row][2] = "cinco estrelas"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    message = message_of_reading(folder)
    assert f"column review_score, row {row + 2}: " in message


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda header, rows: [header, [*rows[0][1:], "x"]], id="shifted"),
        pytest.param(lambda header, rows: [rows[0]], id="no header"),
        pytest.param(lambda header, rows: [header, [*rows[0], "x"]], id="too many fields"),
        pytest.param(lambda header, rows: [header, ["", *rows[0][1:]]], id="no id"),
        pytest.param(lambda header, rows: [header, [*rows[0][:5], rows[0][4], rows[0][6]]], id="text for a date"),
        pytest.param(lambda header, rows: [header, [*rows[0][:2], rows[0][3], *rows[0][3:]]], id="text for a number"),
        pytest.param(lambda header, rows: [header, rows[0], rows[0]], id="twice"),
    ],
)
def test_what_a_shopper_wrote_is_in_no_message(folder: Path, damage: Callable[..., list[list[str]]]) -> None:
    header = folder.joinpath(REVIEWS).read_text(encoding="utf-8").split("\n")[0].split(",")
    days = ["2018-01-01 00:00:00", "2018-01-02 00:00:00"]
    rows = [["r1", "o1", "1", "Joana", "Sou a Joana Prado, meu CPF é 529.982.247-25", *days]]
    with folder.joinpath(REVIEWS).open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(damage(header, rows))
    message = message_of_reading(folder)
    assert REVIEWS in message
    assert "Joana" not in message
    assert "529" not in message


def test_a_quote_that_never_closes_is_reported_where_it_opens_in_a_large_file(folder: Path) -> None:
    path = folder / PAYMENTS
    lines = path.read_bytes().split(b"\n")
    lines[30] = lines[30].replace(b",", b',"', 1)
    path.write_bytes(b"\n".join([*lines[:-1], *lines[1:] * 400]))
    assert "column payment_sequential, row 31: a quotation mark" in message_of_reading(folder)


def test_a_long_value_is_not_quoted_whole(folder: Path) -> None:
    path = folder / PAYMENTS
    path.write_bytes(after_header(b"a,1,boleto,1," + b"x" * 5000)(path.read_bytes()))
    assert len(message_of_reading(folder)) < 500


@needs_sample
def test_the_real_sample_is_a_store(tmp_path: Path) -> None:
    store = read_store(SAMPLE)
    assert store.orders.height == store.customers.height == 6107
    assert store.review_causes is None
    assert store.reviews["review_id"].n_unique() < store.reviews.height
    assert store.reviews["review_comment_message"].drop_nulls().str.contains("\n").any()
    write_store(store, tmp_path)
    assert same(store, read_store(tmp_path))


def test_a_store_whose_replacement_is_killed_at_any_call_is_the_one_or_the_other(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = simulate_store(40, random.Random("another"))
    ended = set()
    for call in range(100):
        folder = tmp_path / str(call) / "store"
        write_store(store, folder)
        (folder / "notes.txt").write_text("ours", encoding="utf-8")
        with monkeypatch.context() as patch:
            killed = dying(patch, call)
            with contextlib.suppress(KeyboardInterrupt):
                replace_store(other, folder)
        finish_replacement(folder)
        found = read_store(folder)
        assert same(found, store) or same(found, other)
        ended.add(same(found, other))
        assert (folder / "notes.txt").read_text(encoding="utf-8") == "ours"
        replace_store(other, folder)
        assert same(read_store(folder), other)
        assert [path.name for path in folder.parent.iterdir()] == ["store"]
        if not killed:
            break
    assert call > 20
    assert ended == {True, False}


def dying(patch: pytest.MonkeyPatch, calls_left: int) -> list[str]:
    """Let the process be killed once it has changed the disk so often; return what it was killed at."""
    killed: list[str] = []
    left = calls_left
    for owner, name in (
        (Path, "write_bytes"),
        (Path, "replace"),
        (shutil, "copytree"),
        (shutil, "rmtree"),
        (os, "fsync"),
    ):
        work = getattr(owner, name)

        def dies(*arguments: Any, work: Callable[..., Any] = work, name: str = name) -> Any:
            nonlocal left
            if left == 0:
                killed.append(name)
                raise KeyboardInterrupt
            left -= 1
            return work(*arguments)

        patch.setattr(owner, name, dies)
    return killed
