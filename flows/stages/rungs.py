"""Answers of the rungs: what may be had of the base at less cost, by the names in `evaluate.rungs`."""

from pathlib import Path
from typing import Final, NamedTuple

from flows.runtime.console import say
from flows.runtime.session import work_folder
from flows.runtime.stores import open_store
from flows.stages.answers import Answering, answer
from flows.stages.base import figures_of_warm_start
from flows.stages.runner import Stage, StageResult, config_digest, run_stage
from flows.stages.stage_child import run_stage_child
from schemas.artifact import Origin
from schemas.config.config import Config
from schemas.config.evaluate import DRAWS, DRAWS_OF, Rung
from schemas.config.policy import WarmStartConfig
from schemas.errors import InputError
from schemas.progress import Progress
from schemas.tables.prompts import TRAIN_FILE, read_prompt_table
from tasks.lineage.mlflow.recorder import StageRun
from tasks.train.sft.warm_start import WarmStartRequest

DRAWN: Final = "base-draws"
"""The base's answers from which several rungs choose."""
GUIDED: Final[Rung] = "base-guided"
SFT: Final[Rung] = "sft"


class RungAnswers(NamedTuple):
    """Stages of a rung."""

    name: str
    """Who answered, by its stage."""
    result: StageResult
    """The answers artifact, or the draws from which the rung chooses."""
    model: StageResult | None = None
    """The model that was made for it, if any."""


def answer_rungs(
    config: Config, pipeline_run: str, dataset: StageResult, plan: StageResult, base: StageResult, *, fresh: bool
) -> dict[Rung, RungAnswers]:
    """Let the base answer for each rung; one that fails is said, and left out of the ladder."""

    def answers(who: Answering) -> StageResult:
        return answer(config, pipeline_run, dataset, plan, who, fresh=fresh)

    def drawn() -> RungAnswers:
        return RungAnswers(DRAWN, answers(Answering(DRAWN, base.record, None, draws=DRAWS)))

    def guided() -> RungAnswers:
        return RungAnswers(GUIDED, answers(Answering(GUIDED, base.record, None, guided="all")))

    def tuned() -> RungAnswers:
        model = _tune_on_references(config, pipeline_run, dataset, base, fresh=fresh)
        return RungAnswers(SFT, answers(Answering(SFT, model.record, None)), model)

    found: dict[Rung, RungAnswers] = {}
    of_draws = [rung for rung in config.evaluate.rungs if DRAWS_OF[rung] > 1]
    of_guidance = [rung for rung in config.evaluate.rungs if rung == GUIDED]
    of_tuning = [rung for rung in config.evaluate.rungs if rung == SFT]
    for rungs, make in ((of_draws, drawn), (of_guidance, guided), (of_tuning, tuned)):
        try:
            found |= dict.fromkeys(rungs, make()) if rungs else {}
        except InputError as error:
            say(f"evaluate: warning: {error}; the evaluation continues without {', '.join(rungs)}")
    return {rung: found[rung] for rung in config.evaluate.rungs if rung in found}


def _tune_on_references(
    config: Config, pipeline_run: str, dataset: StageResult, base: StageResult, *, fresh: bool
) -> StageResult:
    """Fine-tune the base on as many reference answers as the training samples completions."""
    recipe, tuning = config.train, config.evaluate.sft
    prompts = read_prompt_table(dataset.path / TRAIN_FILE).height
    warm_start = WarmStartConfig(
        steps=tuning.steps(recipe.sampled_completions, prompts),
        batch_size=tuning.batch_size,
        accumulation=tuning.accumulation,
        learning_rate=tuning.learning_rate,
        lora=recipe.lora,
        load_in_4bit=recipe.load_in_4bit,
    )

    def work(output: Path, progress: Progress, mlflow_run: StageRun) -> Origin:
        request = WarmStartRequest(
            policy=config.policy,
            base=open_store(config).path(base.record.sha256),
            warm_start=warm_start,
            recipe=recipe,
            gradient_checkpointing=recipe.gradient_checkpointing != "none",
            seed=config.seed,
            dataset=dataset.path,
            output=output,
        )
        return run_stage_child(
            config,
            stage,
            "tasks.train.sft.warm_start",
            request,
            work_folder(config, SFT),
            reads=[base.record, dataset.record],
            output=output,
            progress=progress,
            metrics=mlflow_run.log_step,
            fresh=fresh,
        )

    stage = Stage(
        name=SFT,
        kind="base",
        sources=("tasks.train.sft.warm_start",),
        config_digest=config_digest(config.seed, warm_start.model_dump(mode="json")),
        inputs={"base": base.record, "dataset": dataset.record},
        work=work,
        summary=figures_of_warm_start,
    )
    return run_stage(stage, config, pipeline_run, fresh=fresh)
