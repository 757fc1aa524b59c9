"""Flow `sheet`: completions of the base policy, drawn for people to score."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flows.runtime.prefect_run import stage_flow
from flows.runtime.session import work_folder
from flows.stages.runner import Stage, StageResult, config_digest, run_stage
from flows.stages.stage_child import run_stage_child
from schemas.artifact import Origin
from schemas.config.config import Config
from schemas.errors import InputError
from schemas.progress import Progress
from schemas.tasks import TASK_NAMES, TaskName
from tasks.audit.new_sheet import make_sheet
from tasks.audit.rollouts import RolloutRequest
from tasks.audit.sheet import read_rows
from tasks.audit.stage import files_of
from tasks.lineage.mlflow.recorder import StageRun


@stage_flow("sheet")
def sheet(
    config: Config,
    pipeline_run: str,
    prompts: StageResult,
    dataset: StageResult,
    base: StageResult,
    tasks: tuple[TaskName, ...] = TASK_NAMES,
) -> StageResult:
    """Make a sheet of the base policy's completions of some tasks; never afresh, for somebody may be scoring it."""

    def work(output: Path, progress: Progress, _: StageRun) -> Origin:
        files = files_of(output)
        shutil.copytree(prompts.path / "store", files.store, copy_function=shutil.copyfile)
        request = RolloutRequest(
            base=base.path,
            load_in_4bit=config.train.load_in_4bit,
            dataset=dataset.path,
            tasks=tasks,
            prompts_per_task=config.audit.prompts_per_task,
            completions_per_prompt=config.audit.completions_per_prompt,
            max_tokens=config.train.max_completion_tokens,
            batch_size=config.evaluate.batch_size,
            seed=config.seed,
            output=files.rollouts,
        )
        origin = run_stage_child(
            config,
            stage,
            "tasks.audit.rollouts",
            request,
            work_folder(config, "sheet"),
            reads=[base.record, dataset.record],
            output=output,
            progress=progress,
        )
        sample = make_sheet(
            files.rollouts,
            config.rewards.spec,
            files.store,
            config.audit.scores_per_task,
            config.seed,
            files.sheet,
            progress,
        )
        needed = config.audit.min_scores_per_task
        few = [f"{count} of {task}" for task, count in sample.drawn.items() if count < needed]
        if few:
            raise InputError(
                f"the base policy gave too few different completions for a sheet: {', '.join(few)}, and {needed} are "
                "needed; ask for more of each prompt with --set audit.completions_per_prompt=N"
            )
        return origin

    stage = Stage(
        name="sheet",
        kind="sheet",
        sources=("tasks.audit.rollouts", "tasks.audit.new_sheet"),
        config_digest=config_digest(
            config.seed,
            config.rewards.spec,
            tasks,
            config.audit.scores_per_task,
            config.audit.completions_per_prompt,
            config.train.load_in_4bit,
            config.train.max_completion_tokens,
            config.evaluate.batch_size,
        ),
        inputs={"prompts": prompts.record, "dataset": dataset.record, "base": base.record},
        work=work,
        summary=_figures,
        reports=("sheet.csv",),
    )
    return run_stage(stage, config, pipeline_run, fresh=False)


def _figures(folder: Path) -> Mapping[str, Any]:
    tasks = [row["task"] for row in read_rows(files_of(folder).sheet)]
    return {f"to score: {task}": tasks.count(task) for task in sorted(set(tasks))}
