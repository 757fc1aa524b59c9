from dataclasses import replace

import pytest

from tasks.evaluate.report.background import Background, Looks
from tasks.evaluate.report.sentences import headline, shop_lines, warnings_of, when_margin_was_set
from tasks.report.language import spoken
from tests.tasks.evaluate.small_comparison import comparison


def test_headline_follows_the_verdicts() -> None:
    promoted = comparison()
    assert "better than the base and may be promoted" in headline(promoted)
    held = replace(promoted, gate=replace(promoted.gate, verdict="hold"))
    assert "not ready for promotion" in headline(held)
    assert "worse" in headline(comparison(-0.2))
    assert "cannot be distinguished" in headline(comparison(0))


def test_a_margin_recorded_after_the_answers_is_reported_and_warned_of_in_any_time_zone() -> None:
    after = Looks(1, "2026-11-20T07:30:00-03:00", "2026-11-20T10:00:00+00:00", None)
    (warning,) = warnings_of(after, 0.05)
    assert "recorded after this challenger's answers" in warning
    assert "10:30:00 UTC, after its answers to this split were first drawn" in when_margin_was_set(after, 0.05)


def of_push(product: dict[str, float], offer: dict[str, float]) -> Background:
    return Background(
        ground_truth={"push": {"suits_the_campaign": product, "all_kept": offer}}, known_answers={"push": 40}
    )


def test_shares_are_said_as_counts_beside_the_bases() -> None:
    known = of_push({"base": 0.5, "tuned": 0.975, "constant": 0.0}, {"base": 0.25, "tuned": 0.95})
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
        of_push({"base": 0.5, "tuned": rate, "majority": constant}, {"base": 0.5, "tuned": 1.0, "constant": 0.0})
    )
    assert line.floor == floor
