"""Flow `train`: a policy for each seed, resumed from its newest checkpoint where there is one."""

import json
import shutil
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

from flows.runtime.console import say, warn
from flows.runtime.runs import log, stage_flow
from flows.runtime.session import mirror_address
from flows.stages.child_pool import ChildPool, this_worker
from flows.stages.remote import placed
from flows.stages.runner import Policies, Results, Session, Stage, StageResult, config_digest, run_stage, stage_key
from schemas.artifact import ArtifactRecord, Origin, TrainingSegment
from schemas.config.config import Config
from schemas.progress import Progress
from schemas.tables.prompts import TRAIN_FILE, read_prompt_table
from schemas.tasks import TASK_NAMES, TaskName
from tasks.lineage.mlflow.recorder import StageRun
from tasks.policy.child import Metrics, run_child
from tasks.train.preflight.check import PREFLIGHT_FILE
from tasks.train.request import TrainRequest
from tasks.train.resume.lease import CHECKPOINTS_FOLDER, SEGMENTS_FILE
from tasks.train.summaries import SUMMARY_FILE, TASKS_FOLDER, chosen_reward, gather_tasks, read_summary, reward_before

STAGE = "train"
SECONDS_BETWEEN_TRIES: Final = 60.0

NOT_IN_KEY = {
    "interpreter",  # The same packages elsewhere.
    "seeds",  # A policy's own seed is in the key; the others do not affect it.
    "save_every",  # How much is lost with the machine.
    "keep_checkpoints",  # Retention in the mirror.
    "preemption",  # How it resumes after that.
    "device_memory_gb",  # Where it would be refused.
    "price_per_hour",  # A displayed cost.
    "alarms",  # Whether training continues: to continue past an alarm is to want its checkpoints.
    "preflight",  # Whether it starts, as the audit does.
}
"""Fields of the recipe that are in no key: the policy is the same with any value of these."""
SAME_CHECKPOINTS: Mapping[str, Any] = {
    "accumulation": True,  # The same step in other parts, up to floating-point rounding.
    "gradient_checkpointing": True,  # The same gradient in less memory.
    # In how much memory vLLM samples. Whether it samples stays in the key: rollouts kept for a second update
    # have its probabilities, or lack them.
    "vllm": {"memory_share", "sleep"},
}
"""Fields that the remedies for full memory name: with another value, training resumes from the existing checkpoints."""


@stage_flow(STAGE)
def train(session: Session, given: Results, seeds: Sequence[int] = ()) -> dict[int, StageResult]:
    """Train a policy for each seed, all that are configured if none is given, and return them by seed in that order.

    The audit that lets them start is recorded with them, and does not decide what comes out: where somebody adds a
    note to the sheet, training resumes from its checkpoints.
    """
    seeds = seeds or training_seeds(session.config)
    trainings = session.pool or ChildPool(session.config.workers.concurrent_children)
    # Where it is alone, it is waited for in the main thread, and has all threads.
    run = run_child if session.pool is None and len(seeds) == 1 else trainings.run_child
    records = {role: result.record for role, result in given.items()}
    own = {seed: seed_stage(session, seed, given, trainings, run) for seed in seeds}
    stages = {seed: placed(each, session, STAGE, records, what="training", seed=seed) for seed, each in own.items()}
    if session.config.workers.training is not None or len(seeds) == 1:
        policies = {stage.name: run_stage(stage, session) for stage in stages.values()}
    else:
        policies = trainings.map({stage.name: partial(run_stage, stage, session) for stage in stages.values()})
    for name, policy in policies.items():
        # A step's own reward is of a few prompts alone.
        summary = read_summary(policy.path)
        say(f"{name}: validation reward {reward_before(summary):.3f} -> {chosen_reward(summary):.3f}")
        if (drawn_by := summary.get("rollouts_drawn_by")) is not None and summary["steps"]:
            unknown = summary["unknown_to_engine"]
            why = "" if unknown is None else f", for our engine does not know {unknown}"
            say(f"{name}: rollouts drawn by {'our engine' if drawn_by == 'ours' else drawn_by}{why}")
    return {seed: policies[stage.name] for seed, stage in stages.items()}


