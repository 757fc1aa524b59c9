"""Flow `adopt`: what another trainer made of a dataset's package, as the policy of a run."""

from pathlib import Path

from flows.runtime.runs import stage_flow
from flows.stages.runner import Policies, Results, Session, Stage, config_digest, run_stage
from schemas.artifact import Origin
from schemas.progress import Progress
from tasks.environment.adopt import Adoption, AdoptRequest, files_of, require_environment
from tasks.lineage.mlflow.recorder import StageRun
from tasks.lineage.store.artifacts import file_digests
from tasks.train.summaries import SUMMARY_FILE, chosen_reward, read_summary

Adopted = Adoption | None


@stage_flow("adopt")
def adopt(session: Session, given: Results, adoption: Adoption) -> Policies:
    """Validate an adapter or a whole model, and return it as the policy of the run's seed."""
    config, recipe = session.config, session.config.train
    environment = require_environment(session.store, adoption.environment, given["dataset"].record.sha256)
    decoding = config.evaluate.model_dump(include={"temperature", "batch_size"})
    decoding |= {"seed": config.seed, "max_tokens": recipe.max_completion_tokens, "guided": recipe.guided}
    weights = file_digests(files_of(adoption.folder))

    def work(output: Path, progress: Progress, _: StageRun) -> Origin:
        request = AdoptRequest(
            **adoption.model_dump() | {"files": weights},
            **{role: given[role].path for role in ("base", "dataset", "audit")},
            base_name="" if config.policy.stand_in else config.policy.name,
            store=given["prompts"].path / "store",
            spec=config.rewards.spec,
            decoding=decoding,
            output=output,
        )
        return session.run_child(stage, request, session.folder("adopt"), progress)

    stage = Stage(
        name="adopt",
        kind="policy",
        sources=("tasks.environment.adopt",),
        config_digest=config_digest(weights, adoption.trained_by, config.rewards.spec, decoding),
        inputs={role: given[role].record for role in ("prompts", "dataset", "base")} | {"environment": environment},
        order_only_inputs={"audit": given["audit"].record},
        work=work,
        summary=lambda folder: {"validation reward": chosen_reward(read_summary(folder))},
        reports=(SUMMARY_FILE,),
    )
    return {config.seed: run_stage(stage, session)}
