"""One model's answers to the test split: drawn once for a model, test split and decoding, whoever compares them."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, Final

from prefect.runtime import flow_run

from flows.session import work_folder
from flows.stage import Stage, StageResult, config_digest, open_store, run_stage
from schemas.artifact import ArtifactRecord
from schemas.config import Config
from schemas.endpoint_section import HOW_IT_IS_REACHED
from schemas.evaluate_config import RivalConfig
from schemas.progress import Progress
from schemas.prompts import TEST_FILE
from tasks.evaluate.answer import AnswerRequest
from tasks.evaluate.answer_rival import answer_by_rival
from tasks.evaluate.answers_file import read_answers
from tasks.lineage.recorder import StageRun
from tasks.policy.child import run_child
from tasks.policy.generate import StopReason

STAGE: Final = "answer"
RIVAL_STAGE: Final = "answer-rival"
SOURCES: Final = (
    # Module by module: drawn again, answers cost machine time, and give another artifact for their timing alone.
    "schemas.documents",
    "schemas.prompts",
    "tasks.policy.adapters",
    "tasks.policy.generate",
    "tasks.policy.load",
    "tasks.evaluate.answer",
    "tasks.evaluate.answers_file",
)
RIVAL_SOURCES: Final = (
    "schemas.documents",
    "schemas.prompts",
    "tasks.policy.endpoint",
    "tasks.evaluate.answer_rival",
    "tasks.evaluate.answers_file",
)
RIVAL_DECIDES_NOTHING: Final = HOW_IT_IS_REACHED | {"price_input", "price_output"}
"""Settings of the rival that are in no key: with what it costs."""


@dataclass(frozen=True)
class Answering:
    """A model that answers."""

    name: str
    """What it is called: `base`, `tuned`, `tuned-seed123` or `champion`; it is in no key."""
    base: ArtifactRecord
    """The base model."""
    policy: ArtifactRecord | None
    """The policy that was trained on it; None where the base itself answers."""
    load_in_4bit: bool
    """Whether the base's weights are quantized, as they were in the policy's training."""


def answer(
    config: Config,
    pipeline_run: str,
    dataset: StageResult,
    plan: StageResult,
    who: Answering,
    *,
    fresh: bool = False,
) -> StageResult:
    """Let a model answer the test split, in a child process; where it did so before, with this decoding, take that.

    Dataset and plan let it start and are recorded, but only the test split decides the answers.
    """
    inputs = {"base": who.base} | ({"policy": who.policy} if who.policy else {})
    digest = config_digest(
        dataset.record.files[TEST_FILE],
        config.seed,
        config.evaluate.temperature,
        config.evaluate.samples,
        config.evaluate.batch_size,
        config.train.max_completion_tokens,
        who.load_in_4bit,
    )

    def work(output: Path, progress: Progress, _: StageRun) -> None:
        store = open_store(config)
        request = AnswerRequest(
            base=store.path(who.base.sha256),
            policy=store.path(who.policy.sha256) if who.policy else None,
            load_in_4bit=who.load_in_4bit,
            dataset=dataset.path,
            temperature=config.evaluate.temperature,
            max_tokens=config.train.max_completion_tokens,
            samples=config.evaluate.samples,
            batch_size=config.evaluate.batch_size,
            seed=config.seed,
            work=folder,
            output=output,
        )
        run_child("tasks.evaluate.answer", request, folder, interpreter=config.train.interpreter, progress=progress)

    stage = Stage(
        name=f"{STAGE}-{who.name}",
        # A model's answers are the same whatever part it plays.
        identity=STAGE,
        kind="answers",
        sources=SOURCES,
        config_digest=digest,
        inputs=inputs,
        permits={"dataset": dataset.record, "plan": plan.record},
        work=work,
        summary=_figures,
    )
    folder = _work_folder(config, stage, fresh=fresh)
    return _run(stage, config, pipeline_run, fresh=fresh)


def answer_rival(
    config: Config,
    pipeline_run: str,
    dataset: StageResult,
    plan: StageResult,
    rival: RivalConfig,
    *,
    fresh: bool = False,
) -> StageResult:
    """Let the model at an endpoint answer the test split; where it did so before, with this decoding, take that.

    It is asked from this process: an endpoint needs no torch.
    """

    def work(output: Path, progress: Progress, _: StageRun) -> None:
        answer_by_rival(
            rival,
            dataset.path,
            temperature=config.evaluate.temperature,
            max_tokens=config.train.max_completion_tokens,
            samples=config.evaluate.samples,
            seed=config.seed,
            work=folder,
            output=output,
            progress=progress,
        )

    stage = Stage(
        name=RIVAL_STAGE,
        kind="answers",
        sources=RIVAL_SOURCES,
        config_digest=config_digest(
            dataset.record.files[TEST_FILE],
            config.seed,
            rival.model_dump(mode="json", exclude=set(RIVAL_DECIDES_NOTHING)),
            config.evaluate.temperature,
            config.evaluate.samples,
            config.train.max_completion_tokens,
        ),
        inputs={},
        permits={"dataset": dataset.record, "plan": plan.record},
        work=work,
        summary=_figures,
    )
    folder = _work_folder(config, stage, fresh=fresh)
    return _run(stage, config, pipeline_run, fresh=fresh)


def _run(stage: Stage, config: Config, pipeline_run: str, *, fresh: bool) -> StageResult:
    """Make the answers, and only then, when they are kept, remove what they were made of."""
    result = run_stage(stage, config, pipeline_run, fresh=fresh)
    kept = _work_folder(config, stage, fresh=False)
    for folder in kept.parent.glob(f"{kept.name}*"):
        shutil.rmtree(folder)
    return result


def _work_folder(config: Config, stage: Stage, *, fresh: bool) -> Path:
    """Return where finished batches are kept: by the stage's key, and for a run that makes all anew its own."""
    name = f"{STAGE}-{stage.key[:16]}"
    return work_folder(config, f"{name}-{flow_run.root_flow_run_id}" if fresh else name)


def _figures(folder: Path) -> Mapping[str, Any]:
    extras = [rollout.model_extra or {} for rollout in read_answers(folder)]
    tokens = [extra["tokens"] for extra in extras if extra["tokens"] is not None]
    return {
        "answers": len(extras),
        "mean tokens": round(fmean(tokens), 1) if tokens else "unknown",
        "cut off": sum(extra["stop_reason"] == StopReason.TOKEN_LIMIT for extra in extras),
    }
