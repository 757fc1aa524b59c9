"""Personal data of a shop's files and logs reaches no file of the state folder: no stage writes what curate scrubs."""

import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from flows.runtime.session import open_recorder
from flows.stages.data import curate, synthesize
from flows.stages.runner import Session
from schemas.config.profiles import load_config
from tests.flows.prefect_state import prefect_state
from tests.tasks.monitor.logged import answer, write_log

CANARIES = (
    "(11) 98641-7532",
    "21 9 8753 4219",
    "+5531986427531",
    "529.982.247-25",
    "11144477735",
    "marina.prado@correio.com.br",
    "4539 1488 0343 6467",
    "12.345.678/0001-95",
    "CEP 01310-937",
    "instagram.com/marina.prado87",
)
"""Each is found whatever its punctuation is by then."""
SIGNATURES = tuple(re.sub(r"\W|cep", "", canary.lower()) for canary in CANARIES)
ROWS = 160
MAP = """
[[tables]]
path = "pedidos.csv"
table = "orders"
[tables.columns]
order_id = "pedido"
customer_id = "pedido"
order_purchase_timestamp = "data"
[[tables]]
path = "pedidos.csv"
table = "customers"
[tables.columns]
customer_id = "pedido"
customer_unique_id = "e-mail"
customer_city = "cidade"
customer_state = "uf"
[[tables]]
path = "pedidos.csv"
table = "items"
[tables.columns]
order_id = "pedido"
product_id = "produto"
price = "valor"
[[tables]]
path = "pedidos.csv"
table = "reviews"
[tables.columns]
order_id = "pedido"
review_score = "nota"
review_comment_title = "titulo"
review_comment_message = "texto"
[[prompts]]
path = "campanhas.jsonl"
task = "push"
[prompts.columns]
product = "produto"
offer = "oferta"
segment = "publico"
"""


def planted(folder: Path) -> Path:
    """Write a shop's files and logs with a canary in every text that a row may have, and return the column map."""
    of_row = [CANARIES[row % len(CANARIES)] for row in range(ROWS)]
    thing = [f"{word} {row}" for row, word in enumerate(["Caneca", "Mochila", "Vaso", "Bule"] * (ROWS // 4))]
    pl.DataFrame(
        {
            "pedido": [f"P{row}" for row in range(ROWS)],
            "data": [f"2024-{row % 12 + 1:02}-{row % 28 + 1:02} 10:00:00" for row in range(ROWS)],
            "e-mail": [f"cliente{row}@exemplo-de-loja.com.br" for row in range(ROWS)],
            "cidade": [f"Campinas, {of_row[row]}" if row < 10 else "Campinas" for row in range(ROWS)],
            "uf": ["SP"] * ROWS,
            "produto": [f"{thing[row]}, ligue {of_row[row]}" if row < 40 else thing[row] for row in range(ROWS)],
            "valor": [f"{row + 10}.50" for row in range(ROWS)],
            "nota": [row % 5 + 1 for row in range(ROWS)],
            "titulo": [f"Sou {of_row[row]}" if row % 3 == 0 else "Comprei" for row in range(ROWS)],
            "texto": [f"A {thing[row].lower()} chegou tarde e quebrou, contato: {of_row[row]}" for row in range(ROWS)],
        }
    ).write_csv(folder / "pedidos.csv")
    campaigns = [
        {"produto": f"{thing[row]} de {of_row[row]}", "oferta": f"{row + 1}% de desconto", "publico": of_row[-row]}
        for row in range(80)
    ]
    (folder / "campanhas.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in campaigns), encoding="utf-8")
    asked = [
        answer(prompt=f"Crie um push.\nProduto: bule {text}\nOferta: frete", completion=text, request_id=f"r-{row}")
        | {"prompt_id": None, "reference": {"product": f"bule {text}", "offer": "frete"}}
        for row, text in enumerate(CANARIES)
    ]
    (folder / "logs").mkdir()
    write_log(folder / "logs" / "2026-03-10.jsonl", asked)
    (folder / "mapa.toml").write_text(MAP, encoding="utf-8")
    return folder / "mapa.toml"


def readable(file: Path) -> Iterator[str]:
    """Yield what a file says, as its bytes are and unpacked."""
    content = file.read_bytes()
    yield content.decode("utf-8", "replace")
    yield content.decode("utf-16-le", "replace")
    if content.startswith(b"PAR1"):
        yield pl.read_parquet(file).select(pl.all().cast(pl.String, strict=False)).write_csv()
    if content.startswith(b"\x1f\x8b"):
        yield gzip.decompress(content).decode("utf-8", "replace")


def found_in(folder: Path) -> list[tuple[str, str]]:
    """Return the files of a folder that hold a canary, each with one of it, in any punctuation."""
    return [
        (str(file.relative_to(folder)), canary)
        for file in sorted(folder.rglob("*"))
        if file.is_file()
        for text in readable(file)
        for canary in SIGNATURES
        if canary in re.sub(r"\W", "", text.lower())
    ]


@pytest.mark.integration
def test_no_file_of_the_state_folder_holds_what_was_planted(
    prefect_server: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    shop, state = tmp_path / "shop", tmp_path / "state"
    shop.mkdir()
    column_map = planted(shop)
    assert {canary for _, canary in found_in(shop)} == {*SIGNATURES}
    counts = ", ".join(f"{task} = 60" for task in ("extraction", "sql_qa", "insights", "push", "sentiment"))
    config = load_config(
        "tests/e2e/small.toml",
        [
            f"state.root={state}",
            "synthesize.source=files",
            f"synthesize.files={column_map}",
            f"synthesize.logs={shop / 'logs'}",
            f"synthesize.counts={{ {counts}, churn = 0 }}",
        ],
    )
    # What comes after these two reads what they made.
    with prefect_state(prefect_server, state), open_recorder(config).pipeline("retrain", {}) as run:
        session = Session(config, run)
        prompts = synthesize(session)
        dataset = curate(session, prompts)
    assert prompts.path.is_relative_to(state)
    assert found_in(state) == []
    rows = pl.read_parquet(prompts.path / "prompts.parquet")
    assert {"files", "logs"} == {*rows["source"]}
    assert rows["prompt"].str.contains("[TELEFONE]", literal=True).any()
    kept = pl.concat([pl.read_parquet(file) for file in (dataset.path / "data").glob("*.parquet")])
    assert {*kept["prompt_id"]} <= {*rows["prompt_id"]}
    summary = json.loads((dataset.path / "summary.json").read_text(encoding="utf-8"))
    assert min(summary["scrubbed"][kind] for kind in ("TELEFONE", "CPF", "EMAIL", "CARTAO")) > 0
    said = re.sub(r"\W", "", "".join(capfd.readouterr()).lower())
    assert [canary for canary in SIGNATURES if canary in said] == []
