"""Writer of a package: a dataset's prompts, the rewards' own code and data below one name, and an engine's settings.

No test prompt and no id of a person is in it; the store's rows, which queries run on, are nobody's. Imports are
rewritten: another environment may have a `tasks` of its own.
"""

import json
import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from string import Template
from typing import Any, Final, Literal

import orjson

from schemas.config.config import Config
from schemas.config.train import TrainConfig
from schemas.errors import InputError
from schemas.references import knows_anything
from schemas.source import REPOSITORY, module_file, source_files
from schemas.store.files import read_store
from schemas.store.store import Store
from schemas.tables.prompts import PromptRow, canonical_json, read_prompts
from schemas.tasks import SpecName
from tasks.benchmark.folder import CARD_FILE, write_databases
from tasks.commerce.push.phrases import VARIABLE
from tasks.commerce.registry import component_rewards, reward_versions
from tasks.commerce.sql_qa.sandbox import copies_of, tables_of
from tasks.environment.rewards import DATA_FOLDER, SPLITS
from tasks.policy.generate import as_messages

Engine = Literal["prime-rl", "nemo-gym", "verl"]
PACKAGE: Final = "tucano_commerce"
CODE: Final = ("tasks.environment.rewards", "schemas.errors", "schemas.progress", "schemas.source")
"""Entries of the package's code; no closure follows into the last three, which decide nothing."""
PEOPLE: Final = ("order_id", "customer_id", "customer_unique_id", "review_id")
EMPTIED: Final = {
    "reviews": ("review_comment_title", "review_comment_message"),
    "customers": ("customer_city", "customer_zip_code_prefix"),
}
"""Columns of the store that may tell who somebody is, and that no question asks for."""
DATA_FILES: Final = ("tasks/environment/templates",)
TEMPLATES: Final = REPOSITORY / DATA_FILES[0]
_IMPORT: Final = re.compile(r"""^(\s*from |.*import_module\(f")(?=(?:tasks|schemas)[. ])""", re.MULTILINE)


def write_environment(
    dataset: Path, store: Path, spec: SpecName, made_of: Mapping[str, str], output: Path
) -> dict[str, Any]:
    """Write a package into an empty folder, and return its card; equal inputs give equal bytes.

    InputError where the specification has penalties: a trainer sums components, and does not cut the sum off at 0.
    """
    if penalties := [f"{task} {name}" for task, name, weight in component_rewards(spec) if weight < 0]:
        raise InputError(f"the rewards {spec} have penalties ({', '.join(penalties)}); use rewards.spec=grounded")
    rows = {split: read_prompts(dataset / "data" / f"{split}.parquet") for split in SPLITS}
    tasks = {row.task for of_split in rows.values() for row in of_split}
    data = output / PACKAGE / DATA_FOLDER
    data.mkdir(parents=True)
    for split, of_split in rows.items():
        (data / f"{split}.jsonl").write_bytes(b"".join(map(_row_line, of_split)))
    if "sql_qa" in tasks:
        write_databases(data, [tables_of(_without_people(copy)) for copy in copies_of(read_store(store))])
    if own := os.environ.get(VARIABLE):
        shutil.copyfile(own, data / "phrases.toml")
    card = {"spec": spec, "reward_versions": reward_versions(tasks, spec), "made_of": dict(made_of)}
    (data / CARD_FILE).write_text(json.dumps(card, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    _copy_source(output / PACKAGE)
    for source in TEMPLATES.glob("*.py.txt"):
        shutil.copyfile(source, output / PACKAGE / source.stem)
    for name in ("README.md", "pyproject.toml"):
        shutil.copyfile(TEMPLATES / name, output / name)
    return card


def _row_line(row: PromptRow) -> bytes:
    """Return a row as TRL and verl read it, with the columns of a trainer equal in all rows."""
    document = {
        "prompt_id": row.prompt_id,
        "task": row.task,
        "prompt": as_messages(row.system, row.prompt),
        "text": row.prompt,
        "reference": canonical_json(row.reference) if knows_anything(row.reference) else None,
        "data_source": PACKAGE,
        "reward_model": {"style": "rule", "ground_truth": row.prompt_id},
    }
    return orjson.dumps(document) + b"\n"


def _without_people(store: Store) -> Store:
    """Return a copy of a store whose rows are nobody's: numbers for ids, in their order, and no texts and places."""
    import polars as pl

    tables = {name: getattr(store, name) for name in ("orders", "items", "payments", "reviews", "customers")}
    for column in PEOPLE:
        having = [name for name, table in tables.items() if column in table.columns]
        ids = sorted({value for name in having for value in tables[name][column]})
        numbers = {value: f"{place:08}" for place, value in enumerate(ids)}
        tables |= {name: tables[name].with_columns(pl.col(column).replace(numbers)) for name in having}
    for table, columns in EMPTIED.items():
        filled = [pl.when(pl.col(name).is_not_null()).then(pl.lit("-")).alias(name) for name in columns]
        tables[table] = tables[table].with_columns(filled)
    return replace(store, **tables)


def _copy_source(home: Path) -> None:
    """Copy the code and the data that the rewards depend on, with the package's name before imports."""
    for name in source_files(*CODE):
        module = None if "/" in name else module_file(REPOSITORY, name)
        source = module or REPOSITORY / name
        # Not a shop's own file, which is no part of the repository.
        if source.is_file():
            goal = home / source.relative_to(REPOSITORY)
            goal.parent.mkdir(parents=True, exist_ok=True)
            text = source.read_text(encoding="utf-8")
            goal.write_text(_IMPORT.sub(rf"\g<1>{PACKAGE}.", text) if module else text, encoding="utf-8")


def write_engine(engine: Engine, config: Config, package: Path, goal: Path) -> None:
    """Write an engine's settings into a package that will be at `goal`, whose files they name."""
    recipe, longest = config.train, config.curate.max_prompt_tokens
    known = {
        "model": "BASE" if config.policy.stand_in or config.warm_start.steps else config.policy.name,
        "folder": goal.resolve(),
        "batch": recipe.prompts_per_step * recipe.generations,
        "prompt_tokens": longest,
        "tokens": longest + recipe.max_completion_tokens,
        **recipe.lora.model_dump(),
        **recipe.model_dump(),
        "max_steps": recipe.max_steps or TrainConfig().max_steps,  # A profile that ends with SFT has none.
    }
    for template in TEMPLATES.glob(f"{engine}.*"):
        text = Template(template.read_text(encoding="utf-8")).substitute(known)
        (package / template.name).write_text(text, encoding="utf-8")
