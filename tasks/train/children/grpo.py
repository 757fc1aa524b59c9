"""GRPO on a LoRA adapter: the child process of the train stage."""

from pathlib import Path

from tasks.policy.child import Channel, serve
from tasks.train.training import StartedTraining, TrainingInputs, train


def main(request_file: Path, channel: Channel) -> None:
    """Train by GRPO what the request asks for."""
    train(request_file, channel, start)


def start(inputs: TrainingInputs) -> StartedTraining:
    """Make the trainer, which samples its own rollouts and keeps every one of them."""
    from trl import GRPOConfig

    from tasks.train.recipe import grpo_arguments
    from tasks.train.rollout_log import ROLLOUTS_FOLDER, RolloutLog
    from tasks.train.trainer import PolicyTrainer

    request, trainable = inputs.request, inputs.trainable
    rollouts = RolloutLog(inputs.work / ROLLOUTS_FOLDER, request.seed)
    arguments = grpo_arguments(
        request.config,
        weights=inputs.rewards.weights,
        prompts=len(inputs.rows),
        seed=request.seed,
        work=inputs.work,
        on_gpu=inputs.on_gpu,
    )
    trainer = PolicyTrainer(
        request.config,
        inputs.rows,
        inputs.rewards,
        on_rollouts=rollouts.add,
        model=trainable.model,
        args=GRPOConfig(**arguments),
        processing_class=trainable.tokenizer,
        peft_config=trainable.lora,
    )
    return StartedTraining(trainer, parts={"sampling": trainer, ROLLOUTS_FOLDER: rollouts}, write=rollouts.write)


if __name__ == "__main__":
    serve(main)
