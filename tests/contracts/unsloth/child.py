"""The train stage's GRPO child with Unsloth's trainer on a CPU."""

from pathlib import Path

from tasks.policy.child import Channel, as_child
from tasks.train.children import grpo
from tasks.train.stage import train
from tests.contracts.unsloth.inputs import vary_rewards
from tests.contracts.unsloth.on_cpu import use_unsloth_on_cpu


def main(request_file: Path, channel: Channel) -> None:
    """Train by GRPO what the request asks for."""
    use_unsloth_on_cpu()
    vary_rewards()
    train(request_file, channel, grpo.start)


if __name__ == "__main__":
    with as_child() as (request_file, channel):
        main(request_file, channel)
