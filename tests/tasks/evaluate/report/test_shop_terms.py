"""Ground truth in the shop's terms: counts of answers, and a mark where a rate is at its floor."""

import pytest

from tasks.evaluate.report.background import Background
from tasks.evaluate.report.shop_terms import shop_lines
from tasks.report.language import spoken


def background(product: dict[str, float], offer: dict[str, float]) -> Background:
    return Background(
        ground_truth={"push": {"suits_the_campaign": product, "all_kept": offer}}, known_answers={"push": 40}
    )


def test_shares_are_said_as_counts_beside_the_bases() -> None:
    known = background({"base": 0.5, "tuned": 0.975, "constant": 0.0}, {"base": 0.25, "tuned": 0.95})
    (line,) = shop_lines(known)
    assert line.text == "Of 40 pushes, 39 suit product and offer and 38 may be sent as they are (base: 20, 10)"
    assert line.floor == ""
    with spoken("pt"):
        (line,) = shop_lines(known)
    assert (
        line.text
        == "De 40 notificações, 39 combinam com o produto e a oferta e 38 podem ser enviadas como estão (base: 20, 10)"
    )


@pytest.mark.parametrize(
    ("rate", "constant", "floor"),
    [
        (0.0, 0.0, "suits the campaign is at its floor, 0"),
        (0.5, 0.5, "suits the campaign is at its floor: one text for all has 20"),
        (0.5, 0.75, "suits the campaign is at its floor: one text for all has 30"),
        (0.5, 0.475, ""),
    ],
)
def test_a_rate_that_one_text_has_too_is_at_its_floor(rate: float, constant: float, floor: str) -> None:
    (line,) = shop_lines(
        background({"base": 0.5, "tuned": rate, "majority": constant}, {"base": 0.5, "tuned": 1.0, "constant": 0.0})
    )
    assert line.floor == floor


def test_without_known_answers_there_is_nothing_to_count() -> None:
    assert shop_lines(Background()) == []
    assert shop_lines(Background(known_answers={"push": 40})) == []
