"""A child that, once it is asked to end, needs its sibling to have been asked too: all save at the same time."""

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

from tasks.policy.child import Channel, as_child


def main(request_file: Path, channel: Channel) -> None:
    folder, sibling = request_file.parent, Path(json.loads(request_file.read_text(encoding="utf-8"))["sibling"])

    def save(*_: Any) -> None:
        (folder / "asked").touch()
        while not (sibling / "asked").exists():
            time.sleep(0.02)
        (folder / "saved").touch()
        os._exit(4)

    signal.signal(signal.SIGTERM, save)
    (folder / "ready").touch()
    channel.progress(0, 1, "training")
    time.sleep(600)


if __name__ == "__main__":
    with as_child() as (request_file, channel):
        main(request_file, channel)