def seed_stage(
    session: Session, seed: int, given: Results, trainings: ChildPool, run: Callable[..., str | None]
) -> Stage:
    """Return the stage that trains the policy of a seed, in the children of a pool or by a function like theirs."""
    config = session.config
    recipe, name = config.train, stage_name(seed, training_seeds(config))
    inputs = {role: result.record for role, result in given.items() if role != "audit"}

    def train_policy(output: Path, progress: Progress, mlflow_run: StageRun) -> Origin:
        request = TrainRequest(
            config=recipe,
            spec=config.rewards.spec,
            tasks=() if isinstance(recipe.tasks, str) else recipe.tasks,
            validation_temperature=config.evaluate.temperature,
            validation_batch_size=config.evaluate.batch_size,
            max_prompt_tokens=config.curate.max_prompt_tokens,
            context=config.policy.context,
            seed=seed,
            base=given["base"].path,
            base_sha256=given["base"].record.sha256,
            dataset=given["dataset"].path,
            store=given["prompts"].path / "store",
            audit=given["audit"].path,
            mirror=mirror_address(config),
            training=training_name(config, seed, inputs),
            fresh=session.fresh,
            prices=config.workers.prices,
            output=output,
        )
        with step_log(mlflow_run, name) as log_step:
            if recipe.adapter_per_task:
                return _train_each_task(session, trainings, request, name, progress, log_step, mlflow_run)
            with _child_folder(session, request, mlflow_run) as folder:
                reports = {"progress": progress, "metrics": log_step, "alarm": partial(show_alarm, name)}
                device = run(*entry_modules(config), request, folder, interpreter=recipe.interpreter, **reports)
                return _origin(request, folder, device)

    return Stage(
        name=name,
        # A seed's policy is the same whether it is configured alone or among others.
        cache_name=STAGE,
        kind="policy",
        sources=entry_modules(config),
        config_digest=key_inputs(config, seed),
        inputs=inputs,
        order_only_inputs={"audit": given["audit"].record},
        work=train_policy,
        summary=_figures,
        reports=(SUMMARY_FILE,),
    )


@contextmanager
def step_log(run: StageRun, training: str) -> Iterator[Metrics]:
    """Give what logs the metrics of a step in MLflow, and keeps them while MLflow does not take them.

    Only the last write, when the block ends, fails the stage: a store may be away for some time.
    """
    lock, waiting, again_at = threading.Lock(), list[tuple[int, dict[str, float]]](), 0.0

    def log_step(step: int, values: dict[str, float]) -> None:
        nonlocal again_at
        with lock:
            waiting.append((step, values))
            if time.monotonic() < again_at:
                return
            try:
                run.log_steps(waiting)
                waiting.clear()
            except Exception as error:  # noqa: BLE001 - tried again, and raised by the last write
                if not again_at:
                    warn(f"MLflow cannot record metrics now ({error}); they are kept and tried again", training)
                # Each try may take minutes, and the child's reports wait meanwhile.
                again_at = time.monotonic() + SECONDS_BETWEEN_TRIES

    with _recorded_after(lambda: run.log_steps(waiting), "record the last metrics", training):
        yield log_step


@contextmanager
def _recorded_after(record: Callable[[], None], work: str, training: str) -> Iterator[None]:
    """Record after the block, however it ends; where it failed, its error counts, and a second one is a warning."""
    try:
        yield
    except BaseException:
        try:
            record()
        except Exception as second:  # noqa: BLE001 - the caller must see the error that ended the training
            warn(f"MLflow could not {work}: {second}", training)
        raise
    record()


def show_alarm(training: str, name: str, step: int, text: str) -> None:
    """Show an alarm in the terminal and in the log of the chain."""
    found = f"alarm {name} at step {step}: {text}"
    warn(found, training)
    log(f"{training}: {found}")


def training_seeds(config: Config) -> tuple[int, ...]:
    """Return the seeds, each of which trains a policy."""
    return config.train.seeds or (config.seed,)


def entry_modules(config: Config) -> tuple[str]:
    """Return the module of the child process that trains, whose code is in the stage's key."""
    return (f"tasks.train.children.{config.train.algorithm}",)


def stage_name(seed: int, seeds: Collection[int]) -> str:
    """Return a training's name for people: with the seed where there are several."""
    return STAGE if len(seeds) == 1 else f"{STAGE}-seed{seed}"


def training_name(config: Config, seed: int, inputs: Mapping[str, ArtifactRecord]) -> str:
    """Return a training's name in the mirror, where equal names mean equal checkpoints."""
    digest = key_inputs(config, seed, of_checkpoints=True)
    return f"{STAGE}-{stage_key(STAGE, entry_modules(config), digest, inputs)[:16]}"


def best_seed(policies: Policies) -> int:
    """Return the seed of the policy with the best validation reward, the first of ties: the test chooses none."""
    return max(policies, key=lambda seed: chosen_reward(read_summary(policies[seed].path)))


