"""Rewards that the real harness gives recorded answers through its adapter: a process in `.venv-adapters`.

python -m tests.contracts.adapters.harnesses FOLDER: prints the rewards by the items' ids as JSON.
"""

import json
import sys
from pathlib import Path
from typing import Any

Answers = dict[str, str]


def by_lm_eval(folder: str, answers: Answers) -> dict[str, float]:
    """Evaluate by `lm_eval.simple_evaluate` with a model that replays the answers."""
    import lm_eval
    from lm_eval.api.model import LM
    from lm_eval.tasks import TaskManager

    import tasks.benchmark.adapters.lm_eval as adapter

    class Replay(LM):  # type: ignore[misc, unused-ignore]
        def generate_until(self, requests: list[Any], disable_tqdm: bool = False) -> list[str]:
            return [answers[request.doc["id"]] for request in requests]

        def loglikelihood(self, requests: list[Any]) -> Any:
            raise NotImplementedError

        def loglikelihood_rolling(self, requests: list[Any]) -> Any:
            raise NotImplementedError

    manager = TaskManager(
        include_path=str(Path(str(adapter.__file__)).parent), include_defaults=False, metadata={"benchmark": folder}
    )
    found = lm_eval.simple_evaluate(
        Replay(), tasks=["tucano_commerce"], task_manager=manager, log_samples=True, bootstrap_iters=0
    )
    assert found is not None
    return {sample["doc"]["id"]: sample["reward"] for sample in found["samples"]["tucano_commerce"]}


def main() -> None:
    """Print the rewards."""
    (folder,) = sys.argv[1:]
    lines = (Path(folder) / "expected.jsonl").read_text(encoding="utf-8").splitlines()
    answers = {line["id"]: line["completion"] for line in map(json.loads, lines)}
    rewards = by_lm_eval(folder, answers)
    sys.stdout.write(json.dumps(rewards) + "\n")


if __name__ == "__main__":
    main()
