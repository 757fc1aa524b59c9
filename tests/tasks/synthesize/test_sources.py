"""Prompts of a shop's own files, end to end in the stage: what is simulated, what is told, and by which reference."""

from pathlib import Path

import pytest

from schemas.config.config import SynthesizeConfig
from schemas.errors import InputError
from schemas.progress import silent
from schemas.tables.prompts import read_prompts
from schemas.tables.prompts_summary import PromptsSummary
from tasks.synthesize import stage
from tasks.synthesize.own.opened import open_own_files
from tests.tasks.synthesize.own.task_inputs import INPUTS

REVIEWS = '{"texto": "Chegou quebrado", "nota": 1}\n{"texto": "Adorei", "nota": 5}\n{"texto": "Sem nota"}\n'
MAP = """
[[prompts]]
path = "notas.jsonl"
task = "sentiment"
[prompts.columns]
review = "texto"
[prompts.reference]
score = "nota"
"""
ORDERS = """
[[tables]]
path = "pedidos.csv"
table = "orders"
[tables.columns]
order_id = "numero"
order_purchase_timestamp = "data"
"""


def synthesize(folder: Path, toml: str = MAP, **config: object) -> PromptsSummary:
    (folder / "notas.jsonl").write_text(REVIEWS, encoding="utf-8")
    (folder / "pedidos.csv").write_text("numero,data\n1,2024-01-05\n", encoding="utf-8")
    (folder / "map.toml").write_text(toml, encoding="utf-8")
    values = {"source": "files", "files": folder / "map.toml", "orders": 50, **config}
    own = open_own_files(folder / "map.toml", lambda: bytes(32), INPUTS)
    (folder / "out").mkdir(exist_ok=True)
    settings = SynthesizeConfig.model_validate(values)
    return stage.run(settings, 3, folder / "out", silent, own=own)


def test_lacking_tasks_are_simulated_only_on_request(tmp_path: Path) -> None:
    counts = {"sentiment": 9, "churn": 4, "push": 5}
    summary = synthesize(tmp_path, counts=counts, simulate=["churn"])
    assert summary.origins["sentiment"] == {"files": 3}
    assert summary.origins["churn"] == {"simulated": 4}
    assert summary.origins["push"] == {}
    assert any("the files have nothing of push: map" in warning for warning in summary.warnings)
    rows = read_prompts(tmp_path / "out" / "prompts.parquet")
    assert {(row.task, row.source) for row in rows} == {("sentiment", "files"), ("churn", "simulated")}
    assert not any(row.review_id for row in rows)


def test_queries_are_not_simulated_beside_the_shops_own_tables(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="simulate names sql_qa, whose queries run on one store"):
        synthesize(tmp_path, MAP + ORDERS, counts={"sql_qa": 5}, simulate=["sql_qa"])


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"source": "files"}, "a column map belongs to source"),
        ({"files": "map.toml"}, "a column map belongs to source"),
        ({"simulate": ["push"]}, "simulate is for source"),
        ({"source": "files", "files": "map.toml", "simulate": ["churn"]}, "of which counts asks none"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(values: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        SynthesizeConfig.model_validate({"counts": {"push": 1}, **values})
