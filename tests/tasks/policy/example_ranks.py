"""A child of several processes, each of which does what the request says of its rank."""

import json
from pathlib import Path

from tasks.policy.child import Channel, as_child, rank
from tests.tasks.policy.example_child import act


def main(request_file: Path, channel: Channel) -> None:
    own = request_file.parent / str(rank())
    own.mkdir(exist_ok=True)
    act(json.loads(request_file.read_text(encoding="utf-8"))["do"].split(",")[rank()], own, channel)


if __name__ == "__main__":
    with as_child() as (request_file, channel):
        main(request_file, channel)
