from dataclasses import replace

from tasks.evaluate.report.background import Looks
from tasks.evaluate.report.sentences import headline, warnings_of, when_margin_was_set
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
