"""Rewinding of a training: a checkpoint from before some rows had their turn, as one of a training without them.

Such a checkpoint is the same, byte for byte, as that of a training on the dataset whose rows were taken out, but for
the digest of the rows that it was drawing from. So three things are proven of it before it is taken: none of these
places has had its turn in any queue; every query that was rewarded until then earns the same on the store as it is now;
and validation was on the same rows.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final

import polars as pl

from schemas.store.files import read_store
from schemas.tables.prompts import PromptRow
from schemas.tables.vacancies import Vacancy
from schemas.tasks import SpecName
from tasks.commerce.registry import score_rollout
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.train.prompt_source import SAMPLING, PromptSource

SAMPLING_FILE: Final = f"{SAMPLING}.json"
"""File of a checkpoint with the position among the prompts."""
ROLLOUTS: Final = "rollouts"
"""A checkpoint's log of rollouts: a file of those of the newest steps, and a folder of the older ones."""
PREFERENCES: Final = "preferences"
"""A DPO checkpoint's file of pairs, whose completions were sampled before its first step."""
QUERIES: Final = "sql_qa"
"""The one task whose rewards depend on the store."""

Split = tuple[Sequence[PromptRow], Sequence[Vacancy]]
"""The training rows, and the vacancies among them."""


class Rewinding:
    """A training with other rows, as seen from the checkpoints of the one before."""

    def __init__(self, before: Split, after: Split, seed: int) -> None:
        """Compare two training splits, of which the second has further vacancies.

        Args:
            before: The split that the checkpoints are of.
            after: The split of the other training.
            seed: Seed of both.
        """
        self._before, self._after, self._seed = before, after, seed
        known = {vacancy.place for vacancy in before[1]}
        self._emptied = frozenset(vacancy.place for vacancy in after[1]) - known

    def is_before(self, sampling: bytes) -> bool:
        """Return whether a checkpoint, given its `SAMPLING_FILE`, was saved before any of the rows had its turn."""
        source = PromptSource(self._before[0], self._seed, self._before[1])
        source.load_state_dict(json.loads(sampling)["sampler"]["prompts"])
        return not source.has_drawn(self._emptied)

    def rewrite(self, checkpoint: Path) -> None:
        """Make a checkpoint from before the rows' turn one of the other training; nothing but a digest changes."""
        file = checkpoint / SAMPLING_FILE
        values = json.loads(file.read_text(encoding="utf-8"))
        own = PromptSource(self._after[0], self._seed, self._after[1]).state_dict()
        del own["queues"]
        values["sampler"]["prompts"] |= own
        file.write_text(json.dumps(values), encoding="utf-8")


def earns_the_same(checkpoint: Path, rows: Iterable[PromptRow], stores: tuple[Path, Path], spec: SpecName) -> bool:
    """Return whether every logged query earns the same on two stores.

    Args:
        checkpoint: The checkpoint with the log.
        rows: The training rows.
        stores: Folders of the stores.
        spec: The reward specification.
    """
    by_id = {row.prompt_id: row for row in rows if row.task == QUERIES}
    asked = {pair for pair in _logged(checkpoint) if pair[0] in by_id}
    if not asked:
        return True
    before, after = (Databases.from_store(read_store(store)) for store in stores)
    rollouts = [by_id[prompt].answered(completion) for prompt, completion in sorted(asked)]
    return all(score_rollout(each, before, spec) == score_rollout(each, after, spec) for each in rollouts)


def _logged(checkpoint: Path) -> list[tuple[str, str]]:
    """Return the prompt and the text of every rollout until a checkpoint."""
    files = {f"{ROLLOUTS}.json", *(f"{ROLLOUTS}/{file.name}" for file in (checkpoint / ROLLOUTS).glob("*.parquet"))}
    return logged_rollouts(files, lambda name: (checkpoint / name).read_bytes())


def logged_rollouts(files: Iterable[str], read: Callable[[str], bytes]) -> list[tuple[str, str]]:
    """Return the prompt_id and the text of every rollout, or completion of a pair, until a checkpoint.

    Args:
        files: The checkpoint's files.
        read: Reads one of them.
    """
    found: list[tuple[str, str]] = []
    for name in sorted(files):
        if name == f"{ROLLOUTS}.json":
            found += [(str(values[0]), str(values[4])) for values in json.loads(read(name))["rows"]]
        elif name == f"{PREFERENCES}.json":
            pairs = json.loads(read(name))["pairs"]
            found += [(str(pair["prompt_id"]), str(pair[text])) for pair in pairs for text in ("chosen", "rejected")]
        elif name.startswith(f"{ROLLOUTS}/"):
            found += pl.read_parquet(read(name), columns=["prompt_id", "completion"]).rows()
    return found
