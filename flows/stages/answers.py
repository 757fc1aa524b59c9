"""Answers to the test split: of one model, drawn once per test split and decoding; of rivals; and of the rungs.

A rung is what may be had of the base at less cost, by its name in `evaluate.rungs`.
"""

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

from flows.runtime.console import warn
from flows.stages.child_pool import do_all
from flows.stages.inputs import tuned_on_references
from flows.stages.remote import placed
from flows.stages.runner import Session, Stage, StageResult, config_digest, run_stage
from schemas.artifact import ArtifactRecord, Origin
from schemas.config.config import Config
from schemas.config.evaluate import RivalConfig, Rung
from schemas.config.section import HOW_IT_IS_REACHED
from schemas.errors import Interrupted, TucanoError
from schemas.progress import Progress
from schemas.tables.prompts import TEST_FILE, read_prompts
from schemas.tasks import Guided
from tasks.commerce.registry import SERVED, TASKS, grammar_of
from tasks.commerce.registry import grammars as grammars_of
from tasks.evaluate.answers.answer import AnswerRequest
from tasks.evaluate.answers.files import read_answers
from tasks.evaluate.answers.rival import answer_by_rival
from tasks.lineage.mlflow.recorder import StageRun
from tasks.policy.generate import StopReason

STAGE: Final = "answer"
RIVAL_STAGE: Final = "answer-rival"
RIVAL_SOURCES: Final = ("tasks.evaluate.answers.rival",)
RIVAL_NOT_IN_KEY: Final = HOW_IT_IS_REACHED | {"name", "price_input", "price_output"}
GUIDED: Final[Rung] = "base-guided"
SFT: Final[Rung] = "sft"
MODEL_STAGE: Final = f"model-{SFT}"
WEIGHTS: Final = ("base", "policy", "merged")

Made = StageResult | TucanoError
"""The model or the answers of a rung, or the error that prevented them."""
Makers = Mapping[str, Callable[[], Made]]


@dataclass(frozen=True)
class Answering:
    """A model that answers the test split."""

    name: str
    """Its name: `base`, `tuned`, `tuned-seed123` or `champion`; in no key."""
    base: ArtifactRecord
    policy: ArtifactRecord | None = None
    """The policy trained on the base; None where the base itself answers."""
    merged: ArtifactRecord | None = None
    """Both merged into one model, which answers instead; None where the adapter is loaded next to the base."""
    guided: Guided = SERVED
    general: bool = False

    @property
    def weights(self) -> dict[str, ArtifactRecord]:
        """The artifacts whose weights answer, by role."""
        if self.merged is not None:
            return {"merged": self.merged}
        return {"base": self.base, **({"policy": self.policy} if self.policy else {})}


def answer(session: Session, dataset: StageResult, plan: StageResult, who: Answering) -> StageResult:
    """Let a model answer the test split in a child process, or reuse its answers with this decoding.

    The dataset and the plan allow the start and are recorded, but only the test split decides the answers.
    """
    config = session.config
    inputs = who.weights
    decoding: dict[str, Any] = {
        **_decoding(config),
        "batch_size": config.evaluate.batch_size,
        "load_in_4bit": False,  # What is served is not quantized.
        "grammars": grammars_of(who.guided),
        "grammars_of_prompts": _grammars_of_prompts(dataset.path / TEST_FILE, who.guided),
        "general": who.general,
    }

    def work(output: Path, progress: Progress, _: StageRun) -> Origin:
        store = session.store
        adapter = store.path(who.policy.sha256) if who.policy and not who.merged else None
        where: dict[str, Any] = {"dataset": dataset.path, "work": folder, "output": output}
        request = AnswerRequest(**decoding, **where, base=store.path((who.merged or who.base).sha256), policy=adapter)
        return session.run_child(stage, request, folder, progress)

    stage = Stage(
        name=f"{STAGE}-{who.name}",
        # A model's answers are the same whatever its role in the comparison.
        cache_name=STAGE,
        kind="answers",
        sources=("tasks.evaluate.answers.answer",),
        config_digest=config_digest(dataset.record.files[TEST_FILE], decoding),
        inputs=inputs,
        order_only_inputs=({"policy": who.policy} if who.policy else {}) | _allowed_by(dataset, plan),
        work=work,
        summary=_figures,
    )
    folder = _batches_folder(session, stage)
    given = {"base": who.base, **inputs, **stage.order_only_inputs}
    call: dict[str, Any] = {"name": who.name, "guided": who.guided, "general": who.general}
    return _answered(placed(stage, session, "answer", given, **call), session, folder)


