"""Rewinding of trainings: each goes on from the newest checkpoint before a person's rows had their turn in it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from flows.runtime.session import mirror_address
from flows.runtime.stores import open_store
from flows.stages.runner import StageResult
from flows.stages.train import task_trainings, training_name, training_seeds
from schemas.artifact import ArtifactRecord
from schemas.config.config import Config
from schemas.digests import file_sha256
from schemas.scratch import scratch_folder
from schemas.tables.person import Person
from schemas.tables.prompts import TRAIN_FILE, VALIDATION_FILE, read_prompts
from schemas.tables.vacancies import of_tasks, read_vacancies
from schemas.tasks import TASK_NAMES, TaskName
from tasks.checkpoints.address import open_mirror
from tasks.checkpoints.manifest import Manifest, parse_name
from tasks.checkpoints.mirror import CheckpointDamaged, Mirror
from tasks.checkpoints.transplant import transplant
from tasks.lineage.erase.forgetting import Retraced
from tasks.train.resume.rewind import SAMPLING_FILE, Rewinding, Split, earns_the_same
from tasks.train.sft.warm_start import demonstrated

STORE_FOLDER: Final = "store"
FINAL: Final = "final"
"""Pin of the last checkpoint of a training that came to its end."""
CHOSEN_BY: Final = "a row of theirs was among those that choose the checkpoint"
SHOWN: Final = "the warm start was shown one of their prompts"
NEWEST: Final = "the newest checkpoint that is left from before their first turn"
NONE_LEFT: Final = (
    "no checkpoint from before their first turn is left, on the same base and with the same code; "
    "train.keep_checkpoints keeps more"
)


def rewind(
    config: Config, before: Mapping[str, ArtifactRecord], after: Mapping[str, StageResult]
) -> tuple[Retraced, ...]:
    """Give each training a checkpoint from before the rows were drawn, where one is left and proven the same.

    Args:
        config: The run's configuration.
        before: The artifacts that models were trained from, by role: prompts and dataset.
        after: Those that they are trained from now, and the base.
    """
    records = {role: result.record for role, result in after.items()}
    data = {role: result.path for role, result in after.items()}
    return _rewound(config, before, data, records["base"].sha256, lambda seed: training_name(config, seed, records))


def foreseen(
    config: Config, before: Mapping[str, ArtifactRecord], data: Mapping[str, Path], person: Person
) -> tuple[Retraced, ...]:
    """Return what `rewind` will find, by the same proofs; nothing is changed.

    Args:
        config: The run's configuration.
        before: As of `rewind`.
        data: Folders of the prompts and the dataset without the person, by role.
        person: The person.
    """
    known = _base_of(config, before["dataset"])
    dataset = open_store(config).path(before["dataset"].sha256)
    is_shown = not person.prompts.isdisjoint(demonstrated(dataset, config.warm_start, config.seed))
    return _rewound(config, before, data, None if known is None or is_shown else known.sha256, None)


def ended(config: Config, retraced: Sequence[Retraced]) -> tuple[Retraced, ...]:
    """Return trainings that came to their end with their real number of steps."""
    mirrors = (open_mirror(mirror_address(config), each.training) for each in retraced)
    ends = zip(retraced, map(_end, mirrors), strict=True)
    return tuple(each if end is None else each.model_copy(update={"steps": end}) for each, end in ends)


def _rewound(
    config: Config,
    before: Mapping[str, ArtifactRecord],
    data: Mapping[str, Path],
    base: str | None,
    named: Callable[[int], str] | None,
) -> tuple[Retraced, ...]:
    """Find the newest checkpoint that is the same in each training and its successor.

    Args:
        config: The run's configuration.
        before: As of `rewind`.
        data: Folders of what is trained from now, by role.
        base: The sha256 of the base that is trained from now; None for another one, which is not made yet.
        named: Name of a seed's new training, which the checkpoint is given to; None to give it to none.
    """
    store, address = open_store(config), mirror_address(config)
    old, known = (
        {role: store.path(record.sha256) for role, record in before.items()},
        _base_of(config, before["dataset"]),
    )
    why = _from_the_start(config)
    if why is None and _is_changed(old["dataset"], data["dataset"], VALIDATION_FILE):
        why = CHOSEN_BY
    if why is None and known is not None and known.sha256 != base:
        why = SHOWN
    found = []
    for seed in training_seeds(config):
        name = "train" if known is None else training_name(config, seed, {**before, "base": known})
        new = name if named is None else named(seed)
        pairs = zip(
            task_trainings(config, name, data["dataset"]).items(),
            task_trainings(config, new, data["dataset"]),
            strict=True,
        )
        for (training, tasks), successor in pairs:
            mirror, step = open_mirror(address, training), None
            if why is None and known is not None:
                step = go_on_from(
                    mirror,
                    None if named is None else open_mirror(address, successor),
                    known.sha256,
                    (_split(old["dataset"], tasks), _split(data["dataset"], tasks)),
                    (old["prompts"] / STORE_FOLDER, data["prompts"] / STORE_FOLDER),
                    seed=seed,
                    config=config,
                )
            # What ended at that step ends there again; what goes on may go on as far as the recipe does.
            steps = step if step and step == _end(mirror) else config.train.max_steps
            found.append(
                Retraced(
                    training=successor, steps=steps, from_step=step or 0, why=why or (NEWEST if step else NONE_LEFT)
                )
            )
    return tuple(found)


def go_on_from(
    mirror: Mirror,
    into: Mirror | None,
    base: str,
    splits: tuple[Split, Split],
    stores: tuple[Path, Path],
    *,
    seed: int,
    config: Config,
) -> int | None:
    """Let a training begin with the newest checkpoint of another that is proven the same in both; return its step.

    Args:
        mirror: The training before.
        into: The other one; None to prove it only.
        base: The sha256 of the base of both.
        splits: The training rows of both, with their vacancies.
        stores: The stores of both.
        seed: The seed of both.
        config: The configuration of both.

    Returns:
        None if there is none.

    Raises:
        InputError: The mirror cannot be reached.
    """
    rewinding = Rewinding(*splits, seed)
    for manifest in _before_their_turn(mirror, base, rewinding):
        with scratch_folder() as work:
            folder = work / manifest.name
            try:
                mirror.restore(manifest, folder)
            except CheckpointDamaged:
                continue
            if earns_the_same(folder, splits[0][0], stores, config.rewards.spec):
                if into is not None:
                    rewinding.rewrite(folder)
                    transplant(folder, manifest, into, config.train.preemption.lease_seconds)
                return manifest.step
    return None


def _base_of(config: Config, dataset: ArtifactRecord) -> ArtifactRecord | None:
    """Return the newest base whose warm start was shown a dataset."""
    bases = (record for record in open_store(config).records("base") if record.stage == "base")
    return next((record for record in bases if record.inputs.get("dataset") == dataset.sha256), None)


def _end(mirror: Mirror) -> int | None:
    """Return the step at which a training ended; None if it has not."""
    last = parse_name(mirror.pins().get(FINAL, ""))
    return last[0] if last else None


def _from_the_start(config: Config) -> str | None:
    """Return why no checkpoint can be gone on from, whatever is left; None if one may be."""
    if config.workers.training is not None:
        return "the machine that trains has checkpoints of its own, which are not reached from here"
    if config.train.algorithm != "grpo":
        return "its pairs were sampled before the first step"
    if config.train.sql_turns > 1:
        return "the policy was shown results of queries on the store as it was"
    return None


def _before_their_turn(mirror: Mirror, base: str, rewinding: Rewinding) -> Iterator[Manifest]:
    """Yield the checkpoints on a base from before the rows had their turn, newest first."""
    for manifest in mirror.manifests():
        with suppress(CheckpointDamaged):
            if manifest.base == base and rewinding.is_before(mirror.read(manifest, SAMPLING_FILE)):
                yield manifest


def _is_changed(before: Path, after: Path, name: str) -> bool:
    return file_sha256(before / name) != file_sha256(after / name)


def _split(dataset: Path, tasks: tuple[TaskName, ...]) -> Split:
    return of_tasks(read_prompts(dataset / TRAIN_FILE), read_vacancies(dataset), tasks or TASK_NAMES)
