"""Curate stage: prompts in, one dataset out, and a quarantine with the reason of each dropped row.

Prompts are checked, scrubbed, measured and fingerprinted shard by shard; one pass over all fingerprints assigns the
splits; prompts are written shard by shard; and the written files are read again to verify that the splits share
nothing.
"""

import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from schemas.config.config import CurateConfig
from schemas.config.train_sections import PolicyConfig
from schemas.errors import InputError
from schemas.progress import Progress
from schemas.tables.prompts import SPLITS
from schemas.tables.summaries import DatasetSummary, GeneralSummary
from schemas.tasks import TASK_NAMES
from tasks.curate.decide import NONE_KNOWN, decide
from tasks.curate.files import Counts, data_card, write_splits
from tasks.curate.general import write_general
from tasks.curate.given import COMPLETED_SPLITS, CompletedReferences, complete_splits, read_references
from tasks.curate.incoming import IncomingPrompts, open_prompts, read_known
from tasks.curate.processes import MapShards
from tasks.curate.proof import prove
from tasks.curate.quarantine import REASONS, TOO_LONG
from tasks.curate.shards import Shard, ShardResult, curate_shard
from tasks.curate.words import Hashes
from tasks.personal_data.scrub import KINDS, Kind
from tasks.policy.length import PromptLengths
from tasks.policy.published import KNOWN_FILE, shipped

DATA_FILES: Final = ("constraints/laptop.txt",)
"""The versions of the packages that recognize alphabets, telephone numbers and likeness."""
WORK: Final = ".work"
MOST_NAMED: Final = 5
MOST_SOURCES: Final = 20


def run(
    config: CurateConfig,
    policy: PolicyConfig,
    prompts: Path,
    output: Path,
    progress: Progress,
    map_shards: MapShards,
) -> DatasetSummary:
    """Write `data/*.parquet`, `quarantine.parquet`, `summary.json` and `README.md`; equal inputs give equal bytes.

    A task without a single prompt is in no split; every other has exactly the configured sizes.

    Args:
        config: Sizes and limits.
        policy: The policy whose tokens measure the prompts.
        prompts: The synthesize stage's folder, a prompt table, or JSON Lines of prompts.
        output: An empty folder.
        progress: Called with the prompts now and then.
        map_shards: Runs the shards.

    Raises:
        InputError: The prompts cannot be read, too few of a task are left to split, or people's references cannot be
            joined.
    """
    lengths = PromptLengths.of(policy)
    # A missing tokenizer is reported once, before any work.
    lengths.tokens(pl.DataFrame(schema={"system": pl.String, "prompt": pl.String}))
    if config.general is not None and not config.general.file.is_file():
        raise InputError(f"curate.general.path {config.general.file} is no file; correct it or leave it out")
    known = _known(config, policy)
    given = None if config.references is None else read_references(config.references)
    work = output / WORK
    work.mkdir()
    incoming = open_prompts(prompts, work)
    rows = incoming.rows
    shards = list(_shards(config, incoming, work, lengths))
    results = _work(shards, map_shards, progress, rows)
    _refuse_nothing_left(shards, results, rows)
    renamed = {old: new for result in results for old, new in result.renamed.items()}
    progress(rows, rows, "copies and splits")
    decisions = decide([shard.index for shard in shards], renamed, config, known)
    counts = write_splits(shards, decisions, renamed, output)
    general = None
    if config.general is not None:
        general = write_general(
            config.general, counts.rows("train"), config.split_seed, lengths, config.max_prompt_tokens, output
        )
    progress(rows, rows, "proof that no split knows another")
    prove(output, config.shard_rows, map_shards)
    # Behind the proof, which takes each id for the content's: a completed reference keeps its prompt's id.
    completed = CompletedReferences() if given is None else complete_splits(output, given)
    shutil.rmtree(work)
    scrubbed = sum((result.scrubbed for result in results), Counter() if given is None else given.scrubbed)
    scrubbed += Counter({kind: incoming.scrubbed.get(kind, 0) for kind in KINDS})
    summary = _summary(config, counts, scrubbed, general, completed)
    summary.write(output)
    (output / "README.md").write_text(data_card(summary, output), encoding="utf-8")
    return summary


