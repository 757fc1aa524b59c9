import json
import os
import random
import stat
from functools import partial
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schemas.errors import InputError
from schemas.store.files import TIMESTAMP_FORMAT
from schemas.store.store import FILE_NAMES, Store
from tasks.synthesize.own.identities import KEY_FILE, open_key, pseudonym
from tasks.synthesize.own.opened import OwnFiles, open_own_files
from tasks.synthesize.own.tables import own_store
from tasks.synthesize.simulated import simulate_store
from tests.cases import cases_of
from tests.tasks.synthesize.own.task_inputs import INPUTS

CASES = cases_of(__file__)

KEY = bytes(32)
STORE = simulate_store(60, random.Random(0))


def opened(path: Path) -> OwnFiles:
    return open_own_files(path, lambda: KEY, INPUTS)


def written(folder: Path, toml: str, **files: str) -> Path:
    """Write a column map and its files, each named by its stem and ending with an underscore between."""
    for name, text in files.items():
        stem, _, ending = name.rpartition("_")
        (folder / f"{stem}.{ending}").write_text(text, encoding="utf-8")
    (folder / "map.toml").write_text(toml, encoding="utf-8")
    return folder / "map.toml"


def store_of(folder: Path, toml: str, **files: str) -> Store:
    return own_store(opened(written(folder, toml, **files)))


def message_of(folder: Path, toml: str, **files: str) -> str:
    with pytest.raises(InputError) as caught:
        store_of(folder, toml, **files)
    return str(caught.value)


def exported(folder: Path, table: str, frame: pl.DataFrame, kind: str, names: dict[str, str], decimals: str) -> str:
    """Write a table under other names, as another program would, and return the name of the file."""
    renamed = frame.rename(names)
    path = folder / f"{table}.{kind}"
    if kind == "parquet":
        renamed.write_parquet(path)
    elif kind == "jsonl":
        dated = renamed.with_columns(pl.col(pl.Datetime).dt.strftime("%Y-%m-%dT%H:%M:%S"))
        path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in dated.to_dicts()))
    else:
        comma = decimals == "comma"
        text = renamed.write_csv(
            separator=";" if comma else ",",
            datetime_format="%d/%m/%Y %H:%M:%S" if comma else TIMESTAMP_FORMAT,
            decimal_comma=comma,
        )
        path.write_text(text, encoding="utf-8")
    return path.name


@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_store_under_other_names_and_in_any_format_is_read_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("exported")
    lines: list[str] = []
    for table in FILE_NAMES:
        frame = getattr(STORE, table)
        kind = data.draw(st.sampled_from(["csv", "jsonl", "parquet"]), label=table)
        decimals = data.draw(st.sampled_from(["comma", "point"]), label="decimals")
        places = data.draw(st.permutations(range(frame.width)))
        names = {name: f"Coluna nº {place}" for name, place in zip(frame.columns, places, strict=True)}
        name = exported(folder, table, frame, kind, names, decimals)
        lines += ["[[tables]]", f'path = "{name}"', f'table = "{table}"', f'decimals = "{decimals}"']
        lines += ['dates = "day-first"']
        lines += ["[tables.columns]", *(f'{ours} = "{theirs}"' for ours, theirs in names.items())]
    (folder / "map.toml").write_text("\n".join(lines), encoding="utf-8")
    found = own_store(opened(folder / "map.toml"))
    for table in FILE_NAMES:
        assert getattr(found, table).equals(getattr(STORE, table)), table


ORDERS = """
[[tables]]
path = "pedidos.csv"
table = "orders"
[tables.columns]
order_id = "numero"
order_purchase_timestamp = "data"
"""
ITEMS = """
[[tables]]
path = "itens.csv"
table = "items"
[tables.columns]
order_id = "pedido"
product_id = "sku"
price = "preco"
quantity = "qtd"
"""
CUSTOMERS = """
[[tables]]
path = "pedidos.csv"
table = "customers"
[tables.columns]
customer_id = "numero"
customer_unique_id = "cliente"
customer_state = "uf"
"""
PEDIDOS = "numero;data;cliente;uf\n1;05/01/2024 10:00;7;São Paulo\n2;17/02/2024 11:30;7;rj\n"


