"""What is right, apart from any reward."""

from typing import Any

import pytest

from schemas.config.config import AUDIT_FOLDER
from schemas.documents import Rollout
from schemas.store.files import read_store
from schemas.tasks import TaskName
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.evaluate.ground_truth import metrics_apart, truth_of
from tests.tasks.curate.prompt_rows import prompt_row


@pytest.fixture(scope="module")
def databases() -> Databases:
    return Databases.from_store(read_store(AUDIT_FOLDER / "store"))


def rollout(completion: str, reference: dict[str, Any] | None, task: TaskName = "sentiment") -> Rollout:
    return Rollout(prompt_id="a", task=task, prompt="?", completion=completion, reference=reference)


def test_one_answer_is_right_or_wrong_or_nobody_knows(databases: Databases) -> None:
    reference = {"polarity": "positive", "score": 5}
    assert truth_of(rollout('{"polarity": "positive", "score": 1}', reference), databases) == 1.0
    assert truth_of(rollout("gostei", reference), databases) == 0.0
    assert truth_of(rollout("gostei", None), databases) is None


def test_an_answer_that_keeps_all_but_one_constraint_is_not_right(databases: Databases) -> None:
    reference = {"product": "Fone X", "offer": "20% de desconto"}
    kept, in_words = (rollout(text, reference, "push") for text in ("{produto} com {oferta}.", "Fone X com 20%."))
    assert (truth_of(kept, databases), truth_of(in_words, databases)) == (1.0, 0.0)


def test_pushes_of_what_was_never_trained_on_are_told_apart(databases: Databases) -> None:
    training = [
        prompt_row("push", str(number), {"product": product, "offer": offer})
        for number, (product, offer) in enumerate([("Fone X", "10%"), ("pneus", "20% de desconto")])
    ]
    right, wrong = "{produto} com {oferta}.", "Fone X"
    answers = [
        rollout(right, {"product": "fone x", "offer": "20% de desconto"}, "push"),
        rollout(wrong, {"product": "Fone X", "offer": "10%"}, "push"),
        rollout(wrong, {"product": "Fone X", "offer": "20% de desconto só hoje"}, "push"),
        rollout("?", None, "push"),
        rollout("gostei", {"polarity": "positive", "score": 5}),
    ]
    assert metrics_apart(answers, training, databases) == {"push": {"all_kept_seen": 0.5, "all_kept_unseen_offer": 0.0}}
    assert metrics_apart(answers[-1:], training, databases) == {}
