import json
import random
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schemas.errors import InputError
from schemas.store.files import FILE_NAMES, TIMESTAMP_FORMAT, read_store, write_store
from schemas.store.mapped_tables import MAPPED_TABLES
from schemas.store.store import Store
from tasks.synthesize.own.opened import OwnFiles, open_own_files
from tasks.synthesize.own.tables import own_store
from tasks.synthesize.simulated import simulate_store

KEY = bytes(32)
STORE = simulate_store(60, random.Random(0))


def opened(path: Path, *, personal: bool = False) -> OwnFiles:
    return open_own_files(path, KEY, lambda _: personal)


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
        lines += [
            "[[tables]]",
            f'path = "{name}"',
            f'table = "{table}"',
            f'decimals = "{decimals}"',
            'dates = "day-first"',
        ]
        lines += ["[tables.columns]", *(f'{ours} = "{theirs}"' for ours, theirs in names.items())]
    (folder / "map.toml").write_text("\n".join(lines), encoding="utf-8")
    found = own_store(opened(folder / "map.toml"))
    for table in FILE_NAMES:
        assert getattr(found, table).equals(getattr(STORE, table)), table
