from pathlib import Path
from typing import Any

import pytest

from schemas.documents import Rollout
from schemas.errors import InputError
from schemas.tables.rollout_tables import read_rollouts


def rollout(**values: Any) -> Rollout:
    return Rollout(**{"prompt_id": "p1", "task": "push", "prompt": "Crie um push", "completion": "Oi", **values})


@pytest.mark.parametrize("changes", [{"prompt": "Outro"}, {"task": "insights"}])
def test_one_identity_of_two_prompts_is_named(tmp_path: Path, changes: dict[str, str]) -> None:
    path = tmp_path / "rollouts.jsonl"
    documents = (rollout(), rollout(prompt_id="p2"), rollout(**changes))
    path.write_text("".join(document.model_dump_json() + "\n" for document in documents), encoding="utf-8")
    with pytest.raises(InputError, match=r"rollouts\.jsonl: row 3: not true: one prompt for each prompt id"):
        read_rollouts(path)
