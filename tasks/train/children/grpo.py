"""GRPO on a LoRA adapter: a child process of the train stage."""

from tasks.policy.child import as_child
from tasks.train.backend.trainable import require_pinned
from tasks.train.prompt_source import SAMPLING
from tasks.train.resume.state_files import Stateful
from tasks.train.stage import StartedTraining, TrainingInputs, train


def start(inputs: TrainingInputs) -> StartedTraining:
    """Build the trainer, which samples its own rollouts and logs each of them."""
    request, trainable = inputs.request, inputs.trainable
    if request.config.vllm.enabled:
        require_pinned("train.vllm.enabled", "vllm", otherwise=", or train.vllm.enabled=false")

    from trl import GRPOConfig

    from tasks.train.grpo.recipe import grpo_arguments
    from tasks.train.grpo.rollout_log import ROLLOUTS_FOLDER, RolloutLog
    from tasks.train.grpo.trainer import CommerceGRPOTrainer

    rollouts = RolloutLog(inputs.work / ROLLOUTS_FOLDER, request.seed)
    arguments = grpo_arguments(
        request.config,
        weights=inputs.rewards.weights,
        prompts=len(inputs.rows),
        max_prompt_tokens=request.max_prompt_tokens,
        seed=request.seed,
        work=inputs.work,
        on_gpu=inputs.on_gpu,
    )
    trainer = CommerceGRPOTrainer(
        request.config,
        inputs.rows,
        inputs.rewards,
        on_rollouts=rollouts.add,
        model=trainable.model,
        args=GRPOConfig(**arguments),
        processing_class=trainable.tokenizer,
        peft_config=trainable.lora,
    )
    parts: dict[str, Stateful] = {SAMPLING: trainer, ROLLOUTS_FOLDER: rollouts}
    drawn_by = trainer.rollout_generator.engine
    return StartedTraining(trainer, parts=parts, write=rollouts.write, summary=lambda: {"rollouts_drawn_by": drawn_by})


if __name__ == "__main__":
    with as_child() as (request_file, channel):
        train(request_file, channel, start)