def test_tables_that_others_name_are_there_and_those_that_nobody_names_are_empty(tmp_path: Path) -> None:
    store = store_of(tmp_path, ORDERS + ITEMS, pedidos_csv=PEDIDOS, itens_csv="pedido;sku;preco;qtd\n1;a;10,50;2\n")
    times = store.orders["order_purchase_timestamp"].dt.strftime("%Y-%m-%d %H:%M").to_list()
    assert times == ["2024-01-05 10:00", "2024-02-17 11:30"]
    assert store.customers["customer_unique_id"].to_list() == store.orders["order_id"].to_list() == ["1", "2"]
    assert store.items.select("order_item_id", "price", "seller_id").rows() == [(1, 10.5, "loja"), (2, 10.5, "loja")]
    assert (store.products.height, store.sellers.height, store.payments.height, store.reviews.height) == (1, 1, 0, 0)
    assert store.review_causes is store.customer_hazards is None


def test_several_reviews_of_an_order_are_kept_where_the_file_numbers_none(tmp_path: Path) -> None:
    columns = 'columns = {order_id = "pedido", review_score = "nota"}'
    reviews = f'[[tables]]\npath = "notas.csv"\ntable = "reviews"\n{columns}\n'
    rows = "pedido;nota\n1;5\n1;5\n2;1\n1;2\n"
    found = store_of(tmp_path, ORDERS + reviews, pedidos_csv=PEDIDOS, notas_csv=rows).reviews.sort("review_id")
    named = found.select("review_id", "order_id", "review_score").rows()
    assert named == [("1", "1", 5), ("1-2", "1", 2), ("2", "2", 1)]


def test_the_zero_that_a_spreadsheet_strips_of_a_postcode_is_put_back(tmp_path: Path) -> None:
    codes = ["1310100", "1310", "01310-100", "1310-100", "20040002", "20040"]
    rows = "".join(f"{number};2024-01-05;{number};{code}\n" for number, code in enumerate(codes))
    customers = CUSTOMERS.replace('customer_state = "uf"', 'customer_zip_code_prefix = "cep"')
    store = store_of(tmp_path, ORDERS + customers, pedidos_csv=f"numero;data;cliente;cep\n{rows}")
    assert store.customers["customer_zip_code_prefix"].to_list() == ["01310"] * 4 + ["20040"] * 2


def test_personal_ids_are_pseudonyms_that_still_join(tmp_path: Path) -> None:
    path = written(tmp_path, ORDERS + CUSTOMERS, pedidos_csv=PEDIDOS.replace(";7;", ";ana@loja.com.br;"))
    own = opened(path)
    store = own_store(own)
    (person,) = store.customers["customer_unique_id"].unique()
    assert person == pseudonym(KEY, " Ana@Loja.com.br")
    assert store.orders["customer_id"].is_in(store.customers["customer_id"].implode()).all()
    drawn = own_store(open_own_files(path, partial(os.urandom, 32), INPUTS))
    assert drawn.orders["customer_id"].is_in(drawn.customers["customer_id"].implode()).all()


def test_a_delivery_on_the_day_of_the_purchase_needs_no_time(tmp_path: Path) -> None:
    toml = ORDERS + 'order_delivered_customer_date = "entregue"\norder_status = "situacao"\n'
    toml += '[tables.values.order_status]\nENTREGUE = "delivered"\n'
    text = "numero,data,entregue,situacao\n1,2024-01-05 13:00,2024-01-05,Entregue\n"
    order = store_of(tmp_path, toml, pedidos_csv=text).orders.row(0, named=True)
    assert order["order_delivered_customer_date"] == order["order_purchase_timestamp"]
    assert order["order_status"] == "delivered"


@pytest.mark.parametrize(("pedidos", "words"), CASES["a_wrong_table_is_one_sentence"])
def test_a_wrong_table_is_one_sentence(tmp_path: Path, pedidos: str, words: str) -> None:
    assert words in message_of(tmp_path, ORDERS, pedidos_csv=pedidos)


def test_no_message_repeats_a_cell(tmp_path: Path) -> None:
    toml = ORDERS + 'order_status = "situacao"\n'
    message = message_of(tmp_path, toml, pedidos_csv="numero,data,situacao\n1,2024-01-05,Ana Lima\n")
    assert "order_status" in message
    assert "[tables.values.COLUMN]" in message
    assert "Ana" not in message


def test_a_column_of_names_is_no_identity(tmp_path: Path) -> None:
    text = PEDIDOS.replace(";7;", ";Maria Souza;")
    message = message_of(tmp_path, ORDERS + CUSTOMERS, pedidos_csv=text)
    assert "column 'cliente' is mapped to customer_unique_id and has names" in message
    assert "Maria" not in message


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path: Path) -> None:
    own = opened(written(tmp_path, ORDERS, pedidos_csv=PEDIDOS))
    (tmp_path / "pedidos.csv").write_text(PEDIDOS + "3;18/02/2024;8;SP\n")
    with pytest.raises(InputError, match=r"pedidos\.csv changed while it was read"):
        own_store(own)


