"""Users of an engine or of the gateway, for locust (https://docs.locust.io): each asks the next when it is answered.

Locust runs it by itself, in an environment without this project.
"""

import json
import os
from contextlib import suppress
from pathlib import Path

from locust import HttpUser, constant, events, task

BODIES = json.loads(Path(os.environ["BODIES"]).read_text(encoding="utf-8"))
PATH = os.environ["ASKED_PATH"]
FOUND = Path(os.environ["FOUND"])
found = {"tokens": 0, "valid": 0, "answers": 0}
turn = iter(range(10**9))


class Client(HttpUser):
    """A client without pauses."""

    wait_time = constant(0)

    @task
    def ask(self) -> None:
        """Ask the next prompt, and count the answer."""
        body = BODIES[next(turn) % len(BODIES)]
        with self.client.post(PATH, json=body, catch_response=True) as response:
            if response.status_code != 200:
                response.failure(f"status {response.status_code}")
                return
            answer = response.json()
            found["answers"] += 1
            found["tokens"] += answer["usage"]["completion_tokens"]
            with suppress(ValueError):
                found["valid"] += isinstance(json.loads(answer["choices"][0]["message"]["content"] or ""), dict)


@events.quitting.add_listener
def write(**_: object) -> None:
    """Write what was counted."""
    FOUND.write_text(json.dumps(found), encoding="utf-8")
