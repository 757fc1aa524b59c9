"""Stage `prompt-search`: the base's best system prompt of each task, chosen on the validation split."""

import shutil
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Final

from flows.runtime.session import work_folder
from flows.runtime.stores import open_store
from flows.stages.child_pool import ChildPool
from flows.stages.runner import Stage, StageResult, config_digest, run_stage
from flows.stages.stage_child import batches_folder, run_stage_child
from schemas.artifact import ArtifactRecord, Origin
from schemas.config.config import Config
from schemas.config.endpoint import HOW_IT_IS_REACHED
from schemas.progress import Progress
from schemas.tables.prompts import VALIDATION_FILE
from tasks.evaluate.answers.answer import AnswerRequest, Reworded
from tasks.evaluate.prompts.proposals import open_proposer
from tasks.evaluate.prompts.search import CHOICE_FILE, Room, read_choice, read_cost, search
from tasks.lineage.mlflow.recorder import StageRun

STAGE: Final = "prompt-search"
MODULE: Final = "tasks.evaluate.answers.answer"


def search_prompts(
    config: Config,
    pipeline_run: str,
    prompts: StageResult,
    dataset: StageResult,
    base: ArtifactRecord,
    pool: ChildPool | None,
    *,
    fresh: bool = False,
) -> StageResult:
    """Choose a system prompt for each task by the base's answers on validation, or reuse an earlier search.

    Args:
        config: The run's configuration.
        pipeline_run: MLflow's run of which this is a stage.
        prompts: Has the store, on which generated SQL is executed.
        dataset: Its training split gives the examples, its validation split chooses.
        base: The model that answers.
        pool: Runs the children among others; None: they are alone.
        fresh: Search again.
    """
    asked = config.evaluate.prompt_search

    def work(output: Path, progress: Progress, _: StageRun) -> Origin:
        made: list[Origin] = []

        def answer(number: int, reworded: Sequence[Reworded]) -> Path:
            # What an interrupted search has answered is of the same prompts only if the endpoint proposed the same.
            asked_for = config_digest([each.model_dump(mode="json") for each in reworded])
            request = AnswerRequest(
                base=open_store(config).path(base.sha256),
                policy=None,
                load_in_4bit=False,
                dataset=dataset.path,
                split=VALIDATION_FILE,
                reworded=tuple(reworded),
                temperature=config.evaluate.temperature,
                max_tokens=config.train.max_completion_tokens,
                samples=1,
                batch_size=config.evaluate.batch_size,
                seed=config.seed,
                work=folder / f"round-{number}-{asked_for[:16]}",
                output=output / f"round-{number}",
            )
            reads = [base, dataset.record]
            made.append(
                run_stage_child(
                    config,
                    stage,
                    MODULE,
                    request,
                    folder,
                    reads=reads,
                    output=output,
                    progress=progress,
                    fresh=fresh,
                    pool=pool,
                )
            )
            return request.output

        endpoint = asked.endpoint
        with nullcontext() if endpoint is None else open_proposer(endpoint, config.seed, replies) as proposer:
            search(
                asked,
                config.rewards.spec,
                config.seed,
                store=prompts.path / "store",
                dataset=dataset.path,
                room=Room.of(
                    open_store(config).path(base.sha256),
                    config.curate.max_prompt_tokens + config.train.max_completion_tokens,
                ),
                answer=answer,
                proposer=proposer,
                output=output,
                progress=progress,
            )
        return made[-1] if made else Origin()

    stage = Stage(
        name=STAGE,
        kind="search",
        sources=("tasks.evaluate.prompts.search",),
        config_digest=config_digest(
            config.seed,
            config.rewards.spec,
            asked.model_dump(mode="json", exclude={"endpoint": set(HOW_IT_IS_REACHED)}),
            config.evaluate.temperature,
            config.evaluate.batch_size,
            config.train.max_completion_tokens,
            config.curate.max_prompt_tokens,
        ),
        inputs={"base": base, "dataset": dataset.record, "prompts": prompts.record},
        work=work,
        summary=_figures,
        reports=(CHOICE_FILE,),
    )
    folder, replies = batches_folder(config, STAGE, stage, fresh=fresh), work_folder(config, STAGE)
    result = run_stage(stage, config, pipeline_run, fresh=fresh)
    shutil.rmtree(folder, ignore_errors=True)
    return result


def _figures(folder: Path) -> Mapping[str, Any]:
    choice, cost = read_choice(folder), read_cost(folder)
    named = {task: f"{each['name']}, {each['shots']} shots" for task, each in choice["tasks"].items()}
    return {**named, "answers": cost["answers"], "refused": sum(choice["refused"].values())}
