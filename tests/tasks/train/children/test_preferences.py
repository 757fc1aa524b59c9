"""Pairs for DPO: the best against the worst of each prompt, far enough apart, and the same after a resume."""

import json
from pathlib import Path

from tasks.train.children.dpo import PAIRS_FILE, PreferencePair, Preferences, RewardedCompletion, pairs
from tasks.train.resume.state_files import read_state, write_state
from tests.tasks.curate.prompt_rows import prompt_row

ROW = prompt_row("push", "Pedido 1: livro.")


def _answers(*rewards: float) -> list[RewardedCompletion]:
    return [RewardedCompletion(f"answer {place}", reward, ended=True) for place, reward in enumerate(rewards)]


def _chosen(answers: list[RewardedCompletion], min_gap: float = 0.1) -> list[tuple[str, str]]:
    return [(pair.chosen, pair.rejected) for pair in pairs([ROW], [answers], min_gap)]


def test_the_best_is_paired_with_the_worst() -> None:
    assert _chosen(_answers(0.5, 0.2, 0.9, 0.4)) == [("answer 2", "answer 1")]


def test_a_gap_that_reaches_the_least_makes_a_pair_and_a_smaller_does_not() -> None:
    """0.9 - 0.8 is a little less than 0.1 in floating point."""
    assert _chosen(_answers(0.9, 0.8), min_gap=0.1) == [("answer 0", "answer 1")]
    assert _chosen(_answers(0.9, 0.81), min_gap=0.1) == []


def test_a_completion_that_was_cut_off_may_be_the_worst_and_never_the_best() -> None:
    cut = RewardedCompletion("cut", 1.0, ended=False)
    assert _chosen([cut, *_answers(0.7, 0.1)]) == [("answer 0", "answer 1")]
    assert _chosen([RewardedCompletion("cut", 0.0, ended=False), *_answers(0.7, 0.1)]) == [("answer 0", "cut")]
    assert _chosen([cut, cut]) == []
    assert _chosen([cut, *_answers(0.7)]) == []


def test_a_checkpoint_gives_the_pairs_back_and_the_policy_has_the_same(tmp_path: Path) -> None:
    before, after = Preferences(), Preferences()
    sentiment = prompt_row("sentiment", 'Não gostei. \U0001f44e\n"aspas"')
    before.pairs = pairs([ROW, sentiment, ROW], [_answers(0.1, 0.3), _answers(1 / 3, 0.9), _answers(0.0, 1.0)], 0.1)
    write_state(tmp_path, "preferences", before.state_dict())
    after.load_state_dict(read_state(tmp_path, "preferences"))
    assert after.pairs == before.pairs
    assert after.by_task() == {"push": 2, "sentiment": 1}
    after.write(tmp_path)
    written = json.loads((tmp_path / PAIRS_FILE).read_text(encoding="utf-8"))
    assert [PreferencePair(**values) for values in written] == before.pairs
