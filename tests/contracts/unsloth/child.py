"""The train stage's GRPO child with Unsloth's trainer on a CPU."""

from pathlib import Path

from tasks.policy.child import Channel, serve
from tasks.train.children import grpo
from tests.contracts.unsloth.inputs import vary_rewards
from tests.contracts.unsloth.on_cpu import use_unsloth_on_cpu


def main(request_file: Path, channel: Channel) -> None:
    """Train by GRPO what the request asks for."""
    use_unsloth_on_cpu()
    vary_rewards()
    grpo.main(request_file, channel)


if __name__ == "__main__":
    serve(main)
