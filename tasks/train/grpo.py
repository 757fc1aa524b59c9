"""GRPO on a LoRA adapter: the child process of the train stage."""

from pathlib import Path

from tasks.policy.child import Channel, serve
from tasks.train.training import Ground, Started, train


def main(request_file: Path, channel: Channel) -> None:
    """Train by GRPO what the request asks for."""
    train(request_file, channel, start)


def start(ground: Ground) -> Started:
    """Make the trainer, which samples its own rollouts and keeps every one of them."""
    from trl import GRPOConfig

    from tasks.train.recipe import grpo_arguments
    from tasks.train.rollout_log import ROLLOUTS_FOLDER, RolloutLog
    from tasks.train.trainer import PolicyTrainer

    request, trainable = ground.request, ground.trainable
    rollouts = RolloutLog(ground.work / ROLLOUTS_FOLDER, request.seed)
    arguments = grpo_arguments(
        request.config,
        weights=ground.rewards.weights,
        prompts=len(ground.rows),
        seed=request.seed,
        work=ground.work,
        on_gpu=ground.on_gpu,
    )
    trainer = PolicyTrainer(
        request.config,
        ground.rows,
        ground.rewards,
        on_rollouts=rollouts.add,
        model=trainable.model,
        args=GRPOConfig(**arguments),
        processing_class=trainable.tokenizer,
        peft_config=trainable.lora,
    )
    return Started(trainer, parts=(trainer, rollouts), kept=rollouts)


if __name__ == "__main__":
    serve(main)
