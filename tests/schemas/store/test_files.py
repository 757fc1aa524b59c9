import contextlib
import csv
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from schemas.errors import InputError
from schemas.store.files import finish_replacement, read_store, replace_store, write_store
from schemas.store.store import FILE_NAMES, Store
from tasks.synthesize.simulated import simulate_store
from tests.schemas.olist_sample import SAMPLE, needs_sample

ITEMS = FILE_NAMES["items"]
ORDERS = FILE_NAMES["orders"]
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
        read_store(folder)
    return str(caught.value)


def after_header(line: bytes) -> Callable[[bytes], bytes]:
    return lambda content: content.replace(b"\n", b"\n" + line + b"\n", 1)


@pytest.mark.parametrize(
    ("name", "damage", "words"),
    [
        (
            ORDERS,
            lambda content: content.replace(b"order_status", b"status", 1),
            "has no column order_status and an unknown column status",
        ),
        (PAYMENTS, after_header(b"a,1,boleto,1,caro"), "column payment_value, row 2 is not a number"),
        (PAYMENTS, after_header(b"a,1,boleto,1,-3"), "row 2: payment_value fails greater_than_or_equal_to"),
        (PAYMENTS, after_header(b"a,1,boleto"), "line 2 has 3 cells where the header has 5"),
        (PAYMENTS, after_header(b"a\xe7,1,boleto,1,3"), "export it again as UTF-8 CSV"),
        (ORDERS, lambda content: content.replace(b",delivered,", b",entregue,", 1), "order_status fails isin"),
        (ORDERS, lambda content: content + content.split(b"\n")[1] + b"\n", "rows 2, 62: order_id is there more than"),
        (
            ITEMS,
            after_header(b"nowhere,1,p,s,2018-01-01 00:00:00,10.0,1.0"),
            f"column order_id, row 2 is in no row of {ORDERS}",
        ),
        (
            PAYMENTS,
            after_header(b"a,1,boleto,1,3\na,1,boleto,1,3"),
            "rows 2, 3: order_id, payment_sequential together are there more than once",
        ),
        (
            ORDERS,
            after_header(b"o,c,delivered,2018-01-02 00:00:00,,,,"),
            "row 2: not true: a delivered order has a delivery date",
        ),
        *(
            (
                ORDERS,
                after_header(f"o,c,delivered,2018-01-02 00:00:00,{moments}".encode()),
                "row 2: not true: nothing is before the purchase",
            )
            for moments in ("2018-01-01 23:59:59,,2018-01-03 00:00:00,", ",,2018-01-01 23:59:59,")
        ),
        (
            REVIEWS,
            after_header(b"r,o,5,,,17-01-01 00:00:00,2018-01-02 00:00:00"),
            "column review_creation_date, row 2 is not a time such as 2018-01-31 23:59:59",
        ),
    ],
)
def test_a_broken_table_is_named_with_its_column_and_row(
    folder: Path, name: str, damage: Callable[[bytes], bytes], words: str
) -> None:
    path = folder / name
    path.write_bytes(damage(path.read_bytes()))
    message = message_of_reading(folder)
    assert message.startswith(str(path))
    assert "\n" not in message
    assert words in message


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda header, rows: [header, [*rows[0][1:], "x"]], id="shifted"),
        pytest.param(lambda header, rows: [rows[0]], id="no header"),
        pytest.param(lambda header, rows: [header, [*rows[0][:5], rows[0][4], rows[0][6]]], id="text for a date"),
        pytest.param(lambda header, rows: [header, rows[0], rows[0]], id="twice"),
    ],
)
def test_no_message_repeats_a_shopper(folder: Path, damage: Callable[..., list[list[str]]]) -> None:
    header = folder.joinpath(REVIEWS).read_text(encoding="utf-8").split("\n")[0].split(",")
    days = ["2018-01-01 00:00:00", "2018-01-02 00:00:00"]
    rows = [["r1", "o1", "1", "Joana", "Sou a Joana Prado, meu CPF é 529.982.247-25", *days]]
    with folder.joinpath(REVIEWS).open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(damage(header, rows))
    message = message_of_reading(folder)
    assert REVIEWS in message
    assert "Joana" not in message
    assert "529" not in message


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
    other, notes = simulate_store(40, random.Random("another")), {"notes.txt": b"ours"}
    write_store(store, tmp_path / "old")
    write_store(other, tmp_path / "new")
    old, new = (contents(tmp_path / name) | notes for name in ("old", "new"))
    ended = set()
    for call in range(100):
        folder = tmp_path / str(call) / "store"
        shutil.copytree(tmp_path / "old", folder)
        (folder / "notes.txt").write_bytes(b"ours")
        with monkeypatch.context() as patch:
            killed = dying(patch, call)
            with contextlib.suppress(KeyboardInterrupt):
                replace_store(other, folder)
        finish_replacement(folder)
        assert contents(folder) in (old, new)
        ended.add(contents(folder) == new)
        replace_store(other, folder)
        assert contents(folder) == new
        assert [path.name for path in folder.parent.iterdir()] == ["store"]
        if not killed:
            break
    assert call > 20
    assert ended == {True, False}


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


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
