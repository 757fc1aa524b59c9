"""Rollouts and rewards of the real verifiers on a package, by both of its interfaces: a process in `.venv-verifiers`.

python -m tests.contracts.environment.client PACKAGE URL ROLLOUTS: prints a JSON document for each rollout.
"""

import asyncio
import json
import os
import sys
from typing import Any


def main() -> None:
    """Let a model at the URL answer the training split through verifiers' own client, and score it twice."""
    package, url, wanted = sys.argv[1:]
    sys.path.insert(0, package)
    os.environ["NO_KEY"] = "none"

    import verifiers as vf
    from verifiers.types import ClientConfig

    environment = vf.load_environment("tucano_commerce")
    rows = environment.get_dataset()
    inputs = rows.repeat(int(wanted) // len(rows) + 1).select(range(int(wanted)))
    outputs = environment.generate_sync(
        inputs,
        client=ClientConfig(api_base_url=url, api_key_var="NO_KEY"),
        model="champion",
        sampling_args={"temperature": 1.0, "max_tokens": 96},
        max_concurrent=32,
    )["outputs"]
    tasks = by_prompt()
    for output in outputs:
        # A rollout without an answer has an error and no completion.
        text = output["completion"][-1]["content"] or "" if output["completion"] else ""
        prompt_id = output["info"]["prompt_id"]
        known = {"prompt_id": prompt_id, "completion": text, "metrics": output["metrics"], "reward": output["reward"]}
        sys.stdout.write(json.dumps(known | {"of_task": score(tasks[prompt_id], text)}) + "\n")


def by_prompt() -> dict[str, Any]:
    """Return the tasks of `verifiers.v1` by their prompts, as prime-rl loads them."""
    from verifiers.v1 import resolve_env_config
    from verifiers.v1.utils.loaders import load_environment

    config = resolve_env_config(
        {"taskset": {"id": "tucano_commerce", "split": "train"}, "agent": {"harness": {"id": "null"}}}
    )
    return {task.data.prompt_id: task for task in load_environment(config).taskset}


def score(task: Any, text: str) -> float:
    """Return the reward of a task for a reply."""
    import verifiers.v1 as vf
    from verifiers.v1.graph import MessageNode
    from verifiers.v1.types import AssistantMessage

    node = MessageNode(message=AssistantMessage(content=text), sampled=True)
    trace: Any = vf.Trace.model_construct(nodes=[node], rewards={}, metrics={})
    asyncio.run(task.score(trace))
    return float(trace.reward)


if __name__ == "__main__":
    main()