def answer_rival(session: Session, dataset: StageResult, plan: StageResult, rival: RivalConfig) -> StageResult:
    """Let the model at an endpoint answer the test split, called from this process, or reuse its answers."""
    decoding, known = _decoding(session.config), rival.model_dump(mode="json", exclude=set(RIVAL_NOT_IN_KEY))

    def work(output: Path, progress: Progress, _: StageRun) -> None:
        answer_by_rival(rival, dataset.path, **decoding, work=folder, output=output, progress=progress)

    stage = Stage(
        name=f"{RIVAL_STAGE}-{rival.name}",
        cache_name=RIVAL_STAGE,
        kind="answers",
        sources=RIVAL_SOURCES,
        config_digest=config_digest(dataset.record.files[TEST_FILE], known, decoding),
        inputs={},
        order_only_inputs=_allowed_by(dataset, plan),
        work=work,
        summary=_figures,
    )
    folder = _batches_folder(session, stage)
    return _answered(stage, session, folder)


def _answered(stage: Stage, session: Session, batches: Path) -> StageResult:
    """Run the stage, and remove its batches only once the artifact is there."""
    result = run_stage(stage, session)
    shutil.rmtree(batches.parent, ignore_errors=True)
    return result


def _decoding(config: Config) -> dict[str, Any]:
    return {
        "seed": config.seed,
        "temperature": config.evaluate.temperature,
        "samples": config.evaluate.samples,
        "max_tokens": config.train.max_completion_tokens,
    }


def _allowed_by(dataset: StageResult, plan: StageResult) -> dict[str, ArtifactRecord]:
    return {"dataset": dataset.record, "plan": plan.record}


@cache
def _grammars_of_prompts(test_file: Path, guided: Guided) -> dict[str, str]:
    """Return the grammars of the test prompts that have one of their own, by `prompt_id`, computed once a process."""
    with_own = {name for name, task in TASKS.items() if task.prompt_grammar}
    if guided == "none" or not with_own:
        return {}
    rows = read_prompts(test_file)
    return {row.prompt_id: grammar_of(row.task, row.prompt, guided) for row in rows if row.task in with_own}


def _batches_folder(session: Session, stage: Stage) -> Path:
    """Return the folder of what children have finished: one per stage, and in it one per run that makes all again."""
    return session.folder(f"{stage.name}-{stage.key[:16]}") / (session.fresh or "resumed")


def _figures(folder: Path) -> Mapping[str, Any]:
    extras = [rollout.model_extra or {} for rollout in read_answers(folder)]
    cut_off = sum(extra["stop_reason"] == StopReason.TOKEN_LIMIT for extra in extras)
    return {"answers": len(extras), "cut off": cut_off}


def rung_makers(session: Session, dataset: StageResult, base: StageResult) -> Makers:
    """Return what makes the models that rungs answer with, by stage: from the base alone, without the test split."""
    # A base that had a warm start is the rung `sft` itself.
    if SFT not in session.config.rungs or session.config.warm_start.steps:
        return {}
    return {MODEL_STAGE: partial(_try, partial(tuned_on_references, session, dataset, base))}


def answer_rungs(
    session: Session, dataset: StageResult, plan: StageResult, base: StageResult, made: Mapping[str, Made]
) -> tuple[dict[Rung, StageResult], dict[str, str]]:
    """Let each rung answer; return the answers, and why each other rung failed, which is left out of the ladder."""

    def respond(rung: Rung) -> StageResult:
        if rung == GUIDED:
            return answer(session, dataset, plan, Answering(GUIDED, base.record, guided="all"))
        model = made[MODEL_STAGE]
        if isinstance(model, TucanoError):
            raise model
        return answer(session, dataset, plan, Answering(SFT, model.record))

    answered: dict[Rung, StageResult] = {}
    left_out, asked = dict[str, str](), session.config.rungs
    outcomes = do_all(session.pool, {str(rung): partial(_try, partial(respond, rung)) for rung in sorted(asked)})
    for rung in asked:
        outcome = outcomes[rung]
        if isinstance(outcome, StageResult):
            answered[rung] = outcome
        else:
            warn(f"{outcome}; the evaluation continues without {rung}", "evaluate")
            # No path of this machine stands in an artifact.
            left_out[rung] = str(outcome).replace(str(session.config.state.root.resolve()), "the state folder")
    return answered, left_out


def _try(make: Callable[[], StageResult]) -> Made:
    """Return the result, or the error of a rung, which decides nothing; an interruption ends the evaluation."""
    try:
        return make()
    except Interrupted:
        raise
    except TucanoError as error:
        return error
