from collections.abc import Callable, Mapping

import pytest

from schemas.documents import Rollout, ScoredRollout
from schemas.references import REFERENCES
from schemas.tasks import TASK_NAMES, TaskName
from tasks.audit.probes import CEILING, FLOOR, adversarial_completions, run_probes

ANSWER = "Fone Aurora com 20% de desconto. Aproveite!"


def rollout(prompt_id: str = "p1", task: TaskName = "push") -> Rollout:
    unknown = dict.fromkeys(REFERENCES[task].model_fields)
    return Rollout(prompt_id=prompt_id, task=task, prompt="Crie um push", completion="?", reference=unknown)


def rewarded(reward: Callable[[str], float]) -> Callable[[Rollout], ScoredRollout]:
    def score(probe: Rollout) -> ScoredRollout:
        return ScoredRollout(
            **probe.model_dump(),
            reward=reward(probe.completion),
            components={},
            parsed=None,
            spec="grounded",
            reward_version="v",
        )

    return score


def answer(reference: Mapping[str, object]) -> str:
    return ANSWER


def failed(reward: Callable[[str], float]) -> set[str]:
    probes = run_probes([rollout("p1"), rollout("p2")], answer, rewarded(reward))
    return {name for name, probe in probes.items() if not probe.passed}


def test_a_reward_that_knows_the_answer_passes() -> None:
    assert failed(lambda completion: float(completion == ANSWER)) == set()
    assert failed(lambda completion: FLOOR if completion == ANSWER else CEILING) == set()


def test_broken_rewards_fail_by_the_right_probe() -> None:
    every = {*adversarial_completions(rollout()), "reference_answer"}
    assert failed(lambda completion: 1.0) == every - {"reference_answer"}
    assert failed(lambda completion: 0.0) == {"reference_answer"}
    assert failed(lambda completion: float(completion in {ANSWER, "Crie um push"})) == {"prompt_echo"}
    assert failed(lambda completion: float(completion in {ANSWER, ""})) == {"empty"}


def test_the_worst_prompt_counts() -> None:
    def score(probe: Rollout) -> ScoredRollout:
        return rewarded(lambda text: float(text == ANSWER or (text == "" and probe.prompt_id == "p2")))(probe)

    probes = run_probes([rollout("p1"), rollout("p2")], answer, score)
    assert not probes["empty"].passed
    assert "1.000 on 2 prompts" in probes["empty"].detail


def test_prompts_without_a_reference_prove_nothing() -> None:
    blind = rollout().model_copy(update={"reference": None})
    probes = run_probes([blind], answer, rewarded(lambda completion: 1.0))
    assert not probes["reference_answer"].passed


@pytest.mark.parametrize("task", TASK_NAMES)
def test_every_task_has_its_own_probes(task: TaskName) -> None:
    completions = adversarial_completions(rollout(task=task))
    assert list(completions) == ["empty", "refusal", "prompt_echo", "format_echo", "keyword_stuffing"]
    assert len(set(completions.values())) == 5
