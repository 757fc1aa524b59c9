"""Rewinding of trainings: each goes on from the newest checkpoint before a person's rows had their turn in it."""

from collections.abc import Iterator, Mapping, Sequence
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
from schemas.tables.vacancies import Vacancy, of_tasks, read_vacancies
from schemas.tasks import TASK_NAMES, TaskName
from tasks.checkpoints.address import open_mirror
from tasks.checkpoints.manifest import Manifest, parse_name
from tasks.checkpoints.mirror import CheckpointDamaged, Mirror
from tasks.checkpoints.transplant import transplant
from tasks.curate.forget import is_theirs
from tasks.lineage.privacy.forgetting import Retraced
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
    # On another base it has another name, and nothing is found under this one.
    old_inputs = {**before, "base": records["base"]}
    found = []
    for seed in training_seeds(config):
        old, new = training_name(config, seed, old_inputs), training_name(config, seed, records)
        dataset = after["dataset"].path
        named = zip(task_trainings(config, old, dataset).items(), task_trainings(config, new, dataset), strict=True)
        for (old_training, tasks), training in named:
            step, why = _rewound(config, before, after, seed, tasks, old_training, training)
            steps = _steps(open_mirror(mirror_address(config), old_training), config)
            found.append(Retraced(training=training, steps=steps, from_step=step, why=why))
    return tuple(found)


def _rewound(
    config: Config,
    before: Mapping[str, ArtifactRecord],
    after: Mapping[str, StageResult],
    seed: int,
    tasks: tuple[TaskName, ...],
    old_training: str,
    training: str,
) -> tuple[int, str]:
    """Transplant the newest checkpoint that is the same in both trainings; return its step and what decided it."""
    if (why := _from_the_start(config)) is not None:
        return 0, why
    store = open_store(config)
    old = {role: store.path(record.sha256) for role, record in before.items()}
    if _is_changed(old["dataset"], after["dataset"].path, VALIDATION_FILE):
        return 0, CHOSEN_BY
    splits = _split(old["dataset"], tasks), _split(after["dataset"].path, tasks)
    stores = old["prompts"] / STORE_FOLDER, after["prompts"].path / STORE_FOLDER
    mirror, into = (open_mirror(mirror_address(config), name) for name in (old_training, training))
    step = go_on_from(mirror, into, after["base"].record.sha256, splits, stores, seed=seed, config=config)
    return (0, NONE_LEFT) if step is None else (step, NEWEST)


def go_on_from(
    mirror: Mirror,
    into: Mirror,
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
        into: The other one.
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
            mirror.restore(manifest, folder)
            if earns_the_same(folder, splits[0][0], stores, config.rewards.spec):
                rewinding.rewrite(folder)
                transplant(folder, manifest, into, config.train.preemption.lease_seconds)
                return manifest.step
    return None


def estimated(
    config: Config, before: Mapping[str, ArtifactRecord], person: Person, vacancies: Sequence[Vacancy]
) -> tuple[Retraced, ...]:
    """Return what `rewind` will probably find, without changing anything.

    Args:
        config: The run's configuration.
        before: As of `rewind`.
        person: The person.
        vacancies: Those of the dataset without them.
    """
    store = open_store(config)
    dataset = store.path(before["dataset"].sha256)
    bases = [record for record in store.records("base") if record.inputs.get("dataset") == before["dataset"].sha256]
    base = next((record for record in bases if record.stage == "base"), None)
    why = _from_the_start(config)
    if why is None and any(is_theirs(row, person) for row in read_prompts(dataset / VALIDATION_FILE)):
        why = CHOSEN_BY
    if why is None and not person.prompts.isdisjoint(demonstrated(dataset, config.warm_start, config.seed)):
        why = SHOWN
    if why is None and base is None:
        why = NONE_LEFT
    rows, known = read_prompts(dataset / TRAIN_FILE), read_vacancies(dataset)
    left = [row for row in rows if not is_theirs(row, person)]
    found = []
    for seed in training_seeds(config):
        name = "train" if base is None else training_name(config, seed, {**before, "base": base})
        for training, tasks in task_trainings(config, name, dataset).items():
            mirror = open_mirror(mirror_address(config), training)
            chosen = tasks or TASK_NAMES
            newest = None
            if why is None and base is not None:
                rewinding = Rewinding(of_tasks(rows, known, chosen), of_tasks(left, vacancies, chosen), seed)
                newest = next(_before_their_turn(mirror, base.sha256, rewinding), None)
            found.append(
                Retraced(
                    training=training,
                    steps=_steps(mirror, config),
                    from_step=newest.step if newest else 0,
                    why=why or (NEWEST if newest else NONE_LEFT),
                )
            )
    return tuple(found)


def _steps(mirror: Mirror, config: Config) -> int:
    """Return the steps of a training: where it ended, or as many as the recipe has."""
    last = parse_name(mirror.pins().get(FINAL, ""))
    return last[0] if last else config.train.max_steps


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
