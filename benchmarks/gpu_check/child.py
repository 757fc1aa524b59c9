"""The train stage's GRPO child, with a record of what a GPU does to a policy.

It trains with the functions of `tasks.train.children.grpo`. Measuring leaves no trace in the training: one that is
watched ends as one that is not.
"""

from pathlib import Path
from typing import Final

from tasks.policy.child import Channel, as_child

OBSERVED_FILE: Final = "observed.json"
BEGINS: Final = "begins step "


def main(request_file: Path, channel: Channel) -> None:
    """Train the request by GRPO, and watch."""
    from tasks.train import stage
    from tasks.train.children import grpo

    def start(inputs: stage.TrainingInputs) -> stage.StartedTraining:
        started = grpo.start(inputs)

        # Only now: Unsloth has to come before transformers.
        from benchmarks.gpu_check.watch import Watch

        # It comes before the training's own callbacks, which are added later.
        started.trainer.add_callback(Watch(started.trainer, inputs, request_file.parent / OBSERVED_FILE))
        return started

    stage.train(request_file, channel, start)


if __name__ == "__main__":
    with as_child() as (request_file, channel):
        main(request_file, channel)
