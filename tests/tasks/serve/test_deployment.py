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


def test_one_constant_answer_does_not_pass_and_the_sentence_says_how_far_it_is() -> None:
    constant = says('{"polarity": "positive", "score": 5}', "stop")
    with pytest.raises(
        GateRefused, match=r"does not answer as it was evaluated: 20 prompts .*, 4 answers word for word"
    ):
        _check(_golden(20), lambda message, number: constant)


def test_an_engine_that_fails_at_a_prompt_does_not_serve() -> None:
    with pytest.raises(GateRefused, match="does not answer its golden prompts"):
        _check(_golden(20), lambda message, number: Reply(b"", status=500))


def test_a_task_of_a_bag_of_words_asks_the_engine_nothing() -> None:
    model, (row, rollout) = served_model(bags={"sentiment": learned("sentiment", REVIEWS)}), _golden(1)[0]
    deployment = DeployedVersion(model, EngineClient("http://127.0.0.1:9/v1", connections=1))
    answer = asyncio.run(deployment.complete(row, deployment.question(row)))
    assert json.loads(answer.text)["polarity"] == "positive"
    assert asyncio.run(check_golden(deployment, [(row, rollout)], tolerance=0.1)) is None


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (says("sim", "stop"), None),
        (says("Sim, claro! Em que posso ajudar?", "stop"), "it does not heed a grammar"),
        (Reply(b'{"error": {"message": "unknown field: structured_outputs"}}', status=400), "unknown field: struct"),
        (Reply(b"", status=500), None),
    ],
    ids=["guides", "ignores it", "refuses it", "is away"],
)
def test_an_engine_that_cannot_guide_is_asked_without_grammars(reply: Reply, why: str | None) -> None:
    async def tried() -> str | None:
        with serve(lambda message, number: reply) as engine:
            deployment = DeployedVersion(served_model(), EngineClient(f"{engine.url}/v1", connections=1))
            found = await deployment.try_guidance()
            await deployment.client.close()
            assert bool(deployment.question(_golden(1)[0][0]).grammar) == (why is None)
        return found

    found = asyncio.run(tried())
    assert found is None if why is None else why in str(found)
