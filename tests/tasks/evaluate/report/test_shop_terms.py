"""Ground truth in the shop's terms: counts of answers, and a mark where a rate is at its floor."""

import pytest

from tasks.evaluate.report.background import Background
from tasks.evaluate.report.shop_terms import shop_lines
from tasks.report.language import spoken


def background(product: dict[str, float], offer: dict[str, float]) -> Background:
    return Background(
        ground_truth={"push": {"names_product": product, "names_offer": offer}}, known_answers={"push": 40}
    )


def test_shares_are_said_as_counts_beside_the_bases() -> None:
    known = background({"base": 0.5, "tuned": 0.975, "constant": 0.0}, {"base": 0.25, "tuned": 0.95})
    (line,) = shop_lines(known)
    assert line.text == "Of 40 pushes, 39 name the product and 38 keep the offer (base: 20, 10)"
    assert line.floor == ""
    with spoken("pt"):
        (line,) = shop_lines(known)
    assert line.text == "De 40 notificações, 39 citam o produto e 38 mantêm a oferta (base: 20, 10)"


@pytest.mark.parametrize(
    ("rate", "constant", "floor"),
    [
        (0.0, 0.0, "names product is at its floor, 0"),
        (0.5, 0.5, "names product is at its floor: one text for all has 20"),
        (0.5, 0.75, "names product is at its floor: one text for all has 30"),
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
