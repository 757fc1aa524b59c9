"""General instructions for the warm start, in addition to the shop's prompts: as JSON Lines and as a table."""

from typing import Any, Final

import polars as pl
from pydantic import BaseModel, ConfigDict, Field, model_validator

GENERAL_FILE: Final = "data/general.parquet"
"""File of a dataset's general instructions, if it has any."""
COLUMNS: Final = {"system": pl.String, "prompt": pl.String, "completion": pl.String}

_ROLES: Final = (["user", "assistant"], ["system", "user", "assistant"])


class Instruction(BaseModel):
    """One instruction and its answer. Unknown keys, such as a collection's own ids, are dropped.

    The chat form, `{"messages": [{"role", "content"}, ...]}`, is read too, where it has one user turn and one answer.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)

    system: str = ""
    """The system prompt; empty where the collection has none."""
    prompt: str = Field(pattern=r"\S")
    completion: str = Field(pattern=r"\S")

    @model_validator(mode="before")
    @classmethod
    def _one_form(cls, line: Any) -> Any:
        if not isinstance(line, dict):
            return line
        if "messages" in line and not {"prompt", "completion"} <= line.keys():
            return _turns(line["messages"])
        # Some collections write an absent system prompt as null.
        return {key: value for key, value in line.items() if key != "system" or value is not None}


def _turns(messages: Any) -> dict[str, Any]:
    turns = messages if isinstance(messages, list) else []
    if [turn.get("role") if isinstance(turn, dict) else None for turn in turns] not in _ROLES:
        raise ValueError("messages must be one user turn and one assistant turn, after one system turn at most")
    *system, user, assistant = (turn.get("content") for turn in turns)
    return {"system": system[0] if system else "", "prompt": user, "completion": assistant}
