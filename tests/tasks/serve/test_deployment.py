"""A version that answers its golden prompts as at its evaluation may serve; one that answers otherwise may not."""

import asyncio
import json

import pytest

from schemas.errors import GateRefused
from tasks.serve.deployment import DeployedVersion, GoldenCheck, GoldenPrompt, check_golden
from tasks.serve.engine_client import EngineClient
from tasks.serve.questions import question_of
from tests.chat_server import Reply, says, serve
from tests.gateway import served_model
from tests.tasks.bag_of_words.test_bag import REVIEWS, learned


def _golden(count: int) -> list[GoldenPrompt]:
    golden = []
    for number in range(count):
        stars = 1 + number % 5
        polarity = "negative" if stars < 3 else "neutral" if stars == 3 else "positive"
        known = {"polarity": polarity, "score": stars}
        row = question_of("sentiment", {"review": f"Nota {stars}, pedido {number}"}, reference=known)
        golden.append((row, row.answered(json.dumps(known))))
    return golden


def _right(message: str, number: int) -> Reply:
    (answer,) = {rollout.completion for row, rollout in _golden(20) if row.prompt == message}
    return says(answer, "stop")


def _check(golden: list[GoldenPrompt], play: object = _right, tolerance: float = 0.1) -> GoldenCheck | None:
    async def checked() -> GoldenCheck | None:
        with serve(play) as engine:  # type: ignore[arg-type]
            client = EngineClient(f"{engine.url}/v1", connections=2)
            try:
                return await check_golden(DeployedVersion(served_model(), client), golden, tolerance=tolerance)
            finally:
                await client.close()

    return asyncio.run(checked())


def test_the_evaluations_own_answers_pass() -> None:
    check = _check(_golden(20))
    assert check is not None
    assert (check.prompts, check.equal, check.found) == (20, 20, check.promised)


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (says('{"polarity": "positive", "score": 5}', "stop"), r"as it was evaluated: 20 prompts .*, 4 answers word"),
        (Reply(b"", status=500), "does not answer its golden prompts"),
    ],
)
def test_an_engine_that_answers_alike_or_fails_does_not_serve(reply: Reply, said: str) -> None:
    with pytest.raises(GateRefused, match=said):
        _check(_golden(20), lambda message, number: reply)


def test_a_task_of_a_bag_of_words_asks_the_engine_nothing() -> None:
    model, (row, rollout) = served_model(bags={"sentiment": learned("sentiment", REVIEWS)}), _golden(1)[0]
    deployment = DeployedVersion(model, EngineClient("http://127.0.0.1:9/v1", connections=1))
    answer = asyncio.run(deployment.complete(row, deployment.question(row)))
    assert json.loads(answer.text)["polarity"] == "positive"
    assert asyncio.run(check_golden(deployment, [(row, rollout)], tolerance=0.1)) is None
