from dataclasses import replace

import pytest

from schemas.tasks import TaskName
from tasks.evaluate.claims import AgainstBaseline, TaskClaim
from tasks.evaluate.report.background import Background, Looks
from tasks.evaluate.report.sentences import classifier_lines, headline, shop_lines, warnings_of, when_margin_was_set
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


def test_shares_are_said_as_counts_beside_the_bases() -> None:
    rates = {"suits_the_campaign": {"base": 0.5, "tuned": 0.975}, "all_kept": {"base": 0.25, "tuned": 0.95}}
    known = Background(ground_truth={"push": rates}, known_answers={"push": 40})
    said = "Of 40 pushes, 39 suit product and offer and 38 may be sent as they are (base: 20, 10)"
    assert shop_lines(known) == [said]
    with spoken("pt"):
        assert shop_lines(known)[0].startswith("De 40 notificações, 39 combinam com o produto e a oferta e 38")
    assert shop_lines(replace(known, known_answers={})) == []


@pytest.mark.parametrize(("low", "high", "is_said"), [(-0.4, -0.1, True), (-0.4, 0.02, False), (0.1, 0.4, False)])
def test_a_classifier_leads_the_report_only_where_an_interval_shows_it(low: float, high: float, is_said: bool) -> None:
    found = comparison(with_truth=True)
    truth = replace(found.tasks["push"], n_prompts=37, mean_base=33 / 37, mean_tuned=28 / 37, ci_low=low, ci_high=high)
    bag = AgainstBaseline("from 251 rows", found.tasks["push"], truth)
    claimed = replace(found, claims={"sentiment": TaskClaim(baselines={"bag-of-words": bag, "rule": bag})})
    said = (
        "In sentiment a classifier trained in seconds on the same rows is right in 33 of 37, and the tuned model in 28"
    )
    assert classifier_lines(claimed) == ([said] if is_said else [])
    with spoken("pt"):
        assert [" acerta 33 de 37" in line for line in classifier_lines(claimed)] == [True] * is_said
    unknown: dict[TaskName, TaskClaim] = {"sentiment": TaskClaim(baselines={"bag-of-words": replace(bag, truth=None)})}
    assert classifier_lines(replace(found, claims=unknown)) == []
