"""What an analysis costs, by hand, and from how many a day on a machine of one's own is the cheaper way."""

from pathlib import Path
from typing import Any

import pytest

from schemas.config.evaluate import CostConfig, RivalConfig
from schemas.config.workers import MachinePrice
from tasks.evaluate.answers.cost import Serving, serving
from tasks.evaluate.answers.files import Answer, Batch, write_answers
from tasks.policy.generate import StopReason
from tests.tasks.curate.prompt_rows import prompt_row

ROWS = [prompt_row("push", f"Pedido {number}") for number in range(4)]
PRICES = {"NVIDIA L4": MachinePrice(on_demand=0.71, spot=0.28), "cpu": MachinePrice(on_demand=0.067)}
RIVAL = RivalConfig(name="large", url="http://127.0.0.1:9/v1", model="large", price_input=2.5, price_output=10.0)


def given_answer(index: int, **values: Any) -> Answer:
    known = {"index": index, "text": "Compre.", "tokens": 10, "stop_reason": StopReason.END_OF_TURN}
    return Answer.model_validate({**known, **values})


def machine(
    folder: Path,
    seconds: tuple[float, float] = (2.0, 6.0),
    devices: tuple[str | None, str | None] = (None, None),
    **cost: float,
) -> Serving:
    """Two batches of two answers, of which the very last was cut off."""
    last = given_answer(3, tokens=50, stop_reason=StopReason.TOKEN_LIMIT)
    batches = [
        Batch(sample=0, number=0, seconds=seconds[0], answers=(given_answer(0), given_answer(2)), device=devices[0]),
        Batch(sample=0, number=1, seconds=seconds[1], answers=(given_answer(1), last), device=devices[1]),
    ]
    write_answers(folder, ROWS, batches, "temperature 0.1", ours=True)
    return serving("tuned", folder, CostConfig.model_validate(cost), prices=PRICES)


def endpoint(folder: Path, *counts: tuple[int | None, int | None]) -> Serving:
    batches = [
        Batch(
            sample=0,
            number=index,
            seconds=1.0 + index,
            answers=(given_answer(index, prompt_tokens=read, tokens=written),),
        )
        for index, (read, written) in enumerate(counts)
    ]
    write_answers(folder, ROWS, batches, "temperature 0.1", ours=False)
    return serving("large", folder, CostConfig(), RIVAL, prices=PRICES)


def test_an_answer_is_there_when_its_batch_is_and_a_machine_is_paid_by_its_hours(tmp_path: Path) -> None:
    cost = machine(tmp_path, price_per_hour=0.9)
    assert (cost.model, cost.answers, cost.mean_tokens, cost.truncated_share) == ("tuned", 4, 20.0, 0.25)
    assert cost.latency_p50 == pytest.approx(4.0)
    assert 5.9 < cost.latency_p95 <= 6.0
    # 8 seconds, and not the 16 that the four answers waited.
    assert cost.cost_per_analysis == pytest.approx(0.9 * 8 / 3600 / 4)


def test_of_two_machines_each_second_has_its_own_price(tmp_path: Path) -> None:
    cost = machine(tmp_path, devices=("cpu", "NVIDIA L4"))
    assert cost.device == "NVIDIA L4 and cpu"
    assert cost.cost_per_analysis == pytest.approx((0.067 * 2 + 0.71 * 6) / 3600 / 4)


def test_an_endpoint_is_paid_by_its_tokens(tmp_path: Path) -> None:
    cost = endpoint(tmp_path, (100, 10), (200, 20), (300, 30), (400, 40))
    assert cost.cost_per_analysis == pytest.approx((250 * 2.5 + 25 * 10.0) / 1e6)
    assert cost.latency_p50 == pytest.approx(2.5)
    assert cost.break_even is None
    uncounted = endpoint(tmp_path, (100, 10), (None, None), (300, 30), (400, 40))
    assert (uncounted.mean_tokens, uncounted.cost_per_analysis) == (None, None)


@pytest.mark.parametrize(("seconds", "breaks_even"), [(1.39, True), (1.41, False)])
def test_break_even_of_a_machine(tmp_path: Path, seconds: float, breaks_even: bool) -> None:
    """A machine of 3.60 an hour makes two analyses in a batch, of which each costs .0005 a second."""
    cost = machine(tmp_path, (seconds, seconds), price_per_hour=3.6, api_price_per_analysis=0.0007)
    assert cost.cost_per_analysis == pytest.approx(0.0005 * seconds)
    assert cost.break_even == (pytest.approx(24 * 3.6 / 0.0007) if breaks_even else None)
