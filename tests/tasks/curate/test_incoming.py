import json
from dataclasses import replace
from pathlib import Path

import pytest

from schemas.errors import InputError
from schemas.tables.prompts import content_id, read_prompts
from tasks.commerce.registry import TASKS
from tasks.curate.incoming import open_prompts
from tests.prompt_tables import write_prompts
from tests.tasks.curate.prompt_rows import prompt_row

LINE = {"task": "churn", "prompt": "Vai voltar?", "reference": {"churn": True}, "customer_id": "c1"}


def lines(path: Path, *documents: object) -> Path:
    path.write_text("\n".join(json.dumps(document) for document in documents), encoding="utf-8")
    return path


def test_json_lines_become_a_table_with_ids_and_system_texts(tmp_path: Path) -> None:
    given = lines(
        tmp_path / "own.jsonl", LINE, {**LINE, "prompt": "E esta?", "system": "Responda.", "source": "loja-1"}
    )
    (tmp_path / "work").mkdir()
    incoming = open_prompts(given, tmp_path / "work")
    first, second = read_prompts(incoming.table)
    system = TASKS["churn"].system
    assert (incoming.rows, incoming.given_twice) == (2, frozenset())
    assert (first.system, first.source, first.customer_id) == (system, "own", "c1")
    assert first.prompt_id == content_id("churn", system, "Vai voltar?", {"churn": True})
    assert (second.system, second.source) == ("Responda.", "loja-1")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "is empty"),
        (b'{"task": "churn"', "line 1"),
        (json.dumps({**LINE, "task": "poetry"}).encode(), "line 1: task"),
        (json.dumps({**LINE, "prompt": 7}).encode(), "line 1: prompt"),
        (json.dumps({"task": "churn"}).encode(), "line 1: prompt is missing"),
        (json.dumps({**LINE, "preco": 1}).encode(), "line 1: preco"),
        (
            json.dumps(LINE).encode() + b"\n" + json.dumps(LINE).encode().replace(b"Vai", "Não".encode("latin-1")),
            "line 2: byte .* is not UTF-8",
        ),
        (b'{"task": "churn", "prompt": "a", "reference": {"churn": NaN}}', "line 1: reference"),
        (b'{"task": "churn", "prompt": "a", "reference": {"x": [1e999]}}', "reference: must be JSON with finite"),
        (json.dumps({**LINE, "source": "Loja de Ana"}).encode(), "line 1: source: String should match"),
    ],
)
def test_lines_that_are_no_prompts_are_named(content: bytes, sentence: str, tmp_path: Path) -> None:
    (tmp_path / "own.jsonl").write_bytes(content)
    with pytest.raises(InputError, match=sentence):
        open_prompts(tmp_path / "own.jsonl", tmp_path)


def test_one_id_for_two_prompts_is_refused_with_its_rows(tmp_path: Path) -> None:
    first, second, third = (prompt_row("push", text) for text in "abc")
    table = write_prompts([first, second, replace(third, prompt_id=first.prompt_id)], tmp_path / "prompts.parquet")
    with pytest.raises(InputError, match=r"1 prompt_id name different prompts each \(rows 1, 3\)"):
        open_prompts(table, tmp_path)
    twice = write_prompts([first, second, first], tmp_path / "twice.parquet")
    assert open_prompts(twice, tmp_path).rows == 3
