import pytest

from schemas.documents import Rollout
from schemas.tasks import TaskName
from tasks.bag_of_words.repair import repaired
from tasks.commerce.registry import TASKS


def rollout(completion: str, task: TaskName = "sentiment") -> Rollout:
    reference = {"polarity": "positive", "score": 5}
    return Rollout(prompt_id="a", task=task, prompt="?", completion=completion, reference=reference)


@pytest.mark.parametrize(
    ("completion", "right"),
    [
        ('{"polarity": "positive", "score": 5,}', 1.0),
        ('Claro! {"polarity": "positive", "score": 5}', 1.0),
        ('{"polarity": "positive", "polarity": "negative", "score": 5,}', 0.0),
        ("positive", 0.0),
        ('{"polarity": "negative", "score": 5}', 0.0),
    ],
)
def test_broken_json_is_repaired_unless_it_says_two_things(completion: str, right: float) -> None:
    strict = rollout(completion)
    (lenient,) = repaired([strict])
    found = [TASKS["sentiment"].metric([each], None)["accuracy"] for each in (strict, lenient)]
    assert found == [0.0, right]
    assert (lenient is strict) == (right == 0.0)


def test_a_text_is_never_repaired() -> None:
    push = rollout('{"a": 1,}', "push")
    assert repaired([push]) == [push]
