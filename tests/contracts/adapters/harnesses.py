"""Rewards that a real harness gives recorded answers through its adapter: a process in `.venv-adapters`.

python -m tests.contracts.adapters.harnesses NAME FOLDER: prints the rewards by the items' ids as JSON.
"""

import asyncio
import json
import sys
import tempfile
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


def by_inspect(folder: str, answers: Answers) -> dict[str, float]:
    """Evaluate by `inspect_ai.eval` with a solver that replays the answers."""
    from inspect_ai import eval as evaluate
    from inspect_ai.model import ModelOutput
    from inspect_ai.solver import Generate, Solver, TaskState, solver

    from tasks.benchmark.adapters.inspect_task import tucano_commerce

    @solver
    def replay() -> Solver:
        async def solve(state: TaskState, generate: Generate) -> TaskState:
            state.output = ModelOutput.from_content("replay", answers[str(state.sample_id)])
            return state

        return solve

    with tempfile.TemporaryDirectory() as logs:
        (log,) = evaluate(tucano_commerce(folder), model="mockllm/model", solver=replay(), log_dir=logs, display="none")
        assert log.status == "success", log.error
        # The samples are read from the log's file.
        return {str(sample.id): sample.scores["commerce_reward"].value["reward"] for sample in log.samples}


def by_verifiers(folder: str, answers: Answers) -> dict[str, float]:
    """Score traces that hold the answers by each task's own `score`."""
    import verifiers.v1 as vf

    from tasks.benchmark.adapters.verifiers_taskset import TucanoCommerceConfig, TucanoCommerceTaskset

    async def score() -> dict[str, float]:
        rewards = {}
        for task in TucanoCommerceTaskset(TucanoCommerceConfig(benchmark=folder)):
            trace = vf.Trace(
                task=vf.TraceTask(type=type(task).__name__, data=task.data),
                agent=vf.AgentInfo(config=vf.AgentConfig()),
                nodes=[vf.MessageNode(message=vf.AssistantMessage(content=answers[task.data.id]), sampled=True)],
            )
            await task.score(trace)
            rewards[task.data.id] = trace.reward
        return rewards

    return asyncio.run(score())


def main() -> None:
    """Print the rewards of one harness."""
    name, folder = sys.argv[1:]
    lines = (Path(folder) / "expected.jsonl").read_text(encoding="utf-8").splitlines()
    answers = {line["id"]: line["completion"] for line in map(json.loads, lines)}
    rewards = {"lm_eval": by_lm_eval, "inspect": by_inspect, "verifiers": by_verifiers}[name](folder, answers)
    sys.stdout.write(json.dumps(rewards) + "\n")


if __name__ == "__main__":
    main()
