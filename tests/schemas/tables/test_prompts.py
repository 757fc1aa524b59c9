import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.errors import InputError
from schemas.tables.prompts import (
    COLUMNS,
    MOST_NESTED,
    ROWS_PER_GROUP,
    Instruction,
    PromptRow,
    canonical_json,
    content_id,
    ids_that_fit,
    read_prompt_table,
    read_prompts,
    references_that_fit,
    scan_prompt_table,
    write_prompt_table,
)
from schemas.tasks import TASK_NAMES
from tests.prompt_tables import damage, prompt_table, write_prompts


def row(prompt: str = "Quantos pedidos?", **reference: Any) -> PromptRow:
    known = reference or {"sql": "SELECT 1"}
    identity = content_id("sql_qa", "Responda.", prompt, known)
    return PromptRow(identity, "sql_qa", "Responda.", prompt, known, "simulated", None, "o1", None)


@pytest.mark.parametrize("count", [0, 1, ROWS_PER_GROUP, ROWS_PER_GROUP + 1])
def test_rows_written_one_by_one_are_the_same_table(tmp_path: Path, count: int) -> None:
    rows = [replace(row(str(number)), parent_id="0" * 64 if number % 2 else None) for number in range(count)]
    for name in ("first", "second"):
        write_prompt_table(tmp_path / name, rows)
    assert read_prompt_table(tmp_path / "first").equals(prompt_table(rows))
    assert read_prompts(tmp_path / "first") == rows
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()


def test_a_file_whose_rows_are_damaged_is_named(tmp_path: Path) -> None:
    path = damage(write_prompts([row(str(number)) for number in range(500)], tmp_path / "prompts.parquet"))
    assert scan_prompt_table(path) is not None
    with pytest.raises(InputError, match=r"prompts\.parquet cannot be read as parquet"):
        read_prompts(path)


TEXTS = st.text() | st.text(alphabet='"\\/\b\f\n\r\t\x00\x1f\x7f\u2028{}é', max_size=6)
ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
REFERENCES = st.one_of(
    st.fixed_dictionaries({"sql": TEXTS | st.none()}),
    st.fixed_dictionaries({"product": TEXTS | ANY, "offer": TEXTS}),
    st.fixed_dictionaries({"facts": st.lists(TEXTS | ANY, max_size=3)}),
    st.dictionaries(TEXTS, ANY, max_size=3),
)


def table_of(*rows: tuple[str | None, ...]) -> pl.DataFrame:
    named = [dict(zip(("prompt_id", "task", "system", "prompt", "reference"), row, strict=True)) for row in rows]
    return pl.DataFrame(named, schema=COLUMNS)


@given(st.sampled_from(TASK_NAMES), TEXTS, TEXTS, REFERENCES, st.integers(0, 4), st.sampled_from([" ", "\\", '"', "a"]))
def test_an_id_holds_for_no_other_content(
    task: str, system: str, prompt: str, reference: dict[str, Any], part: int, added: str
) -> None:
    text = canonical_json(reference)
    row = [content_id(task, system, prompt, reference), task, system, prompt, text]
    row[part] += added
    same = part == 4 and added == " "
    assert ids_that_fit(table_of(tuple(row))).to_list() == [same]


@pytest.mark.parametrize(("levels", "fits"), [(MOST_NESTED - 1, True), (MOST_NESTED, False), (700, False)])
def test_a_reference_is_not_nested_without_end(levels: int, fits: bool) -> None:
    nested = "[" * levels + "]" * levels
    row = (None, "churn", None, None, f'{{"churn":true,"more":{nested}}}')
    assert references_that_fit(table_of(row)).to_list() == [fits]


QUESTION = {"role": "user", "content": "Quem é você?"}
ANSWER = {"role": "assistant", "content": "Sou um modelo."}
SYSTEM = {"role": "system", "content": "Seja breve."}


def _read(line: Any) -> Instruction:
    return Instruction.model_validate_json(json.dumps(line), strict=True)


def test_the_chat_form_is_the_same_instruction() -> None:
    plain = {"prompt": "Quem é você?", "completion": "Sou um modelo."}
    assert _read({"messages": [QUESTION, ANSWER], "id": 7}) == _read(plain)
    assert _read({"messages": [SYSTEM, QUESTION, ANSWER], "prompt": "of a collection"}) == _read(
        {"system": "Seja breve.", **plain}
    )
    assert _read({"messages": "a column of the same name", **plain}) == _read(plain)