def _known(config: CurateConfig, policy: PolicyConfig) -> Hashes:
    files = [shipped() / KNOWN_FILE] if policy.stand_in else []
    files += [] if config.known_to_base is None else [config.known_to_base]
    return np.unique(np.concatenate([NONE_KNOWN, *(read_known(file) for file in files)]))


def _shards(config: CurateConfig, incoming: IncomingPrompts, work: Path, lengths: PromptLengths) -> Iterator[Shard]:
    rows = incoming.rows
    for number, first in enumerate(range(0, rows, config.shard_rows)):
        yield Shard(
            prompts=incoming.table,
            number=number,
            first_row=first,
            rows=min(config.shard_rows, rows - first),
            work=work,
            given_twice=frozenset(row for row in incoming.given_twice if first < row <= first + config.shard_rows),
            lengths=lengths,
            max_prompt_tokens=config.max_prompt_tokens,
            near_duplicate_threshold=config.near_duplicate_threshold,
        )


def _work(shards: Sequence[Shard], map_shards: MapShards, progress: Progress, rows: int) -> list[ShardResult]:
    results = []
    done = 0
    progress(done, rows, "prompts")
    for shard, result in zip(shards, map_shards(curate_shard, shards), strict=True):
        results.append(result)
        done += shard.rows
        progress(done, rows, "prompts checked and scrubbed")
    return results


def _refuse_nothing_left(shards: Sequence[Shard], results: Sequence[ShardResult], rows: int) -> None:
    if any(result.usable for result in results):
        return
    dropped = pl.concat([part for shard in shards for part in _unusable(shard)]).sort("row")
    counts = ", ".join(f"{reason} {count}" for reason, count in Counter(dropped["reason"]).items())
    first = "; ".join(f"row {row}: {detail}" for row, detail in dropped.select("row", "detail").head(MOST_NAMED).rows())
    raise InputError(f"not one of {rows} prompts can be used ({counts}): {first}; correct them")


def _unusable(shard: Shard) -> tuple[pl.DataFrame, pl.DataFrame]:
    rows, index = (pl.read_parquet(path, glob=False) for path in (shard.kept, shard.index))
    too_long = rows.select("row", reason=pl.lit(TOO_LONG), detail=index["too_long"])
    return pl.read_parquet(shard.dropped, columns=["row", "reason", "detail"], glob=False), too_long


def _largest(sources: Counter[str]) -> dict[str, int]:
    """Return the largest sources by name, and all others combined: every row may have its own source."""
    largest = dict(sorted(sources.most_common(MOST_SOURCES)))
    others = sources.total() - sum(largest.values())
    return {**largest, **({"others": others} if others else {})}


def _summary(
    config: CurateConfig,
    counts: Counts,
    scrubbed: Counter[Kind],
    general: GeneralSummary | None,
    completed: CompletedReferences,
) -> DatasetSummary:
    untold = counts.untold - completed.now_known
    return DatasetSummary(
        split_seed=config.split_seed,
        held_out_share=config.held_out_share,
        train=counts.rows("train"),
        validation=counts.rows("validation"),
        test=counts.rows("test"),
        quarantined=counts.reasons.total(),
        tasks={task: {split: counts.splits[split, task] for split in SPLITS} for task in TASK_NAMES},
        reasons={
            reason: {task: count for (why, task), count in sorted(counts.reasons.items()) if why == reason}
            for reason in REASONS
        },
        scrubbed={kind: scrubbed[kind] for kind in KINDS},
        sources=_largest(counts.sources),
        without_reference={
            task: {split: count for split in SPLITS if (count := untold[split, task])}
            for task in TASK_NAMES
            if any(untold[split, task] for split in SPLITS)
        },
        references_by_people={
            task: {split: completed.by_people[split, task] for split in COMPLETED_SPLITS}
            for task in TASK_NAMES
            if any(completed.by_people[split, task] for split in COMPLETED_SPLITS)
        },
        references_left_out=completed.left_out,
        general=general,
    )
