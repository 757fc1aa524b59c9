"""Analyses that one would send earn almost what a perfect one does; those that one would not lose what they should."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from schemas.documents import Rollout
from tasks.commerce.insights.task import TASK
from tasks.commerce.registry import score_rollout

TEXTS = Path(__file__).parent / "texts"
TABLES: list[dict[str, Any]] = json.loads((TEXTS / "tables.json").read_text(encoding="utf-8"))
GOOD: list[dict[str, Any]] = tomllib.loads((TEXTS / "good.toml").read_text(encoding="utf-8"))["text"]
BAD: list[dict[str, Any]] = tomllib.loads((TEXTS / "bad.toml").read_text(encoding="utf-8"))["text"]
ALMOST = 0.85


def reward(text: str, table: int) -> float:
    known = TABLES[table]
    rollout = Rollout(
        prompt_id="p", task="insights", prompt=known["prompt"], completion=text, reference={"facts": known["facts"]}
    )
    return score_rollout(rollout, None).reward


@pytest.mark.parametrize("good", GOOD, ids=lambda good: good["text"].splitlines()[0])
def test_a_good_analysis_earns_almost_what_a_perfect_one_does(good: dict[str, Any]) -> None:
    perfect = TASK.answer({"facts": TABLES[good["table"]]["facts"]})
    assert reward(good["text"], good["table"]) >= ALMOST * reward(perfect, good["table"])


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: bad["new"].strip())
def test_a_bad_analysis_loses_what_it_should(bad: dict[str, Any]) -> None:
    good = GOOD[bad["place"]]
    text = good["text"].replace(bad["old"], bad["new"]) if "old" in bad else good["text"] + bad["new"]
    assert text != good["text"]
    assert reward(text, good["table"]) <= (1 - bad["loses"]) * reward(good["text"], good["table"])
