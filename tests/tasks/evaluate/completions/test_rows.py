"""Rows of the browser: every rollout once, each text once, nothing personal, nothing hidden, nothing unbounded."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tasks.evaluate.completions.rows import CORRECTED, CUT_OFF, MAX_SHOWN, SHARES, UNIFORM, as_document
from tasks.personal_data.scrub import scrub_column
from tests.tasks.evaluate.completions.logged import PROMPTS, TESTED, answers, rollout, steps, training

HOSTILE = "</script><script>alert(1)</script> \x1b[2J \u202e\u200b <|im_start|> ligue (11) 91234-5678"


def document(folder: Path, rollouts: list[dict[str, Any]], **others: Any) -> dict[str, Any]:
    models = {"base": answers("bom", "ruim"), "tuned": answers("bom", "bom", reward=1.0)}
    return as_document([training(folder, rollouts)], PROMPTS, models, scrub_column, **others)


def test_every_rollout_and_every_answer_is_there_once_with_what_the_tables_say_of_it(tmp_path: Path) -> None:
    rows = document(tmp_path, steps())
    shown, texts, prompts = rows["rollouts"], rows["texts"]["text"], rows["prompts"]
    columns = (shown[name] for name in ("prompt", "step", "text", "reward", "advantage", "parts"))
    found = Counter(
        (prompts["id"][prompt], step, texts[text], reward, advantage, *parts)
        for prompt, step, text, reward, advantage, parts in zip(*columns, strict=True)
    )
    assert rows["components"]["push"] == ["product", "style"]
    shares = [(each, round(each["reward"] * SHARES), round(each["reward"] / 2 * SHARES)) for each in steps()]
    assert found == Counter(
        (each["prompt_id"], each["step"], each["completion"], whole, 500, whole, half) for each, whole, half in shares
    )
    given = rows["answers"]
    assert [rows["models"][model] for model in given["model"]] == ["base", "base", "tuned", "tuned"]
    assert [prompts["id"][prompt] for prompt in given["prompt"]] == [row.prompt_id for row in TESTED] * 2
    assert [texts[text] for text in given["text"]] == ["bom", "ruim", "bom", "bom"]
    assert given["truth"] == [SHARES, None] * 2
    assert len(texts) == len(set(texts))


def test_flags_tell_cut_replaced_and_uniform_rollouts(tmp_path: Path) -> None:
    rows = document(
        tmp_path,
        [
            rollout(0, 1, "a", 0.5, None, stop_reason="token_limit"),
            rollout(0, 1, "b", 0.5, corrected=True),
            rollout(1, 1, "c", 0.5),
            rollout(1, 1, "d", 0.75),
            rollout(2, 1, "alone", 0.5),
        ],
    )
    assert rows["rollouts"]["flags"] == [CUT_OFF + UNIFORM, CORRECTED + UNIFORM, 0, 0, 0]
    assert rows["rollouts"]["advantage"][0] is None


def test_texts_are_scrubbed_and_nothing_in_them_is_hidden(tmp_path: Path) -> None:
    texts = document(tmp_path, [rollout(0, 1, HOSTILE, 0.5)])["texts"]["text"]
    (shown,) = [text for text in texts if "alert" in text]
    assert "[TELEFONE]" in shown
    assert "91234" not in shown
    assert "␛[2J \\u202e\\u200b" in shown
    assert "</script><script>" in shown


def test_a_long_text_is_cut_after_the_scrub_and_says_by_how_much(tmp_path: Path) -> None:
    # The telephone straddles the cut: cut first, its halves would be no telephone any more.
    long = "a" * (MAX_SHOWN - 8) + " (11) 91234-5678 " + "b" * 100_000
    rows = document(tmp_path, [rollout(0, 1, long, 0.5)])
    place = rows["rollouts"]["text"][0]
    assert len(rows["texts"]["text"][place]) == MAX_SHOWN
    assert rows["texts"]["text"][place].endswith("a [TELEFO")
    assert rows["texts"]["cut"] == {str(place): len(long) - len("(11) 91234-5678") + len("[TELEFONE]") - MAX_SHOWN}


@pytest.mark.parametrize(("most", "every"), [(10_000, 1), (1_000, 2), (1, 6)])
def test_many_rollouts_are_thinned_by_whole_groups(tmp_path: Path, most: int, every: int) -> None:
    rows = document(tmp_path, steps(), most_weight=most)
    assert (rows["logged"], rows["every"]) == (12, every)
    kept = list(zip(rows["rollouts"]["step"], rows["rollouts"]["prompt"], strict=True))
    assert len(kept) == 2 * len(set(kept)) == -(-12 // every // 2) * 2
    assert len(rows["answers"]["model"]) == 4
