import re

import pytest

from tasks.evaluate.answers.cost import Serving
from tasks.evaluate.report.background import Background, Looks
from tasks.evaluate.report.sentences import headline
from tasks.evaluate.report.text import markdown
from tests.tasks.evaluate.small_comparison import HOSTILE, background, claimed, comparison, laddered, undecided


@pytest.fixture(scope="module")
def text() -> str:
    return markdown(comparison(seeds=(7, 8), with_truth=True), background())


def test_verdict_comes_first(text: str) -> None:
    assert text.index(headline(comparison(seeds=(7, 8)))) < text.index("The gate's word: **promote**")
    assert text.index("The gate's word") < text.index("- overall the score rose")


def test_answers_of_a_model_are_not_in_it(text: str) -> None:
    assert "melhor" not in text
    assert "pergunta" not in text


def test_every_table_has_as_many_cells_in_each_row(text: str) -> None:
    tables = [block.split("\n") for block in text.strip().split("\n\n") if block.startswith("| ")]
    assert len(tables) == 7
    for table in tables:
        cells = [len(re.findall(r"(?<!\\)\|", row)) for row in table]
        assert len(set(cells)) == 1


def test_hostile_names_are_no_markup(text: str) -> None:
    assert HOSTILE not in text
    assert not re.search(r"(?<!\\)[<>`]", text.replace("\n> ", "\n"))
    assert "[d](" not in text
    assert not re.search("[\u202e\x1b\ud800]", text)


def test_markdown_tells_ground_truth_champion_looks_and_identities(text: str) -> None:
    for reported in (
        "## Ground truth, apart from the rewards",
        "constraint rate",
        "## Against the champion",
        "(decides nothing)",
        "Look number 1",
        "recorded on 2026-11-20 10:00:00 UTC, before its answers to this split were first drawn on 2026-11-20 10:05:00",
        "The challenger is the policy of training seed 7 only.",
        "ab" * 32,
        "By training seed: seed 7 +0.192, seed 8 +0.202",
    ):
        assert reported in text


def test_markdown_is_the_same_for_the_same_numbers(text: str) -> None:
    assert markdown(comparison(seeds=(7, 8), with_truth=True), background()) == text


def test_what_is_unknown_is_left_out_and_unknown_looks_are_said() -> None:
    plain = markdown(undecided(), Background())
    for absent in ("Ground truth, apart", "champion", "What exactly", "By training seed", "Warning"):
        assert absent not in plain
    assert "How often this test split was looked at before is not known" in plain
    assert "**hold**" in plain


def test_what_transformers_drew_is_named_once_for_each_thing_that_the_engine_does_not_know() -> None:
    serving = [
        Serving(name, 12, 180.4, 0.0, 1.4, 3.8, None, None, unknown_to_engine=unknown)
        for name, unknown in (("base", "rope_type: odd"), ("tuned", "rope_type: odd"), ("rival", None))
    ]
    text = markdown(comparison(), Background(serving=serving, rollouts_unknown_to_engine="model_type: odd"))
    drew = re.findall(
        r"not know this model \(([^)]*)\), so that .* drew, more slowly: (.*)\.\n", text.replace("\\", "")
    )
    assert drew == [("model_type: odd", "rollouts"), ("rope_type: odd", "base, tuned")]
    assert "does not know" not in markdown(comparison(), Background(serving=serving[2:]))


def test_held_out_prompts_that_the_base_knows_are_counted_and_not_named_where_there_are_none(text: str) -> None:
    assert "since the base was trained on the same words: 4 (push 3, churn 1)." in text
    assert "trained on the same words" not in markdown(comparison(), Background())


def test_looks_are_warned_of() -> None:
    looks = Looks(2, "2026-11-20T10:00:00+00:00", "2026-11-18T09:00:00+00:00", 0.1)
    warned = markdown(comparison(), Background(looks=looks))
    assert warned.count("> **Warning.**") == 2
    assert "first drawn on 2026-11-18 09:00:00 UTC" in warned


def test_baselines_stand_in_the_text_with_their_scores_and_no_markup_of_theirs() -> None:
    text = markdown(claimed(), Background())
    assert "## Beside answers that take no model" in text
    assert "| task | verdict | tuned |" in text
    assert re.search(r"\| push \| [a-z -]+ \| \d\.\d+ \| .*0\.700 \|", text)
    assert HOSTILE not in text
    assert "[d](" not in text


def test_shares_of_the_gain_are_in_the_text_and_the_prompts_without_their_words(text: str) -> None:
    shares = markdown(*laddered())
    assert "## Shares of the gain" in shares
    assert re.search(r"\| overall \| \+0\.\d+ \| 67 % \(.*\) \| 50 % \(", shares)
    assert re.search(r"\| overall \| 33 % \(.*\) \| 67 % \(.*\) \| base-guided \| \+0\.500", shares)
    assert text.count("| push | p") == 11