def key_inputs(config: Config, seed: int, *, of_checkpoints: bool = False) -> str:
    """Return the digest of the settings that decide the policy of a seed, or of its checkpoints, which more share."""
    same: dict[str, Any] = dict(SAME_CHECKPOINTS) if of_checkpoints else {}
    same |= {"tasks": True} if config.train.tasks == "all" else {}
    if config.train.algorithm != "grpo":
        # A step of DPO has whole pairs in each pass, so that it may have more passes.
        same.pop("accumulation", None)
    recipe = config.train.model_dump(mode="json", exclude={**dict.fromkeys(NOT_IN_KEY, True), **same})
    return config_digest(seed, recipe, config.rewards.spec, config.evaluate.temperature, config.evaluate.batch_size)


@contextmanager
def _child_folder(session: Session, request: TrainRequest, mlflow_run: StageRun, suffix: str = "") -> Iterator[Path]:
    """Give the folder of a training's child, and keep its log and its results with the stage's run, however it ends."""
    folder = session.folder(request.training)
    _remove_all_but_checkpoints(folder)

    def keep() -> None:
        for name in (f"{request.config.algorithm}.log", PREFLIGHT_FILE, SEGMENTS_FILE):
            if (file := folder / name).exists():
                mlflow_run.log_file(file.rename(file.with_stem(file.stem + suffix)))

    with _recorded_after(keep, "keep what the training said of itself", STAGE):
        yield folder
    shutil.rmtree(folder)


def _origin(request: TrainRequest, folder: Path, device: str | None) -> Origin:
    document = json.loads((folder / SEGMENTS_FILE).read_text(encoding="utf-8"))
    segments = tuple(TrainingSegment.model_validate(segment) for segment in document["stretches"])
    if from_step := segments[-1].from_step:
        # Its progress said so as well, but a line of progress is only printed where the last one was long ago.
        say(f"train: resumed at step {from_step}")
    worker = this_worker(device, request.config.preemption.notice_url)
    return Origin(segments={request.training: segments}, worker=worker)


def _remove_all_but_checkpoints(folder: Path) -> None:
    """Remove an earlier process's files except its checkpoints, which training resumes from."""
    for path in folder.glob("*"):
        if path.is_file():
            path.unlink()
        elif path.name != CHECKPOINTS_FOLDER:
            shutil.rmtree(path)


def _train_each_task(
    session: Session,
    trainings: ChildPool,
    request: TrainRequest,
    name: str,
    progress: Progress,
    log_step: Metrics,
    mlflow_run: StageRun,
) -> Origin:
    """Train an adapter for each task that has prompts, combine them into one policy, and return the machines."""
    with_prompts, recipe = set(read_prompt_table(request.dataset / TRAIN_FILE)["task"]), request.config
    tasks = [task for task in request.tasks or TASK_NAMES if task in with_prompts]
    shares = _shares(progress, tasks, recipe.max_steps)

    def train_task(task: TaskName) -> Origin:
        output, training = request.output / TASKS_FOLDER / task, f"{request.training}-{task}"
        own = request.model_copy(update={"tasks": (task,), "training": training, "output": output})
        with _child_folder(session, own, mlflow_run, suffix=f"-{task}") as folder:
            reports: dict[str, Any] = {
                "progress": shares[task],
                "metrics": lambda step, values: log_step(step, {f"{task}/{key}": each for key, each in values.items()}),
                "alarm": partial(show_alarm, f"{name}-{task}"),
            }
            (module,) = entry_modules(session.config)
            device = trainings.run_child(module, own, folder, interpreter=recipe.interpreter, **reports)
            return _origin(own, folder, device)

    origins = trainings.map({f"{name}-{task}": partial(train_task, task) for task in tasks})
    gather_tasks(request.output, tasks)
    return Origin(
        segments={training: each for of_task in origins.values() for training, each in of_task.segments.items()},
        worker=origins[f"{name}-{tasks[-1]}"].worker,
    )


def _shares(progress: Progress, tasks: Collection[TaskName], steps: int) -> dict[TaskName, Progress]:
    """Return each task's share of one progress, all equal; they may report concurrently."""
    lock = threading.Lock()
    done_by = dict.fromkeys(tasks, 0.0)

    def report(task: TaskName, done: int, total: int, text: str) -> None:
        with lock:
            done_by[task] = done / total if total else 0.0
            progress(round(sum(done_by.values()) * steps), len(done_by) * steps, f"{task}: {text}")

    return {task: partial(report, task) for task in tasks}


def _figures(folder: Path) -> Mapping[str, Any]:
    summary = read_summary(folder)
    chosen = {"chosen step": summary["chosen_step"]}
    if summary["chosen_step"] is None:
        chosen = {f"chosen step: {task}": step for task, step in summary["chosen_steps"].items()}
    rewards = {"before": reward_before(summary), "chosen": chosen_reward(summary)}
    figures = {"steps": summary["steps"], **chosen, "stopped early": summary["stopped_early"]}
    return figures | {f"validation reward {when}": round(reward, 4) for when, reward in rewards.items()}
