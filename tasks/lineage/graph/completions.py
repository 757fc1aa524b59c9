"""Completions of the newest training and its evaluation: a step's rollouts, or a prompt's rollouts and answers."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import polars as pl
from polars.exceptions import PolarsError

from schemas.artifact import ArtifactRecord
from schemas.errors import InputError
from schemas.tables.prompts import SPLITS
from tasks.lineage.graph.descriptions import is_rollout_log, split_file
from tasks.lineage.store.inventory import Inventory, short

FEWEST_CHARACTERS: Final = 4
"""Characters of a prompt's id that suffice to name it, if no other begins with them."""
STEP_DIGITS: Final = 6
"""Most digits of a step; a longer number is the beginning of an id."""
_POLICY: Final = "policy-"
_ANSWERS: Final = "answers-"
_SEED: Final = "-seed"

Row = dict[str, Any]


@dataclass(frozen=True)
class NewestRun:
    """The newest trainings that were evaluated together, or the newest one that was not evaluated."""

    inventory: Inventory
    evaluation: ArtifactRecord | None
    policies: tuple[ArtifactRecord, ...]
    dataset: str
    scrub: Callable[[str], tuple[str, Any]]

    def step(self, step: int, task: str | None) -> list[Row]:
        """Return the rollouts of a step, of one task or of all, as logged."""
        of_task = pl.lit(value=True) if task is None else pl.col("task") == task
        found = self._rollouts((pl.col("step") == step) & of_task)
        if not found:
            logged, of = self._logged(of_task), "" if task is None else f" of {task}"
            known = logged["step"].to_list() if len(logged) else []
            steps = f"steps {min(known)} to {max(known)} have" if known else "no step has"
            raise InputError(f"the newest training has no rollouts{of} of step {step}; {steps} some{of}")
        return found

    def prompt(self, beginning: str) -> Row:
        """Return the prompt whose id begins so, with all that the models said to it."""
        folder, columns = self.inventory.folder(self.dataset), ("prompt_id", "task", "prompt", "reference")
        is_it = pl.col("prompt_id").str.starts_with(beginning)
        found: dict[str, Row] = {}
        for split in SPLITS:
            table = pl.scan_parquet(folder / split_file(split), glob=False).filter(is_it).select(columns)
            found |= {row["prompt_id"]: {"split": split, **row} for row in _collected(table).iter_rows(named=True)}
        if not found:
            raise InputError(
                f"no prompt of the newest training's dataset begins with {beginning!r}; give an id, or the beginning "
                "of one, as --json or the report shows it"
            )
        if len(found) > 1:
            raise InputError(
                f"{len(found)} prompts of the newest training's dataset begin with {beginning!r}; give more of its id"
            )
        ((prompt_id, row),) = found.items()
        return {
            "prompt_id": prompt_id,
            "task": row["task"],
            "split": row["split"],
            "prompt": self.scrub(row["prompt"])[0],
            "reference": (json.loads(row["reference"]) if row["reference"] else None) or None,
            "answers": list(self._answers(prompt_id)),
            "rollouts": self._rollouts(pl.col("prompt_id") == prompt_id),
        }

    def _logged(self, condition: pl.Expr) -> pl.DataFrame:
        """Return the rows of the rollout logs that satisfy a condition; none where nothing was logged."""
        logs = [
            self.inventory.folder(policy.sha256) / name
            for policy in self.policies
            for name in sorted(policy.files)
            if is_rollout_log(name)
        ]
        return _collected(pl.scan_parquet(logs, glob=False).filter(condition)) if logs else pl.DataFrame()

    def _rollouts(self, condition: pl.Expr) -> list[Row]:
        return [
            {**row, "components": json.loads(row["components"]), "completion": self.scrub(row["completion"])[0]}
            for row in self._logged(condition).iter_rows(named=True)
        ]

    def _answers(self, prompt_id: str) -> Iterator[Row]:
        """Yield the models' answers; score and truth are None where the evaluation scored something else of a model."""
        if self.evaluation is None:
            return
        for role, sha256 in self.evaluation.inputs.items():
            if not role.startswith(_ANSWERS) or sha256 not in self.inventory.records:
                continue
            model = role.removeprefix(_ANSWERS)
            # All seeds of a policy share a file of scores.
            name, _, seed = model.partition(_SEED)
            file = self.inventory.folder(self.evaluation.sha256) / f"{name}.scores.jsonl"
            scores = {
                line["sample"]: (line["score"], line["truth"])
                for line in _lines_with(file, prompt_id)
                if not seed or line["seed"] == int(seed)
            }
            for line in _lines_with(self.inventory.folder(sha256) / "rollouts.jsonl", prompt_id):
                score, truth = scores.get(line["sample"], (None, None))
                said = self.scrub(line["completion"])[0]
                yield {"model": model, "sample": line["sample"], "completion": said, "reward": score, "truth": truth}


def newest_run(inventory: Inventory, scrub: Callable[[str], tuple[str, Any]]) -> NewestRun:
    """Return the newest training, with its evaluation; `scrub` is applied to every text."""
    policies = inventory.of_kind("policy")
    if not policies:
        raise InputError("nothing was trained in this state folder yet; run `tucano retrain` first")
    newest = policies[-1]
    dataset = newest.inputs.get("dataset")
    if dataset is None or dataset not in inventory.records:
        raise InputError(f"the dataset of policy {short(newest.sha256)} is not here; make it with `tucano retrain`")
    for evaluation in reversed(inventory.of_kind("evaluation")):
        evaluated = [sha256 for role, sha256 in evaluation.inputs.items() if role.startswith(_POLICY)]
        if newest.sha256 in evaluated:
            known = tuple(inventory.records[sha256] for sha256 in evaluated if sha256 in inventory.records)
            return NewestRun(inventory, evaluation, known, dataset, scrub)
    return NewestRun(inventory, None, (newest,), dataset, scrub)


def _collected(table: pl.LazyFrame) -> pl.DataFrame:
    try:
        return table.collect()
    except (OSError, PolarsError) as error:
        raise InputError(
            "a table of the newest training is lost or damaged; `tucano lineage REF --verify` names the file"
        ) from error


def _lines_with(file: Path, prompt_id: str) -> Iterator[Row]:
    if not file.is_file():
        return
    # The id is found in the bytes first: to parse a line costs a hundred times as much.
    wanted = prompt_id.encode()
    with file.open("rb") as lines:
        for line in lines:
            if wanted in line and (row := json.loads(line))["prompt_id"] == prompt_id:
                yield row