STATUSES = (
    ORDERS
    + """order_status = "entrega"
payment_status = "pagamento"
order_canceled_date = "cancelado em"
[tables.values.order_status]
enviado = "shipped"
[tables.values.payment_status]
Pago = "approved"
Estornado = "canceled"
[[tables]]
path = "pedidos.csv"
table = "payments"
[tables.columns]
order_id = "numero"
payment_value = "total"
refunded_value = "devolvido"
"""
)
HEADER = "numero;data;entrega;pagamento;cancelado em;total;devolvido\n"


@pytest.mark.parametrize(
    ("cells", "status", "paid"), CASES["an_order_that_any_column_tells_canceled_is_and_what_was_paid_back_was_not_paid"]
)
def test_an_order_that_any_column_tells_canceled_is_and_what_was_paid_back_was_not_paid(
    tmp_path: Path, cells: str, status: str, paid: list[float]
) -> None:
    continued = "1;2024-01-05;;;;;\n2;2024-01-06;;;;9,50;\n"
    store = store_of(tmp_path, STATUSES, pedidos_csv=f"{HEADER}1;2024-01-05;{cells}\n{continued}")
    assert store.orders["order_status"].to_list() == [status, None]
    assert store.payments["payment_value"].to_list() == [*paid, 9.5]


def test_a_payment_of_less_than_nothing_is_taken_off_the_others_of_its_order(tmp_path: Path) -> None:
    payments = PAYMENTS + "A;100,00\nB;50,00\nA;30,00\nA;-110,50\nC;-5,00\n"
    orders = "numero;data\nA;2024-01-05\nB;2024-01-06\nC;2024-01-06\n"
    store = store_of(tmp_path, ORDERS + OF_PAYMENTS, pedidos_csv=orders, pagos_csv=payments)
    assert store.payments.select("order_id", "payment_value").rows() == [("A", 0.0), ("B", 50.0), ("A", 19.5)]


PAYMENTS = "pedido;valor\n"
OF_PAYMENTS = """
[[tables]]
path = "pagos.csv"
table = "payments"
[tables.columns]
order_id = "pedido"
payment_value = "valor"
"""


@pytest.mark.parametrize("person", ["7", "ana@loja.com.br"])
def test_an_order_without_a_person_is_of_a_person_of_its_own(tmp_path: Path, person: str) -> None:
    """Neither of somebody who has its number as an id, nor of another order without a person."""
    rows = f"6;2024-01-05;{person};SP\n7;2024-01-06;;RJ\n7;2024-01-06;;\n8;2024-01-07;;SP\n9;2024-01-08;{person};\n"
    rows = f"numero;data;cliente;uf\n{rows}"
    store = store_of(tmp_path, ORDERS + CUSTOMERS, pedidos_csv=rows)
    persons = store.orders.join(store.customers, on="customer_id")["customer_unique_id"].to_list()
    if person != "7":
        assert persons[0] == pseudonym(KEY, person)
    assert persons[0] == persons[-1]
    assert len({*persons}) == 3


def test_a_state_folder_keeps_one_key_for_its_owner_alone(tmp_path: Path) -> None:
    key = open_key(tmp_path / "state")
    assert open_key(tmp_path / "state") == key
    assert open_key(tmp_path / "other") != key
    assert stat.S_IMODE((tmp_path / "state" / KEY_FILE).stat().st_mode) == 0o600
    assert [path.name for path in (tmp_path / "state").iterdir()] == [KEY_FILE]


def test_a_file_that_is_no_key_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / KEY_FILE).write_bytes(b"short")
    with pytest.raises(InputError, match=r"identity\.key is no key of 32 bytes"):
        open_key(tmp_path)


def test_one_person_has_one_pseudonym_however_written_and_another_key_another() -> None:
    key = bytes(32)
    assert pseudonym(key, "111.444.777-35") == pseudonym(key, " 11144477735")
    assert pseudonym(key, "Ana@Loja.com") == pseudonym(key, "ana@loja.com ")
    assert pseudonym(key, "ana@loja.com") != pseudonym(b"\1" * 32, "ana@loja.com")
    assert pseudonym(key, "pedido-1") != pseudonym(key, "pedido1")
