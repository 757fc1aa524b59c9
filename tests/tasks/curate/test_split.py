from collections import Counter

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.config.config import CurateConfig
from schemas.errors import InputError
from schemas.tables.prompts import PromptRow
from tasks.curate.kinship import with_kin
from tasks.curate.split import assign
from tests.tasks.curate.prompt_rows import indexed
from tests.tasks.curate.test_kinship import tangled_rows


def config(**values: object) -> CurateConfig:
    return CurateConfig.model_validate({"validation_per_task": 2, "test_per_task": 3, "held_out_share": 0.3, **values})


def split(rows: list[PromptRow], settings: CurateConfig, seed: int = 0) -> pl.DataFrame:
    index = with_kin(indexed(rows)[0], seed, settings.held_out_share)
    return index.with_columns(assign(index, settings))


def sizes(table: pl.DataFrame, side: str) -> dict[str, int]:
    return dict(Counter(table.filter(split=side)["task"]))


@settings(deadline=None, max_examples=40)
@given(tangled_rows(), st.integers(0, 5))
def test_sizes_are_exact_and_kin_are_on_one_side_or_the_user_is_warned(rows: list[PromptRow], seed: int) -> None:
    try:
        table = split(rows, config(), seed)
    except InputError as error:
        assert "held out" in str(error)
        return
    for task in set(table["task"]):
        assert sizes(table, "test")[task] == 3
        assert sizes(table, "validation")[task] == 2
        assert sizes(table, "train")[task] >= 1
    sides = table.drop_nulls("split").group_by("kin").agg(pl.col("split").n_unique())
    assert sides["split"].max() == 1
    assert table.filter(split="train")["held_out"].any() is False
    assert table.filter(pl.col("split").is_in(["test", "validation"]))["held_out"].all()
