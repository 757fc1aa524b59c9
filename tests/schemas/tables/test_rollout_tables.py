from pathlib import Path
from typing import Any

import polars as pl
import pytest

from schemas.documents import LoggedAnswer, PairedScore, Rollout
from schemas.errors import InputError
from schemas.tables.rollout_tables import document_table, read_rollouts


def rollout(**values: Any) -> Rollout:
    return Rollout(**{"prompt_id": "p1", "task": "push", "prompt": "Crie um push", "completion": "Oi", **values})


@pytest.mark.parametrize("changes", [{"prompt": "Outro"}, {"task": "insights"}])
def test_one_identity_of_two_prompts_is_named(tmp_path: Path, changes: dict[str, str]) -> None:
    path = tmp_path / "rollouts.jsonl"
    documents = (rollout(), rollout(prompt_id="p2"), rollout(**changes))
    path.write_text("".join(document.model_dump_json() + "\n" for document in documents), encoding="utf-8")
    with pytest.raises(InputError, match=r"rollouts\.jsonl: row 3: not true: one prompt for each prompt id"):
        read_rollouts(path)


def test_a_document_is_a_row_of_its_fields() -> None:
    known = rollout(reference={"offer": None, "product": "vaso"}, more=1)
    table = document_table([rollout(), known], Rollout)
    assert dict(table.schema) == dict.fromkeys(["prompt_id", "task", "prompt", "completion", "reference"], pl.String)
    assert table["reference"].to_list() == [None, '{"offer": null, "product": "vaso"}']
    scores = document_table([], PairedScore).schema
    assert [str(scores[name]) for name in ("seed", "score", "truth")] == ["Int64", "Float64", "Float64"]
    logged = document_table([], LoggedAnswer).schema
    assert logged["time"] == pl.Datetime("us", "UTC")
    assert logged["rating"] == pl.Int64
